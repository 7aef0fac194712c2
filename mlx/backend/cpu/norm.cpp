// Normalisation over the last axis, parallel over rows.
#include "mlx/ops/norm.h"

#include <algorithm>

#include "mlx/backend/common/round_up.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/norm.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

NormRows find_rows(Dtype t) { return MLX_FOR_ISA(find_norm_rows)(t); }

void run_norm(const KernelArgs& args) {
  const NormAttrs& attrs = attrs_as<NormAttrs>(args.attrs);
  const View& x = args.in[0];
  int64_t n = x.shape().back(), rows = n ? x.size() / n : 0, bytes = n * x.dtype().size();
  const void* weight = attrs.has_weight ? args.in[1].data : nullptr;
  const void* bias = attrs.has_bias ? args.in[1 + attrs.has_weight].data : nullptr;
  const NormRows kernel = find_rows(x.dtype());
  constexpr int64_t kLanes = 16;  // rows that kernels take at once, a multiple
  parallel_for(
      rows, round_up(4096 / std::clamp<int64_t>(n, 1, 4096), n <= kLanes ? kLanes : 1),
      [&](int64_t begin, int64_t end) {
        const int64_t at = begin * bytes;
        kernel({x.as<char>() + at, weight, bias, args.out[0].as<char>() + at}, n, end - begin,
               attrs.eps, attrs.center);
      },
      static_cast<double>(rows) * (0.5 * static_cast<double>(n) + (n <= kLanes ? 4 : 20)));
}

const KernelEntry kNormKernels[] = {
    {.op = &op_norm, .run = run_norm, .contiguous = 7, .in_place = 1}};

}  // namespace

const std::span<const KernelEntry> norm_kernels = kNormKernels;

}  // namespace mlx::core::cpu
