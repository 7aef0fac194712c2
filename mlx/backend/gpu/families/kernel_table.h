// The table of kernels, kernels.def, and how types are written in their source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mlx/core/dtype.h"

namespace mlx::core::gpu {

/// The name of a dtype's elements in the source of kernels.
const char* element_type(Dtype t);

/// The accumulator of an element type, as it is written in a kernel, and its size: of sums and
/// products, and of extremes.
struct Accumulator {
  const char* type;
  int64_t size;
};
Accumulator sum_of(Dtype t);
Accumulator value_of(Dtype t);

/// A row of the table.
struct KernelRow {
  enum Threads { alone, in_step, resident, groups };
  const char *file, *arguments, *function;
  Threads threads;
  const char* instances;

  /// The name of its symbol.
  std::string name() const;
  /// The definition of an instance: `list` has the arguments of its template, "" where it has none.
  /// `type`: of the kernel's arguments, where it is not the row's.
  std::string text(const std::string& list, const char* type = nullptr) const;
};

/// An instance that the table lists: how it is called, and its definition.
struct KernelInstance {
  const KernelRow* row;
  std::string list, text;
};
/// All of them. Throws std::logic_error for a pattern that is none.
std::vector<KernelInstance> kernel_instances();

}  // namespace mlx::core::gpu
