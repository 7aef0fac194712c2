// An op without a rule for vectorization, run for each position along an axis: one node, however
// long the axis is.
#pragma once

#include <functional>

#include "mlx/ops/rules.h"

namespace mlx::core {

/// Attributes of the two ops below.
struct LoopAttrs final : Attrs {
  array slice;               ///< the op at one position: its node, over placeholders
  std::vector<bool> mapped;  ///< inputs that have the axis, in front; others are the same for all
  LoopAttrs(array s, std::vector<bool> m) : slice(std::move(s)), mapped(std::move(m)) {}
  const Node& node() const { return *slice.node(); }
  bool equals(const Attrs& o) const override;
  size_t hash() const override;
  void visit(AttrVisitor& v) override;
  Attrs* clone() const override { return new LoopAttrs(slice, mapped); }
};

/// A kernel or bundle for each position; always a bundle itself.
extern const OpDef op_loop;
/// A view for each position, which is a view with one more axis.
extern const OpDef op_loop_view;

/// The results of the op of `node` at each position along `axes` of the inputs (-1: an input that
/// is the same for all), stacked along a first axis. `node` says shapes and dtypes at one position.
rules::Batched make_loop(const Node& node, const Arrays& inputs, const std::vector<int>& axes,
                         Stream s);

/// The same of the op that `build` makes of the inputs at one position; inputs that are `mapped`
/// have the axis in front. Throws ValueError where that is not one op over these inputs.
Arrays loop_built(const Arrays& inputs, const std::vector<bool>& mapped, Stream s,
                  const std::function<Arrays(const Arrays&)>& build);

namespace rules {
Arrays loop_vjp(const RuleArgs& args);
Arrays loop_jvp(const RuleArgs& args);
}  // namespace rules

}  // namespace mlx::core
