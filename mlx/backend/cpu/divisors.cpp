// Exact replacements for divisions by constants.
#include "mlx/backend/cpu/divisors.h"

#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace mlx::core::cpu {

namespace {

constexpr int64_t kFirst = int64_t{1} << 23, kEnd = int64_t{1} << 24;  // the mantissas of floats

/// fma(x, high, x * low); sum and product fit a double.
float product(float x, float high, float low) {
  float small = x * low;
  return static_cast<float>(static_cast<double>(x) * high + small);
}

int64_t inverse_mod(int64_t a, int64_t m) {
  int64_t r0 = m, r1 = a % m, s0 = 0, s1 = 1;
  while (r1 != 0) {
    int64_t q = r0 / r1, r2 = r0 - q * r1, s2 = s0 - q * s1;
    r0 = r1, r1 = r2, s0 = s1, s1 = s2;
  }
  return ((s0 % m) + m) % m;
}

}  // namespace

bool divides_exactly(float c) {
  int exponent;
  return std::abs(std::frexp(c, &exponent)) == 0.5f && std::abs(exponent) < 126;
}

bool split_reciprocal(float c, float& high, float& low) {
  if (!(std::abs(c) > 0x1p-40f) || !(std::abs(c) < 0x1p40f)) return false;
  high = 1 / c;
  low = static_cast<float>((1 - static_cast<double>(high) * c) / c);
  return true;
}

// The product differs from the quotient before rounding by less than 2^-22 of an ulp, so they round
// differently only if the quotient is that close to the midpoint of two floats. With mantissas X, C
// as integers this means 2^s X = (2 m + 1) C + r with |r| < 8, which holds for few X for a given r.
bool reciprocal_parts(float c, float& high, float& low) {
  if (!split_reciprocal(c, high, low)) return false;
  int exponent;
  auto mantissa = static_cast<int64_t>(std::ldexp(std::frexp(std::abs(c), &exponent), 24));
  int64_t odd = mantissa;
  int twos = 0;
  for (; odd % 2 == 0; odd /= 2) ++twos;
  if (odd == 1) return false;
  for (int shift : {24, 25}) {  // X >= C, X < C
    // r must be divisible by the power of two in C, and so must the rest be.
    for (int64_t r = -8; r <= 8; ++r) {
      if (r == 0 || r % (int64_t{1} << twos) != 0) continue;
      int64_t residue = ((r >> twos) % odd + odd) % odd;
      int64_t power = 1;
      for (int i = 0; i < shift - twos; ++i) power = power * 2 % odd;
      int64_t first = residue * inverse_mod(power, odd) % odd;
      int64_t begin = first + (kFirst > first ? (kFirst - first + odd - 1) / odd * odd : 0);
      if ((kEnd - begin) / odd > 64) return false;  // a divisor with few bits: too many trials
      for (int64_t x = begin; x < kEnd; x += odd) {
        auto f = static_cast<float>(x);
        if (product(f, high, low) != f / c) return false;
      }
    }
  }
  return true;
}

}  // namespace mlx::core::cpu
