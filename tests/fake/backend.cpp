// A second backend, which proves that the engine knows a backend by its boundary alone: separate
// memory, streams that run late, another interpreter for fused programs. Missing kernels are
// borrowed from the CPU, through copies.
//
// MLX_FAKE_MODE=unified gives its memory host addresses; by default the host cannot read it.
// MLX_FAKE_DELAY is the longest that a stream waits before a job, in microseconds; MLX_FAKE_SEED
// seeds these waits.
#include "mlx/backend/gpu/backend.h"

#include <cstdlib>
#include <string_view>

#include "control.h"
#include "hardware.h"
#include "mlx/backend/plugin.h"
#include "mlx/core/error.h"
#include "program.h"
#include "steps.h"

namespace mlx::core::fake {

namespace {

bool is_unified() {
  const char* mode = std::getenv("MLX_FAKE_MODE");
  return mode && std::string_view(mode) == "unified";
}

class FakeBackend final : public gpu::GpuBackend {
 public:
  FakeBackend()
      : GpuBackend(
            1,
            [](int) -> std::unique_ptr<gpu::Hardware> {
              return std::make_unique<FakeHardware>(is_unified());
            },
            true) {}

  Caps caps(int) const override {
    return {.alignment = 256, .fused_nodes = 16, .fused_inputs = 6, .fused_outputs = 4};
  }
  DeviceInfo info(int index) const override {
    return {{"device_name", std::string("fake")},
            {"architecture", std::string(is_unified() ? "unified" : "discrete")},
            {"memory_size", gpu::device(index).pool->limit(MemoryControl::hard)}};
  }

  Requirements find(const OpDef& op, const Attrs* attrs, std::span<const Layout> operands,
                    int n_inputs, int device) override;
  bool fuses(const Instr& code, int) override { return has_micro_op(code); }
  bool fuses_prologue(const Step& step, int) override {
    return step.n_inputs > 0 && step.program.code.size() <= 8;
  }
  bool fuses_epilogue(const Step& step, int) override { return step.program.code.size() <= 12; }
  std::shared_ptr<const Executable> prepare(Work work) override {
    if (fails_now(Failure::preparation))
      fail<ExecutionError>("fake", "a preparation failed on request");
    return GpuBackend::prepare(std::move(work));
  }

 protected:
  std::unique_ptr<const gpu::OpKernel> prepare_step(const Step& step,
                                                    gpu::DeviceState& device) override {
    return fake::prepare_step(step, Device(Device::gpu, device.index));
  }
};

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

extern "C" int mlx_plugin_abi() { return mlx::core::kPluginAbi; }

extern "C" void mlx_register_backend() {
  using namespace mlx::core;
  register_backend(Device::gpu, std::make_unique<fake::FakeBackend>());
}
