// NVIDIA GPUs as a backend: memory of their own, CUDA streams, elementwise programs as kernels
// compiled at run time. Ops without a kernel run through the CPU, on copies of their operands.
#include <cstring>

#include "mlx/backend/cuda/executable.h"
#include "mlx/backend/cuda/interop.h"
#include "mlx/backend/cuda/kernel.h"
#include "mlx/backend/shared/launch.h"
#include "mlx/core/error.h"

namespace mlx::core::cuda {

namespace {

void start(Launch launch);

Space space_of_index(int index) { return space_of(Device(Device::gpu, index)); }

Ref<DeviceBuffer> take(size_t bytes, Stream stream) {
  DeviceState& state = device(stream.device.index);
  state.enter();
  Block block = state.pool->take(bytes);
  return make_ref<DeviceBuffer>(space_of_index(state.index), *state.pool, std::move(block));
}

void run(Launch& launch, Ref<DeviceBuffer>& arena, Ref<DeviceCompletion>& completion,
         Queue& queue) {
  Flight flight{.completion = std::move(completion)};
  flight.error = queue.wait_for(launch.after);
  if (!flight.error) {
    Outcome out = run_steps(launch, arena, queue);
    flight.error = out.error;
    flight.unwritten = std::move(out.unwritten);
    flight.reported = std::move(out.reported);
    flight.buffers = std::move(out.kept);
  }
  flight.after = std::move(launch.after);
  flight.arguments = std::move(launch.arguments);
  flight.buffers.push_back(std::move(arena));
  launch.executable = {};
  queue.finish(std::move(flight));
}

void start(Launch launch) {
  Queue& queue = device(launch.stream.device.index).queue(launch.stream.index);
  Ref<DeviceBuffer> arena;
  try {
    if (size_t bytes = arena_bytes(*launch.executable)) arena = take(bytes, launch.stream);
  } catch (...) {
    Ref<Event> done = launch.done;
    return done->suspend(std::current_exception(),
                         std::make_unique<SuspendedLaunch>(std::move(launch), start));
  }
  auto completion = make_ref<DeviceCompletion>(queue);
  launch.done->set_completion(completion);
  launch.done = {};  // who waits for it keeps it
  const bool on_host = waits(*launch.executable) || waits_on_host(launch.after);
  queue.submit([&queue, completion = std::move(completion), arena = std::move(arena),
                launch = std::make_shared<Launch>(
                    std::move(launch))]() mutable { run(*launch, arena, completion, queue); },
               on_host);
}

//--- copies

/// Bytes to or from host memory, or between buffers of the device; small ones through pinned
/// memory.
void enqueue(const Copy& c, Queue& queue, Flight& flight) {
  const StreamHandle stream = queue.stream();
  const bool from_host = c.from->space == Space::host, to_host = c.to->space == Space::host;
  auto host = [](const Ref<Buffer>& b, int64_t offset) {
    return static_cast<char*>(b->host) + offset;
  };
  auto there = [](const Ref<Buffer>& b, int64_t offset) { return address_of(*b) + offset; };
  if (!from_host && !to_host)
    return check(driver().copy_within(there(c.to, c.to_offset), there(c.from, c.from_offset),
                                      c.bytes, stream),
                 "cuMemcpyDtoDAsync");
  if (c.bytes > Staging::kPiece) {
    if (from_host)
      check(driver().copy_to_device(there(c.to, c.to_offset), host(c.from, c.from_offset), c.bytes,
                                    stream),
            "cuMemcpyHtoDAsync");
    else
      check(driver().copy_to_host(host(c.to, c.to_offset), there(c.from, c.from_offset), c.bytes,
                                  stream),
            "cuMemcpyDtoHAsync");
    return queue.wait_device();  // the host's memory may go or change after this
  }
  Staging& staging = queue.device().staging;
  void* piece = staging.take();
  if (from_host) {
    std::memcpy(piece, host(c.from, c.from_offset), c.bytes);
    flight.at_end = [&staging, piece](bool) { staging.give(piece); };
    check(driver().copy_to_device(there(c.to, c.to_offset), piece, c.bytes, stream),
          "cuMemcpyHtoDAsync");
  } else {
    flight.at_end = [&staging, piece, to = host(c.to, c.to_offset), bytes = c.bytes](bool wrote) {
      if (wrote) std::memcpy(to, piece, bytes);
      staging.give(piece);
    };
    check(driver().copy_to_host(piece, there(c.from, c.from_offset), c.bytes, stream),
          "cuMemcpyDtoHAsync");
  }
}

void run_copy(Copy& c, Ref<DeviceCompletion>& completion, Queue& queue) {
  Flight flight{.completion = std::move(completion)};
  flight.error = queue.wait_for(c.after);
  if (!flight.error) {
    try {
      enqueue(c, queue, flight);
    } catch (...) {
      flight.error = std::current_exception();
    }
  }
  flight.after = std::move(c.after);
  flight.buffers = {std::move(c.from), std::move(c.to)};
  queue.finish(std::move(flight));
}

//--- the backend

class CudaBackend final : public Backend, public CudaInterop {
 public:
  int device_count() const override { return cuda::device_count(); }
  Caps caps(int) const override {
    return {.asynchronous = true,
            .alignment = 256,
            .fused_nodes = 64,
            .fused_inputs = 16,
            .fused_outputs = 12};
  }
  DeviceInfo info(int index) const override {
    Entrance here;
    DeviceState& d = device(index);
    d.enter();
    size_t free = 0, total = 0;
    check(driver().memory_info(&free, &total), "cuMemGetInfo");
    return {{"device_name", d.name},
            {"architecture", d.architecture},
            {"uuid", d.uuid},
            {"pci_bus_id", d.bus_id},
            {"compute_capability_major", static_cast<size_t>(d.major)},
            {"compute_capability_minor", static_cast<size_t>(d.minor)},
            {"total_memory", total},
            {"free_memory", free},
            {"memory_size", d.bytes},
            {"max_recommended_working_set_size", d.bytes - d.bytes / 20}};
  }
  MemoryControl& memory(int index) override { return *device(index).pool; }

  Ref<Buffer> alloc(size_t bytes, Stream stream) override {
    Entrance here;
    return take(bytes, stream);
  }
  Ref<Buffer> wrap(void*, size_t, int, Ref<RefCounted>) override { return {}; }
  void* address(const Buffer& buffer) override {
    return reinterpret_cast<void*>(address_of(buffer));
  }
  void copy(Copy c) override {
    Entrance here;
    Queue& queue = device(c.stream.device.index).queue(c.stream.index);
    auto completion = make_ref<DeviceCompletion>(queue);
    c.done->set_completion(completion);
    c.done = {};
    const bool large =
        c.bytes > Staging::kPiece && (c.from->space == Space::host || c.to->space == Space::host);
    const bool on_host = large || waits_on_host(c.after);
    queue.submit([&queue, completion = std::move(completion),
                  copy = std::make_shared<Copy>(
                      std::move(c))]() mutable { run_copy(*copy, completion, queue); },
                 on_host);
  }

  Requirements find(const OpDef& op, const Attrs* attrs, std::span<const Layout> operands,
                    int n_inputs, int index) override {
    Entrance here;
    Requirements r;
    if (find_kernel(op, attrs, operands, n_inputs, device(index), r)) return r;
    const Requirements host = host_backend().find(op, attrs, operands, n_inputs, 0);
    // The CPU's fusions and memory orders are not borrowed.
    r.prologue = r.epilogue = r.keeps_order = false;
    r.inputs = host.inputs;
    r.in_place = host.in_place;
    r.workspace = host.workspace;
    return r;
  }
  bool fuses(const Instr&, int) override { return true; }
  bool fuses_prologue(const Step& step, int index) override {
    Entrance here;
    return computes_input(step, device(index));
  }
  std::shared_ptr<const Executable> prepare(Work work) override {
    Entrance here;
    return prepare_work(std::move(work));
  }
  void launch(Launch l) override {
    Entrance here;
    device(l.stream.device.index).enter();
    start(std::move(l));
  }
  void synchronize(Stream s) override {
    Entrance here;
    if (Queue* queue = device(s.device.index).find_queue(s.index)) queue->drain(true);
  }
};

}  // namespace

}  // namespace mlx::core::cuda

/// Registers the backend where there is a device that it can use.
extern "C" __attribute__((visibility("default"))) void mlx_register_backend() {
  using namespace mlx::core;
  if (cuda::device_count() > 0)
    register_backend(Device::gpu, std::make_unique<cuda::CudaBackend>());
}
