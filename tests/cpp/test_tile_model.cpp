// The model of the unit for tiles: its order of additions, its rounding, and its zeros.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "mlx/backend/cpu/tile_model.h"

namespace {

using mlx::core::cpu::tile_model_step;

uint16_t narrow(float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16); }

/// A step of two pairs along K.
float step(float sum, std::array<float, 4> a, std::array<float, 4> b) {
  std::array<uint16_t, 4> x, y;
  for (int i = 0; i < 4; ++i) {
    x[i] = narrow(a[i]);
    y[i] = narrow(b[i]);
  }
  return tile_model_step(sum, x.data(), y.data(), 2, 2);
}

}  // namespace

TEST_CASE("tile model: even and odd products are added apart, then to the sum") {
  // 2^24 + 1 rounds to 2^24: the even chain loses its second product, the odd one keeps it.
  CHECK(step(0, {4096, 1, 1, 1}, {4096, 1, 1, 1}) == 0x1p24f + 2);
  CHECK(step(-0x1p24f, {4096, 1, 1, 1}, {4096, 1, 1, 1}) == 2);
  // The sum comes last: 1 - 2^30 + 2^30 would lose the 1.
  CHECK(step(1, {-32768, 32768, 0, 0}, {32768, 32768, 0, 0}) == 1);
}

TEST_CASE("tile model: each operation rounds once, to nearest even") {
  const float odd = 1 + 0x1p-7f;  // its square has 15 bits
  CHECK(step(0, {odd, 0, 0x1p-12f, 0}, {odd, 0, 0x1p-12f, 0}) ==
        std::fma(0x1p-12f, 0x1p-12f, odd * odd));
  CHECK(step(0, {4096, 0, 1, 0}, {4096, 0, 3, 0}) == 0x1p24f + 4);
}

TEST_CASE("tile model: subnormal numbers are zeros of their sign") {
  const float tiny = 0x1p-130f, smallest = 0x1p-126f;
  CHECK(step(0, {tiny, 0, 0, 0}, {0x1p100f, 0, 0, 0}) == 0);
  CHECK(step(tiny, {0, 0, 0, 0}, {0, 0, 0, 0}) == 0);
  CHECK(step(0, {0x1p-70f, 0, 0, 0}, {0x1p-60f, 0, 0, 0}) == 0);
  CHECK(step(0, {0x1p-66f, 0, 0, 0}, {0x1p-60f, 0, 0, 0}) == smallest);
  // A product that is no normal number vanishes before it is added.
  CHECK(step(smallest, {-0x1p-75f, 0, 0, 0}, {0x1p-75f, 0, 0, 0}) == smallest);
  CHECK(std::signbit(step(-0.0f, {-tiny, 0, 0, 0}, {1, 0, 0, 0})) == false);
}

TEST_CASE("tile model: infinities and NaN") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(step(0, {infinity, 0, 0, 0}, {1, 0, 0, 0}) == infinity);
  CHECK(std::isnan(step(0, {infinity, 0, 0, 0}, {0, 0, 0, 0})));
  CHECK(std::isnan(step(-infinity, {infinity, 0, 0, 0}, {1, 0, 0, 0})));
}
