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
  using Pair = FftPair<T>;
  static constexpr int kEach = sizeof(T) == 4 ? 16 : 8;
  static constexpr int kLineThreads = N / kEach, kColumns = kThreads / kLineThreads;
  /// Elements of the exchange: rows of kEach elements of a line begin in other banks.
  static constexpr int kCells = (N + N / kEach) * kColumns;

  Pair* roots;     // of order N
  Pair* exchange;  // kCells
  int thread, column;

  MLX_FN Z root(uint32_t k) const { return {roots[k].re, roots[k].im}; }
  /// Where an element of the thread's line is in the exchange, and how many cells behind it one is
  /// so many elements later: kEach divides one of the two, or they are in one row of it.
  MLX_FN Pair* cell(uint32_t element) const {
    return exchange + (element + element / kEach) * kColumns + column;
  }
  static constexpr int cells(int elements) { return (elements + elements / kEach) * kColumns; }

  /// Passes from a line in registers, element thread + j * kLineThreads as x[j], to the transformed
  /// line, given to `write(k, value)` as element thread + k * kLineThreads.
  template <int kWidth, class Write>
  MLX_FN void passes(Z (&x)[kEach], Write write) const {
    constexpr int kLeft = N / kWidth;
    if constexpr (kLeft <= kEach) {
      constexpr int kTurns = kEach / kLeft;
#pragma unroll
      for (int u = 0; u < kTurns; ++u) {
        Z some[kLeft];
#pragma unroll
        for (int j = 0; j < kLeft; ++j) some[j] = x[u + j * kTurns];
        fft_some<kLeft>(some);
#pragma unroll
        for (int k = 0; k < kLeft; ++k) write(u + k * kTurns, some[k]);
      }
    } else {
      fft_some<kEach>(x);
      const uint32_t at = thread, row = at / kWidth, turn = row * kWidth;
#pragma unroll
      for (int k = 1; k < kEach; ++k) x[k] = fft_product(x[k], root(turn * k));
      Pair* const to = cell(turn * kEach + at % kWidth);
      const Pair* const from = cell(at);
      __syncthreads();  // the elements of the last exchange are read
#pragma unroll
      for (int k = 0; k < kEach; ++k) to[cells(k * kWidth)] = {x[k].re, x[k].im};
      __syncthreads();
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const Pair z = from[cells(j * kLineThreads)];
        x[j] = {z.re, z.im};
      }
      passes<kWidth * kEach>(x, write);
    }
  }
};

/// Reads elements first + j * apart of the line that begins at an address, as x[j]: zeros behind
/// its end, and the mirror image of half a spectrum, whose coefficients that are their own images
/// are real. kPairs: complex numbers are aligned to their size.
template <int kSource, int N, bool kPairs, int kEach, class T>
MLX_FN void read_strided(const FftPassArguments& p, int64_t line, int first, int apart,
                         m::Cx<T> (&x)[kEach]) {
  constexpr int kBytes = (kSource == kFftReal ? 1 : 2) * static_cast<int>(sizeof(T));
  const int64_t step = p.step * kBytes, next = apart * step;
  const int there = static_cast<int>(p.there);
  int64_t at = line + first * step, from_end = line + (N - first) * step;
#pragma unroll
  for (int j = 0; j < kEach; ++j, at += next, from_end -= next) {
    const int element = first + j * apart;
    const bool mirrored = kSource == kFftHalf && 2 * element > N;
    x[j] = {T(0), T(0)};
    if ((mirrored ? N - element : element) >= there) continue;
    const int64_t from = mirrored ? from_end : at;
    if constexpr (kSource == kFftReal) {
      x[j].re = *memory<const T>(from);
    } else if constexpr (kPairs) {
      const FftPair<T> z = *memory<const FftPair<T>>(from);
      x[j] = {z.re, z.im};
    } else {
      x[j] = *memory<const m::Cx<T>>(from);
    }
    if constexpr (kSource == kFftHalf) {
      if (element == 0 || 2 * element == N) x[j].im = T(0);
      x[j] = {mirrored ? -x[j].im : x[j].im, x[j].re};  // exchanged
    } else if (kSource == kFftComplex && p.exchanged_in) {
      x[j] = exchanged(x[j]);
    }
  }
}

/// Blocks for which a processor has registers.
template <class T, int N, int kSource>
constexpr int fft_strided_blocks = sizeof(T) == 4 ? 3 : 2;

/// A block transforms tiles of kColumns lines.
template <class T, int N, int kSource>
MLX_FN void fft_strided(const FftPassArguments& p) {
  using Lines = StridedLines<T, N>;
  using Pair = FftPair<T>;
  constexpr int kEach = Lines::kEach;
  constexpr int kIn = (kSource == kFftReal ? 1 : 2) * static_cast<int>(sizeof(T));
  constexpr int kOut = (kSource == kFftHalf ? 1 : 2) * static_cast<int>(sizeof(T));
  MLX_SHARED Pair roots[N];
  MLX_SHARED Pair exchange[Lines::kCells];
  for (int k = static_cast<int>(threadIdx.x); k < N; k += kThreads) {
    const auto w = fft_root<T, uint32_t>(static_cast<uint32_t>(k), static_cast<uint32_t>(N));
    roots[k] = {w.re, w.im};
  }
  __syncthreads();
  const int column = static_cast<int>(threadIdx.x) % Lines::kColumns;
  const Lines lines = {roots, exchange, static_cast<int>(threadIdx.x) / Lines::kColumns, column};
  const T scale = static_cast<T>(p.scale);
  const int64_t all = p.outer * p.inner, step = p.inner * kOut;
  const int kept = static_cast<int>(p.kept);
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * Lines::kColumns; first < all;
       first += static_cast<int64_t>(gridDim.x) * Lines::kColumns) {
    const bool there = first + column < all;
    const int64_t line = there ? first + column : all - 1;
    const int64_t outer = position_quotient(line, p.inner);
    const int64_t to =
        p.out + (outer * p.kept * p.inner + (line - outer * p.inner)) * kOut + lines.thread * step;
    m::Cx<T> x[kEach];
    const int64_t from = p.in + offset_of(p.walk, line) * kIn;
    if (p.pairs)
      read_strided<kSource, N, true>(p, from, lines.thread, Lines::kLineThreads, x);
    else
      read_strided<kSource, N, false>(p, from, lines.thread, Lines::kLineThreads, x);
    lines.template passes<1>(x, [&](int k, m::Cx<T> z) {
      if (!there || lines.thread + k * Lines::kLineThreads >= kept) return;
      const int64_t at = to + k * Lines::kLineThreads * step;
      if constexpr (kSource == kFftHalf) {
        *memory<T>(at) = z.im * scale;  // of the exchanged number
      } else {
        if (p.exchanged_out) z = exchanged(z);
        *memory<Pair>(at) = {z.re * scale, z.im * scale};
      }
    });
  }
}

}  // namespace mlx::core::device
