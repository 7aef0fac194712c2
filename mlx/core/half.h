// 16-bit floating storage types. Arithmetic is done in float; a value is rounded to nearest even
// once, when it is stored.
#pragma once

#include <bit>
#include <cstdint>

namespace mlx::core {

/// IEEE binary16.
struct float16_t {
  uint16_t bits = 0;

  float16_t() = default;
  constexpr float16_t(float x) : bits(from_float(x)) {}
  constexpr operator float() const { return to_float(bits); }

  static constexpr uint16_t from_float(float x) {
    uint32_t u = std::bit_cast<uint32_t>(x);
    uint32_t sign = (u >> 16) & 0x8000u;
    uint32_t mag = u & 0x7fffffffu;
    if (mag > 0x7f800000u) return sign | 0x7e00u | ((mag >> 13) & 0x3ffu);
    if (mag >= 0x477ff000u) return sign | 0x7c00u;  // rounds beyond 65504
    if (mag < 0x33000001u) return sign;             // at most half the smallest subnormal
    int exponent = static_cast<int>(mag >> 23) - 112;
    uint32_t fraction = (mag & 0x7fffffu) | 0x800000u;
    int shift = exponent > 0 ? 13 : 14 - exponent;
    uint32_t kept = fraction >> shift;
    uint32_t rest = fraction & ((1u << shift) - 1), half = 1u << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    return sign | (exponent > 0 ? kept + (static_cast<uint32_t>(exponent - 1) << 10) : kept);
  }

  static constexpr float to_float(uint16_t h) {
    uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    uint32_t exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
    if (exponent == 0) {
      float magnitude = static_cast<float>(fraction) * 0x1p-24f;
      return sign ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  }
};

/// The upper half of an IEEE binary32.
struct bfloat16_t {
  uint16_t bits = 0;

  bfloat16_t() = default;
  constexpr bfloat16_t(float x) : bits(from_float(x)) {}
  constexpr operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

  static constexpr uint16_t from_float(float x) {
    uint32_t u = std::bit_cast<uint32_t>(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40u);
    return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
};

}  // namespace mlx::core
