// Units of rows as one kernel: a row is read once, and its values stay in registers between steps.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mlx/backend/gpu/families/family.h"

namespace mlx::core::gpu {

/// A value that steps of a unit read or write: one number for each row, or a number for each of its
/// elements.
struct RowValue {
  int slot;  ///< as the steps name it
  Dtype type;
  bool written;      ///< by a step; else an input in one of its layouts
  bool is_array;     ///< a number for each element
  int first, last;   ///< steps that use it
  int64_t offset;    ///< of an input: elements to its first one
  Shape rows;        ///< of an input: the axes that count rows, merged
  Strides strides;   ///< of these axes
  int64_t step = 0;  ///< of an array that is an input: between elements of a row
};

/// How a unit is computed.
struct RowForm {
  int64_t rows, n;  ///< n: elements of a row
  std::vector<RowValue> values;
  std::vector<SmallVector<int, 8>> operands;  ///< of each step: the value of each operand
  int warps = 1;                              ///< that have a row
  int each = 1;                               ///< elements of a row that a thread has
  int blocks = 1;      ///< of 512 elements, whose results a reduction combines
  bool whole = false;  ///< all threads have as many
  int parts = 0;       ///< of a row that is read again for each reduction; 0: registers keep it
  int resident = 1;    ///< blocks on a processor, whose registers bound that
};

/// The form of a unit of these steps, or none where its kernel cannot compute it.
std::optional<RowForm> row_form(std::span<const Step* const> steps, int64_t rows);

}  // namespace mlx::core::gpu
