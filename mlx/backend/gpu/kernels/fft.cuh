// Steps around Fourier transforms of dense lines: lines are gathered, padded and cropped; results
// are scaled, and put where they belong.
#pragma once

#include "mlx/backend/gpu/kernels/axes.cuh"

namespace mlx::core::device {

/// Element k of each line, zeros behind its end. Half: of a spectrum whose other half is its mirror
/// image, so that the coefficients which are their own images are real.
template <class T, class I, bool Half>
MLX_FN void fft_lines(const FftArguments& p) {
  const I n = static_cast<I>(p.lines) * static_cast<I>(p.length);
  const auto* in = memory<const T>(p.in);
  auto* out = memory<T>(p.out);
  for (I x = static_cast<I>(blockIdx.x) * kThreads + threadIdx.x; x < n;
       x += static_cast<I>(gridDim.x) * kThreads) {
    const I line = x / static_cast<I>(p.length);
    const auto k = static_cast<int64_t>(x - line * static_cast<I>(p.length));
    T value{};
    if (k < p.there) value = in[offset_of(p.walk, static_cast<int64_t>(line)) + k * p.step];
    if constexpr (Half) {
      if (k == 0 || 2 * k == p.n) value.im = 0;
    }
    out[x] = value;
  }
}

template <class T>
MLX_FN T scaled(T x, double scale) {
  if constexpr (m::IsCx<T>::value) {
    using F = decltype(T::re);
    return {x.re * static_cast<F>(scale), x.im * static_cast<F>(scale)};
  } else {
    return x * static_cast<T>(scale);
  }
}

/// Scales results; lines whose elements are `inner` apart go to their places.
template <class T, class I>
MLX_FN void fft_results(const FftArguments& p) {
  const I length = static_cast<I>(p.length), inner = static_cast<I>(p.inner);
  const I n = static_cast<I>(p.lines) * length;
  const auto* in = memory<const T>(p.in);
  auto* out = memory<T>(p.out);
  for (I x = static_cast<I>(blockIdx.x) * kThreads + threadIdx.x; x < n;
       x += static_cast<I>(gridDim.x) * kThreads) {
    I from = x;
    if (inner > 1) {
      const I i = x % inner, rest = x / inner, k = rest % length, outer = rest / length;
      from = (outer * inner + i) * length + k;
    }
    out[x] = scaled(in[from], p.scale);
  }
}

}  // namespace mlx::core::device
