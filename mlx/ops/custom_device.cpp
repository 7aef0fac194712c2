// Streams and addresses of an NVIDIA GPU for eval_gpu of user-defined ops.

#include "mlx/ops/custom_device.h"

#include "mlx/backend/backend.h"
#include "mlx/backend/interop.h"
#include "mlx/core/error.h"

namespace mlx::core {

namespace {

thread_local constinit DeviceScope* running = nullptr;

const DeviceScope& scope_of(const char* function) {
  if (!running) fail<ExecutionError>(function, "called outside of eval_gpu");
  return *running;
}

}  // namespace

DeviceScope::DeviceScope(Stream s, std::vector<Ref<Buffer>>& kept)
    : stream(s), kept(kept), before_(std::exchange(running, this)) {}
DeviceScope::~DeviceScope() { running = before_; }
DeviceScope* DeviceScope::current() { return running; }

void* cu::stream(Stream s) {
  Interop* device = interop_of(s.device);
  if (!device) fail<ExecutionError>("cu::stream", to_string(s), " is no stream of an NVIDIA GPU");
  return device->handle(s);
}

void* cu::address(const array& a) {
  const Device device = scope_of("cu::address").stream.device;
  const Value& v = a.node()->value;
  const Ref<Buffer> buffer = v.storage ? v.storage->replica(space_of(device)) : Ref<Buffer>();
  if (!buffer)
    fail<ExecutionError>("cu::address", "an array that is not in the memory of ", to_string(device),
                         "; the inputs and outputs of eval_gpu are");
  return static_cast<char*>(backend_of(device).address(*buffer)) + v.offset * a.itemsize();
}

void* cu::temporary(size_t bytes) {
  scope_of("cu::temporary");
  Backend& backend = backend_of(running->stream.device);
  running->kept.push_back(backend.alloc(bytes, running->stream));
  return backend.address(*running->kept.back());
}

}  // namespace mlx::core
