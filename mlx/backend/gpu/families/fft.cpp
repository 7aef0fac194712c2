// Fourier transforms along an axis. One kernel transforms neighbouring lines with a power of two of
// elements (fft_strided.cpp). Where the device has a library, that transforms the others; a kernel
// gathers those that it cannot read as they lie, or that are padded or cropped, and another one
// scales results and spreads them. Elsewhere own kernels do all of it (fft_passes.cpp).
#include "mlx/backend/gpu/families/fft.h"

#include <algorithm>
#include <optional>

#include "mlx/backend/gpu/families/fft_lines.h"
#include "mlx/backend/gpu/families/fft_passes.h"
#include "mlx/backend/gpu/families/fft_strided.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::gpu {

namespace {

using device::FftArguments;

constexpr int64_t kFewParts = 64;  // which the library is called for one by one

/// How a step is transformed.
struct FftForm {
  FftLines lines;
  int64_t outer, inner, length_in, length_out;
  bool dense;                 // the library can read the input, if its address is right
  bool spread;                // the library walks lines whose elements are `inner` apart
  int64_t size_in, size_out;  // of elements
  double scale;

  FftForm(const FftAttrs& a, const Layout& in, const Layout& out)
      : size_in(in.dtype.size()), size_out(out.dtype.size()), scale(a.scale) {
    const Shape& s = out.shape;
    const FftShape counts(a, out);
    outer = counts.outer;
    inner = counts.inner;
    const bool half_in = a.kind == FftKind::hermitian;
    length_in = half_in ? a.n / 2 + 1 : a.n;
    length_out = s[a.axis];
    // Half a spectrum is corrected as it is read, and the library may write to it.
    dense = !half_in && in.shape[a.axis] == length_in && is_row_contiguous(in.shape, in.strides);
    // Real numbers that lie apart are gathered: the library wants pairs of them.
    spread = inner > 1 && outer <= kFewParts && !half_in && a.kind != FftKind::real;
    if (inner > 1 && !spread) dense = false;
    lines.kind = a.kind;
    lines.wide = real_dtype(in.dtype) == float64;
    lines.n = a.n;
    lines.count = spread ? inner : outer * inner;
    const FftLines::Side side_in{1, length_in}, side_out{1, length_out}, apart{inner, 1};
    lines.in = spread && dense ? apart : side_in;
    lines.out = spread ? apart : side_out;
  }
  bool empty() const { return outer * inner == 0; }
  /// How often the library is called.
  int64_t parts() const { return spread ? outer : 1; }
  /// Real numbers may lie where the library does not read pairs of them.
  bool may_gather() const { return !dense || lines.kind == FftKind::real; }
  bool stores() const { return inner > 1 && !spread; }
  int64_t gathered_bytes() const {
    return may_gather() ? aligned(outer * inner * length_in * size_in) : 0;
  }
  int64_t result_bytes() const {
    return stores() ? aligned(outer * inner * length_out * size_out) : 0;
  }
  /// The plan of the library where lines are gathered; it differs from `lines` for real numbers
  /// with a stride.
  FftLines gathered() const {
    FftLines g = lines;
    g.in = {1, length_in};
    return g;
  }
};

class FftKernel final : public StepKernel<FftArguments> {
 public:
  FftKernel(const Step& step, DeviceState& device)
      : StepKernel(step),
        form_(attrs_as<FftAttrs>(step.attrs.get()), step.operands[0], step.operands[1]),
        workspace_(step.workspace) {
    const auto& a = attrs_as<FftAttrs>(step.attrs.get());
    const Layout &in = step.operands[0], &out = step.operands[1];
    bind(p.in, 0);
    bind(p.out, 1);
    if (form_.empty()) return;
    if (form_.dense) plan_ = wanted(form_.lines, device);
    p.lines = form_.outer * form_.inner;
    if (form_.may_gather()) {
      gathered_ = wanted(form_.gathered(), device);
      set_fft_walk(p.walk, in, a.axis);
      p.n = a.n;
      p.there = std::min(in.shape[a.axis], form_.length_in);
      p.step = in.strides[a.axis];
      gather_ = kernels::fft_lines(device, in.dtype, index_for(p.lines * form_.length_in),
                                   a.kind == FftKind::hermitian);
    }
    if (form_.stores() || form_.scale != 1) {
      p.inner = form_.stores() ? form_.inner : 1;
      p.scale = form_.scale;
      kernel = kernels::fft_results(device, out.dtype, index_for(p.lines * form_.length_out));
    }
  }

 private:
  void run(const Enqueue& to, FftArguments& bound,
           std::span<const uint64_t> operands) const override {
    if (form_.empty()) return;
    const uint64_t gathered = workspace_ < 0 ? 0 : operands[workspace_];
    const uint64_t unsorted = gathered + form_.gathered_bytes();
    const uint64_t work = unsorted + form_.result_bytes();
    const auto out = static_cast<uint64_t>(bound.out);
    auto from = static_cast<uint64_t>(bound.in);
    const bool direct = form_.dense && from % (form_.lines.wide ? 16 : 8) == 0;
    if (!direct) {
      bound.length = form_.length_in;
      bound.out = static_cast<int64_t>(gathered);
      gather_.launch(to, blocks_for(p.lines * bound.length), bound);
      from = gathered;
    }
    const FftPlan& plan = direct ? *plan_ : *gathered_;
    const uint64_t results = form_.stores() ? unsorted : out;
    for (int64_t part = 0; part < form_.parts(); ++part)
      plan.run(to.queue, from + part * form_.inner * form_.length_in * form_.size_in,
               results + part * form_.inner * form_.length_out * form_.size_out, work);
    if (!kernel) return;
    bound.length = form_.length_out;
    bound.in = static_cast<int64_t>(results);
    bound.out = static_cast<int64_t>(out);
    kernel.launch(to, blocks_for(p.lines * bound.length), bound);
  }
  static std::shared_ptr<const FftPlan> wanted(const FftLines& lines, DeviceState& device) {
    auto plan = device.hardware->fourier()->plan(lines);
    if (!plan) fail<ExecutionError>("fft", "a transform that the library does not plan any more");
    return plan;
  }

  FftForm form_;
  KernelOn<FftArguments> gather_;
  std::shared_ptr<const FftPlan> plan_, gathered_;
  int workspace_;
};

/// The temporary memory of the library's plans for a step, if it has them.
std::optional<size_t> library_work(const FftForm& form, Hardware& hardware) {
  FourierLibrary* library = hardware.fourier();
  if (!library) return {};
  size_t work = 0;
  for (const FftLines& lines : {form.dense ? form.lines : form.gathered(),
                                form.may_gather() ? form.gathered() : form.lines}) {
    const auto plan = library->plan(lines);
    if (!plan) return {};
    work = std::max(work, plan->work_bytes());
  }
  return work;
}

}  // namespace

bool find_fft(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
              const DeviceState& device, Requirements& needs) {
  const auto& a = attrs_as<FftAttrs>(attrs);
  const Layout &in = operands[0], &out = operands[n_inputs];
  if (!is_rows(out)) return false;
  const FftForm form(a, in, out);
  if (form.empty()) return true;
  device::Axes walk = {};
  const bool walks = set_fft_walk(walk, in, a.axis);
  if (is_strided_fft(a, in, out, *device.hardware)) return walks;
  const auto work = library_work(form, *device.hardware);
  if (!work) return find_fft_passes(attrs, in, out, device, needs);
  if (!walks) return false;
  needs.workspace = static_cast<size_t>(form.gathered_bytes() + form.result_bytes()) + *work;
  return true;
}
std::unique_ptr<const OpKernel> prepare_fft(const Step& step, DeviceState& device) {
  const auto& a = attrs_as<FftAttrs>(step.attrs.get());
  const Layout &in = step.operands[0], &out = step.operands[1];
  const FftForm form(a, in, out);
  if (!form.empty() && is_strided_fft(a, in, out, *device.hardware))
    return prepare_strided_fft(step, device);
  if (!form.empty() && !library_work(form, *device.hardware))
    return prepare_fft_passes(step, device);
  return prepare_as<FftKernel>(step, device);
}

namespace {
constexpr KernelEntry kFftKernels[] = {{"fft", find_fft, prepare_fft}};

}  // namespace

const std::span<const KernelEntry> fft_kernels = kFftKernels;

}  // namespace mlx::core::gpu
