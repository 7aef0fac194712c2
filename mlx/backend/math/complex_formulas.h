// Complex functions in double precision from real ones, for processors without the C library's:
// Kahan's formulas. Part of math_complex.h.
#pragma once

namespace mlx::core::m {

namespace complex_detail {
inline constexpr double kQuarterPi = 0x1.921fb54442d18p-1;
MLX_FN bool infinite(double x) { return __builtin_fabs(x) == kInf<double>; }
MLX_FN bool finite(double x) { return x - x == 0; }
/// e^x c for |c| <= 1, where e^x alone may be too large.
MLX_FN double exp_times(double x, double c) {
  if (!(x > 709) || infinite(x)) return __builtin_exp(x) * c;
  const double h = __builtin_exp(0.5 * x);
  return h * c * h;
}
/// (cosh x) c and (sinh x) c.
MLX_FN double cosh_times(double x, double c) {
  return __builtin_fabs(x) > 709 ? exp_times(__builtin_fabs(x), 0.5 * c) : __builtin_cosh(x) * c;
}
MLX_FN double sinh_times(double x, double c) {
  if (!(__builtin_fabs(x) > 709)) return __builtin_sinh(x) * c;
  return __builtin_copysign(1.0, x) * exp_times(__builtin_fabs(x), 0.5 * c);
}
/// i z, and -i z.
MLX_FN Cx<double> turn(Cx<double> z) { return {-z.im, z.re}; }
MLX_FN Cx<double> turn_back(Cx<double> z) { return {z.im, -z.re}; }
}  // namespace complex_detail

MLX_FN Cx<double> exp(Cx<double> z) {
  using namespace complex_detail;
  if (z.im == 0) return {__builtin_exp(z.re), z.im};
  if (infinite(z.re) && !finite(z.im)) {
    if (z.re < 0) return {0.0, 0.0};
    return {z.re, z.im - z.im};
  }
  return {exp_times(z.re, __builtin_cos(z.im)), exp_times(z.re, __builtin_sin(z.im))};
}

MLX_FN Cx<double> log(Cx<double> z) {
  using namespace complex_detail;
  double a = __builtin_fabs(z.re), b = __builtin_fabs(z.im);
  const double angle = __builtin_atan2(z.im, z.re);
  if (infinite(a) || infinite(b)) return {kInf<double>, angle};
  const double big = a > b ? a : b, small = a > b ? b : a;
  if (big > 0.5 && big < 2 && small < 2)
    return {0.5 * __builtin_log1p((big - 1) * (big + 1) + small * small), angle};
  if (big > 0x1p1000)
    return {__builtin_log(__builtin_hypot(0.25 * a, 0.25 * b)) + 1.3862943611198906, angle};
  if (big < 0x1p-1000 && big > 0)
    return {__builtin_log(__builtin_hypot(0x1p100 * a, 0x1p100 * b)) - 69.314718055994529, angle};
  return {__builtin_log(__builtin_hypot(a, b)), angle};
}

MLX_FN Cx<double> sqrt(Cx<double> z) {
  using namespace complex_detail;
  if (z.re == 0 && z.im == 0) return {0.0, z.im};
  if (infinite(z.im)) return {kInf<double>, z.im};
  if (infinite(z.re)) {
    const double rest = z.im != z.im ? z.im : 0.0;
    if (z.re > 0) return {z.re, z.im != z.im ? z.im : __builtin_copysign(0.0, z.im)};
    return {rest, __builtin_copysign(kInf<double>, z.im)};
  }
  // Scaled by a power of 4, so that nothing overflows or is subnormal.
  const double size = __builtin_fabs(z.re) + __builtin_fabs(z.im) * 0.5;
  const double up = size > 0x1p1000 ? 0x1p-200 : size < 0x1p-900 ? 0x1p200 : 1.0;
  const double back = size > 0x1p1000 ? 0x1p100 : size < 0x1p-900 ? 0x1p-100 : 1.0;
  const double x = z.re * up, y = z.im * up;
  const double t = __builtin_sqrt(0.5 * (__builtin_fabs(x) + __builtin_hypot(x, y)));
  const double s = y / (2 * t);
  if (x >= 0) return {t * back, s * back};
  return {__builtin_fabs(s) * back, __builtin_copysign(t * back, z.im)};
}

MLX_FN Cx<double> sinh(Cx<double> z) {
  using namespace complex_detail;
  if (z.im == 0) return {__builtin_sinh(z.re), z.im};
  if (z.re == 0) return {finite(z.im) ? z.re * __builtin_cos(z.im) : z.re, __builtin_sin(z.im)};
  if (infinite(z.re) && !finite(z.im)) return {z.re, z.im - z.im};
  return {sinh_times(z.re, __builtin_cos(z.im)), cosh_times(z.re, __builtin_sin(z.im))};
}
MLX_FN Cx<double> cosh(Cx<double> z) {
  using namespace complex_detail;
  if (z.im == 0) return {__builtin_cosh(z.re), z.im * __builtin_copysign(1.0, z.re)};
  if (z.re == 0) return {__builtin_cos(z.im), z.re * (finite(z.im) ? __builtin_sin(z.im) : 1.0)};
  if (infinite(z.re) && !finite(z.im)) return {kInf<double>, z.im - z.im};
  return {cosh_times(z.re, __builtin_cos(z.im)), sinh_times(z.re, __builtin_sin(z.im))};
}
MLX_FN Cx<double> tanh(Cx<double> z) {
  using namespace complex_detail;
  if (z.im == 0) return {__builtin_tanh(z.re), z.im};
  if (z.re == 0) return {z.re, __builtin_tan(z.im)};
  if (__builtin_fabs(z.re) > 22) {
    const double sign = __builtin_copysign(1.0, z.re);
    if (!finite(z.im))
      return infinite(z.re) ? Cx<double>{sign, 0.0} : Cx<double>{kNan<double>, kNan<double>};
    const double s = __builtin_sin(z.im), c = __builtin_cos(z.im);
    return {sign, 4 * s * c * __builtin_exp(-2 * __builtin_fabs(z.re))};
  }
  const double t = __builtin_tan(z.im), beta = 1 + t * t;
  const double s = __builtin_sinh(z.re), rho = __builtin_sqrt(1 + s * s), below = 1 + beta * s * s;
  return {beta * rho * s / below, t / below};
}
MLX_FN Cx<double> sin(Cx<double> z) {
  return complex_detail::turn_back(sinh(complex_detail::turn(z)));
}
MLX_FN Cx<double> cos(Cx<double> z) { return cosh(complex_detail::turn(z)); }
MLX_FN Cx<double> tan(Cx<double> z) {
  return complex_detail::turn_back(tanh(complex_detail::turn(z)));
}

MLX_FN Cx<double> arcsin(Cx<double> z) {
  using namespace complex_detail;
  if (z.re == 0 && z.im != z.im) return z;
  if (infinite(z.re) && z.im != z.im) return {z.im, kInf<double>};
  if (infinite(z.im) || (infinite(z.re) && z.im == z.im)) {
    const double angle = !infinite(z.re) ? z.re * 0 : infinite(z.im) ? kQuarterPi : 2 * kQuarterPi;
    return {__builtin_copysign(angle, z.re), __builtin_copysign(kInf<double>, z.im)};
  }
  const Cx<double> a = sqrt(Cx<double>{1 - z.re, -z.im}), b = sqrt(Cx<double>{1 + z.re, z.im});
  return {__builtin_atan2(z.re, a.re * b.re - a.im * b.im),
          __builtin_copysign(__builtin_asinh(a.re * b.im - a.im * b.re), z.im)};
}
MLX_FN Cx<double> arccos(Cx<double> z) {
  using namespace complex_detail;
  if (infinite(z.re) && infinite(z.im)) return {(z.re > 0 ? 1 : 3) * kQuarterPi, -z.im};
  if (z.re == 0 && z.im != z.im) return {2 * kQuarterPi, z.im};
  if (infinite(z.re) && z.im != z.im) return {z.im, kInf<double>};
  if (z.re != z.re && infinite(z.im)) return {z.re, -z.im};
  const Cx<double> a = sqrt(Cx<double>{1 - z.re, -z.im}), b = sqrt(Cx<double>{1 + z.re, z.im});
  return {2 * __builtin_atan2(a.re, b.re),
          __builtin_copysign(__builtin_asinh(b.re * a.im - b.im * a.re), -z.im)};
}
MLX_FN Cx<double> arccosh(Cx<double> z) {
  using namespace complex_detail;
  if (infinite(z.re) && infinite(z.im))
    return {kInf<double>, __builtin_copysign((z.re > 0 ? 1 : 3) * kQuarterPi, z.im)};
  if (z.re == 0 && z.im != z.im) return {z.im, 2 * kQuarterPi};
  if (infinite(z.re) && z.im != z.im) return {kInf<double>, z.im};
  if (z.re != z.re && infinite(z.im)) return {kInf<double>, z.re};
  const Cx<double> a = sqrt(Cx<double>{z.re - 1, z.im}), b = sqrt(Cx<double>{z.re + 1, z.im});
  return {__builtin_asinh(a.re * b.re + a.im * b.im), 2 * __builtin_atan2(a.im, b.re)};
}
MLX_FN Cx<double> arcsinh(Cx<double> z) {
  return complex_detail::turn_back(arcsin(complex_detail::turn(z)));
}
MLX_FN Cx<double> arctanh(Cx<double> z) {
  using namespace complex_detail;
  const double x = __builtin_fabs(z.re), y = z.im, size = __builtin_fabs(y);
  if ((x != x && !infinite(size)) || (size != size && !infinite(x))) {
    return {x == 0 ? z.re : kNan<double>, kNan<double>};
  }
  if (x > 0x1p500 || size > 0x1p500) {
    // 1 / z, and a quarter turn.
    double re = 0;
    if (x == x && size == size && !infinite(x) && !infinite(size))
      re = x > size ? 1 / (x + size * (size / x)) : (x / size) / (x * (x / size) + size);
    if (infinite(size) || size == size)
      return {__builtin_copysign(re, z.re), __builtin_copysign(1.5707963267948966, y)};
    return {__builtin_copysign(re, z.re), y};
  }
  if (x == 0) return {z.re, __builtin_atan(y)};
  if (x == 1 && size < 0x1p-500 && y != 0) {
    return {__builtin_copysign(0.5 * (0.6931471805599453 - __builtin_log(size)), z.re),
            __builtin_copysign(0.7853981633974483, y)};
  }
  const double re = 0.25 * __builtin_log1p(4 * x / ((1 - x) * (1 - x) + y * y));
  const double im = 0.5 * __builtin_atan2(2 * y, (1 - x) * (1 + x) - y * y);
  return {__builtin_copysign(re, z.re), im};
}
MLX_FN Cx<double> arctan(Cx<double> z) {
  return complex_detail::turn_back(arctanh(complex_detail::turn(z)));
}

}  // namespace mlx::core::m
