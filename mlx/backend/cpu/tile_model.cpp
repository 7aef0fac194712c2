// The model of AMX: fused multiply-adds that take subnormal numbers as zeros.
#include "mlx/backend/cpu/tile_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mlx::core::cpu {

namespace {

float widen(uint16_t x) { return std::bit_cast<float>(uint32_t{x} << 16); }

// Rounds to nearest even; a NaN stays one.
uint16_t narrow(float x) {
  const auto u = std::bit_cast<uint32_t>(x);
  if (x != x) return static_cast<uint16_t>((u >> 16) | 0x40);
  return static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

float flush(float x) {
  const auto u = std::bit_cast<uint32_t>(x);
  return (u & 0x7f800000) == 0 ? std::bit_cast<float>(u & 0x80000000) : x;
}

// a * b + c with one rounding. A result is a zero if it is below the smallest normal number after
// rounding to 24 bits without a limit of the exponent: below 2^-126 - 2^-151, or equal to it with
// what the sum in double lost pointing to zero. Products of bfloat16 are exact in double.
float flushed_fma(float a, float b, float c) {
  a = flush(a), b = flush(b), c = flush(c);
  const double product = static_cast<double>(a) * b, sum = product + c;
  if (std::fabs(sum) < 0x1p-125 && sum != 0) {
    const double part = sum - product;
    const double lost = (product - (sum - part)) + (c - part);
    const double limit = 0x1p-126 - 0x1p-151, size = std::fabs(sum);
    const float sign = sum < 0 ? -1.0f : 1.0f;
    if (size < limit || (size == limit && lost * sum < 0)) return std::copysign(0.0f, sign);
    if (size < 0x1p-126) return std::copysign(0x1p-126f, sign);
  }
  return std::fma(a, b, c);
}

float element(const TileBlock& t, int64_t i, int64_t j) {
  float sum = t.first ? 0 : t.start[i * t.start_ld + j];
  const auto* b = reinterpret_cast<const uint16_t*>(t.b + j);
  for (int64_t s = 0; s < t.steps + (t.tail != nullptr); ++s) {
    const char* a = s < t.steps ? static_cast<const char*>(t.a) + s * t.a_step + i * t.a_row
                                : static_cast<const char*>(t.tail) + i * 2 * kTileDepth;
    sum = tile_model_step(sum, reinterpret_cast<const uint16_t*>(a), b + s * kTileStrip,
                          2 * kTileBlock, kTileUnits);
  }
  return sum;
}

void block(const TileBlock& t) {
  for (int64_t i = 0; i < t.rows; ++i)
    for (int64_t j = 0; j < t.columns; ++j) {
      const float sum = element(t, i, j);
      switch (t.store) {
        case TileStore::sums:
          static_cast<float*>(t.out)[i * t.ld + j] = sum;
          break;
        case TileStore::rows:
          static_cast<uint16_t*>(t.out)[i * t.ld + j] = narrow(sum);
          break;
        case TileStore::columns:
          static_cast<uint16_t*>(t.out)[i + j * t.ld] = narrow(sum);
          break;
      }
    }
}

}  // namespace

float tile_model_step(float sum, const uint16_t* a, const uint16_t* b, int64_t b_pair,
                      int64_t pairs) {
  float even = 0, odd = 0;
  for (int64_t u = 0; u < pairs; ++u, a += 2, b += b_pair) {
    even = flushed_fma(widen(a[0]), widen(b[0]), even);
    odd = flushed_fma(widen(a[1]), widen(b[1]), odd);
  }
  return flushed_fma(1, flushed_fma(1, even, odd), sum);
}

const TileUnit tile_model = {[] {}, [] {}, block};

}  // namespace mlx::core::cpu
