// Collectives as ops: arrays of all members of a group are combined or exchanged. They run on the
// communication queue in the order in which the program asks for them.
#pragma once

#include "mlx/backend/engine.h"
#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// A request. Two that differ in the order alone are equal.
struct CollectiveAttrs final : Attrs {
  Ref<Channel> channel;  ///< null only in the prototype that function files are read with
  Collective kind{};
  int peer = -1;
  Shape shape;  ///< of recv
  Dtype dtype = float32;
  uint64_t order = 0;

  bool equals(const Attrs& o) const override;
  size_t hash() const override;
  void visit(AttrVisitor& v) override;
  Attrs* clone() const override { return new CollectiveAttrs(*this); }
};

/// An op of each kind; the inputs are the array (not of recv) and the ticket.
extern const OpDef op_all_sum, op_all_max, op_all_min, op_all_gather, op_sum_scatter, op_broadcast,
    op_all_to_all, op_send, op_recv;

/// A collective of a group of at least two. Throws ValueError for a shape that cannot be divided
/// and a peer outside of the group.
MLX_API array collective(Collective kind, const array& x, const Ref<Channel>& channel,
                         int peer = -1);
/// The array that another member sends.
MLX_API array receive(const Shape& shape, Dtype dtype, int src, const Ref<Channel>& channel);

namespace rules {
Arrays collective_vjp(const RuleArgs& r);
Arrays collective_jvp(const RuleArgs& r);
Batched collective_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
