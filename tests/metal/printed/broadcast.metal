// program.cuh
MLX_KERNEL(program, Words<11>, p) {
  using I = uint32_t;
  constexpr int U = 1, V = 4;
  const auto in0 = memory<const float>(p.w[3]);
  const auto in1 = memory<const float>(p.w[6]);
  const auto in2 = memory<const float>(p.w[9]);
  const auto out0 = memory<float>(p.w[10]);
  const I n = static_cast<I>(p.w[0]), mlx_half = n / 2, end = n;
  for (I first = (static_cast<I>(mlx_block) * (kThreads * U) + mlx_thread) * V; first < end;
       first += static_cast<I>(mlx_blocks) * (kThreads * U * V)) {
    float a0[U][V];
    float a1[U][1];
    float a2[U][V];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      I rest = i;
      const I x1 = rest % static_cast<I>(p.w[2]); rest /= static_cast<I>(p.w[2]);
      const I x0 = rest;
      load_some(a0[u], in0 + (static_cast<int64_t>(x0) * p.w[4] + static_cast<int64_t>(x1) * p.w[5]), left);
      load_some(a1[u], in1 + (static_cast<int64_t>(x0) * p.w[7] + static_cast<int64_t>(x1) * p.w[8]), left);
      load_some(a2[u], in2 + (i), left);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      float r0[V];
#pragma unroll
      for (int k = 0; k < V; ++k) {
      const float v0 = a0[u][k];
      const float v1 = a1[u][0];
      const float v2 = a2[u][k];
      const float v3 = row<float>(bodies::multiply{}, v0, v1);
      const float v4 = row<float>(bodies::add{}, v2, v3);
      const float v5 = row<float>(bodies::abs{}, v4);
      r0[k] = v5;
      }
      store_some(out0 + (i), r0, left);
    }
  }
}
