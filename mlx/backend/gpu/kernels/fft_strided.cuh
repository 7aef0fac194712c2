// Fourier transforms of lines whose elements lie apart, with a power of two of them: a block reads
// neighbouring lines, transforms them in registers, exchanges elements through its memory between
// passes, and writes them. Memory is read once and written once. All transform forward: an inverse
// transform exchanges real and imaginary parts as it reads and as it writes.
#pragma once

#include "mlx/backend/gpu/kernels/fft_numbers.cuh"

namespace mlx::core::device {

/// Sixteen numbers as a square of four by four.
template <class T>
MLX_FN void fft_sixteen(m::Cx<T> (&x)[16]) {
  const T c = T(0.92387953251128675613), s = T(0.38268343236508977173);
  const T r = T(0.70710678118654752440);
#pragma unroll
  for (int j = 0; j < 4; ++j) fft_four(x[j], x[j + 4], x[j + 8], x[j + 12]);
  x[5] = fft_product(x[5], m::Cx<T>{c, -s});
  x[6] = {(x[6].re + x[6].im) * r, (x[6].im - x[6].re) * r};
  x[7] = fft_product(x[7], m::Cx<T>{s, -c});
  x[9] = {(x[9].re + x[9].im) * r, (x[9].im - x[9].re) * r};
  x[10] = {x[10].im, -x[10].re};
  x[11] = {(x[11].im - x[11].re) * r, -((x[11].re + x[11].im) * r)};
  x[13] = fft_product(x[13], m::Cx<T>{s, -c});
  x[14] = {(x[14].im - x[14].re) * r, -((x[14].re + x[14].im) * r)};
  x[15] = fft_product(x[15], m::Cx<T>{-c, s});
  m::Cx<T> y[16];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    fft_four(x[4 * k], x[4 * k + 1], x[4 * k + 2], x[4 * k + 3]);
#pragma unroll
    for (int l = 0; l < 4; ++l) y[k + 4 * l] = x[4 * k + l];
  }
#pragma unroll
  for (int k = 0; k < 16; ++k) x[k] = y[k];
}

/// R numbers: a power of two up to 16.
template <int R, class T>
MLX_FN void fft_some(m::Cx<T> (&x)[R]) {
  if constexpr (R == 16) {
    fft_sixteen(x);
  } else {
    fft_few<R>(x);
  }
}

/// Lines of N elements in a block. A thread has kEach elements of one line.
template <class T, int N>
struct StridedLines {
  using Z = m::Cx<T>;
  static constexpr int kEach = sizeof(T) == 4 ? 16 : 8;
  static constexpr int kLineThreads = N / kEach, kColumns = kThreads / kLineThreads;
  static constexpr int kRadix = kEach;
  /// Elements of the exchange: rows of kRadix elements of a line begin in other banks.
  static constexpr int kCells = (N + N / kRadix) * kColumns;

  Z* roots;     // the first half of those of order N
  Z* exchange;  // kCells
  int thread, column;

  MLX_FN Z root(int k) const {
    const bool second = k >= N / 2;
    const Z w = roots[second ? k - N / 2 : k];
    return second ? Z{-w.re, -w.im} : w;
  }

  MLX_FN int cell(int element) const { return (element + element / kRadix) * kColumns + column; }

  /// One of `kEach / R` transforms of R elements of a thread, and its roots where a later pass
  /// follows: from [R, rows, Width] to [rows, R, Width], where `at` is row * Width + a column.
  template <int R, int Width>
  MLX_FN void turn(Z (&x)[R], int at) const {
    fft_some<R>(x);
    const int row = at / Width;
#pragma unroll
    for (int k = 1; k < R; ++k) x[k] = fft_product(x[k], root(row * k * Width));
  }

  /// Passes from a line in registers, element thread + j * kLineThreads as x[j], to the transformed
  /// line, given to `write(element, value)`.
  template <int Width, class Write>
  MLX_FN void passes(Z (&x)[kEach], Write write) const {
    constexpr int kLeft = N / Width;
    if constexpr (kLeft <= kRadix) {
      constexpr int kCount = N / kLeft;
#pragma unroll
      for (int u = 0; u < kEach / kLeft; ++u) {
        Z some[kLeft];
#pragma unroll
        for (int j = 0; j < kLeft; ++j) some[j] = x[u + j * (kEach / kLeft)];
        fft_some<kLeft>(some);
#pragma unroll
        for (int k = 0; k < kLeft; ++k) write(thread + u * kLineThreads + k * kCount, some[k]);
      }
    } else {
      turn<kRadix, Width>(x, thread);
      const int row = thread / Width, first = row * kRadix * Width + thread % Width;
      __syncthreads();  // the elements of the last exchange are read
#pragma unroll
      for (int k = 0; k < kRadix; ++k) exchange[cell(first + k * Width)] = x[k];
      __syncthreads();
#pragma unroll
      for (int j = 0; j < kEach; ++j) x[j] = exchange[cell(thread + j * kLineThreads)];
      passes<Width * kRadix>(x, write);
    }
  }
};

/// An element of a line: zeros behind its end, and the mirror image of half a spectrum, whose
/// coefficients that are their own images are real.
template <class T, int N>
MLX_FN m::Cx<T> strided_operand(const FftPassArguments& p, int64_t line, int element) {
  m::Cx<T> z{T(0), T(0)};
  const bool half = p.source == kFftHalf, mirrored = half && 2 * element > N;
  const int from = mirrored ? N - element : element;
  if (from >= static_cast<int>(p.there)) return z;
  const int64_t at = line + from * p.step;
  if (p.source == kFftReal) {
    z.re = memory<const T>(p.in)[at];
  } else {
    z = memory<const m::Cx<T>>(p.in)[at];
    if (half && (from == 0 || 2 * from == N)) z.im = T(0);
    if (mirrored) z.im = -z.im;
  }
  return p.exchanged_in ? exchanged(z) : z;
}

/// A block transforms tiles of kColumns lines.
template <class T, int N>
MLX_FN void fft_strided(const FftPassArguments& p) {
  using Lines = StridedLines<T, N>;
  using Z = m::Cx<T>;
  MLX_SHARED Z roots[N / 2];
  MLX_SHARED Z exchange[Lines::kCells];
  for (int k = static_cast<int>(threadIdx.x); k < N / 2; k += kThreads)
    roots[k] = fft_root<T, uint32_t>(static_cast<uint32_t>(k), static_cast<uint32_t>(N));
  __syncthreads();
  const int column = static_cast<int>(threadIdx.x) % Lines::kColumns;
  const Lines lines = {roots, exchange, static_cast<int>(threadIdx.x) / Lines::kColumns, column};
  const T scale = static_cast<T>(p.scale);
  const int64_t all = p.outer * p.inner;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * Lines::kColumns; first < all;
       first += static_cast<int64_t>(gridDim.x) * Lines::kColumns) {
    const bool there = first + column < all;
    const int64_t line = there ? first + column : all - 1;
    const int64_t outer = position_quotient(line, p.inner);
    const int64_t in = offset_of(p.walk, line);
    const int64_t out = outer * p.kept * p.inner + (line - outer * p.inner);
    Z x[Lines::kEach];
#pragma unroll
    for (int j = 0; j < Lines::kEach; ++j)
      x[j] = strided_operand<T, N>(p, in, lines.thread + j * Lines::kLineThreads);
    lines.template passes<1>(x, [&](int element, Z z) {
      if (!there || element >= p.kept) return;
      const int64_t to = out + element * p.inner;
      if (p.exchanged_out) z = exchanged(z);
      if (p.result == kFftReal) {
        memory<T>(p.out)[to] = z.re * scale;
      } else {
        memory<Z>(p.out)[to] = {z.re * scale, z.im * scale};
      }
    });
  }
}

}  // namespace mlx::core::device
