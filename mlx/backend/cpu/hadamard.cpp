// Hadamard transforms, parallel over rows.
#include "mlx/ops/hadamard.h"

#include "mlx/backend/common/hadamard_signs.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/hadamard.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

HadamardKernel hadamard_kernel(Dtype t) { return MLX_FOR_ISA(find_hadamard)(t); }

void run_hadamard(const KernelArgs& args) {
  const auto& attrs = attrs_as<HadamardAttrs>(args.attrs);
  const View& x = args.in[0];
  if (x.size() == 0) return;
  const int64_t n = x.ndim() ? x.shape().back() : 1, rows = x.size() / n;
  const int64_t bytes = n * x.dtype().size();
  const auto [m, power] = hadamard_order(n);
  const auto signs = hadamard_signs(m, attrs.transposed);
  const HadamardRow row{m, power, signs.data(), attrs.scale};
  const HadamardKernel kernel = hadamard_kernel(x.dtype());
  parallel_for(
      rows, std::max<int64_t>(1, 2048 / n),
      [&](int64_t begin, int64_t end) {
        const Scratch workspace(static_cast<size_t>(2 * n) * (x.dtype() == float64 ? 8 : 4));
        for (int64_t r = begin; r < end; ++r)
          kernel(row, x.as<const char>() + r * bytes, args.out[0].as<char>() + r * bytes,
                 workspace.get());
      },
      static_cast<double>(x.size()) * (1 + 0.3 * static_cast<double>(m)));
}

const KernelEntry kHadamardKernels[] = {
    {.op = &op_hadamard, .run = run_hadamard, .contiguous = 1, .in_place = 1}};

}  // namespace

const std::span<const KernelEntry> hadamard_kernels = kHadamardKernels;

}  // namespace mlx::core::cpu
