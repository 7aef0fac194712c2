// The pass `publish`: nodes take their values and let go of the graph behind them.
#include "mlx/runtime/publish.h"

#include <algorithm>

#include "mlx/core/trace.h"

namespace mlx::core {

bool is_pending_constant(const Node* n) {
  const std::atomic_ref<const OpDef*> op(const_cast<Node*>(n)->op);
  return op.load(std::memory_order_relaxed) == &op_constant;
}

bool is_computed_part(const Node* n) {
  return n->status == Status::pending && n->op->kind == OpKind::part &&
         n->inputs()[0]->status == Status::available;
}

void adopt(Node* part) {
  if (part->status == Status::available) return;
  part->value = value_of(*part);
  if (!is_live(part->trace)) part->detach();
  part->status = Status::available;
}

void store_constant(Node* constant) {
  if (constant->status == Status::available) return;
  size_t bytes = constant->dtype.size();
  auto storage = make_ref<Storage>(host_backend().alloc(16, Stream(0, Device::cpu)), bytes);
  std::memcpy(storage->map(Access::write), constant->scalar().bytes, bytes);
  constant->value = {std::move(storage), 0, {}};
  constant->status = Status::available;
}

void publish(const Execution& x, const Schedule& items) {
  for (const Result& r : x.plan->results) {
    Node* n = items[r.item].node;
    Dtype dtype = r.part < 0 ? n->dtype : (*n->parts)[r.part].dtype;
    (r.part < 0 ? n->value : (*n->parts)[r.part].value) = x.value(r, dtype.size());
  }
  // Detaching an output frees nodes without other references, such as another result that only the
  // graph behind it holds: inputs first, then nothing is touched once it is gone. The status is
  // last: other threads may read a node as soon as it says so.
  SmallVector<uint32_t, 8> computed;
  for (const Result& r : x.plan->results) computed.push_back(r.item);
  std::sort(computed.begin(), computed.end());
  const uint32_t* end = std::unique(computed.begin(), computed.end());
  for (const uint32_t* i = computed.begin(); i != end; ++i) {
    const Item& item = items[*i];
    if (!item.taped) item.node->detach();
    item.node->status = Status::available;
  }
}

}  // namespace mlx::core
