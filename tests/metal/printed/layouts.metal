// program.cuh
MLX_KERNEL(program, Words<13>, p) {
  using I = uint32_t;
  constexpr int U = 1, V = 1;
  const auto in0 = memory<const float>(p.w[3]);
  const auto in1 = memory<const float>(p.w[6]);
  const auto in2 = memory<const float>(p.w[9]);
  const auto out0 = memory<float>(p.w[12]);
  const I n = static_cast<I>(p.w[0]), mlx_half = n / 2, end = n;
  for (I first = (static_cast<I>(mlx_block) * (kThreads * U) + mlx_thread) * V; first < end;
       first += static_cast<I>(mlx_blocks) * (kThreads * U * V)) {
    float a0[U][1];
    float a1[U][1];
    float a2[U][1];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      I rest = i;
      const I x1 = rest % static_cast<I>(p.w[2]); rest /= static_cast<I>(p.w[2]);
      const I x0 = rest;
      load_some(a0[u], in0 + (static_cast<int64_t>(x0) * p.w[4] + static_cast<int64_t>(x1) * p.w[5]), left);
      load_some(a1[u], in1 + (static_cast<int64_t>(x0) * p.w[7] + static_cast<int64_t>(x1) * p.w[8]), left);
      load_some(a2[u], in2 + (static_cast<int64_t>(x0) * p.w[10] + static_cast<int64_t>(x1) * p.w[11]), left);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      float r0[V];
#pragma unroll
      for (int k = 0; k < V; ++k) {
      const float v0 = a0[u][0];
      const float v1 = a1[u][0];
      const float v2 = a2[u][0];
      const float v3 = row<float>(bodies::multiply{}, v0, v1);
      const float v4 = row<float>(bodies::subtract{}, v3, v2);
      r0[k] = v4;
      }
      store_some(out0 + (i), r0, left);
    }
  }
}
