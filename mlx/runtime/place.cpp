// The pass `place`: the device and the backend of each stream of a schedule.
#include "mlx/runtime/place.h"

namespace mlx::core {

void Targets::add(int stream) {
  for (const Target& t : list_)
    if (t.stream.index == stream) return;
  Device device = stream_device(stream);
  Backend& backend = backend_of(device);
  list_.push_back({Stream(stream, device), &backend, space_of(device), backend.caps(device.index)});
}

const Target& Targets::of(int stream) const {
  for (const Target& t : list_)
    if (t.stream.index == stream) return t;
  return list_.front();
}

void place(const Schedule& items, Targets& targets) {
  targets.clear();
  int last = -1;
  for (const Item& item : items) {
    if (item.leaf || item.node->stream == last) continue;
    last = item.node->stream;
    targets.add(last);
  }
}

}  // namespace mlx::core
