// The gated delta rule, parallel over value heads.
#include "mlx/ops/delta.h"

#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/delta.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

DeltaKernel delta_kernel(Dtype t) { return MLX_FOR_ISA(find_delta)(t); }

void run_delta(const KernelArgs& args) {
  const View &q = args.in[0], &v = args.in[2], &gates = args.in[3];
  const int64_t length = q.shape()[1], key_heads = q.shape()[2], width = q.shape()[3];
  const int64_t heads = v.shape()[2], values = v.shape()[3], item = q.dtype().size();
  const DeltaKernel kernel = delta_kernel(q.dtype());
  const int64_t gate = gates.ndim() == 4 ? width : 1;
  auto at = [&](const View& x, int64_t element) { return x.as<char>() + element * item; };
  if (args.out[1].size()) copy_bytes(args.out[1].data, args.in[5].data, args.out[1].size() * item);
  auto some = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / heads, h = i % heads, key_head = h / (heads / key_heads);
      const int64_t key = (b * length * key_heads + key_head) * width;
      const int64_t value = (b * length * heads + h) * values, one = b * length * heads + h;
      kernel({.q = at(q, key),
              .k = at(args.in[1], key),
              .v = at(v, value),
              .gates = at(gates, one * gate),
              .beta = at(args.in[4], one),
              .y = at(args.out[0], value),
              .state = at(args.out[1], i * values * width),
              .key_row = key_heads * width,
              .value_row = heads * values,
              .gate_row = heads * gate,
              .beta_row = heads,
              .wide = gate > 1 || gates.ndim() == 4,
              .mask = args.in.size() > 6 ? args.in[6].as<unsigned char>() + b * length : nullptr,
              .length = length,
              .width = width,
              .values = values});
    }
  };
  parallel_for(q.shape()[0] * heads, 1, some,
               0.4 * static_cast<double>(v.size()) * static_cast<double>(width));
}

const KernelEntry kDeltaKernels[] = {{.op = &op_gated_delta, .run = run_delta, .contiguous = 0x7f}};

}  // namespace

const std::span<const KernelEntry> delta_kernels = kDeltaKernels;

}  // namespace mlx::core::cpu
