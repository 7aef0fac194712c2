// Fourier transforms of lines whose elements lie apart.
#include "mlx/backend/gpu/families/fft_strided.h"

#include <bit>

#include "mlx/backend/gpu/families/fft_lines.h"
#include "mlx/backend/gpu/families/fft_passes.h"
#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

namespace {

using device::FftPassArguments;

constexpr int64_t kFftThreads = 256;  // a block

/// Elements of a thread of the kernel.
int64_t each_of(const Layout& in) { return real_dtype(in.dtype) == float64 ? 8 : 16; }

class StridedFftKernel final : public StepKernel<FftPassArguments> {
 public:
  StridedFftKernel(const Step& step, DeviceState& device) : StepKernel(step) {
    const auto& a = attrs_as<FftAttrs>(step.attrs.get());
    const Layout &in = step.operands[0], &out = step.operands[1];
    set_fft_operands(p, a, in, out);
    bind(p.in, 0);
    bind(p.out, 1);
    // Blocks compute the roots of unity once, for several tiles.
    constexpr int64_t kResident = 8;
    const int64_t columns = kFftThreads * each_of(in) / a.n;
    blocks = std::min(blocks_of(p.outer * p.inner, columns),
                      kResident * int64_t{device.hardware->processors});
    kernel = kernels::fft_strided(device, real_dtype(in.dtype), a.n);
  }
};

}  // namespace

bool is_strided_fft(const FftAttrs& a, const Layout& in, const Layout& out,
                    const Hardware& hardware) {
  constexpr int64_t kShortest = 16, kNeighbours = 4, kBlockBytes = 48 << 10;
  if (hardware.kernel_memory < kBlockBytes) return false;
  const int64_t longest = real_dtype(in.dtype) == float64 ? 1024 : 2048;
  return std::has_single_bit(static_cast<uint64_t>(a.n)) && a.n >= kShortest && a.n <= longest &&
         FftShape(a, out).inner >= kNeighbours;
}

bool find_strided_fft(const FftAttrs& a, const Layout& in, const Layout& out) {
  FftPassArguments p = {};
  return set_fft_operands(p, a, in, out);
}

std::unique_ptr<const OpKernel> prepare_strided_fft(const Step& step, DeviceState& device) {
  return prepare_as<StridedFftKernel>(step, device);
}

}  // namespace mlx::core::gpu
