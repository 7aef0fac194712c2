// Normalisation over the last axis, parallel over rows.
#include "mlx/ops/norm.h"

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/norm.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

NormRow find_row(Dtype t) { return MLX_FOR_ISA(find_norm_row)(t); }

void run_norm(const KernelArgs& args) {
  const NormAttrs& attrs = attrs_as<NormAttrs>(args.attrs);
  const View& x = args.in[0];
  int64_t n = x.shape().back(), rows = n ? x.size() / n : 0, bytes = n * x.dtype().size();
  const void* weight = attrs.has_weight ? args.in[1].data : nullptr;
  const void* bias = attrs.has_bias ? args.in[1 + attrs.has_weight].data : nullptr;
  NormRow row = find_row(x.dtype());
  auto some = [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      row(x.as<char>() + r * bytes, weight, bias, args.out[0].as<char>() + r * bytes, n, attrs.eps,
          attrs.center);
  };
  parallel_for(rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1)), some,
               static_cast<double>(rows) * (0.5 * static_cast<double>(n) + 20));
}

const KernelEntry kNormKernels[] = {
    {.op = &op_norm, .run = run_norm, .contiguous = 7, .in_place = 1}};

}  // namespace

const std::span<const KernelEntry> norm_kernels = kNormKernels;

}  // namespace mlx::core::cpu
