// Whole spectra of real signals from their first halves.
#pragma once

#include "mlx/backend/gpu/kernels/fft_numbers.cuh"

namespace mlx::core::device {

/// A row of the result: where its coefficients and the images of these begin in the half.
struct SpectrumRow {
  int64_t own, image;
  bool beyond;  ///< whether all coefficients are images
};
MLX_FN SpectrumRow spectrum_row(const SpectrumArguments& p, int64_t number) {
  SpectrumRow row = {0, 0, false};
  for (int d = static_cast<int>(p.outer.rank) - 1; d >= 0; --d) {
    const int64_t length = p.outer.shape[d], rest = position_quotient(number, length);
    const int64_t k = number - rest * length;
    number = rest;
    row.own += k * p.outer.strides[d];
    row.image += (p.mirrored >> d & 1 && k > 0 ? length - k : k) * p.outer.strides[d];
    if (d == p.half_axis) row.beyond = k >= p.half;
  }
  return row;
}

/// Coefficient k of a row.
template <class F>
MLX_FN FftPair<F> spectrum_coefficient(const SpectrumArguments& p, const SpectrumRow& row,
                                       int64_t k) {
  const bool mirrored = p.mirrored >> p.outer.rank & 1, half = p.half_axis == p.outer.rank;
  const bool image = half ? k >= p.half : row.beyond;
  const int64_t at = image && mirrored && k > 0 ? p.length - k : k;
  const int64_t from = p.in + ((image ? row.image : row.own) + at * p.step) * sizeof(FftPair<F>);
  FftPair<F> x;
  if (p.pairs) {
    x = *memory<const FftPair<F>>(from);
  } else {
    const m::Cx<F> z = *memory<const m::Cx<F>>(from);
    x = {z.re, z.im};
  }
  if (image != (p.conjugate != 0)) x.im = 0 - x.im;  // +0 of 0
  return x;
}

/// A warp has a part of a row.
template <class F>
MLX_FN void fill_spectrum(const SpectrumArguments& p) {
  constexpr int kMany = 4;  // coefficients of a lane that are read before one is written
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kThreads / 32);
  const int64_t all = p.rows * p.parts;
  for (int64_t n = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32; n < all;
       n += warps) {
    const int64_t r = position_quotient(n, p.parts), begin = (n - r * p.parts) * p.part;
    const int64_t end = p.length - begin < p.part ? p.length : begin + p.part;
    const SpectrumRow row = spectrum_row(p, r);
    auto* out = memory<FftPair<F>>(p.out) + r * p.length;
    for (int64_t first = begin + lane; first < end; first += kMany * 32) {
      FftPair<F> some[kMany];
#pragma unroll
      for (int j = 0; j < kMany; ++j)
        if (first + j * 32 < end) some[j] = spectrum_coefficient<F>(p, row, first + j * 32);
#pragma unroll
      for (int j = 0; j < kMany; ++j)
        if (first + j * 32 < end) out[first + j * 32] = some[j];
    }
  }
}

/// Rows shorter than a warp: a thread has a coefficient.
template <class F>
MLX_FN void fill_short_spectrum(const SpectrumArguments& p) {
  for (int64_t x = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; x < p.rows * p.length;
       x += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t r = position_quotient(x, p.length);
    memory<FftPair<F>>(p.out)[x] = spectrum_coefficient<F>(p, spectrum_row(p, r), x - r * p.length);
  }
}

}  // namespace mlx::core::device
