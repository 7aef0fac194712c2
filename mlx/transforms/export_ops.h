// The ops that files of functions may name, and what has to hold of their inputs and attributes
// where a file is not trusted.
#pragma once

#include <string_view>

#include "mlx/core/array.h"

namespace mlx::core {

/// An op that can be written to a file and built again.
struct ExportOp {
  const OpDef* op;
  int least, most;         ///< how many inputs it takes; a negative `most` sets no limit
  Ref<const Attrs> attrs;  ///< to be copied and filled by `visit`; null for ops without any
  /// Throws ValueError for what the op's `build` relies on its callers for; null where it asks for
  /// nothing.
  void (*check)(const Arrays& inputs, const Attrs* attrs) = nullptr;
};

/// The op of that name, or null. Ops without attributes that a program has registered
/// (`register_op`) count.
const ExportOp* find_export_op(std::string_view name);

}  // namespace mlx::core
