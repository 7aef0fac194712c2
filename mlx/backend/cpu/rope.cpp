// Rotary position embedding: angles are computed once per position; parallel over rows.
#include "mlx/ops/rope.h"

#include <cmath>
#include <cstring>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/rope.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

RopeKernels kernels_of(Dtype t) { return MLX_FOR_ISA(find_rope)(t); }

/// The angle of each pair from one position to the next.
void fill_rates(const RopeKernels& k, const RopeAttrs& attrs, const View* freqs, double* rate) {
  const int64_t half = attrs.dims / 2;
  if (!freqs) return k.rates(std::log(attrs.base), half, rate);
  for (int64_t i = 0; i < half; ++i)
    rate[i] = 1 / (freqs->dtype() == float64 ? freqs->as<double>()[i] : freqs->as<float>()[i]);
}

void run_rope(const KernelArgs& args) {
  const auto& attrs = attrs_as<RopeAttrs>(args.attrs);
  const View &x = args.in[0], &offset = args.in[1], &out = args.out[0];
  if (x.size() == 0) return;
  const RopeKernels k = kernels_of(x.dtype());
  const int rank = x.ndim();
  const int64_t item = x.dtype().size(), width = x.shape().back(), half = attrs.dims / 2;
  const int64_t positions = x.shape()[rank - 2], batches = offset.size();
  const int64_t step = x.dtype() == float64 ? 8 : 4;  // bytes of a cosine
  const Scratch workspace(static_cast<size_t>(half * (8 + 2 * step * positions * batches)));
  double* rate = workspace.get<double>();
  char* table = workspace.get<char>() + half * 8;
  fill_rates(k, attrs, attrs.has_freqs ? &args.in[2] : nullptr, rate);
  parallel_for(
      batches * positions, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const double at =
              offset.as<int32_t>()[i / positions] + static_cast<double>(i % positions);
          char* c = table + i * 2 * half * step;
          k.angles(at * attrs.scale, rate, half, c, c + half * step);
        }
      },
      static_cast<double>(batches * positions * half) * 3);

  const Shape outer(x.shape().begin(), x.shape().end() - 1);
  const Strides strides(x.strides().begin(), x.strides().end() - 1);
  const int64_t rows = num_elements(outer), per_batch = rows / x.shape()[0];
  const int64_t stride = x.strides().back();
  auto some = [&](int64_t begin, int64_t end) {
    Odometer<1> at(outer, {strides});
    at.seek(begin);
    for (int64_t r = begin; r < end; ++r, at.next()) {
      const char* from = x.as<const char>() + at[0] * item;
      char* to = out.as<char>() + r * width * item;
      if (stride != 1) {
        for (int64_t i = 0; i < width; ++i)
          std::memcpy(to + i * item, from + i * stride * item, static_cast<size_t>(item));
        from = to;
      } else if (from != to && width > attrs.dims) {
        std::memcpy(to + attrs.dims * item, from + attrs.dims * item,
                    static_cast<size_t>((width - attrs.dims) * item));
      }
      const int64_t batch = batches > 1 ? r / per_batch : 0;
      const char* c = table + (batch * positions + r % positions) * 2 * half * step;
      k.rotate(from, c, c + half * step, attrs.inverse ? -1 : 1, half, attrs.traditional, to);
    }
  };
  parallel_for(rows, std::max<int64_t>(1, 2048 / width), some,
               static_cast<double>(rows * width) * (attrs.traditional ? 2 : 0.5));
}

const KernelEntry kRopeKernels[] = {
    {.op = &op_rope, .run = run_rope, .contiguous = 6, .in_place = 1}};

}  // namespace

const std::span<const KernelEntry> rope_kernels = kRopeKernels;

}  // namespace mlx::core::cpu
