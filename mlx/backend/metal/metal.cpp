// Metal's GPU as a backend: memory that host and device share, kernels compiled from source at run
// time. Ops and dtypes without a kernel run through the CPU.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "mlx/backend/capture.h"
#include "mlx/backend/gpu/backend.h"
#include "mlx/backend/gpu/borrow.h"
#include "mlx/backend/gpu/families/loop.h"
#include "mlx/backend/metal/custom.h"
#include "mlx/backend/metal/hardware.h"
#include "mlx/backend/plugin.h"
#include "mlx/ops/custom_kernel.h"

namespace mlx::core::metal {

namespace {

using gpu::device, gpu::Entrance;

/// Ops whose kernels compile in Metal's language.
constexpr std::string_view kOps[] = {"addmm",
                                     "affine_scan",
                                     "arange",
                                     "arg_reduce",
                                     "argsort",
                                     "compact",
                                     "concatenate",
                                     "conv",
                                     "conv_weight",
                                     "count",
                                     "dequantize",
                                     "dynamic_slice",
                                     "dynamic_slice_update",
                                     "fft",
                                     "fft_planes",
                                     "spectrum",
                                     "gated_delta_update",
                                     "gather",
                                     "gather_mm",
                                     "gather_qmm",
                                     "hadamard_transform",
                                     "logsumexp",
                                     "masked_scatter",
                                     "matmul",
                                     "nonzero",
                                     "norm",
                                     "quantize",
                                     "quantize_round",
                                     "quantized_matmul",
                                     "random_bits",
                                     "reduce",
                                     "rope",
                                     "scaled_dot_product_attention",
                                     "scaled_dot_product_attention_vjp",
                                     "scan",
                                     "scatter",
                                     "scatter_axis",
                                     "searchsorted",
                                     "segmented_mm",
                                     "slice_update",
                                     "softmax",
                                     "sort",
                                     "take",
                                     "take_along_axis"};

bool is_double(Dtype t) { return t == float64 || t == complex128; }
bool is_double(Dtype::Val v) { return is_double(Dtype(v)); }
/// Whether operands have dtypes of the language. Concatenation and updates move bits alone.
bool has_dtypes(const OpDef& op, std::span<const Layout> operands) {
  const std::string_view name = op.name;
  return name == "concatenate" || name == "slice_update" ||
         std::ranges::none_of(operands, [](const Layout& l) { return is_double(l.dtype); });
}
bool has_kernel(const OpDef& op, std::span<const Layout> operands) {
  return std::ranges::find(kOps, std::string_view(op.name)) != std::end(kOps) &&
         has_dtypes(op, operands);
}
/// Whether an instruction is printed; the CPU runs programs with others.
bool has_text(const Instr& i) {
  if (i.op == OpId::copy) return true;
  // Positions compute in Double, whatever they are rounded to.
  return !is_double(i.out) && (reads_index(i.op) || !is_double(i.type));
}

class MetalBackend final : public gpu::GpuBackend, public Capture {
 public:
  MetalBackend()
      : GpuBackend(1, [](int) -> std::unique_ptr<gpu::Hardware> {
          return std::make_unique<MetalHardware>();
        }) {}

  Caps caps(int) const override {
    // Kernels of units hold rows of any bytes that `shares_rows` admits.
    return {.alignment = 256,
            .fused_nodes = 64,
            .fused_inputs = 16,
            .fused_outputs = 12,
            .row_bytes = INT64_MAX,
            .whole_attention_vjp = true};
  }
  void start_capture(const std::string& path) override {
    Entrance here;
    hardware(0).start_capture(path);
  }
  void stop_capture() override {
    Entrance here;
    hardware(0).stop_capture();
  }
  DeviceInfo info(int index) const override {
    Entrance here;
    objc::Pool pool;
    const ::metal::Device& d = hardware(index).device();
    const size_t bytes = d.working_set();
    return {{"device_name", d.name()},
            {"architecture", d.name()},
            {"max_buffer_length", static_cast<size_t>(d.max_buffer())},
            {"max_recommended_working_set_size", bytes},
            {"memory_size", bytes}};
  }

  Requirements find(const OpDef& op, const Attrs* attrs, std::span<const Layout> operands,
                    int n_inputs, int index) override {
    Entrance here;
    Requirements r;
    if (&op == &op_metal_kernel) {
      ask_for_custom(attrs, n_inputs, r);
      return r;
    }
    if (has_kernel(op, operands) &&
        gpu::find_kernel(op, attrs, operands, n_inputs, device(index), r))
      return r;
    const Requirements host = host_backend().find(op, attrs, operands, n_inputs, 0);
    // The CPU's fusions and memory orders are not borrowed.
    r.prologue = r.epilogue = r.keeps_order = false;
    r.inputs = host.inputs;
    r.in_place = host.in_place;
    r.workspace = host.workspace;
    return r;
  }
  bool may_run_functions(const OpDef& op) override { return gpu::may_run_loop(op); }
  bool runs_functions(const Step& step, int index) override {
    Entrance here;
    const gpu::DeviceState& state = device(index);
    return gpu::runs_loop(step, [&](const Step& s) {
      return s.op == &op_metal_kernel || (has_text_of(s) && gpu::has_kernel(s, state));
    });
  }
  bool fuses(const Instr&, int) override { return true; }
  bool fuses_prologue(const Step& step, int index) override {
    Entrance here;
    return has_text_of(step) && gpu::computes_input(step, device(index));
  }
  int64_t rows_of(const Step& step, int) override {
    return has_text_of(step) ? gpu::unit_rows(step) : 0;
  }
  bool shares_rows(std::span<const Step* const> steps, int64_t rows, int) override {
    return gpu::is_row_unit(steps, rows);
  }

 protected:
  std::unique_ptr<const gpu::OpKernel> prepare_step(const Step& step,
                                                    gpu::DeviceState& state) override {
    if (gpu::is_planned_loop(step))
      return gpu::prepare_loop(step, state,
                               [&](const Step& inside) { return prepare_step(inside, state); });
    if (step.op == &op_metal_kernel) return prepare_custom(step, state);
    auto kernel = has_text_of(step) ? gpu::prepare_family(step, state) : nullptr;
    if (!kernel && step.routines.empty()) note(step);
    return kernel;
  }

 private:
  static MetalHardware& hardware(int index) {
    return static_cast<MetalHardware&>(*device(index).hardware);
  }
  static std::span<const Layout> found_operands(const Step& step) {
    return {step.operands.data(), static_cast<size_t>(step.outputs_end())};
  }
  /// Notes a step that runs through the CPU, and whether Metal's language lacks its dtypes.
  static void note(const Step& step) {
    const bool wide = !step.op || !has_dtypes(*step.op, found_operands(step));
    note_borrowed(std::string(step.op ? step.op->name : "fused") + (wide ? "/double" : ""));
  }
  /// Whether Metal's language has what a step needs.
  static bool has_text_of(const Step& step) {
    return (!step.op || has_kernel(*step.op, found_operands(step))) &&
           std::ranges::all_of(step.program.code, has_text);
  }
};

}  // namespace

}  // namespace mlx::core::metal

#define MLX_PLUGIN extern "C" __attribute__((visibility("default")))

MLX_PLUGIN int mlx_plugin_abi() { return mlx::core::kPluginAbi; }

MLX_PLUGIN void mlx_register_backend() {
  using namespace mlx::core;
  if (!::metal::Device::available()) return;
  register_backend(Device::gpu, std::make_unique<mlx::core::metal::MetalBackend>());
}

/// Gives a list of the ops that ran through the CPU since the last call, which is valid up to the
/// next one: for tests. A name ends with "/double" where the language lacks a dtype of the op.
MLX_PLUGIN const char* mlx_metal_borrowed() {
  static std::string given;
  return (given = mlx::core::take_borrowed()).c_str();
}

/// The number of bytes that were copied between the host's memory and the device's: for tests.
MLX_PLUGIN size_t mlx_metal_copied() {
  using namespace mlx::core::metal;
  return static_cast<MetalHardware&>(*device(0).hardware).copied();
}

MLX_PLUGIN const char* mlx_missing_device() {
  return ::metal::Device::available() ? "" : "this system has no Metal device";
}
