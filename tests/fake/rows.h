// How a row of ops/elementwise.def becomes a micro-op for a dtype.
#pragma once

#include "micro_ops.h"
#include "mlx/backend/common/domain.h"
#include "mlx/backend/math/bodies.h"
#include "mlx/backend/math/lane.h"

namespace mlx::core::fake {

using lane::LD;
using lane::LF;

/// The computation of an element of type T: floats on a lane, others as they are.
template <class T>
struct Computed {
  using type = T;
};
template <>
struct Computed<float> {
  using type = LF;
};
template <>
struct Computed<double> {
  using type = LD;
};

// Results as they lie in memory.
template <class T>
MLX_FN T stored(lane::Lane<T> x) {
  return x.v;
}
template <int S>
MLX_FN bool stored(lane::Mask<S> x) {
  return x.m;
}
template <class T>
MLX_FN T stored(T x) {
  return x;
}

template <class F, int Arity, class T>
void run_row(const void* const* in, void* out, int64_t n) {
  using V = typename Computed<T>::type;
  const T* a = static_cast<const T*>(in[0]);
  if constexpr (Arity == 1) {
    auto* o = static_cast<decltype(stored(F{}(V())))*>(out);
    for (int64_t i = 0; i < n; ++i) o[i] = stored(F{}(V(a[i])));
  } else {
    const T* b = static_cast<const T*>(in[1]);
    auto* o = static_cast<decltype(stored(F{}(V(), V())))*>(out);
    for (int64_t i = 0; i < n; ++i) o[i] = stored(F{}(V(a[i]), V(b[i])));
  }
}

template <class F, int Arity, Domain D, Dtype::Val V, class T>
constexpr MicroOp row() {
  if constexpr (Arity == 3 || !takes(D, V)) {
    return nullptr;
  } else {
    return &run_row<F, Arity, T>;
  }
}

template <Dtype::Val V, class T>
struct Rows {
  static constexpr MicroOp table[kElementwiseCount] = {
#define E(name, arity, domain, ...) row<bodies::name, arity, Domain::domain, V, T>(),
#include "mlx/ops/elementwise.def"
#undef E
  };
};

}  // namespace mlx::core::fake
