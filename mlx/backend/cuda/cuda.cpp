// NVIDIA GPUs as a backend: memory of their own, CUDA streams, elementwise programs as kernels
// compiled at run time. Ops without a kernel run through the CPU, on copies of their operands.
#include "mlx/backend/cuda/hardware.h"
#include "mlx/backend/cuda/interop.h"
#include "mlx/backend/gpu/backend.h"
#include "mlx/backend/gpu/borrow.h"
#include "mlx/backend/gpu/families/loop.h"
#include "mlx/backend/gpu/threads.h"
#include "mlx/backend/nccl/nccl.h"
#include "mlx/backend/plugin.h"
#include "mlx/core/error.h"

namespace mlx::core::cuda {

extern const std::span<const gpu::KernelEntry> custom_kernels;

namespace {

using gpu::device, gpu::Entrance;

struct Found {
  int count = 0;
  std::string reason;  ///< where there are none
};
const Found& found_devices() {
  static const Found& found = *[] {
    auto* f = new Found;
    gpu::on_own_stack([&] { f->count = open_driver(f->reason); });
    return f;
  }();
  return found;
}

/// The entry of an op that this plugin alone has kernels for, or null.
const gpu::KernelEntry* own_entry(const OpDef& op) {
  static const gpu::KernelTable table({custom_kernels, collective_kernels});
  return table.find(op);
}

class CudaBackend final : public gpu::GpuBackend, public CudaInterop {
 public:
  CudaBackend()
      : GpuBackend(found_devices().count, [](int index) -> std::unique_ptr<gpu::Hardware> {
          return std::make_unique<CudaHardware>(index);
        }) {}
  Caps caps(int) const override {
    // Kernels of units hold rows of any bytes that `shares_rows` admits.
    return {.alignment = 256,
            .fused_nodes = 64,
            .fused_inputs = 16,
            .fused_outputs = 12,
            .row_bytes = INT64_MAX};
  }
  DeviceInfo info(int index) const override {
    Entrance here;
    const DeviceState& state = device(index);
    state.enter();
    const CudaHardware& d = hardware_of(state);
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

  Requirements find(const OpDef& op, const Attrs* attrs, std::span<const Layout> operands,
                    int n_inputs, int index) override {
    Entrance here;
    Requirements r;
    if (const gpu::KernelEntry* own = own_entry(op);
        own && own->find(attrs, operands, n_inputs, device(index), r))
      return r;
    if (gpu::find_kernel(op, attrs, operands, n_inputs, device(index), r)) return r;
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
    return gpu::computes_input(step, device(index));
  }
  bool may_run_functions(const OpDef& op) override { return gpu::may_run_loop(op); }
  bool runs_functions(const Step& step, int index) override {
    Entrance here;
    const DeviceState& state = device(index);
    return gpu::runs_loop(step, [&](const Step& s) {
      return (s.op && own_entry(*s.op)) || gpu::has_kernel(s, state);
    });
  }
  int64_t rows_of(const Step& step, int) override { return gpu::unit_rows(step); }
  bool shares_rows(std::span<const Step* const> steps, int64_t rows, int) override {
    return gpu::is_row_unit(steps, rows);
  }

 protected:
  std::unique_ptr<const gpu::OpKernel> prepare_step(const Step& step, DeviceState& state) override {
    if (gpu::is_planned_loop(step))
      return gpu::prepare_loop(step, state,
                               [&](const Step& inside) { return prepare_step(inside, state); });
    const gpu::KernelEntry* own = step.op ? own_entry(*step.op) : nullptr;
    auto kernel = own ? own->prepare(step, state) : gpu::prepare_family(step, state);
    if (!kernel && step.op && step.routines.empty()) note_borrowed(step.op->name);
    return kernel;
  }
};

}  // namespace

}  // namespace mlx::core::cuda

#define MLX_PLUGIN extern "C" __attribute__((visibility("default")))

MLX_PLUGIN int mlx_plugin_abi() { return mlx::core::kPluginAbi; }

MLX_PLUGIN void mlx_register_backend() {
  using namespace mlx::core;
  if (cuda::found_devices().count == 0) return;
  register_backend(Device::gpu, std::make_unique<cuda::CudaBackend>());
  cuda::offer_nccl();
}

MLX_PLUGIN const char* mlx_missing_device() {
  return mlx::core::cuda::found_devices().reason.c_str();
}

/// Gives a list of the ops that ran through the CPU since the last call, which is valid up to the
/// next one: for tests.
MLX_PLUGIN const char* mlx_cuda_borrowed() {
  static std::string given;
  return (given = mlx::core::take_borrowed()).c_str();
}
