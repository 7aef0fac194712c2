// Arrays of indices as kernels read them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/ops/slice.h"

namespace mlx::core::gpu {

/// The targets of an array of indices.
struct IndexedAxis {
  int operand;  ///< of the step
  int axis;
  int64_t size, span, stride;  ///< of the axis; elements read from an index on
  int element = -1;  ///< of the operand's only axis, which is the index at every position; or all
};

/// The indices of a step: their part of a kernel's arguments, and the errors that it reports.
class Indices {
 public:
  /// `shape`: of the positions, to which the arrays broadcast. False where they are too many or
  /// have too many axes.
  bool set(const char* op, std::span<const Layout> operands, const Shape& shape,
           std::vector<IndexedAxis> axes);
  /// The arguments, for operands at these addresses.
  device::Positions at(const Enqueue& to, std::span<const uint64_t> operands) const;
  [[noreturn]] void raise(const device::ErrorRecord& record) const;

 private:
  const char* op_ = nullptr;
  std::vector<IndexedAxis> axes_;
  SmallVector<int64_t, 8> offsets_;  // bytes
  device::Positions arguments_ = {};
};

/// Bytes of an index, negative where it has a sign.
int64_t index_type(Dtype t);
/// Throws the error of an index that a record holds.
[[noreturn]] void raise_index(const char* op, const device::ErrorRecord& record, int64_t type,
                              int axis, int64_t size, int64_t span);
/// The axes of a slice that starts where the elements of an operand say.
std::vector<IndexedAxis> slice_axes(const DynamicSliceAttrs& attrs, int operand,
                                    const Layout& sliced);

}  // namespace mlx::core::gpu
