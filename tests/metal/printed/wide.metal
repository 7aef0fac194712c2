// program.cuh
MLX_KERNEL(program, Words<10>, p) {
  using I = uint64_t;
  constexpr int U = 1, V = 1;
  const auto in0 = memory<const int8_t>(p.w[3]);
  const auto in1 = memory<const int8_t>(p.w[6]);
  const auto out0 = memory<int8_t>(p.w[9]);
  const I n = static_cast<I>(p.w[0]), mlx_half = n / 2, end = n;
  for (I first = (static_cast<I>(mlx_block) * (kThreads * U) + mlx_thread) * V; first < end;
       first += static_cast<I>(mlx_blocks) * (kThreads * U * V)) {
    int8_t a0[U][1];
    int8_t a1[U][1];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      I rest = i;
      const I x1 = rest % static_cast<I>(p.w[2]); rest /= static_cast<I>(p.w[2]);
      const I x0 = rest;
      load_some(a0[u], in0 + (static_cast<int64_t>(x0) * p.w[4] + static_cast<int64_t>(x1) * p.w[5]), left);
      load_some(a1[u], in1 + (static_cast<int64_t>(x0) * p.w[7] + static_cast<int64_t>(x1) * p.w[8]), left);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      int8_t r0[V];
#pragma unroll
      for (int k = 0; k < V; ++k) {
      const int8_t v0 = a0[u][0];
      const int8_t v1 = a1[u][0];
      const int8_t v2 = row<int8_t>(bodies::subtract{}, v0, v1);
      const int8_t v3 = row<int8_t>(bodies::abs{}, v2);
      r0[k] = v3;
      }
      store_some(out0 + (i), r0, left);
    }
  }
}
