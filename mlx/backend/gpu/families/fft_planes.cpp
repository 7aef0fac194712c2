// Fourier transforms of planes, along the last two axes: by the device's library where that reads
// them, since it keeps a plane in the cache between its rows and its columns; else by a transform
// along each axis.
#include "mlx/ops/fft_planes.h"

#include <algorithm>
#include <array>

#include "mlx/backend/gpu/families/fft.h"
#include "mlx/backend/gpu/families/fft_lines.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::gpu {

namespace {

/// One of the two passes as a step: input, result, and workspace where it has some.
struct PassStep {
  bool found = false;
  Step step;
  size_t workspace = 0;

  PassStep(const FftAttrs& a, const Layout& in, const Layout& out, const DeviceState& device) {
    step.attrs = make_attrs(a);
    step.operands = {in, out};
    step.n_inputs = 1;
    Requirements needs;
    found = find_fft(step.attrs.get(), step.operands, 1, device, needs);
    workspace = needs.workspace;
    if (workspace == 0) return;
    const Shape bytes = {static_cast<int64_t>(workspace)};
    step.workspace = 2;
    step.operands.push_back({bytes, row_major(bytes), 0, uint8});
  }
};

/// The two passes; the workspace has the result of the first.
struct PlanePasses {
  FftPlanePasses passes;
  PassStep first, second;

  PlanePasses(const FftPlanesAttrs& a, const Layout& in, const Layout& out,
              const DeviceState& device)
      : passes(a, in, out),
        first(passes.first, in, passes.between, device),
        second(passes.second, passes.between, out, device) {}
  bool found() const { return first.found && second.found; }
  int64_t between_bytes() const {
    return aligned(num_elements(passes.between.shape) * passes.between.dtype.size());
  }
  size_t workspace() const {
    return static_cast<size_t>(between_bytes()) + std::max(first.workspace, second.workspace);
  }
};

/// The library's plan for planes in rows, or null. The choice depends on shapes alone, as bits do.
std::shared_ptr<const FftPlan> plan_for(const FftPlanesAttrs& a, const Layout& in,
                                        const Layout& out, Hardware& hardware) {
  FourierLibrary* const library = hardware.fourier();
  // The library writes to the input of a transform to real numbers, and has no factors.
  const bool scales = a.scale != 1 || a.other_scale != 1;
  if (!library || a.kind == FftKind::hermitian || scales || in.shape.back() != a.n) return nullptr;
  const int64_t rows = in.shape[in.shape.size() - 2];
  FftLines planes;
  planes.kind = a.kind;
  planes.wide = real_dtype(in.dtype) == float64;
  planes.n = a.n;
  planes.rows = rows;
  planes.count = num_elements(in.shape) / (rows * a.n);
  planes.in = {1, rows * a.n};
  planes.out = {1, rows * out.shape.back()};
  return library->plan(planes);
}

class PlannedPlanes final : public OpKernel {
 public:
  PlannedPlanes(const Step& step, std::shared_ptr<const FftPlan> plan)
      : plan_(std::move(plan)),
        in_offset_(bytes_to(step.operands[0])),
        out_offset_(bytes_to(step.operands[1])),
        in_bytes_(num_elements(step.operands[0].shape) * step.operands[0].dtype.size()),
        complex_bytes_(real_dtype(step.operands[0].dtype).size() * 2),
        workspace_(step.workspace) {}

  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    uint64_t in = operands[0] + in_offset_;
    // Real numbers may lie where the library does not read pairs of them.
    if (in % complex_bytes_ != 0) {
      const uint64_t pairs = to.take(in_bytes_);
      to.device().hardware->copy(Hardware::Way::within, pairs, in, in_bytes_, to.stream());
      in = pairs;
    }
    plan_->run(to.queue, in, operands[1] + out_offset_, workspace_ < 0 ? 0 : operands[workspace_]);
  }

 private:
  static uint64_t bytes_to(const Layout& l) {
    return static_cast<uint64_t>(l.offset * l.dtype.size());
  }

  std::shared_ptr<const FftPlan> plan_;
  uint64_t in_offset_, out_offset_, in_bytes_, complex_bytes_;
  int workspace_;
};

class PassedPlanes final : public OpKernel {
 public:
  PassedPlanes(const PlanePasses& passes, int workspace, DeviceState& device)
      : first_(prepare_fft(passes.first.step, device)),
        second_(prepare_fft(passes.second.step, device)),
        between_bytes_(static_cast<uint64_t>(passes.between_bytes())),
        workspace_(workspace) {}

  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    const uint64_t between = operands[workspace_], rest = between + between_bytes_;
    first_->launch(to, std::array{operands[0], between, rest});
    second_->launch(to, std::array{between, operands[1], rest});
  }
  size_t launches() const override { return 2; }

 private:
  std::unique_ptr<const OpKernel> first_, second_;
  uint64_t between_bytes_;
  int workspace_;
};

/// A step without elements.
struct NoPlanes final : OpKernel {
  void launch(const Enqueue&, std::span<const uint64_t>) const override {}
  size_t launches() const override { return 0; }
};

bool find_planes(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                 const DeviceState& device, Requirements& needs) {
  const auto& a = attrs_as<FftPlanesAttrs>(attrs);
  const Layout &in = operands[0], &out = operands[n_inputs];
  if (!is_rows(out)) return false;
  if (num_elements(out.shape) == 0) return true;
  if (const auto plan = plan_for(a, in, out, *device.hardware)) {
    needs.inputs = {Accepts::rows};
    needs.workspace = plan->work_bytes();
    return true;
  }
  const PlanePasses passes(a, in, out, device);
  needs.workspace = passes.workspace();
  return passes.found();
}
std::unique_ptr<const OpKernel> prepare_planes(const Step& step, DeviceState& device) {
  const auto& a = attrs_as<FftPlanesAttrs>(step.attrs.get());
  const Layout &in = step.operands[0], &out = step.operands[1];
  if (num_elements(out.shape) == 0) return std::make_unique<const NoPlanes>();
  if (auto plan = plan_for(a, in, out, *device.hardware))
    return std::make_unique<const PlannedPlanes>(step, std::move(plan));
  return std::make_unique<const PassedPlanes>(PlanePasses(a, in, out, device), step.workspace,
                                              device);
}
constexpr KernelEntry kPlanesKernels[] = {{"fft_planes", find_planes, prepare_planes}};

}  // namespace

const std::span<const KernelEntry> fft_planes_kernels = kPlanesKernels;

}  // namespace mlx::core::gpu
