// Names and arguments of ops as MLX publishes them, for callbacks of `export_function` and programs
// that inspect graphs.
#pragma once

#include <string>
#include <vector>

#include "mlx/core/op.h"
#include "mlx/transforms/export.h"

namespace mlx::core {

/// An op under its published name. Ops that MLX does not have keep their name here, and their
/// attributes in the order of their struct.
struct PublishedOp {
  std::string name;
  std::vector<ExportAttribute> arguments;
  /// Published reductions keep the axes that they reduce; these are removed from the result by a
  /// Squeeze.
  std::vector<int> squeezed;
};

/// `ndim`: axes of the first input.
PublishedOp published_op(const OpDef& op, const Attrs* attrs, size_t ndim);

}  // namespace mlx::core
