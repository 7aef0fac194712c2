// Numbers of 64 bits as IEEE 754 has them, in integer arithmetic: Metal's language has no double.
// They serve where functions of float32 compute with more digits, so that results have the bits of
// other devices. Every operation is rounded to nearest, ties to even.
#pragma once

namespace mlx {
namespace core {

/// A literal of C++ without a suffix: its value as float, and the bits of its value as a double.
struct Literal {
  float value;
  uint64_t bits;
  explicit constexpr operator float() const { return value; }
};
constexpr Literal operator-(Literal x) { return Literal{-x.value, x.bits ^ (uint64_t(1) << 63)}; }

namespace double_detail {

constexpr constant uint64_t kSign = uint64_t(1) << 63, kFraction = (uint64_t(1) << 52) - 1;
constexpr constant uint64_t kInfinite = uint64_t(0x7ff) << 52, kNan = uint64_t(0xfff8) << 48;

/// x / 2^n, with the lost bits kept in the last one.
inline uint64_t shifted(uint64_t x, int n) {
  if (n <= 0) return x;
  if (n > 63) return x != 0;
  return (x >> n) | ((x << (64 - n)) != 0);
}
inline int leading_zeros(uint64_t x) {
  const uint32_t high = static_cast<uint32_t>(x >> 32);
  return high ? static_cast<int>(clz(high)) : 32 + static_cast<int>(clz(static_cast<uint32_t>(x)));
}

/// The bits of m / 2^63 * 2^exponent, rounded; the last bit of m stands for all below.
inline uint64_t packed(uint64_t sign, int exponent, uint64_t m) {
  if (m == 0) return sign;
  const int up = leading_zeros(m);
  m <<= up;
  int biased = exponent - up + 1023;
  if (biased >= 2047) return sign | kInfinite;
  if (biased <= 0) {
    m = shifted(m, 1 - biased);
    biased = 1;
  }
  const uint64_t rest = m & 0x7ff;
  uint64_t kept = m >> 11;
  kept += rest > 0x400 || (rest == 0x400 && (kept & 1));
  // The leading bit of a normal number adds one to the exponent.
  return sign | ((static_cast<uint64_t>(biased - 1) << 52) + kept);
}

/// A finite number as m / 2^63 * 2^exponent, the leading bit of m set; m = 0 for zero.
struct Parts {
  uint64_t m;
  int exponent;
};
inline Parts parts(uint64_t bits) {
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  const uint64_t fraction = bits & kFraction;
  if (biased) return Parts{(fraction | (uint64_t(1) << 52)) << 11, biased - 1023};
  if (fraction == 0) return Parts{0, 0};
  const int up = leading_zeros(fraction);
  return Parts{fraction << up, -1011 - up};
}

inline bool is_nan(uint64_t x) { return (x & ~kSign) > kInfinite; }
inline bool is_infinite(uint64_t x) { return (x & ~kSign) == kInfinite; }
inline bool is_zero(uint64_t x) { return (x & ~kSign) == 0; }
/// The first NaN of two numbers, quiet.
inline uint64_t nan_of(uint64_t a, uint64_t b) {
  return (is_nan(a) ? a : is_nan(b) ? b : kNan) | (uint64_t(1) << 51);
}

/// A product's 128 bits.
struct Wide {
  uint64_t high, low;
};
inline Wide product(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const uint64_t low = a0 * b0, m1 = a1 * b0, m2 = a0 * b1;
  const uint64_t middle = (low >> 32) + (m1 & 0xffffffffu) + (m2 & 0xffffffffu);
  return Wide{a1 * b1 + (m1 >> 32) + (m2 >> 32) + (middle >> 32),
              (middle << 32) | (low & 0xffffffffu)};
}
inline Wide shifted(Wide x, int n) {
  if (n <= 0) return x;
  if (n >= 64) return Wide{0, shifted(x.high, n - 64) | (x.low != 0)};
  return Wide{x.high >> n, (x.high << (64 - n)) | (x.low >> n) | ((x.low << (64 - n)) != 0)};
}

/// The sum of two finite numbers of 128 bits, rounded; where it is zero the signs say which.
inline uint64_t sum(uint64_t sign_a, Wide a, int exponent_a, uint64_t sign_b, Wide b,
                    int exponent_b) {
  const bool a_is_zero = (a.high | a.low) == 0, b_is_zero = (b.high | b.low) == 0;
  if (a_is_zero && b_is_zero) return sign_a & sign_b;
  const int exponent = a_is_zero                              ? exponent_b
                       : b_is_zero || exponent_a > exponent_b ? exponent_a
                                                              : exponent_b;
  a = shifted(a, a_is_zero ? 0 : exponent - exponent_a + 1);
  b = shifted(b, b_is_zero ? 0 : exponent - exponent_b + 1);
  Wide r;
  uint64_t sign = sign_a;
  if (sign_a == sign_b) {
    r.low = a.low + b.low;
    r.high = a.high + b.high + (r.low < a.low);
  } else {
    if (a.high < b.high || (a.high == b.high && a.low < b.low)) {
      const Wide other = a;
      a = b;
      b = other;
      sign = sign_b;
    }
    r.low = a.low - b.low;
    r.high = a.high - b.high - (a.low < b.low);
    if ((r.high | r.low) == 0) return 0;
  }
  int more = 1;
  if (r.high == 0) {
    r.high = r.low;
    r.low = 0;
    more -= 64;
  }
  const int up = leading_zeros(r.high);
  if (up) {
    r.high = (r.high << up) | (r.low >> (64 - up));
    r.low <<= up;
  }
  return packed(sign, exponent + more - up, r.high | (r.low != 0));
}

inline uint64_t fused(uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t sign = (a ^ b) & kSign;
  const bool infinite = is_infinite(a) || is_infinite(b);
  if (is_nan(a) || is_nan(b)) return nan_of(a, b);
  if (infinite && (is_zero(a) || is_zero(b))) return kNan;
  if (is_nan(c)) return nan_of(c, c);
  if (infinite) return is_infinite(c) && (c & kSign) != sign ? kNan : sign | kInfinite;
  if (is_infinite(c)) return c;
  const Parts x = parts(a), y = parts(b), z = parts(c);
  return sum(sign, product(x.m, y.m), x.exponent + y.exponent + 1, c & kSign, Wide{z.m, 0},
             z.exponent);
}
inline uint64_t sum(uint64_t a, uint64_t b) {
  if (is_nan(a) || is_nan(b)) return nan_of(a, b);
  if (is_infinite(a)) return is_infinite(b) && a != b ? kNan : a;
  if (is_infinite(b)) return b;
  const Parts x = parts(a), y = parts(b);
  return sum(a & kSign, Wide{x.m, 0}, x.exponent, b & kSign, Wide{y.m, 0}, y.exponent);
}
inline uint64_t product_of(uint64_t a, uint64_t b) {
  const uint64_t sign = (a ^ b) & kSign;
  if (is_nan(a) || is_nan(b)) return nan_of(a, b);
  if (is_infinite(a) || is_infinite(b)) return is_zero(a) || is_zero(b) ? kNan : sign | kInfinite;
  const Parts x = parts(a), y = parts(b);
  const Wide w = product(x.m, y.m);
  return packed(sign, x.exponent + y.exponent + 1, w.high | (w.low != 0));
}
inline uint64_t quotient(uint64_t a, uint64_t b) {
  const uint64_t sign = (a ^ b) & kSign;
  if (is_nan(a) || is_nan(b)) return nan_of(a, b);
  if (is_infinite(a)) return is_infinite(b) ? kNan : sign | kInfinite;
  if (is_infinite(b)) return sign;
  if (is_zero(b)) return is_zero(a) ? kNan : sign | kInfinite;
  const Parts x = parts(a), y = parts(b);
  const uint64_t divisor = y.m >> 11;
  uint64_t rest = x.m >> 11, q = rest / divisor;
  rest -= q * divisor;
  for (int k = 0; k < 6; ++k) {  // ten bits at a time
    rest <<= 10;
    const uint64_t digit = rest / divisor;
    rest -= digit * divisor;
    q = (q << 10) | digit;
  }
  return packed(sign, x.exponent - y.exponent + 3, q | (rest != 0));
}
inline uint64_t square_root(uint64_t a) {
  if (is_nan(a)) return nan_of(a, a);
  if (is_zero(a)) return a;
  if (a & kSign) return kNan;
  if (is_infinite(a)) return a;
  const Parts x = parts(a);
  const bool odd = x.exponent & 1;
  // A number in [1, 4), times 2^54; two of its bits give one of the root's.
  const uint64_t m = odd ? x.m >> 8 : x.m >> 9;
  uint64_t rest = 0, root = 0;
  for (int k = 0; k < 57; ++k) {
    const int at = 54 - 2 * k;
    rest = (rest << 2) | (at >= 0 ? (m >> at) & 3 : 0);
    const uint64_t next = (root << 2) | 1;
    root <<= 1;
    if (rest >= next) {
      rest -= next;
      root |= 1;
    }
  }
  return packed(0, (x.exponent - (odd ? 1 : 0)) / 2 + 7, root | (rest != 0));
}

enum Rounding { nearest, down, up, to_zero };
/// The integral number beside x.
inline uint64_t integral(uint64_t x, Rounding rounding) {
  const int exponent = static_cast<int>((x >> 52) & 0x7ff) - 1023;
  if (exponent >= 52) return is_nan(x) ? nan_of(x, x) : x;
  const uint64_t sign = x & kSign, one = uint64_t(1023) << 52;
  if (is_zero(x)) return x;
  const bool away = rounding == down ? sign != 0 : rounding == up ? sign == 0 : false;
  if (exponent < 0) {
    const bool rounds_up = rounding == nearest ? (x & ~kSign) > (uint64_t(1022) << 52) : away;
    return rounds_up ? sign | one : sign;
  }
  const uint64_t unit = uint64_t(1) << (52 - exponent), below = unit - 1, rest = x & below;
  uint64_t kept = x & ~below;
  const bool rounds_up = rounding == nearest
                             ? rest > (unit >> 1) || (rest == (unit >> 1) && (kept & unit))
                             : away && rest;
  return rounds_up ? kept + unit : kept;
}

inline bool less(uint64_t a, uint64_t b) {
  if (is_nan(a) || is_nan(b) || (is_zero(a) && is_zero(b))) return false;
  if ((a ^ b) & kSign) return (a & kSign) != 0;
  return a & kSign ? b < a : a < b;
}
inline bool equal(uint64_t a, uint64_t b) {
  return !is_nan(a) && !is_nan(b) && (a == b || (is_zero(a) && is_zero(b)));
}

inline uint64_t of_float(float f) {
  const uint32_t x = as_type<uint32_t>(f);
  const uint64_t sign = static_cast<uint64_t>(x >> 31) << 63;
  const uint32_t biased = (x >> 23) & 0xff, fraction = x & 0x7fffff;
  if (biased == 0xff) return sign | kInfinite | static_cast<uint64_t>(fraction) << 29;
  if (biased)
    return sign | static_cast<uint64_t>(biased + 896) << 52 | static_cast<uint64_t>(fraction) << 29;
  return packed(sign, -126 + 40, static_cast<uint64_t>(fraction));
}
inline float to_float(uint64_t x) {
  const uint32_t sign = static_cast<uint32_t>(x >> 32) & 0x80000000u;
  if (is_nan(x))
    return as_type<float>(sign | 0x7fc00000u | static_cast<uint32_t>((x & kFraction) >> 29));
  if (is_infinite(x)) return as_type<float>(sign | 0x7f800000u);
  const Parts p = parts(x);
  if (p.m == 0) return as_type<float>(sign);
  int biased = p.exponent + 127;
  if (biased >= 255) return as_type<float>(sign | 0x7f800000u);
  uint64_t m = p.m;
  if (biased <= 0) {
    m = shifted(m, 1 - biased);
    biased = 1;
  }
  const uint64_t rest = m & ((uint64_t(1) << 40) - 1), half_unit = uint64_t(1) << 39;
  uint32_t kept = static_cast<uint32_t>(m >> 40);
  kept += rest > half_unit || (rest == half_unit && (kept & 1));
  return as_type<float>(sign | ((static_cast<uint32_t>(biased - 1) << 23) + kept));
}
/// The magnitude without its fraction, within 64 bits.
inline uint64_t magnitude(uint64_t x) {
  const int exponent = static_cast<int>((x >> 52) & 0x7ff) - 1023;
  if (exponent < 0 || exponent > 63) return 0;
  return parts(x).m >> (63 - exponent);
}

/// Bits of a small number, while compiling.
constexpr uint64_t of_constant(uint64_t magnitude, bool negative) {
  if (magnitude == 0) return 0;
  int exponent = 0;
  while ((magnitude >> 63) == 0) {
    magnitude <<= 1;
    ++exponent;
  }
  const uint64_t rest = magnitude & 0x7ff;
  uint64_t kept = magnitude >> 11;
  kept += rest > 0x400 || (rest == 0x400 && (kept & 1));
  return (negative ? uint64_t(1) << 63 : 0) + (static_cast<uint64_t>(63 - exponent + 1022) << 52) +
         kept;
}

}  // namespace double_detail

/// A number of 64 bits.
struct Double {
  uint64_t bits;

  Double() = default;
  constexpr Double(Literal x) : bits(x.bits) {}
  constexpr Double(int x)
      : bits(double_detail::of_constant(x < 0 ? -static_cast<uint64_t>(x) : x, x < 0)) {}
  constexpr Double(uint32_t x) : bits(double_detail::of_constant(x, false)) {}
  constexpr Double(int64_t x)
      : bits(double_detail::of_constant(x < 0 ? -static_cast<uint64_t>(x) : x, x < 0)) {}
  constexpr Double(uint64_t x) : bits(double_detail::of_constant(x, false)) {}
  constexpr Double(bool x) : bits(x ? uint64_t(1023) << 52 : 0) {}
  constexpr Double(uint8_t x) : Double(static_cast<uint32_t>(x)) {}
  constexpr Double(int8_t x) : Double(static_cast<int>(x)) {}
  constexpr Double(uint16_t x) : Double(static_cast<uint32_t>(x)) {}
  constexpr Double(int16_t x) : Double(static_cast<int>(x)) {}
  Double(float x) : bits(double_detail::of_float(x)) {}

  explicit operator float() const { return double_detail::to_float(bits); }
  explicit operator bool() const { return !double_detail::is_zero(bits); }
  explicit operator int64_t() const {
    const uint64_t m = double_detail::magnitude(bits);
    return static_cast<int64_t>(bits >> 63 ? uint64_t(0) - m : m);
  }
  explicit operator uint64_t() const { return static_cast<uint64_t>(static_cast<int64_t>(*this)); }
  explicit operator int() const { return static_cast<int>(static_cast<int64_t>(*this)); }
  explicit operator uint32_t() const { return static_cast<uint32_t>(static_cast<int64_t>(*this)); }
  explicit operator int16_t() const { return static_cast<int16_t>(static_cast<int64_t>(*this)); }
  explicit operator uint16_t() const { return static_cast<uint16_t>(static_cast<int64_t>(*this)); }
  explicit operator int8_t() const { return static_cast<int8_t>(static_cast<int64_t>(*this)); }
  explicit operator uint8_t() const { return static_cast<uint8_t>(static_cast<int64_t>(*this)); }
};

/// Bits as a number.
constexpr Double double_of(uint64_t bits) { return Double(Literal{0.0f, bits}); }

inline Double operator-(Double a) { return double_of(a.bits ^ double_detail::kSign); }
inline Double operator+(Double a, Double b) {
  return double_of(double_detail::sum(a.bits, b.bits));
}
inline Double operator-(Double a, Double b) { return a + -b; }
inline Double operator*(Double a, Double b) {
  return double_of(double_detail::product_of(a.bits, b.bits));
}
inline Double operator/(Double a, Double b) {
  return double_of(double_detail::quotient(a.bits, b.bits));
}
inline thread Double& operator+=(thread Double& a, Double b) { return a = a + b; }
inline thread Double& operator-=(thread Double& a, Double b) { return a = a - b; }
inline thread Double& operator*=(thread Double& a, Double b) { return a = a * b; }
inline bool operator==(Double a, Double b) { return double_detail::equal(a.bits, b.bits); }
inline bool operator!=(Double a, Double b) { return !(a == b); }
inline bool operator<(Double a, Double b) { return double_detail::less(a.bits, b.bits); }
inline bool operator>(Double a, Double b) { return b < a; }
inline bool operator<=(Double a, Double b) { return a < b || a == b; }
inline bool operator>=(Double a, Double b) { return b <= a; }

/// a - b * trunc(a / b), exactly.
inline Double remainder_of(Double a, Double b) {
  using namespace double_detail;
  if (is_nan(a.bits) || is_nan(b.bits)) return double_of(nan_of(a.bits, b.bits));
  if (is_infinite(a.bits) || is_zero(b.bits)) return double_of(kNan);
  if (is_infinite(b.bits) || is_zero(a.bits)) return a;
  const Parts x = parts(a.bits), y = parts(b.bits);
  if (x.exponent < y.exponent) return a;
  uint64_t rest = x.m >> 11;
  const uint64_t divisor = y.m >> 11;
  rest %= divisor;
  for (int left = x.exponent - y.exponent; left > 0;) {
    const int some = left < 10 ? left : 10;
    rest = (rest << some) % divisor;
    left -= some;
  }
  return double_of(packed(a.bits & kSign, y.exponent + 11, rest));
}

}  // namespace core
}  // namespace mlx
