// Convolutions without patches: a tile of positions and features stays in registers during the
// loops over taps and channels. Inputs are read in place and broadcast to all features; weights are
// packed. For the cotangent of the weight, a tile of features and taps stays there during the loop
// over positions.
#include "mlx/backend/cpu/isa/conv.h"

#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

void tap(float* sum, const float* x, const float* w, int64_t n) {
  int64_t i = 0;
  for (; i + VF::N <= n; i += VF::N)
    v_fma(VF::load(x + i), VF::load(w + i), VF::load(sum + i)).store(sum + i);
  if (i < n) {
    VF r = v_fma(VF::load_partial(x + i, n - i), VF::load_partial(w + i, n - i),
                 VF::load_partial(sum + i, n - i));
    r.store_partial(sum + i, n - i);
  }
}

// Accumulators fill the registers, except for one column of weights and one broadcast input.
constexpr int kPositions = kVectorBytes == 64 ? 14 : kVectorBytes == 32 ? 6 : 4;
constexpr int kVectors = 2;
constexpr int kPanel = kVectors * VF::N;

struct Line {
  const ConvTap* taps;
  int64_t count, channels, step;
};

/// M positions starting at `first`, N vectors of features, the last of which has `last` features.
template <int M, int N>
void tile(const Line& line, int64_t first, const float* w, float* out, int64_t ld, int64_t last) {
  VF sum[M][N];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) sum[i][j] = VF(0.0f);
  const int64_t step = line.step;
  for (int64_t t = 0; t < line.count; ++t) {
    const float* x = line.taps[t].x + first * step;
    const float* b = w + line.taps[t].w;
    // A pointer for every third position: the next two are reached by addressing modes.
    const float* row[(M + 2) / 3];
#pragma GCC unroll 8
    for (int i = 0; i < (M + 2) / 3; ++i) row[i] = x + 3 * i * step;
    for (int64_t c = 0; c < line.channels; ++c, b += kPanel) {
      VF column[N];
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) column[j] = VF::load(b + j * VF::N);
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
        const VF a(row[i / 3][i % 3 * step]);
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) sum[i][j] = v_fma(a, column[j], sum[i][j]);
      }
#pragma GCC unroll 8
      for (int i = 0; i < (M + 2) / 3; ++i) ++row[i];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      float* to = out + (first + i) * ld + j * VF::N;
      if (j + 1 < N || last == VF::N) {
        sum[i][j].store(to);
      } else {
        sum[i][j].store_partial(to, last);
      }
    }
  }
}

template <int M, int N>
MLX_FN void choose(int64_t m, const Line& line, int64_t first, const float* w, float* out,
                   int64_t ld, int64_t last) {
  if constexpr (M > 1) {
    if (m < M) return choose<M - 1, N>(m, line, first, w, out, ld, last);
  }
  tile<M, N>(line, first, w, out, ld, last);
}

void line(const ConvTap* taps, int64_t count, int64_t channels, int64_t step, const float* w,
          int64_t stride, int64_t m, int64_t n, float* out, int64_t ld) {
  const Line all{taps, count, channels, step};
  for (int64_t f = 0; f < n; f += kPanel, w += stride) {
    const int64_t left = n - f < kPanel ? n - f : kPanel;
    // The last tiles share the remainder, so that none of them is short.
    int64_t tiles = (m + kPositions - 1) / kPositions;
    for (int64_t i = 0; i < m; --tiles) {
      const int64_t take = (m - i + tiles - 1) / tiles;
      if (left > VF::N) {
        choose<kPositions, 2>(take, all, i, w, out + f, ld, left - VF::N);
      } else {
        choose<kPositions, 1>(take, all, i, w, out + f, ld, left);
      }
      i += take;
    }
  }
}

/// Positions of lines, over which products are added.
struct Positions {
  int64_t lines, count;
};

/// M rows by N vectors of columns.
template <int M, int N>
void correlation(ConvFactor rows, ConvFactor columns, const Positions& over, float* out,
                 int64_t ld) {
  VF sum[M][N];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) sum[i][j] = VF(0.0f);
  for (int64_t l = 0; l < over.lines; ++l, rows.data += rows.line, columns.data += columns.line) {
    const float *a = rows.data, *b = columns.data;
    for (int64_t p = 0; p < over.count; ++p, a += rows.step, b += columns.step) {
      VF column[N];
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) column[j] = VF::load(b + j * VF::N);
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
        const VF x(a[i]);
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) sum[i][j] = v_fma(x, column[j], sum[i][j]);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      float* to = out + i * ld + j * VF::N;
      (VF::load(to) + sum[i][j]).store(to);
    }
}

template <int M, int N>
MLX_FN void choose_correlation(int64_t m, const ConvFactor& rows, const ConvFactor& columns,
                               const Positions& over, float* out, int64_t ld) {
  if constexpr (M > 1) {
    if (m < M) return choose_correlation<M - 1, N>(m, rows, columns, over, out, ld);
  }
  correlation<M, N>(rows, columns, over, out, ld);
}

void correlate(const ConvFactor& rows, int64_t m, const ConvFactor& columns, int64_t n,
               int64_t lines, int64_t positions, float* out, int64_t ld) {
  const Positions over{lines, positions};
  for (int64_t c = 0; c < n; c += kPanel) {
    const ConvFactor panel{columns.data + c, columns.step, columns.line};
    int64_t tiles = (m + kPositions - 1) / kPositions;
    for (int64_t r = 0; r < m; --tiles) {
      const int64_t take = (m - r + tiles - 1) / tiles;
      const ConvFactor some{rows.data + r, rows.step, rows.line};
      float* to = out + r * ld + c;
      if (n - c > VF::N)
        choose_correlation<kPositions, 2>(take, some, panel, over, to, ld);
      else
        choose_correlation<kPositions, 1>(take, some, panel, over, to, ld);
      r += take;
    }
  }
}

}  // namespace

constinit const ConvKernels conv_kernels{kPanel, VF::N, tap, line, correlate};

}  // namespace mlx::core::cpu::MLX_ISA
