// The gated delta rule: a warp has a row of a head's state, E elements of it in each thread.
#pragma once

#include "mlx/backend/gpu/kernels/rows.cuh"

namespace mlx::core::device {

template <class T, int E>
MLX_FN void gated_delta(const DeltaArguments& p) {
  const auto *q = memory<const T>(p.q), *k = memory<const T>(p.k);
  const auto *v = memory<const T>(p.v), *gates = memory<const T>(p.gates);
  const auto *beta = memory<const T>(p.beta), *start = memory<const T>(p.state);
  const auto* mask = memory<const uint8_t>(p.mask);
  auto *y = memory<T>(p.out), *end = memory<T>(p.end);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  each_row<32>(p.batches * p.heads * p.values, [&](int64_t row, bool) {
    const int64_t r = row % p.values, head = row / p.values % p.heads;
    const int64_t batch = row / p.values / p.heads, key_head = head / (p.heads / p.key_heads);
    T s[E];
    auto each_own = [&](auto f) {
#pragma unroll
      for (int e = 0; e < E; ++e)
        if (lane + 32 * e < p.width) f(s[e], lane + 32 * e);
    };
    each_own([&](T& x, int64_t i) { x = start[row * p.width + i]; });
    for (int64_t t = batch * p.length; t < (batch + 1) * p.length; ++t) {
      const int64_t key = (t * p.key_heads + key_head) * p.width, one = t * p.heads + head;
      T found = 0, result = 0;
      if (!mask || mask[t]) {
        each_own([&](T& x, int64_t i) {
          x *= gates[p.wide ? one * p.width + i : one];
          found += x * k[key + i];
        });
        const T delta = (v[one * p.values + r] - over_group<32>(found, Add())) * beta[one];
        each_own([&](T& x, int64_t i) {
          x += delta * k[key + i];
          result += x * q[key + i];
        });
        result = over_group<32>(result, Add());
      }
      if (lane == 0) y[one * p.values + r] = result;
    }
    each_own([&](T& x, int64_t i) { end[row * p.width + i] = x; });
  });
}

}  // namespace mlx::core::device
