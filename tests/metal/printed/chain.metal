// program.cuh
MLX_KERNEL(program, Words<4>, p) {
  using I = uint32_t;
  constexpr int U = 1, V = 4;
  const auto in0 = memory<const float>(p.w[2]);
  const auto out0 = memory<float>(p.w[3]);
  const I n = static_cast<I>(p.w[0]), mlx_half = n / 2, end = n;
  for (I first = (static_cast<I>(mlx_block) * (kThreads * U) + mlx_thread) * V; first < end;
       first += static_cast<I>(mlx_blocks) * (kThreads * U * V)) {
    float a0[U][V];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      load_some(a0[u], in0 + (i), left);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      float r0[V];
#pragma unroll
      for (int k = 0; k < V; ++k) {
      const float v0 = a0[u][k];
      const float v1 = row<float>(bodies::tanh{}, v0);
      const float v2 = row<float>(bodies::sin{}, v0);
      const float v3 = row<float>(bodies::multiply{}, v1, v2);
      const float v4 = row<float>(bodies::negative{}, v0);
      const float v5 = row<float>(bodies::exp{}, v4);
      const float v6 = row<float>(bodies::add{}, v3, v5);
      r0[k] = v6;
      }
      store_some(out0 + (i), r0, left);
    }
  }
}
