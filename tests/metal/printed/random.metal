// program.cuh
MLX_KERNEL(program, Words<19>, p) {
  using I = uint32_t;
  constexpr int U = 1, V = 4;
  const auto in0 = memory<const uint32_t>(p.w[2]);
  const auto in1 = memory<const uint32_t>(p.w[3]);
  const auto out0 = memory<float>(p.w[4]);
  const float v2 = mlx_constant<float>(p.w[5], p.w[6]);
  const float v3 = mlx_constant<float>(p.w[7], p.w[8]);
  const I n = static_cast<I>(p.w[0]), mlx_half = n / 2, end = n;
  for (I first = (static_cast<I>(mlx_block) * (kThreads * U) + mlx_thread) * V; first < end;
       first += static_cast<I>(mlx_blocks) * (kThreads * U * V)) {
    uint32_t a0[U][1];
    uint32_t a1[U][1];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      load_some(a0[u], in0 + (0), left);
      load_some(a1[u], in1 + (0), left);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const I i = first + static_cast<I>(u * (kThreads * V)), left = n - i;
      if (i >= n) break;
      const int64_t begin0 = static_cast<int64_t>(i);
      const int64_t begin1 = static_cast<int64_t>(i);
      float r0[V];
#pragma unroll
      for (int k = 0; k < V; ++k) {
      const int64_t number0 = begin0 + k;
      const int64_t number1 = begin1 + k;
      const uint32_t v0 = a0[u][0];
      const uint32_t v1 = a1[u][0];
      const uint32_t v4 = random_word(number0, p.w[9], v0, v1);
      const float v5 = float_position<float>(number1, as_double(p.w[15]), as_double(p.w[16]));
      const float v6 = cast<float>(v4);
      const float v7 = row<float>(bodies::multiply{}, v6, v2);
      const float v8 = row<float>(bodies::minimum{}, v7, v3);
      const float v9 = row<float>(bodies::multiply{}, v8, v5);
      r0[k] = v9;
      }
      store_some(out0 + (i), r0, left);
    }
  }
}
