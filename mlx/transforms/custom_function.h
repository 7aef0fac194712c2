// Functions with user-defined rules. Their outputs are views of what the function returned, tied to
// a bundle that transformations follow and evaluation never reaches: its inputs are the function's
// inputs and outputs, its attributes are the rules.
#pragma once

#include <optional>

#include "mlx/core/api.h"
#include "mlx/transforms/trace.h"

namespace mlx::core {

/// Cotangents of the inputs from (inputs, cotangents, outputs).
using CustomVjp = std::function<Arrays(const Arrays&, const Arrays&, const Arrays&)>;
/// Tangents of the outputs from (inputs, tangents of some of them, which ones).
using CustomJvp = std::function<Arrays(const Arrays&, const Arrays&, const std::vector<int>&)>;
/// Outputs and their batch axes from (inputs, mapped axes); -1: not mapped.
using CustomVmap =
    std::function<std::pair<Arrays, std::vector<int>>(const Arrays&, const std::vector<int>&)>;

struct CustomRules {
  std::optional<CustomVjp> vjp;
  std::optional<CustomJvp> jvp;
  std::optional<CustomVmap> vmap;
  /// The vjp reads the graph from inputs to outputs, and is valid for the graph of other inputs.
  bool of_graph = false;
};

/// `outputs`, computed from `inputs`, with rules that transformations use.
Arrays with_rules(const Arrays& inputs, const Arrays& outputs,
                  std::shared_ptr<const CustomRules> rules);

/// True for a function whose rules may hold arrays; copies of the node share the rules.
bool has_user_rules(const Node& n);
/// How many functions with rules have been called under transformations.
uint64_t calls_with_rules();

/// A function with user-defined rules; a transformation without a rule goes through `fun`.
MLX_API Function custom_function(Function fun, std::optional<CustomVjp> fun_vjp = {},
                                 std::optional<CustomJvp> fun_jvp = {},
                                 std::optional<CustomVmap> fun_vmap = {});
MLX_API Function custom_vjp(Function fun, CustomVjp fun_vjp);
/// A function that recomputes its intermediate values for the derivative instead of keeping them.
/// The function runs once; arrays that it reads besides its inputs have derivatives too.
MLX_API Function checkpoint(Function fun);

}  // namespace mlx::core
