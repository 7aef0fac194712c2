// Complex arithmetic and functions, one number at a time. Functions run in double precision,
// through the C library where there is one, which defines C99's special values; complex64 rounds
// once at the end.
#pragma once

#include "mlx/backend/math/basic.h"

namespace mlx::core::m {

/// A complex number laid out as std::complex<T>, without its functions.
template <class T>
struct Cx {
  T re, im;
};
template <class T>
MLX_FN Cx<double> to_double(Cx<T> z) {
  return {static_cast<double>(z.re), static_cast<double>(z.im)};
}
template <class T>
MLX_FN Cx<T> from_double(Cx<double> z) {
  return {static_cast<T>(z.re), static_cast<T>(z.im)};
}

template <class T>
MLX_FN Cx<T> add(Cx<T> a, Cx<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
MLX_FN Cx<T> subtract(Cx<T> a, Cx<T> b) {
  return {a.re - b.re, a.im - b.im};
}
// Here and in quotients both parts are written as sums: for a sum and a difference of products side
// by side, some compilers emit fused instructions even with contraction off.
template <class T>
MLX_FN Cx<T> multiply(Cx<T> a, Cx<T> b) {
  return {a.re * b.re + -a.im * b.im, a.re * b.im + a.im * b.re};
}
/// Smith's algorithm, without intermediate overflow or underflow.
template <class T>
MLX_FN Cx<T> divide(Cx<T> x, Cx<T> y) {
  Cx<double> a = to_double(x), b = to_double(y);
  double p = __builtin_fabs(b.re), q = __builtin_fabs(b.im);
  bool swap = p < q;
  double big = swap ? b.im : b.re, small = swap ? b.re : b.im;
  bool zero = (p == 0) & (q == 0);
  double ratio = zero ? 0.0 : small / big;
  double bottom = big + small * ratio;
  bottom = zero ? p : bottom;
  Cx<double> turned{a.im, -a.re};
  Cx<double> whole = swap ? turned : a, part = swap ? a : turned;
  double re = whole.re + part.re * ratio, im = whole.im + part.im * ratio;
  return from_double<T>({re / bottom, im / bottom});
}
template <class T>
MLX_FN Cx<T> reciprocal(Cx<T> a) {
  return divide(Cx<T>{T(1), T(0)}, a);
}
template <class T>
MLX_FN Cx<T> negative(Cx<T> a) {
  return {-a.re, -a.im};
}
template <class T>
MLX_FN Cx<T> conjugate(Cx<T> a) {
  return {a.re, -a.im};
}
template <class T>
MLX_FN Cx<T> square(Cx<T> a) {
  return multiply(a, a);
}
template <class T>
MLX_FN T real(Cx<T> a) {
  return a.re;
}
template <class T>
MLX_FN T imag(Cx<T> a) {
  return a.im;
}
template <class T>
MLX_FN T abs(Cx<T> a) {
  if constexpr (sizeof(T) == 4) {  // squares of floats stay within double; 0 * inf must not occur
    double re = a.re, im = a.im, r = __builtin_sqrt(re * re + im * im);
    bool infinite = (__builtin_fabs(re) == kInf<double>) | (__builtin_fabs(im) == kInf<double>);
    return static_cast<T>(infinite ? kInf<double> : r);
  } else {
    return __builtin_hypot(a.re, a.im);
  }
}
/// a / |a|; 0 for 0.
template <class T>
MLX_FN Cx<T> sign(Cx<T> a) {
  double r = abs(to_double(a));
  return r == 0 ? a : Cx<T>{static_cast<T>(a.re / r), static_cast<T>(a.im / r)};
}

// Ordered by real parts, then by imaginary parts.
template <class T>
MLX_FN bool equal(Cx<T> a, Cx<T> b) {
  return (a.re == b.re) & (a.im == b.im);
}
template <class T>
MLX_FN bool not_equal(Cx<T> a, Cx<T> b) {
  return (a.re != b.re) | (a.im != b.im);
}
template <class T>
MLX_FN bool less(Cx<T> a, Cx<T> b) {
  return (a.re < b.re) | ((a.re == b.re) & (a.im < b.im));
}
template <class T>
MLX_FN bool less_equal(Cx<T> a, Cx<T> b) {
  return (a.re < b.re) | ((a.re == b.re) & (a.im <= b.im));
}
template <class T>
MLX_FN bool greater(Cx<T> a, Cx<T> b) {
  return less(b, a);
}
template <class T>
MLX_FN bool greater_equal(Cx<T> a, Cx<T> b) {
  return less_equal(b, a);
}
template <class T>
MLX_FN bool isnan(Cx<T> a) {
  return (a.re != a.re) | (a.im != a.im);
}
template <class T>
MLX_FN bool isinf(Cx<T> a) {
  return (a.re - a.re != 0 && a.re == a.re) || (a.im - a.im != 0 && a.im == a.im);
}
template <class T>
MLX_FN bool isposinf(Cx<T> a) {
  return (a.re == kInf<T>)&(a.im == T(0));
}
template <class T>
MLX_FN bool isneginf(Cx<T> a) {
  return (a.re == -kInf<T>)&(a.im == T(0));
}
template <class T>
MLX_FN bool isfinite(Cx<T> a) {
  return (a.re - a.re == 0) & (a.im - a.im == 0);
}
template <class T>
MLX_FN Cx<T> maximum(Cx<T> a, Cx<T> b) {
  return isnan(a) || (!isnan(b) && greater(a, b)) ? a : b;
}
template <class T>
MLX_FN Cx<T> minimum(Cx<T> a, Cx<T> b) {
  return isnan(a) || (!isnan(b) && less(a, b)) ? a : b;
}

// Componentwise rounding.
#define MLX_ROUND_PARTS(name)                                                \
  template <class T>                                                         \
  MLX_FN Cx<T> name(Cx<T> a) {                                               \
    return from_double<T>({__builtin_##name(a.re), __builtin_##name(a.im)}); \
  }
MLX_ROUND_PARTS(floor)
MLX_ROUND_PARTS(ceil)
MLX_ROUND_PARTS(rint)
MLX_ROUND_PARTS(trunc)
#undef MLX_ROUND_PARTS

}  // namespace mlx::core::m

// exp to sqrt in double precision.
#ifdef MLX_WITHOUT_C_LIBRARY
#include "mlx/backend/math/complex_formulas.h"
#else
#include "mlx/backend/math/complex_library.h"
#endif

namespace mlx::core::m {

#define MLX_COMPLEX_FUNCTION(name) \
  MLX_FN Cx<float> name(Cx<float> z) { return from_double<float>(name(to_double(z))); }
MLX_COMPLEX_FUNCTION(exp)
MLX_COMPLEX_FUNCTION(log)
MLX_COMPLEX_FUNCTION(sin)
MLX_COMPLEX_FUNCTION(cos)
MLX_COMPLEX_FUNCTION(tan)
MLX_COMPLEX_FUNCTION(sinh)
MLX_COMPLEX_FUNCTION(cosh)
MLX_COMPLEX_FUNCTION(tanh)
MLX_COMPLEX_FUNCTION(arcsin)
MLX_COMPLEX_FUNCTION(arccos)
MLX_COMPLEX_FUNCTION(arctan)
MLX_COMPLEX_FUNCTION(arcsinh)
MLX_COMPLEX_FUNCTION(arccosh)
MLX_COMPLEX_FUNCTION(arctanh)
MLX_COMPLEX_FUNCTION(sqrt)
#undef MLX_COMPLEX_FUNCTION

template <class T>
MLX_FN Cx<T> scaled_log(Cx<T> z, double scale) {
  Cx<double> l = log(to_double(z));
  return from_double<T>({l.re * scale, l.im * scale});
}
template <class T>
MLX_FN Cx<T> log2(Cx<T> z) {
  return scaled_log(z, 1.4426950408889634);
}
template <class T>
MLX_FN Cx<T> log10(Cx<T> z) {
  return scaled_log(z, 0.4342944819032518);
}
/// log(1 + z): the modulus of 1 + z through log1p if it is near 1.
template <class T>
MLX_FN Cx<T> log1p(Cx<T> z) {
  Cx<double> w = to_double(z);
  double x = w.re, y = w.im;
  if (__builtin_fabs(x) < 0.5 && __builtin_fabs(y) < 0.5) {
    return from_double<T>({0.5 * __builtin_log1p(x * (2 + x) + y * y), __builtin_atan2(y, 1 + x)});
  }
  return from_double<T>(log(Cx<double>{1 + x, y}));
}
/// e^z - 1 without cancellation near 0.
template <class T>
MLX_FN Cx<T> expm1(Cx<T> z) {
  Cx<double> w = to_double(z), e = exp(w);
  double s = __builtin_sin(0.5 * w.im), m = __builtin_expm1(w.re);
  bool near = __builtin_fabs(w.re) < 1;
  return from_double<T>({near ? m * __builtin_cos(w.im) - 2 * s * s : e.re - 1, e.im});
}
template <class T>
MLX_FN Cx<T> rsqrt(Cx<T> z) {
  return from_double<T>(reciprocal(sqrt(to_double(z))));
}
/// 1 / (1 + e^-z), through the exponential that is at most 1 in modulus.
template <class T>
MLX_FN Cx<T> sigmoid(Cx<T> z) {
  Cx<double> w = to_double(z), one{1, 0};
  Cx<double> t = exp(w.re < 0 ? w : negative(w));
  return from_double<T>(divide(w.re < 0 ? t : one, add(one, t)));
}
/// log(e^a + e^b), relative to the operand with the larger real part, which determines the branch.
template <class T>
MLX_FN Cx<T> logaddexp(Cx<T> a, Cx<T> b) {
  Cx<double> x = to_double(a), y = to_double(b);
  Cx<double> top = maximum(x, y), low = minimum(x, y);
  if (!isfinite(top) && equal(top, low)) return from_double<T>(top);
  if (low.re == -kInf<double>) return from_double<T>(top);
  return from_double<T>(add(top, log1p(exp(subtract(low, top)))));
}
/// Principal power; small integral exponents by multiplication.
template <class T>
MLX_FN Cx<T> power(Cx<T> a, Cx<T> b) {
  Cx<double> x = to_double(a), y = to_double(b), r{1, 0};
  double n = __builtin_fabs(y.re);
  if (y.im == 0 && n <= 64 && n == __builtin_floor(n)) {
    Cx<double> base = x;
    bool empty = true;
    for (int e = static_cast<int>(n); e != 0; e >>= 1, base = multiply(base, base)) {
      if (e & 1) {
        r = empty ? base : multiply(r, base);
        empty = false;
      }
    }
    return from_double<T>(y.re < 0 ? reciprocal(r) : r);
  }
  if (x.re == 0 && x.im == 0 && y.re > 0) return {T(0), T(0)};
  return from_double<T>(exp(multiply(y, log(x))));
}

}  // namespace mlx::core::m
