// Shared by the kernels of whole float rows: iteration over vectors with a short last one, padding,
// horizontal combination, and dispatch on the element type. Included by files that are compiled
// once per instruction set.
#pragma once

#include "mlx/backend/cpu/simd/lanes.h"
#include "mlx/backend/cpu/simd/short_rows.h"
#include "mlx/core/dtype.h"

namespace mlx::core::cpu::MLX_ISA {

/// Calls f(first, count) for the vectors of N among n elements; the last count may be less than N.
template <int N, class F>
MLX_FN void each_vector(int64_t n, F f) {
  int64_t i = 0;
  for (; i + N <= n; i += N) f(i, int64_t{N});
  if (i < n) f(i, n - i);
}

/// The first `some` of V::N elements, followed by zeros.
template <class V>
MLX_FN V load_first(const typename V::elem* p, int64_t some) {
  return some == V::N ? V::load(p) : V::load_partial(p, some);
}
template <class V>
MLX_FN void store_first(typename V::elem* p, V x, int64_t some) {
  if (some == V::N)
    x.store(p);
  else
    x.store_partial(p, some);
}

/// x with `rest` in the lanes from `some` on.
template <class V>
MLX_FN V padded(V x, int64_t some, typename V::elem rest) {
  return some == V::N ? x : v_select(V::first_lanes(some), x, V(rest));
}

/// Combines the lanes of x by halves, in a fixed order.
template <class V, class F>
MLX_FN typename V::elem combine_lanes(V x, F combine) {
  typename V::elem few[V::N];
  x.store(few);
  for (int h = V::N / 2; h > 0; h /= 2)
    for (int i = 0; i < h; ++i) few[i] = combine(few[i], few[i + h]);
  return few[0];
}
template <class V>
MLX_FN typename V::elem total(V x) {
  return combine_lanes(x, [](auto a, auto b) { return a + b; });
}
/// The largest lane; NaN takes precedence.
template <class V>
MLX_FN typename V::elem largest_lane(V x) {
  return combine_lanes(x, [](auto a, auto b) { return a > b || a != a ? a : b; });
}

/// The elements of up to V::N contiguous rows of n <= V::N elements; a lane has a row. A describes
/// how elements are stored.
template <class A, class V = typename A::V>
MLX_FN void load_short_rows(const typename A::S* p, int64_t n, int64_t rows, V* element) {
  constexpr int N = V::N;
  decltype(V::v) square[N];
  for (int64_t r = 0; r < N; ++r) square[r] = V(0).v;
  for (int64_t r = 0; r < rows; ++r) square[r] = load_some<A>(p + r * n, n).v;
  for_few<N>(n, [&]<int Few>() { to_lanes<N, Few>(square); });
  for (int64_t e = 0; e < n; ++e) element[e] = V(square[e]);
}
template <class A, class V = typename A::V>
MLX_FN void store_short_rows(const V* element, int64_t n, int64_t rows, typename A::S* p) {
  constexpr int N = V::N;
  decltype(V::v) square[N];
  for (int64_t e = 0; e < N; ++e) square[e] = e < n ? element[e].v : V(0).v;
  for_few<N>(n, [&]<int Few>() { from_lanes<N, Few>(square); });
  for (int64_t r = 0; r < rows; ++r) store_some<A>(p + r * n, V(square[r]), n);
}

/// f<A>() where A describes how elements of the float dtype t are stored and computed.
template <class F>
auto for_float(Dtype::Val t, F f) {
  switch (t) {
    case Dtype::Val::float16:
      return f.template operator()<Float16>();
    case Dtype::Val::bfloat16:
      return f.template operator()<Bfloat16>();
    case Dtype::Val::float64:
      return f.template operator()<Float64>();
    default:
      return f.template operator()<Float32>();
  }
}

}  // namespace mlx::core::cpu::MLX_ISA
