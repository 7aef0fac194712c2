// Members of arrays that show the graph behind them.
#include <mutex>
#include <unordered_map>

#include "mlx/compat/op_primitives.h"
#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops/custom.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

/// The node whose op computes a node: itself, or the bundle that it is a part of. Null for leaves.
Node* computing_node(const array& a) {
  Node* n = a.node();
  if (n->status != Status::pending || n->op->kind == OpKind::leaf) return nullptr;
  return n->op->kind == OpKind::part ? n->inputs()[0] : n;
}

/// The objects that programs have asked for, as long as their nodes have the op.
class Primitives {
 public:
  std::shared_ptr<Primitive> of(const Node* n) {
    std::lock_guard lock(mutex_);
    node_listener = [](const Node* gone) { all().forget(gone); };
    auto& p = made_[n];
    if (!p) p = op_primitive_of(*n);
    return p;
  }
  static Primitives& all() {
    static auto& primitives = *new Primitives;
    return primitives;
  }

 private:
  void forget(const Node* n) {
    std::shared_ptr<Primitive> last;  // deleted outside of the lock: its attributes may hold nodes
    std::lock_guard lock(mutex_);
    if (auto it = made_.find(n); it != made_.end()) {
      last = std::move(it->second);
      made_.erase(it);
    }
  }

  std::mutex mutex_;
  std::unordered_map<const Node*, std::shared_ptr<Primitive>> made_;
};

}  // namespace

bool array::has_primitive() const { return computing_node(*this) != nullptr; }

std::shared_ptr<Primitive> array::primitive_ptr() const {
  checked();
  const Node* n = computing_node(*this);
  if (!n) return nullptr;
  if (n->op == &op_primitive || n->op == &op_primitive_bundle)
    return static_cast<const PrimitiveAttrs*>(n->attrs.get())->primitive;
  return Primitives::all().of(n);
}

Primitive& array::primitive() const {
  auto p = primitive_ptr();
  if (!p)
    fail<ValueError>("primitive",
                     "an array of data, or one that is evaluated; has_primitive() tells");
  return *p;
}
std::uintptr_t array::primitive_id() const {
  return reinterpret_cast<std::uintptr_t>(primitive_ptr().get());
}

Arrays array::inputs() const {
  checked();
  Node* n = computing_node(*this);
  return n ? inputs_of(array(n)) : Arrays{};
}

Arrays array::outputs() const {
  checked();
  Node* bundle = computing_node(*this);
  if (!bundle || !bundle->parts) return {*this};
  Arrays out;
  for (const PartInfo& p : *bundle->parts) {
    if (out.size() == n_->part) {
      out.push_back(*this);
      continue;
    }
    out.push_back(make_node(op_part, p.shape, p.dtype, Stream(bundle->stream),
                            std::span<Node* const>(&bundle, 1)));
    out.back().node()->part = static_cast<uint16_t>(out.size() - 1);
  }
  return out;
}

Arrays array::siblings() const {
  Arrays out = outputs();
  std::erase_if(out, [this](const array& a) { return a.node() == n_; });
  return out;
}

void array::set_tracer(bool is_tracer) { checked()->trace = is_tracer ? current_trace() : 0; }
bool array::is_tracer() const { return is_live(checked()->trace); }

ArrayIterator array::begin() const {
  if (ndim() == 0)
    fail<ValueError>("array", "iteration over a scalar; arrays with axes have slices");
  return ArrayIterator(*this);
}
ArrayIterator array::end() const { return begin() + shape()[0]; }

array ArrayIterator::operator*() const {
  Shape start(of_.ndim(), 0), stop = of_.shape();
  start[0] = at_;
  stop[0] = at_ + 1;
  return squeeze(slice(of_, start, stop), 0);
}

}  // namespace mlx::core
