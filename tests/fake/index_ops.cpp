// Micro-ops that read the position of an element, over runs of elements.

#include "index_ops.h"

#include <bit>

namespace mlx::core::fake {

namespace {

struct Words {
  uint32_t first, second;
};

/// Threefry-2x32 with 20 rounds.
Words threefry(Words key, Words counter) {
  constexpr int kTurns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key.first, key.second, key.first ^ key.second ^ 0x1bd11bdau};
  uint32_t x = counter.first + keys[0], y = counter.second + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int turn : kTurns[group % 2]) {
      x += y;
      y = std::rotl(y, turn) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
  return {x, y};
}

}  // namespace

void positions(const Numbering& how, const int64_t* numbers, int64_t* out, int64_t n) {
  // Unsigned: it wraps.
  const auto start = static_cast<uint64_t>(how.int_start),
             step = static_cast<uint64_t>(how.int_step);
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<int64_t>(start + static_cast<uint64_t>(numbers[i]) * step);
}

void positions(const Numbering& how, const int64_t* numbers, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = numbers[i] ? how.start + static_cast<double>(numbers[i]) * how.step : how.start;
}

void random_words(const Numbering& how, const int64_t* numbers, const uint32_t* key0,
                  const uint32_t* key1, uint32_t* out, int64_t n) {
  const int64_t half = (how.count + 1) / 2;
  for (int64_t i = 0; i < n; ++i) {
    const bool is_second = numbers[i] >= half;
    const int64_t low = numbers[i] - (is_second ? half : 0), high = low + half;
    const Words words =
        threefry({key0[i], key1[i]},
                 {static_cast<uint32_t>(low), high < how.count ? static_cast<uint32_t>(high) : 0});
    out[i] = is_second ? words.second : words.first;
  }
}

}  // namespace mlx::core::fake
