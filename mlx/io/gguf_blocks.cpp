// Block formats. The K formats have 256 elements in groups of 16 or 32; each group has a scale (and
// a minimum) of few bits, which are multiplied by one or two float16 numbers per block.
#include "mlx/io/gguf_blocks.h"

#include <cstring>

#include "mlx/core/half.h"

namespace mlx::core::io {
namespace {

float half_at(const uint8_t* p) {
  float16_t h;
  std::memcpy(&h, p, sizeof h);
  return static_cast<float>(h);
}

template <bool HasMinimum>
void unpack_q5(const uint8_t* p, float* out) {
  const float scale = half_at(p), minimum = HasMinimum ? half_at(p + 2) : -16 * scale;
  p += HasMinimum ? 4 : 2;
  uint32_t high;
  std::memcpy(&high, p, sizeof high);
  p += 4;
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>((p[i] & 15) | (high >> i & 1) << 4) + minimum;
    out[i + 16] = scale * static_cast<float>(p[i] >> 4 | (high >> (i + 16) & 1) << 4) + minimum;
  }
}

void unpack_q2_k(const uint8_t* p, float* out) {
  const uint8_t *scales = p, *codes = p + 16;
  const float scale = half_at(p + 80), minimum = half_at(p + 82);
  for (int i = 0; i < 256; ++i) {
    const int code = codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    const uint8_t s = scales[i / 16];
    out[i] = scale * static_cast<float>(s & 15) * static_cast<float>(code) -
             minimum * static_cast<float>(s >> 4);
  }
}

void unpack_q3_k(const uint8_t* p, float* out) {
  const uint8_t *high = p, *codes = p + 32, *packed = p + 96;
  const float scale = half_at(p + 108);
  for (int i = 0; i < 256; ++i) {
    const int g = i / 16, part = i / 32;
    const int low = g < 8 ? packed[g] & 15 : packed[g - 8] >> 4;
    const int s = (low | (packed[8 + g % 4] >> (g / 4 * 2) & 3) << 4) - 32;
    const int code =
        (codes[i / 128 * 32 + i % 32] >> (part % 4 * 2) & 3) - (high[i % 32] >> part & 1 ? 0 : 4);
    out[i] = scale * static_cast<float>(s) * static_cast<float>(code);
  }
}

/// Scale and minimum, of 6 bits each, of group g among 8 in 12 bytes.
void scale_and_minimum(const uint8_t* p, int g, int& scale, int& minimum) {
  if (g < 4) {
    scale = p[g] & 63;
    minimum = p[g + 4] & 63;
  } else {
    scale = (p[g + 4] & 15) | p[g - 4] >> 6 << 4;
    minimum = p[g + 4] >> 4 | p[g] >> 6 << 4;
  }
}

/// Q4_K, and Q5_K, whose fifth bits are stored separately.
template <bool HasFifth>
void unpack_q45_k(const uint8_t* p, float* out) {
  const float scale = half_at(p), minimum = half_at(p + 2);
  const uint8_t *scales = p + 4, *fifth = p + 16, *codes = HasFifth ? p + 48 : p + 16;
  for (int g = 0; g < 8; ++g) {
    int s, m;
    scale_and_minimum(scales, g, s, m);
    const float step = scale * static_cast<float>(s), low = minimum * static_cast<float>(m);
    for (int i = 0; i < 32; ++i) {
      int code = codes[g / 2 * 32 + i] >> (g % 2 * 4) & 15;
      if (HasFifth) code |= (fifth[i] >> g & 1) << 4;
      out[g * 32 + i] = step * static_cast<float>(code) - low;
    }
  }
}

void unpack_q6_k(const uint8_t* p, float* out) {
  const uint8_t *low = p, *high = p + 128;
  const auto* scales = reinterpret_cast<const int8_t*>(p + 192);
  const float scale = half_at(p + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, part = i % 128 / 32, at = i % 32;
    const int nibble = low[half * 64 + part % 2 * 32 + at] >> (part / 2 * 4) & 15;
    const int code = (nibble | (high[half * 32 + at] >> (part * 2) & 3) << 4) - 32;
    out[i] = scale * static_cast<float>(scales[i / 16]) * static_cast<float>(code);
  }
}

constexpr GgufBlocks kLayouts[] = {
    {6, 22, 32, unpack_q5<false>},       {7, 24, 32, unpack_q5<true>},
    {10, 84, 256, unpack_q2_k},          {11, 110, 256, unpack_q3_k},
    {12, 144, 256, unpack_q45_k<false>}, {13, 176, 256, unpack_q45_k<true>},
    {14, 210, 256, unpack_q6_k},
};

}  // namespace

const GgufBlocks* find_gguf_blocks(uint32_t id) {
  for (const GgufBlocks& b : kLayouts)
    if (b.id == id) return &b;
  return nullptr;
}

}  // namespace mlx::core::io
