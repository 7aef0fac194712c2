// Functions of Double by the math library, and trigonometric functions of arguments of any size.
#pragma once

namespace mlx_math {

using mlx::core::lane::LD;

#define MLX_OF_LIBRARY(name, own) \
  inline Double name(Double x) { return mlx::core::m::own(LD(x)).v; }
MLX_OF_LIBRARY(exp, exp)
MLX_OF_LIBRARY(expm1, expm1)
MLX_OF_LIBRARY(log, log)
MLX_OF_LIBRARY(log1p, log1p)
MLX_OF_LIBRARY(sinh, sinh)
MLX_OF_LIBRARY(cosh, cosh)
MLX_OF_LIBRARY(tanh, tanh)
MLX_OF_LIBRARY(asinh, arcsinh)
MLX_OF_LIBRARY(atan, arctan)
#undef MLX_OF_LIBRARY
inline Double atan2(Double y, Double x) { return mlx::core::m::arctan2(LD(y), LD(x)).v; }

inline Double hypot(Double x, Double y) {
  using namespace mlx::core::double_detail;
  const Double a = fabs(x), b = fabs(y), big = a < b ? b : a, small = a < b ? a : b;
  if (is_infinite(a.bits) || is_infinite(b.bits)) return double_of(kInfinite);
  if (is_nan(a.bits) || is_nan(b.bits)) return double_of(nan_of(a.bits, b.bits));
  if (is_zero(big.bits)) return big;
  const Double ratio = small / big;
  return big * sqrt(fma(ratio, ratio, Double(1)));
}

/// 2 / pi = sum of kTwoOverPi[k] / 2^(64 (k + 1)).
constexpr constant uint64_t kTwoOverPi[6] = {0xa2f9836e4e441529ul, 0xfc2757d1f534ddc0ul,
                                             0xdb6295993c439041ul, 0xfe5163abdebbc561ul,
                                             0xb7246e3a424dd2e0ul, 0x06492eea09d1921cul};

/// An angle of at least 0 as quarters of a turn and a rest of at most an eighth.
struct Angle {
  Double rest;
  int quarters;
};
/// x, from 2^30 to 2^128: x * 2 / pi, without multiples of 4, of bits that count.
inline Angle reduced_large(Double x) {
  using namespace mlx::core::double_detail;
  const Parts p = parts(x.bits);
  const uint64_t m = p.m >> 11;  // x = m * 2^e
  const int e = p.exponent - 52;
  // 192 bits of 2 / pi, of which the first counts 2 in m * 2^e times it.
  const int from = e - 2 + 64;  // counted from 64 zeros before the table
  uint64_t w[3];
  for (int k = 0; k < 3; ++k) {
    const int word = (from >> 6) + k, rest = from & 63;
    const uint64_t high = word < 1 || word > 6 ? 0 : kTwoOverPi[word - 1];
    const uint64_t low = word < 0 || word > 5 ? 0 : kTwoOverPi[word];
    w[k] = rest ? (high << rest) | (low >> (64 - rest)) : high;
  }
  const Wide low = product(m, w[2]), middle = product(m, w[1]);
  uint64_t r1 = middle.low + low.high;
  uint64_t r0 = m * w[0] + middle.high + (r1 < middle.low);
  const uint64_t r2 = low.low;
  // Rounded to a number of quarters: the rest may be negative.
  const uint64_t quarters = (r0 + (uint64_t(1) << 61)) >> 62;
  r0 -= quarters << 62;
  const bool negative = (r0 >> 63) != 0;
  Wide left{r0, r1};
  if (negative) {
    left.low = ~r1 + (r2 == 0);
    left.high = ~r0 + (r2 == 0 && r1 == 0);
  }
  int exponent = 1;
  if (left.high == 0) {
    left.high = left.low;
    left.low = 0;
    exponent -= 64;
  }
  const int up = left.high ? leading_zeros(left.high) : 0;
  if (up) left.high = (left.high << up) | (left.low >> (64 - up));
  const Double fraction = double_of(packed(negative ? kSign : 0, exponent - up, left.high | 1));
  return Angle{fraction * double_of(0x3ff921fb54442d18ul), static_cast<int>(quarters & 3)};
}
inline Angle reduced(Double x) {
  using namespace mlx::core::double_detail;
  if (x.bits < of_constant(uint64_t(1) << 30, false)) {
    const auto a = mlx::core::m::trig_detail::reduce(LD(x));
    return Angle{a.r.v, static_cast<int>(a.q.v & 3)};
  }
  if (x.bits >= kInfinite) return Angle{double_of(kNan), 0};
  return reduced_large(x);
}

/// sin(x + turns pi/2) for x >= 0.
inline Double wave(Double x, int turns) {
  const Angle a = reduced(x);
  const int q = a.quarters + turns;
  const LD r(a.rest), z = r * r;
  const LD y = q & 1 ? mlx::core::m::trig_detail::cos_near_zero(z)
                     : mlx::core::m::trig_detail::sin_near_zero(r, z);
  return q & 2 ? -y.v : y.v;
}
inline Double sin(Double x) {
  const Double y = wave(fabs(x), 0);
  return double_of(y.bits ^ (x.bits & mlx::core::double_detail::kSign));
}
inline Double cos(Double x) { return wave(fabs(x), 1); }
inline Double tan(Double x) { return sin(x) / cos(x); }

}  // namespace mlx_math
