// Fourier transforms of lines whose length has the prime factors 2, 3, 5 and 7. A pass transforms
// the columns of an array [radix, rows, width] and writes an array [rows, radix, width]; a tile of
// columns is in the memory of a block, and is transformed there by the same passes, of radix 8 and
// less. Lines of other lengths are convolved with a chirp (Bluestein). All transform forward: an
// inverse transform exchanges real and imaginary parts as it reads and as it writes.
#pragma once

#include "mlx/backend/gpu/kernels/fft_numbers.cuh"

namespace mlx::core::device {

//--- a tile in the memory of a block ------------------------------------------------------------

/// A pass of radix R from [R, rows, width] to [rows, R, width], `count` transforms, in place.
template <int R, class T>
MLX_FN void fft_step(SharedPointer<m::Cx<T>> x, uint32_t count, uint32_t rows, uint32_t width) {
  constexpr int kEach =
      (kFftBytes / static_cast<int>(sizeof(m::Cx<T>)) + R * kThreads - 1) / (R * kThreads);
  m::Cx<T> y[kEach][R];
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
    const uint32_t at = threadIdx.x + static_cast<uint32_t>(u * kThreads);
    if (at >= count) continue;
#pragma unroll
    for (int j = 0; j < R; ++j) y[u][j] = x[at + static_cast<uint32_t>(j) * count];
    fft_few<R>(y[u]);
    const uint32_t row = at / width;
    if (row == 0) continue;
#pragma unroll
    for (int k = 1; k < R; ++k)
      y[u][k] =
          fft_product(y[u][k], fft_root<T, uint32_t>(row * static_cast<uint32_t>(k), R * rows));
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
    const uint32_t at = threadIdx.x + static_cast<uint32_t>(u * kThreads);
    if (at >= count) continue;
    const uint32_t row = at / width, first = row * R * width + (at - row * width);
#pragma unroll
    for (int k = 0; k < R; ++k) x[first + static_cast<uint32_t>(k) * width] = y[u][k];
  }
  __syncthreads();
}

/// Transforms the columns of a tile [radix, columns].
template <class T>
MLX_FN void fft_columns(const FftPassArguments& p, SharedPointer<m::Cx<T>> x) {
  const auto total = static_cast<uint32_t>(p.radix * p.columns);
  auto rows = static_cast<uint32_t>(p.radix), width = static_cast<uint32_t>(p.columns);
  for (auto list = static_cast<uint64_t>(p.radices); list != 0; list >>= 4) {
    const auto radix = static_cast<uint32_t>(list & 15);
    const uint32_t count = total / radix;
    rows /= radix;
    switch (radix) {
      case 2:
        fft_step<2, T>(x, count, rows, width);
        break;
      case 3:
        fft_step<3, T>(x, count, rows, width);
        break;
      case 4:
        fft_step<4, T>(x, count, rows, width);
        break;
      case 5:
        fft_step<5, T>(x, count, rows, width);
        break;
      case 7:
        fft_step<7, T>(x, count, rows, width);
        break;
      default:
        fft_step<8, T>(x, count, rows, width);
    }
    width *= radix;
  }
}

//--- between tiles and arrays -------------------------------------------------------------------

/// An element of the operand: zeros behind its end, and the mirror image of half a spectrum, whose
/// coefficients that are their own images are real.
template <class T, class I>
MLX_FN m::Cx<T> fft_operand(const FftPassArguments& p, I line, I element) {
  m::Cx<T> z{T(0), T(0)};
  const I n = static_cast<I>(p.n);
  const bool half = p.source == kFftHalf, mirrored = half && element > n - element;
  const I from = mirrored ? n - element : element;
  if (element >= n || from >= static_cast<I>(p.there)) return z;
  const int64_t at =
      offset_of(p.walk, static_cast<int64_t>(line)) + static_cast<int64_t>(from) * p.step;
  if (p.source == kFftReal) {
    z.re = memory<const T>(p.in)[at];
    return z;
  }
  z = memory<const m::Cx<T>>(p.in)[at];
  if (half && (from == 0 || from == n - from)) z.im = T(0);
  if (mirrored) z.im = -z.im;
  return z;
}

/// Element `at` of one of the arrays [length, inner] that a pass reads.
template <class T, class I>
MLX_FN m::Cx<T> fft_read(const FftPassArguments& p, I outer, I at) {
  const I inner = static_cast<I>(p.inner), element = inner == 1 ? at : at / inner;
  m::Cx<T> z;
  if (p.source == kFftArray) {
    z = memory<const m::Cx<T>>(p.in)[outer * static_cast<I>(p.length) * inner + at];
    if (p.spectrum) z = fft_product(z, memory<const m::Cx<T>>(p.spectrum)[element]);
  } else if (p.source == kFftChirp) {  // its conjugate, at both ends of the line
    const I back = static_cast<I>(p.length) - element, j = element < back ? element : back;
    if (j >= static_cast<I>(p.n)) return {T(0), T(0)};
    return m::conjugate(fft_chirp<T, I>(j, static_cast<I>(p.n)));
  } else {
    z = fft_operand<T, I>(p, outer * inner + (at - element * inner), element);
  }
  if (p.exchanged_in) z = exchanged(z);
  if (p.chirp_in && element < static_cast<I>(p.n))
    z = fft_product(z, fft_chirp<T, I>(element, static_cast<I>(p.n)));
  return z;
}

/// Writes element `at` of such an array, or the result's.
template <class T, class I>
MLX_FN void fft_write(const FftPassArguments& p, I outer, I at, m::Cx<T> z, T scale) {
  const I inner = static_cast<I>(p.inner);
  if (p.result == kFftArray) {
    memory<m::Cx<T>>(p.out)[outer * static_cast<I>(p.length) * inner + at] = z;
    return;
  }
  const I element = inner == 1 ? at : at / inner;
  if (element >= static_cast<I>(p.kept)) return;
  if (p.chirp_out)  // behind a convolution, whose second transform is an inverse one
    z = fft_product(exchanged(z), fft_chirp<T, I>(element, static_cast<I>(p.n)));
  if (p.exchanged_out) z = exchanged(z);
  const I to = outer * static_cast<I>(p.kept) * inner + at;
  if (p.result == kFftReal) {
    memory<T>(p.out)[to] = z.re * scale;
  } else {
    memory<m::Cx<T>>(p.out)[to] = {z.re * scale, z.im * scale};
  }
}

/// A pass. Columns that are neighbours in an array are read, and written, by neighbouring threads.
template <class T, class I>
MLX_FN void fft_pass(const FftPassArguments& p) {
  using Z = m::Cx<T>;
  MLX_SHARED Z x[kFftBytes / sizeof(Z)];
  const T scale = static_cast<T>(p.scale);
  const auto radix = static_cast<uint32_t>(p.radix), columns = static_cast<uint32_t>(p.columns);
  const auto in_run = static_cast<uint32_t>(p.in_run), out_run = static_cast<uint32_t>(p.out_run);
  const I rows = static_cast<I>(p.rows), width = static_cast<I>(p.width), span = rows * width;
  const I all = static_cast<I>(p.outer) * span;
  for (I first = static_cast<I>(blockIdx.x) * columns; first < all;
       first += static_cast<I>(gridDim.x) * columns) {
    const uint32_t some = all - first < columns ? static_cast<uint32_t>(all - first) : columns;
    for (uint32_t e = threadIdx.x; e < radix * columns; e += kThreads) {
      const uint32_t run = e / in_run, j = run % radix;
      const uint32_t column = run / radix * in_run + e % in_run;
      Z z{T(0), T(0)};
      if (column < some) {
        const I outer = (first + column) / span, within = first + column - outer * span;
        z = fft_read<T, I>(p, outer, within + j * span);
      }
      x[j * columns + column] = z;
    }
    __syncthreads();
    fft_columns<T>(p, x);
    if (p.convolves) {
      for (uint32_t e = threadIdx.x; e < radix * columns; e += kThreads)
        x[e] = exchanged(fft_product<T>(x[e], memory<const Z>(p.spectrum)[e / columns]));
      __syncthreads();
      fft_columns<T>(p, x);
    }
    for (uint32_t e = threadIdx.x; e < radix * columns; e += kThreads) {
      const uint32_t run = e / out_run, k = run % radix;
      const uint32_t column = run / radix * out_run + e % out_run;
      if (column >= some) continue;
      const I outer = (first + column) / span, within = first + column - outer * span;
      const I row = within / width;
      Z z = x[k * columns + column];
      if (row != 0) z = fft_product(z, fft_root<T, I>(row * k, radix * rows));
      fft_write<T, I>(p, outer, (row * radix + k) * width + (within - row * width), z, scale);
    }
    __syncthreads();
  }
}

}  // namespace mlx::core::device
