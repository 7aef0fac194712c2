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

void Targets::add(int stream, const Target& like) {
  for (const Target& t : list_)
    if (t.stream.index == stream) return;
  list_.push_back({Stream(stream, like.stream.device), like.backend, like.space, like.caps});
}

const Target& Targets::of(int stream) const {
  for (const Target& t : list_)
    if (t.stream.index == stream) return t;
  return list_.front();
}

namespace {

/// Calls add(stream) for the streams of nodes that must be computed.
template <class F>
void each_stream(const Schedule& items, F add) {
  int last = -1;
  for (const Item& item : items) {
    if (item.leaf || item.node->stream == last) continue;
    last = item.node->stream;
    add(last);
  }
}

}  // namespace

void place(const Schedule& items, Targets& targets) {
  targets.clear();
  each_stream(items, [&](int stream) { targets.add(stream); });
}

void place_on(const Target& target, const Schedule& items, Targets& targets) {
  targets.clear();
  each_stream(items, [&](int stream) { targets.add(stream, target); });
}

}  // namespace mlx::core
