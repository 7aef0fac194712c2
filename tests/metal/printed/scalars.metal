// program.cuh
MLX_KERNEL(program, Words<9>, p) {
  using I = uint32_t;
  constexpr int U = 1, V = 4;
  const auto in0 = memory<const float>(p.w[2]);
  const auto in1 = memory<const float>(p.w[3]);
  const auto out0 = memory<float>(p.w[4]);
  const float16_t v2 = mlx_constant<float16_t>(p.w[5], p.w[6]);
  const float16_t v3 = mlx_constant<float16_t>(p.w[7], p.w[8]);
  const I n = static_cast<I>(p.w[0]), mlx_half = n / 2, end = n;
  for (I first = (static_cast<I>(mlx_block) * (kThreads * U) + mlx_thread) * V; first < end;
       first += static_cast<I>(mlx_blocks) * (kThreads * U * V)) {
    float a0[U][V];
    float a1[U][1];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      load_some(a0[u], in0 + (i), left);
      load_some(a1[u], in1 + (0), left);
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
      const float16_t v4 = cast<float16_t>(v0);
      const float16_t v5 = row<float16_t>(bodies::multiply{}, v4, v2);
      const float16_t v6 = row<float16_t>(bodies::add{}, v5, v3);
      const float16_t v7 = row<float16_t>(bodies::square{}, v6);
      const float v8 = cast<float>(v7);
      const float v9 = row<float>(bodies::divide{}, v8, v1);
      r0[k] = v9;
      }
      store_some(out0 + (i), r0, left);
    }
  }
}
