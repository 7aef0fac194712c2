// The kernels for ranges and random words on every available instruction set, and the tiles that
// fused programs compute with them.
#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/fused_numbers.h"
#include "mlx/backend/cpu/isa/random.h"
#include "mlx/backend/cpu/isa/ranges.h"

using namespace mlx::core;
using namespace mlx::core::cpu;

namespace {

struct Kernels {
  const char* name;
  const RangeKernels& ranges;
  const RandomKernels& random;
  bool runs;
};

template <class F>
void on_each_isa(F body) {
  const Kernels isas[] = {
#define MLX_ROW(ISA, ...) \
  {#ISA, ISA::range_kernels, ISA::random_kernels, Isa::ISA <= supported_isa()},
      MLX_EACH_ISA(MLX_ROW)
#undef MLX_ROW
  };
  for (auto& isa : isas) {
    if (!isa.runs) continue;
    INFO("instruction set ", isa.name);
    body(isa);
  }
}

constexpr int64_t kLengths[] = {0, 1, 3, 16, 17, 65, 300};

/// Threefry-2x32 with 20 rounds as its authors describe it, one word at a time.
uint32_t word(uint32_t k0, uint32_t k1, uint32_t x, uint32_t y, bool second) {
  const uint32_t keys[] = {k0, k1, k0 ^ k1 ^ 0x1bd11bdau};
  const int turns[] = {13, 15, 26, 6, 17, 29, 16, 24};
  x += k0;
  y += k1;
  for (uint32_t round = 0; round < 20; ++round) {
    x += y;
    y = (y << turns[round % 8] | y >> (32 - turns[round % 8])) ^ x;
    if (round % 4 != 3) continue;
    const uint32_t turn = round / 4 + 1;
    x += keys[turn % 3];
    y += keys[(turn + 1) % 3] + turn;
  }
  return second ? y : x;
}
uint32_t word_number(uint32_t k0, uint32_t k1, int64_t n, int64_t count) {
  const int64_t half = (count + 1) / 2, i = n < half ? n : n - half;
  const bool alone = i + half >= count;
  return word(k0, k1, static_cast<uint32_t>(i), alone ? 0 : static_cast<uint32_t>(i + half),
              n >= half);
}

}  // namespace

TEST_CASE("numbers in a row") {
  on_each_isa([](const Kernels& k) {
    for (int64_t n : kLengths) {
      std::vector<uint8_t> bytes(n + 1, 0xaa);
      k.ranges.integers(bytes.data(), 250, 7, n, 1);
      std::vector<uint16_t> shorts(n + 1, 0xaaaa);
      k.ranges.integers(shorts.data(), 65000, ~uint64_t{0}, n, 2);
      std::vector<uint32_t> words(n + 1, 0xaaaa);
      k.ranges.integers(words.data(), ~uint64_t{5}, 3, n, 4);
      std::vector<uint64_t> longs(n + 1, 0xaaaa);
      k.ranges.integers(longs.data(), uint64_t{1} << 63, uint64_t{1} << 61, n, 8);
      std::vector<float> floats(n + 1, -1), whole(n + 1, -1);
      k.ranges.floats(floats.data(), 0.1, 1 / 3., 1000000007, 3, n);
      k.ranges.whole_floats(whole.data(), -20, 3, n);
      std::vector<double> doubles(n + 1, -1);
      k.ranges.doubles(doubles.data(), 0.1, -1 / 3., 5, 0, n);
      for (int64_t i = 0; i < n; ++i) {
        REQUIRE(bytes[i] == static_cast<uint8_t>(250 + 7 * i));
        REQUIRE(shorts[i] == static_cast<uint16_t>(65000 - i));
        REQUIRE(words[i] == static_cast<uint32_t>(3 * i - 6));
        REQUIRE(longs[i] == (uint64_t{1} << 63) + (static_cast<uint64_t>(i) << 61));
        REQUIRE(floats[i] ==
                static_cast<float>(0.1 + static_cast<double>(1000000007 + 3 * i) / 3.));
        REQUIRE(whole[i] == static_cast<float>(3 * i - 20));
        REQUIRE(doubles[i] == 0.1 + 5 * (-1 / 3.));
      }
      CHECK((bytes[n] == 0xaa && shorts[n] == 0xaaaa && words[n] == 0xaaaa && longs[n] == 0xaaaa));
      CHECK((floats[n] == -1 && whole[n] == -1 && doubles[n] == -1));
    }
  });
}

TEST_CASE("random words one by one are those of the generator") {
  on_each_isa([](const Kernels& k) {
    std::mt19937 random(3);
    for (int64_t n : kLengths) {
      std::vector<uint32_t> in[5], out(n + 1, 7);
      for (auto& v : in)
        for (int64_t i = 0; i < n; ++i) v.push_back(random());
      for (uint32_t& s : in[4]) s &= 1;
      k.random.words(in[0].data(), in[1].data(), in[2].data(), in[3].data(), in[4].data(), n,
                     out.data());
      for (int64_t i = 0; i < n; ++i)
        REQUIRE(out[i] == word(in[0][i], in[1][i], in[2][i], in[3][i], in[4][i] != 0));
      CHECK(out[n] == 7);
    }
  });
}

TEST_CASE("tiles of random words, in rows, across rows, and in pairs") {
  const uint32_t k0 = 0x12345678, k1 = 0x9abcdef0;
  for (int64_t count : {1, 2, 7, 700, 2049}) {
    Numbering how;
    how.count = count;
    const Strides still{};
    const std::vector<uint32_t> word0(count, k0), word1(count, k1);
    const KeyTiles key{word0.data(), word1.data(), still, still};
    std::vector<uint32_t> want(count), out(count), second(count);
    for (int64_t n = 0; n < count; ++n) want[n] = word_number(k0, k1, n, count);
    fill_words(how, key, {0, {1}, {count}}, out.data());
    CHECK(out == want);
    const int64_t half = (count + 1) / 2;
    fill_word_pairs(how, key, 0, half, out.data(), second.data());
    std::copy(second.begin(), second.begin() + (count - half), out.begin() + half);
    CHECK(out == want);
    // The elements of a matrix of 7 columns, and its transpose.
    if (count % 7 != 0) continue;
    const int64_t rows = count / 7;
    fill_words(how, key, {0, {7, 1}, {rows, 7}}, out.data());
    CHECK(out == want);
    fill_words(how, key, {0, {1, 7}, {7, rows}}, out.data());
    for (int64_t i = 0; i < count; ++i) REQUIRE(out[i] == want[i % rows * 7 + i / rows]);
  }
}
