// Numbers of 64 bits in integer arithmetic, which kernels for Metal compute with: the bits of the
// processor's.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "support.h"

namespace {
template <class To, class From>
To as_type(From x) {
  return std::bit_cast<To>(x);
}
unsigned clz(uint32_t x) { return static_cast<unsigned>(std::countl_zero(x)); }
}  // namespace

// Words of Metal's language.
#define constant
#define thread
#include "mlx/backend/metal/device/double.h"
#undef constant
#undef thread

namespace {

using mlx::core::Double, mlx::core::double_of;
namespace detail = mlx::core::double_detail;

/// Numbers of all kinds: any bits, of similar size, subnormal, integral, float32, special.
class Numbers {
 public:
  double next() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    constexpr double kSpecial[] = {
        0.0, -0.0, kInf, -kInf,     std::numeric_limits<double>::quiet_NaN(),
        1.0, -1.0, 0.5,  0x1p-1022, 0x1.fffffffffffffp1023};
    const uint64_t bits = random_(), fraction = bits & 0x800fffffffffffffull;
    switch (random_() % 7) {
      case 0:
        return std::bit_cast<double>(fraction | (1018 + random_() % 12) << 52);
      case 1:
        return std::bit_cast<double>(fraction);
      case 2:
        return kSpecial[random_() % std::size(kSpecial)];
      case 3:
        return static_cast<double>(static_cast<int32_t>(bits));
      case 4:
        return static_cast<float>(static_cast<int32_t>(bits) * 1e-3);
      default:
        return std::bit_cast<double>(bits);
    }
  }
  uint64_t word() { return random_(); }

 private:
  std::mt19937_64 random_{1};
};

bool same(Double x, double y) {
  return y != y ? detail::is_nan(x.bits) : x.bits == std::bit_cast<uint64_t>(y);
}
Double made(double x) { return double_of(std::bit_cast<uint64_t>(x)); }

}  // namespace

TEST_CASE("numbers of 64 bits for Metal: arithmetic") {
  Numbers numbers;
  for (int n = 0; n < 200000; ++n) {
    const double a = numbers.next();
    double b = numbers.next(), c = numbers.next();
    if (n % 4 == 0) b = a * (1 + static_cast<int>(numbers.word() % 7) * 0x1p-52);
    if (n % 4 == 1) c = -a * b;
    CAPTURE(a);
    CAPTURE(b);
    const Double x = made(a), y = made(b);
    REQUIRE(same(x + y, a + b));
    REQUIRE(same(x - y, a - b));
    REQUIRE(same(x * y, a * b));
    REQUIRE(same(x / y, a / b));
    REQUIRE(same(double_of(detail::fused(x.bits, y.bits, made(c).bits)), std::fma(a, b, c)));
    REQUIRE(same(double_of(detail::square_root(x.bits)), std::sqrt(a)));
    REQUIRE(same(mlx::core::remainder_of(x, y), std::fmod(a, b)));
    REQUIRE((x < y) == (a < b));
    REQUIRE((x <= y) == (a <= b));
    REQUIRE((x == y) == (a == b));
  }
}

TEST_CASE("numbers of 64 bits for Metal: roundings and conversions") {
  Numbers numbers;
  for (int n = 0; n < 200000; ++n) {
    const double a = numbers.next();
    CAPTURE(a);
    const Double x = made(a);
    auto rounded = [&](detail::Rounding r) { return double_of(detail::integral(x.bits, r)); };
    REQUIRE(same(rounded(detail::down), std::floor(a)));
    REQUIRE(same(rounded(detail::up), std::ceil(a)));
    REQUIRE(same(rounded(detail::to_zero), std::trunc(a)));
    REQUIRE(same(rounded(detail::nearest), std::nearbyint(a)));
    const float narrow = static_cast<float>(x), wanted = static_cast<float>(a);
    REQUIRE((wanted != wanted
                 ? narrow != narrow
                 : std::bit_cast<uint32_t>(narrow) == std::bit_cast<uint32_t>(wanted)));
    const auto f = std::bit_cast<float>(static_cast<uint32_t>(numbers.word()));
    REQUIRE(same(Double(f), static_cast<double>(f)));
    const auto i = static_cast<int64_t>(numbers.word()) >> (numbers.word() % 64);
    REQUIRE(same(Double(i), static_cast<double>(i)));
    if (std::abs(a) < 0x1p63) REQUIRE(static_cast<int64_t>(x) == static_cast<int64_t>(a));
  }
}
