// The ops that function files may contain, and the validation of their inputs and attributes for
// files that are not trusted.
#pragma once

#include <string_view>

#include "mlx/core/array.h"

namespace mlx::core {

/// An op that can be written to a file and rebuilt.
struct ExportOp {
  const OpDef* op;
  int min_inputs, max_inputs;  ///< how many inputs it takes; a negative `max_inputs` sets no limit
  Ref<const Attrs> attrs;      ///< an instance to copy and fill; null for ops without attributes
  /// Throws ValueError if the preconditions of the op's `build` do not hold; null if it has none.
  void (*check)(const Arrays& inputs, const Attrs* attrs) = nullptr;
};

/// The op with that name, or null. Includes registered user ops (`register_op`) without attributes.
const ExportOp* find_export_op(std::string_view name);

}  // namespace mlx::core
