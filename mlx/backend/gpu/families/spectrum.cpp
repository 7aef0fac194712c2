// Whole spectra of real signals from their first halves.
#include "mlx/backend/common/spectrum_form.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/ops/fft.h"

namespace mlx::core::gpu {

namespace {

using device::SpectrumArguments;

SpectrumForm spectrum_form(const Attrs* attrs, const Layout& in, const Layout& out) {
  const auto& a = attrs_as<SpectrumAttrs>(attrs);
  return {a.axes, a.n, out.shape, in.strides};
}

class SpectrumKernel final : public StepKernel<SpectrumArguments> {
 public:
  SpectrumKernel(const Step& step, DeviceState& device) : StepKernel(step) {
    const SpectrumForm f = spectrum_form(step.attrs.get(), step.operands[0], step.operands[1]);
    bind(p.in, 0);
    bind(p.out, 1);
    p.outer.rank = f.last();
    for (int d = 0; d < f.last(); ++d) {
      p.outer.shape[d] = f.shape[d];
      p.outer.strides[d] = f.strides[d];
    }
    p.length = f.shape.back();
    p.step = f.strides.back();
    p.rows = p.length ? f.rows() : 0;
    p.half_axis = f.half_axis;
    p.half = f.half;
    p.mirrored = static_cast<int64_t>(f.mirrored);
    p.conjugate = attrs_as<SpectrumAttrs>(step.attrs.get()).conjugate;
    const Dtype real = real_dtype(step.operands[1].dtype);
    constexpr int64_t kShort = 32;
    kernel = p.length < kShort ? kernels::fill_short_spectrum(device, real)
                               : kernels::fill_spectrum(device, real);
    size_ = step.operands[1].dtype.size();
    constexpr int64_t kPart = 512;
    p.part = kPart;
    p.parts = blocks_of(p.length, kPart);
    blocks = blocks_for(p.length < kShort ? p.rows * p.length : p.rows * p.parts * 32);
  }

 private:
  void run(const Enqueue& to, SpectrumArguments& bound, std::span<const uint64_t>) const override {
    bound.pairs = bound.in % size_ == 0;
    kernel.launch(to, blocks, bound);
  }

  int64_t size_;
};

bool find_spectrum(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                   const DeviceState&, Requirements&) {
  const Layout& out = operands[n_inputs];
  return is_rows(out) && spectrum_form(attrs, operands[0], out).last() <= device::kMostAxes;
}

constexpr KernelEntry kSpectrumKernels[] = {
    {"spectrum", find_spectrum, prepare_as<SpectrumKernel>}};

}  // namespace

const std::span<const KernelEntry> spectrum_kernels = kSpectrumKernels;

}  // namespace mlx::core::gpu
