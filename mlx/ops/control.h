// Control flow: ops that run functions of arrays a number of times (scan), while a condition holds,
// or one of several. The functions are graphs in the attributes (core/subgraph.h); arrays that they
// read besides their arguments are inputs of the op.
#pragma once

#include "mlx/core/subgraph.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

using Subgraphs = std::vector<Ref<const Subgraph>>;

/// Attributes of the ops below.
struct MLX_API ControlAttrs final : FunctionAttrs {
  int64_t shared = 0;       ///< inputs that all iterations of a scan, or of a condition, read
  int64_t shared_body = 0;  ///< while loops: inputs that all iterations of the body read
  int64_t carried = 0;      ///< arrays that an iteration passes to the next one
  int64_t length = 0;       ///< of a scan
  bool reverse = false;     ///< a scan goes from the last slice to the first
  /// The derivative of a scan computes the values inside of an iteration again.
  bool checkpoint = false;

  bool equals(const Attrs& o) const override;
  size_t hash() const override;
  void visit(AttrVisitor& v) override;
  Attrs* clone() const override { return new ControlAttrs(*this); }
};
inline const ControlAttrs& control_of(const Attrs* a) {
  return static_cast<const ControlAttrs&>(*a);
}

/// inputs: shared, initial values, arrays with one slice per iteration. The function takes shared,
/// carried, slices and returns carried, slices. Results: the last values, then arrays of slices.
extern MLX_API const OpDef op_scan_loop;
/// inputs: shared of the condition, shared of the body, initial values. The functions, a condition
/// and a body, take their shared inputs and what is carried. Results: the last values.
extern MLX_API const OpDef op_while_loop;
/// inputs: the number of a function as an int32 scalar, arguments that all functions take. Numbers
/// out of range stand for the first or the last function. Results: the function's.
extern MLX_API const OpDef op_switch;

/// The results of a control-flow op. Throws ValueError for inputs that do not fit its functions.
Arrays make_control(const OpDef& op, const Arrays& inputs, ControlAttrs attrs, Stream s);

namespace rules {
Arrays scan_loop_vjp(const RuleArgs& r);
Arrays scan_loop_jvp(const RuleArgs& r);
Batched scan_loop_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Arrays while_loop_vjp(const RuleArgs& r);
Arrays while_loop_jvp(const RuleArgs& r);
Batched while_loop_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Arrays switch_vjp(const RuleArgs& r);
Arrays switch_jvp(const RuleArgs& r);
Batched switch_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
