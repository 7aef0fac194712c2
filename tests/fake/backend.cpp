// A second backend, which proves that the engine knows a backend by its boundary alone: memory of
// its own, streams that run late, an interpreter of its own for fused programs. What it lacks it
// borrows from the CPU, through copies.
//
// MLX_FAKE_MODE=unified gives its memory host addresses; by default the host cannot read it.
// MLX_FAKE_DELAY is the longest that a stream waits before a job, in microseconds; MLX_FAKE_SEED
// seeds these waits.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "control.h"
#include "executable.h"
#include "mlx/backend/shared/launch.h"
#include "mlx/core/error.h"
#include "mlx/ops/custom.h"
#include "program.h"
#include "streams.h"

namespace mlx::core::fake {

namespace {

std::exception_ptr failure(const char* what) {
  return std::make_exception_ptr(ExecutionError(cat("[fake] ", what, " failed on request")));
}

/// Waits for the events; gives the error of one that failed.
std::exception_ptr wait_for(const std::vector<Ref<Event>>& events) {
  try {
    for (const auto& e : events) e->wait();
    return {};
  } catch (...) {
    return std::current_exception();
  }
}

void start(Launch launch);

class FakeBackend final : public Backend {
 public:
  explicit FakeBackend(bool unified) : unified_(unified) {}

  Caps caps(int) const override {
    return {.asynchronous = true,
            .alignment = 256,
            .fused_nodes = 16,
            .fused_inputs = 6,
            .fused_outputs = 4};
  }
  DeviceInfo info(int) const override {
    return {{"device_name", std::string("fake")},
            {"architecture", std::string(unified_ ? "unified" : "discrete")},
            {"memory_size", memory_.limit(MemoryControl::hard)}};
  }
  MemoryControl& memory(int) override { return memory_; }

  Ref<Buffer> alloc(size_t bytes, Stream) override { return take(bytes); }
  Ref<Buffer> wrap(void* data, size_t bytes, int, Ref<RefCounted> owner) override {
    if (!unified_) return {};
    return make_ref<DeviceBuffer>(space(), data, bytes, std::move(owner));
  }
  void* address(const Buffer& buffer) override { return device_bytes(buffer); }
  void copy(Copy c) override;

  Requirements find(const OpDef& op, const Attrs* attrs, std::span<const Layout> operands,
                    int n_inputs, int device) override;
  bool fuses(const Instr& code, int) override { return has_micro_op(code); }
  bool fuses_prologue(const Step& step, int) override {
    return step.n_inputs > 0 && step.program.code.size() <= 8;
  }
  bool fuses_epilogue(const Step& step, int) override { return step.program.code.size() <= 12; }
  std::shared_ptr<const Executable> prepare(Work work) override {
    return prepare_work(std::move(work));
  }
  void launch(Launch l) override { start(std::move(l)); }
  void synchronize(Stream s) override { drain(s); }

 private:
  Space space() const { return space_of(Device::gpu); }

 public:
  Ref<DeviceBuffer> take(size_t bytes) {
    return make_ref<DeviceBuffer>(space(), memory_, memory_.take(bytes), unified_);
  }

 private:
  const bool unified_;
  Memory memory_;
};

FakeBackend& instance() { return static_cast<FakeBackend&>(backend_of(Device::gpu)); }

void start(Launch launch) {
  const bool fails = fails_now(Failure::launch);
  Ref<DeviceBuffer> arena;
  try {
    if (size_t bytes = arena_bytes(*launch.executable)) arena = instance().take(bytes);
  } catch (...) {
    Ref<Event> done = launch.done;
    return done->suspend(std::current_exception(),
                         std::make_unique<SuspendedLaunch>(std::move(launch), start));
  }
  ++counts().launches;
  auto completion = make_ref<StreamCompletion>();
  launch.done->set_completion(completion);
  launch.done = {};  // who waits for it keeps it
  const Stream stream = launch.stream;
  auto shared = std::make_shared<Launch>(std::move(launch));
  submit(stream, [completion, arena, fails, launch = std::move(shared)]() mutable {
    std::exception_ptr early = fails ? failure("a launch") : wait_for(launch->after);
    Outcome out = early ? Outcome{early, {nullptr}} : run_steps(*launch, arena);
    // What it kept alive goes before anybody hears of the end.
    launch = {};
    arena = {};
    ++counts().finished;
    completion->finish(out.error, std::move(out.unwritten));
  });
}

/// Where the backend, or the host, has the bytes.
unsigned char* bytes_of(const Buffer& b) {
  return b.space == Space::host ? static_cast<unsigned char*>(b.host) : device_bytes(b);
}

void FakeBackend::copy(Copy c) {
  const bool fails = fails_now(Failure::copy);
  auto completion = make_ref<StreamCompletion>();
  c.done->set_completion(completion);
  c.done = {};
  const Stream stream = c.stream;
  submit(stream, [completion, fails, copy = std::make_shared<Copy>(std::move(c))]() mutable {
    std::exception_ptr error = fails ? failure("a copy") : wait_for(copy->after);
    if (!error) {
      const bool from_host = copy->from->space == Space::host,
                 to_host = copy->to->space == Space::host;
      std::memcpy(bytes_of(*copy->to) + copy->to_offset, bytes_of(*copy->from) + copy->from_offset,
                  copy->bytes);
      auto& moved = from_host ? counts().to_device : to_host ? counts().to_host : counts().within;
      moved += static_cast<int64_t>(copy->bytes);
    }
    copy = {};
    completion->finish(error, {nullptr});
  });
}

/// The CPU's wishes, and stricter ones for some ops, so that the planner makes copies for them.
Requirements FakeBackend::find(const OpDef& op, const Attrs* attrs,
                               std::span<const Layout> operands, int n_inputs, int) {
  Requirements r = host_backend().find(op, attrs, operands, n_inputs, 0);
  const std::string_view name = op.name;
  r.epilogue = name == "matmul" || name == "addmm";
  r.prologue = r.prologue || r.keeps_order;
  r.inputs.resize(n_inputs, Accepts::any);
  const size_t letters = name.size();
  for (int k = 0; k < n_inputs; ++k) {
    if (r.inputs[k] != Accepts::any) continue;
    if (operands[k].shape.size() >= 2 && letters % 2 == 0)
      r.inputs[k] = Accepts::matrix;
    else if (letters % 3 == 0)
      r.inputs[k] = Accepts::dense;
    else if (letters % 5 == 0)
      r.inputs[k] = Accepts::rows;
  }
  return r;
}

}  // namespace

}  // namespace mlx::core::fake

extern "C" void mlx_register_backend() {
  using namespace mlx::core;
  const char* mode = std::getenv("MLX_FAKE_MODE");
  const bool unified = mode && std::string(mode) == "unified";
  register_backend(Device::gpu, std::make_unique<fake::FakeBackend>(unified));
}
