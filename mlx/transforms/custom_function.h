// Functions with rules of their own. Their outputs are views of what the function gave, tied to a
// bundle that transformations see and evaluation never reaches: it has the function's inputs, then
// its outputs, as inputs, and the rules as its attributes.
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
  /// The vjp reads the graph from inputs to outputs, and holds for those of other inputs.
  bool of_graph = false;
};

/// `outputs`, computed from `inputs`, such that transformations follow the rules.
Arrays with_rules(const Arrays& inputs, const Arrays& outputs,
                  std::shared_ptr<const CustomRules> rules);

/// True for a function with rules that may hold arrays, which a copy of the node has, too.
bool has_rules_of_program(const Node& n);
/// How often functions with rules have been called under transformations.
uint64_t calls_with_rules();

/// A function with rules of its own; a transformation without one goes through `fun`.
MLX_API Function custom_function(Function fun, std::optional<CustomVjp> fun_vjp = {},
                                 std::optional<CustomJvp> fun_jvp = {},
                                 std::optional<CustomVmap> fun_vmap = {});
MLX_API Function custom_vjp(Function fun, CustomVjp fun_vjp);
/// A function that computes what is inside again for its derivative, instead of keeping it: what
/// depends on its inputs. It runs once, and what it reads besides them has derivatives, too.
MLX_API Function checkpoint(Function fun);

}  // namespace mlx::core
