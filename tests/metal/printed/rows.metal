// row_unit.cuh
struct Element0 {
  MLX_THREAD const float (&a0)[32];
  MLX_FN auto operator()(int k) const {
      (void)k;
      const float v0 = a0[k];
      const float v1 = row<float>(bodies::multiply{}, v0, v0);
      return v1;
  }
};
MLX_RESIDENT_KERNEL(rows, Words<9>, p, 2) {
  constexpr int W = 1, K = 32, kRows = kThreads / (W * kLanes);
  constexpr bool kWhole = false;
  const int t = static_cast<int>(mlx_thread);
  const int first = t / kLanes % W * (K * kLanes) + t % kLanes;
  const int n = static_cast<int>(p.w[0]), left = n - first;
  const int64_t rows = p.w[1];
  const float c1_0 = mlx_constant<float>(p.w[7], p.w[8]);
  for (int64_t begin = static_cast<int64_t>(mlx_block) * kRows; begin < rows; begin += static_cast<int64_t>(mlx_blocks) * kRows) {
    const int64_t own = begin + t / (W * kLanes);
    const bool there = own < rows;
    const int64_t line = there ? own : rows - 1;
    float s1;
    float s2;
    float a0[K];
    const auto* from0 = memory<const float>(p.w[2]) + line * p.w[3];
    from0 += first;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      a0[k] = {};
      if (kWhole || k * kLanes < left) a0[k] = from0[k * kLanes];
    }
    s1 = Mean::finish<float>(reduced_row<Sum<float, float>, W, K, 2, kWhole>(MLX_HERE first, left, Element0{a0}), n);
    {
      const float v0 = s1;
      const float v1 = c1_0;
      const float v2 = row<float>(bodies::add{}, v0, v1);
      const float v3 = row<float>(bodies::rsqrt{}, v2);
      s2 = v3;
    }
    float a3[K];
    const auto* from3 = memory<const float>(p.w[4]) + line * p.w[5];
    from3 += first;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      a3[k] = {};
      if (kWhole || k * kLanes < left) a3[k] = from3[k * kLanes];
    }
    float a4[K];
    
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const float v0 = a0[k];
      const float v1 = s2;
      const float v2 = a3[k];
      const float v3 = row<float>(bodies::multiply{}, v0, v1);
      const float v4 = row<float>(bodies::multiply{}, v3, v2);
      a4[k] = v4;
    }
    if (there) {
    auto* to = memory<float>(p.w[6]) + (line * n + first);
#pragma unroll
    for (int k = 0; k < K; ++k) if (kWhole || k * kLanes < left) to[k * kLanes] = a4[k];
    }
  }
}
