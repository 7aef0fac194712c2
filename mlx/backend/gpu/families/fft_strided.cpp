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
    size_ = in.dtype.size();
    // Blocks compute the roots of unity once, for several tiles; the device has many blocks to
    // divide among its processors.
    constexpr int64_t kTiles = 4;
    const int64_t columns = kFftThreads * each_of(in) / a.n;
    const int64_t tiles = blocks_of(p.outer * p.inner, columns);
    blocks = std::max(std::min<int64_t>(tiles, 2 * device.hardware->processors), tiles / kTiles);
    const char* source = a.kind == FftKind::real        ? "kFftReal"
                         : a.kind == FftKind::hermitian ? "kFftHalf"
                                                        : "kFftComplex";
    kernel = kernels::fft_strided(device, real_dtype(in.dtype), a.n, source);
  }

 private:
  void run(const Enqueue& to, FftPassArguments& bound, std::span<const uint64_t>) const override {
    bound.pairs = bound.in % size_ == 0;
    kernel.launch(to, blocks, bound);
  }

  int64_t size_;
};

}  // namespace

bool is_strided_fft(const FftAttrs& a, const Layout& in, const Layout& out, Hardware& hardware) {
  // The library walks the lines of one large part as fast; beyond these lengths a block has few
  // neighbours.
  constexpr int64_t kShortest = 16, kNeighbours = 4, kBlockBytes = 48 << 10, kPart = 12 << 20;
  if (hardware.kernel_memory < kBlockBytes) return false;
  const bool wide = real_dtype(in.dtype) == float64;
  const FftShape lines(a, out);
  const int64_t part = lines.inner * a.n * (wide ? 16 : 8);
  const bool spreads =
      hardware.fourier() && (a.kind == FftKind::forward || a.kind == FftKind::inverse);
  return std::has_single_bit(static_cast<uint64_t>(a.n)) && a.n >= kShortest &&
         a.n <= (wide ? 512 : 1024) && lines.inner >= kNeighbours && (part <= kPart || !spreads);
}

std::unique_ptr<const OpKernel> prepare_strided_fft(const Step& step, DeviceState& device) {
  return prepare_as<StridedFftKernel>(step, device);
}

}  // namespace mlx::core::gpu
