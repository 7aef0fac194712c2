// program.cuh
MLX_IN_STEP_KERNEL(program, Words<15>, p) {
  using I = uint32_t;
  constexpr int U = 8, V = 1;
  const auto in0 = memory<const float>(p.w[3]);
  const auto in1 = memory<const float>(p.w[6]);
  const auto in2 = memory<const float>(p.w[9]);
  const auto out0 = memory<float>(p.w[12]);
  constexpr int kSide = 64, kRows = kThreads / kSide;
  const int own = static_cast<int>(mlx_thread) % kSide, first = static_cast<int>(mlx_thread) / kSide;
  const int64_t wide = (p.w[2] + kSide - 1) / kSide, high = (p.w[1] + kSide - 1) / kSide;
  const int64_t tiles = wide * high;
  MLX_SHARED uint64_t tile0_memory[(kSide * (kSide + 1) * sizeof(float) + 7) / 8];
  const auto tile0 = reinterpret_cast<SharedPointer<float>>(tile0_memory);
  for (int64_t b = mlx_block; b < tiles; b += mlx_blocks) {
    int64_t rest = b;
    const int64_t x0 = rest % wide * kSide; rest /= wide;
    const int64_t y0 = rest % high * kSide; rest /= high;
    const int nx = part_of_side<kSide>(p.w[2] - x0), ny = part_of_side<kSide>(p.w[1] - y0);
    const int64_t at0 = y0 * p.w[4] + x0 * p.w[5];
    const int64_t at1 = y0 * p.w[7] + x0 * p.w[8];
    const int64_t at2 = y0 * p.w[10] + x0 * p.w[11];
    const int64_t at3 = y0 * p.w[13] + x0 * p.w[14];
    for (int line = first; line < kSide; line += kRows * U) {
      float a0[U];
#pragma unroll
      for (int u = 0; u < U; ++u) {
      const int y = own, x = line + u * kRows;
      if (x >= nx || y >= ny) continue;
      a0[u] = in0[at0 + static_cast<int64_t>(y) * p.w[4] + static_cast<int64_t>(x) * p.w[5]];
      }
#pragma unroll
      for (int u = 0; u < U; ++u) {
      const int y = own, x = line + u * kRows;
      if (x >= nx || y >= ny) continue;
      tile0[x * (kSide + 1) + y] = a0[u];
      }
    }
    __syncthreads();
    for (int line = first; line < kSide; line += kRows * U) {
      float a1[U];
      float a2[U];
#pragma unroll
      for (int u = 0; u < U; ++u) {
      const int x = own, y = line + u * kRows;
      if (x >= nx || y >= ny) continue;
      a1[u] = in1[at1 + static_cast<int64_t>(y) * p.w[7] + static_cast<int64_t>(x) * p.w[8]];
      a2[u] = in2[at2 + static_cast<int64_t>(y) * p.w[10] + static_cast<int64_t>(x) * p.w[11]];
      }
#pragma unroll
      for (int u = 0; u < U; ++u) {
      const int x = own, y = line + u * kRows;
      if (x >= nx || y >= ny) continue;
      const float v0 = tile0[x * (kSide + 1) + y];
      const float v1 = a1[u];
      const float v2 = a2[u];
      const float v3 = row<float>(bodies::multiply{}, v1, v0);
      const float v4 = row<float>(bodies::add{}, v3, v2);
      out0[at3 + static_cast<int64_t>(y) * p.w[13] + static_cast<int64_t>(x) * p.w[14]] = v4;
      }
    }
    __syncthreads();
  }
}
