// Functions as data, compared by what they compute.
#include "mlx/core/subgraph.h"

#include <algorithm>

#include "mlx/core/attrs.h"
#include "mlx/core/copy.h"

namespace mlx::core {

namespace {

size_t hash_of(const Node& n, const NodeMap<uint32_t>& place) {
  size_t h = detail::mix(reinterpret_cast<uintptr_t>(n.op), n.part);
  h = detail::mix(h, static_cast<size_t>(n.dtype.val()));
  h = detail::mix(h, detail::hash_field(n.shape));
  if (n.op == &op_constant) return detail::mix(h, n.scalar().as<uint64_t>());
  for (const Node* in : n.inputs()) h = detail::mix(h, place.at(in));
  return n.attrs && n.op != &op_placeholder ? detail::mix(h, n.attrs->hash()) : h;
}

}  // namespace

Subgraph::Subgraph(Arrays inputs, Arrays outputs)
    : inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
  auto add = [&](Node* n) {
    place_.emplace(n, static_cast<uint32_t>(nodes_.size()));
    nodes_.push_back(n);
  };
  for (const array& a : inputs_) add(a.node());
  std::vector<std::pair<Node*, size_t>> stack;
  NodeSet entered;
  auto enter = [&](Node* n) {
    if (!place_.contains(n) && entered.emplace(n).second) stack.emplace_back(n, 0);
  };
  for (const array& a : outputs_) {
    enter(a.node());
    while (!stack.empty()) {
      auto& [n, next] = stack.back();
      const auto from = n->op->kind == OpKind::leaf ? std::span<Node* const>{} : n->inputs();
      if (next < from.size()) {
        enter(from[next++]);
      } else {
        add(n);
        stack.pop_back();
      }
    }
  }
  for (const Node* n : nodes_) hash_ = detail::mix(hash_, hash_of(*n, place_));
  for (const array& a : outputs_) hash_ = detail::mix(hash_, place_.at(a.node()));
}

bool Subgraph::equals(const Subgraph& o) const {
  if (this == &o) return true;
  if (hash_ != o.hash_ || inputs_.size() != o.inputs_.size() || nodes_.size() != o.nodes_.size() ||
      outputs_.size() != o.outputs_.size())
    return false;
  auto same_place = [&](const Node* a, const Node* b) { return place_.at(a) == o.place_.at(b); };
  for (size_t k = 0; k < nodes_.size(); ++k) {
    const Node &a = *nodes_[k], &b = *o.nodes_[k];
    if (a.op != b.op || a.part != b.part || a.dtype != b.dtype || a.shape != b.shape) return false;
    if (a.op == &op_placeholder) continue;
    if (a.op == &op_constant) {
      if (!(a.scalar() == b.scalar())) return false;
      continue;
    }
    if (!std::ranges::equal(a.inputs(), b.inputs(), same_place) || !same_outputs(a, b))
      return false;
    if (a.attrs != b.attrs && !(a.attrs && b.attrs && a.attrs->equals(*b.attrs))) return false;
  }
  return std::ranges::equal(outputs_, o.outputs_, [&](const array& a, const array& b) {
    return same_place(a.node(), b.node());
  });
}

}  // namespace mlx::core
