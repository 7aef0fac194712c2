// Members of arrays that show the graph behind them, and the work that computes them.
#include <algorithm>
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
  if (n->status != core::Status::pending || n->op->kind == OpKind::leaf) return nullptr;
  return n->op->kind == OpKind::part ? n->inputs()[0] : n;
}

/// The parts of a node that programs have references to, which stay valid as long as the node does.
struct Shown {
  std::shared_ptr<Primitive> primitive;
  /// Handles that do not count as references: the node itself holds its inputs.
  Arrays inputs;
  Arrays siblings;
  Ref<Event> event;     ///< that `event` returned last
  Ref<Event> attached;  ///< by the program
};

/// Empties a list of handles that do not count, while the nodes are there.
void clear_uncounted(Arrays& list) {
  for (const array& a : list) Node::retain(a.node());
  list.clear();
}

/// The objects that programs have asked for.
class Registry {
 public:
  /// Calls `use` with the record of the node, made if there is none.
  template <class F>
  decltype(auto) with(const Node* n, F&& use) {
    std::lock_guard lock(mutex_);
    node_listener = [](const Node* gone) { all().forget(gone); };
    return use(shown_[n]);
  }
  static Registry& all() {
    static auto& registry = *new Registry;
    return registry;
  }

 private:
  /// Lets go of what belongs to the graph; of the record itself with the last handle of the node.
  void forget(const Node* n) {
    Shown last;  // deleted outside of the lock: attributes and siblings may hold nodes
    {
      std::lock_guard lock(mutex_);
      auto it = shown_.find(n);
      if (it == shown_.end()) return;
      std::swap(last, it->second);
      if (n->refs.load(std::memory_order_acquire) == 0) {
        shown_.erase(it);
      } else {
        std::swap(last.event, it->second.event);
        std::swap(last.attached, it->second.attached);
      }
    }
    clear_uncounted(last.inputs);
  }

  std::mutex mutex_;
  std::unordered_map<const Node*, Shown> shown_;
};

/// The object of a node's op: one for all results of a bundle.
std::shared_ptr<Primitive> primitive_of(const Node* n) {
  if (n->op == &op_primitive || n->op == &op_primitive_bundle)
    return static_cast<const PrimitiveAttrs*>(n->attrs.get())->primitive;
  return Registry::all().with(n, [&](Shown& shown) {
    if (!shown.primitive) shown.primitive = op_primitive_of(*n);
    return shown.primitive;
  });
}

const Arrays& no_arrays() {
  static const auto& none = *new Arrays;
  return none;
}

}  // namespace

bool array::has_primitive() const { return computing_node(*this) != nullptr; }

std::shared_ptr<Primitive>& array::primitive_ptr() const {
  checked();
  const Node* n = computing_node(*this);
  if (!n) {
    thread_local std::shared_ptr<Primitive> none;
    none.reset();
    return none;
  }
  auto p = primitive_of(n);
  return Registry::all().with(n_, [&](Shown& shown) -> std::shared_ptr<Primitive>& {
    if (!shown.primitive) shown.primitive = std::move(p);
    return shown.primitive;
  });
}

Primitive& array::primitive() const {
  const auto& p = primitive_ptr();
  if (!p)
    fail<ValueError>("primitive",
                     "an array of data, or one that is evaluated; has_primitive() tells");
  return *p;
}
std::uintptr_t array::primitive_id() const {
  return reinterpret_cast<std::uintptr_t>(primitive_ptr().get());
}

const Arrays& array::inputs() const {
  checked();
  Node* n = computing_node(*this);
  if (!n || n->inputs().empty()) return no_arrays();
  return Registry::all().with(n_, [&](Shown& shown) -> const Arrays& {
    if (shown.inputs.empty()) {
      shown.inputs = inputs_of(array(n));
      for (const array& a : shown.inputs) Node::release(a.node());
    }
    return shown.inputs;
  });
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

const Arrays& array::siblings() const {
  Arrays found = outputs();
  if (found.size() < 2) return no_arrays();
  std::erase_if(found, [this](const array& a) { return a.node() == n_; });
  return Registry::all().with(n_, [&](Shown& shown) -> const Arrays& {
    if (shown.siblings.empty()) shown.siblings = std::move(found);
    return shown.siblings;
  });
}

void array::set_siblings(Arrays siblings, uint16_t position) {
  const Arrays own = outputs();
  siblings.insert(siblings.begin() + std::min<size_t>(position, siblings.size()), *this);
  bool same = position == n_->part && siblings.size() == own.size();
  for (size_t k = 0; same && k < own.size(); ++k)
    same = siblings[k].node() == own[k].node() ||
           (computing_node(siblings[k]) == computing_node(*this) && siblings[k].node()->part == k &&
            siblings[k].has_primitive());
  if (!same)
    fail<ValueError>("set_siblings", siblings.size() - 1, " siblings at position ", position,
                     "; those that the array has are accepted, and make_arrays makes arrays of one "
                     "primitive");
}

void array::detach() {
  Node* n = checked();
  if (n->placeholder) return;
  if (n->op->kind != OpKind::leaf) {
    eval();
    n->detach();
  }
  n->trace = 0;
}

array::Status array::status() const {
  if (is_available()) return available;
  return n_->status == core::Status::available ? evaluated : unscheduled;
}

void array::set_status(Status s) const {
  if (PrimitiveScope::active() || s == status()) return;
  fail<ValueError>("set_status",
                   "a status that the array does not have, outside of eval_cpu; `eval` "
                   "and `async_eval` compute arrays");
}

Event& array::event() const {
  checked();
  if (n_->status != core::Status::available || !n_->value.storage) return Event::none();
  Ref<Event> ready = n_->value.storage->ready;
  if (!ready) return Event::none();
  return Registry::all().with(n_, [&](Shown& shown) -> Event& {
    std::swap(shown.event, ready);  // the one before is deleted outside of the lock
    return *shown.event;
  });
}

void array::attach_event(Event& e) const {
  checked();
  if (!e.valid()) return;
  if (e.refs.load() == 0)
    fail<ValueError>("attach_event",
                     "an event of the program's own; an event of `array::event` is "
                     "accepted");
  if (n_->status != core::Status::available || !n_->value.storage)
    fail<ValueError>("attach_event", "an array that is not evaluated; `async_eval` starts that");
  Storage& storage = *n_->value.storage;
  storage.wait();
  Ref<Event> added(&e);
  storage.ready = added;
  Registry::all().with(n_, [&](Shown& shown) { std::swap(shown.attached, added); });
}

void array::detach_event() const {
  checked();
  Ref<Event> shown_last, attached;
  Registry::all().with(n_, [&](Shown& shown) {
    std::swap(shown.event, shown_last);
    std::swap(shown.attached, attached);
  });
  if (attached && n_->value.storage->ready == attached) n_->value.storage->ready = {};
}

bool array::is_donatable() const {
  if (checked()->refs.load(std::memory_order_acquire) != 1) return false;
  const Ref<Storage>& storage = n_->value.storage;
  return storage && storage->refs.load(std::memory_order_acquire) == 1 && !storage->pinned() &&
         !storage->borrowed();
}

std::shared_ptr<array::Data> array::data_shared_ptr() const {
  checked();
  if (n_->status != core::Status::available || !n_->value.storage) return nullptr;
  const allocator::Buffer memory = buffer();
  return std::make_shared<Data>(memory, [storage = n_->value.storage](allocator::Buffer) {});
}

array array::unsafe_weak_copy(const array& other) {
  other.checked();
  if (is_constant(other)) return constant(other.node()->scalar(), other.dtype());
  other.eval();
  const Value& v = other.node()->value;
  return array(v.storage, other.shape(), v.strides, v.offset, other.dtype());
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
