// The elementwise tile kernels of every instruction set that runs here, called directly: places and
// tails, conversions, integer and complex arithmetic, streaming stores, gathers.
// (Accuracy of the functions: exhaustive_math.cpp.)
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <tuple>
#include <vector>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/divisors.h"
#include "mlx/backend/cpu/isa/elementwise.h"
#include "mlx/core/half.h"
#include "tile_kernels.h"

using namespace mlx::core;
using namespace mlx::core::cpu;

TEST_CASE("an element's result does not depend on its place, and nothing else is written") {
  on_each_isa([](const ElementwiseKernels& k) {
    constexpr int kMost = 150;
    for (int r = 0; r < static_cast<int>(Row::count); ++r) {
      for (int d = 0; d < kNumDtypes; ++d) {
        TileFn fn = k.find_tile(static_cast<OpId>(r), dtype_at(d));
        if (!fn) continue;
        INFO(kRows[r].name, " on dtype ", d);
        int size = dtype_at(d).size(), arity = kRows[r].arity;
        std::vector<char> x[3];
        for (int i = 0; i < arity; ++i) {
          bool condition = arity == 3 && i == 0;
          x[i] = operand(k, condition ? bool_ : dtype_at(d), kMost, 7 * r + i);
        }
        std::vector<char> whole(kMost * 16), part(kMost * 16);
        const void* all[] = {x[0].data(), x[1].data(), x[2].data()};
        fn(all, whole.data(), kMost);
        // Result size: the bytes that 150 elements filled; bools where the row compares.
        std::vector<char> probe(kMost * 16, 0x5a), other(kMost * 16, 0x25);
        fn(all, probe.data(), kMost);
        fn(all, other.data(), kMost);
        int written = kMost * 16;
        while (written > 0 && probe[written - 1] == 0x5a && other[written - 1] == 0x25) --written;
        REQUIRE(written % kMost == 0);
        int out = written / kMost;
        for (int n : {0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100}) {
          int start = (n * 5) % 40;
          const void* in[3];
          for (int i = 0; i < 3; ++i) {
            in[i] = x[i].data() + start * (arity == 3 && i == 0 ? 1 : size);
          }
          std::fill(part.begin(), part.end(), 0x33);
          fn(in, part.data() + 16, n);
          REQUIRE(std::memcmp(part.data() + 16, whole.data() + start * out, n * out) == 0);
          REQUIRE(part[15] == 0x33);
          REQUIRE(part[16 + n * out] == 0x33);
        }
        if (out <= size && (arity < 3 || size == 1)) {  // in place
          std::vector<char> same = x[0];
          const void* in[] = {same.data(), x[1].data(), x[2].data()};
          fn(in, same.data(), kMost);
          CHECK(std::memcmp(same.data(), whole.data(), kMost * out) == 0);
        }
      }
    }
  });
}

TEST_CASE("conversions from floats") {
  on_each_isa([](const ElementwiseKernels& k) {
    float inf = INFINITY;
    std::vector<float> x = {0.f,   -0.f,  1.5f,  -1.5f, 300.7f, -129.f, 3e9f,
                            -3e9f, 1e19f, 1e20f, inf,   -inf,   NAN,    1e-40f};
    auto cast = [&](auto tag, Dtype to) { return run<decltype(tag)>(k.find_cast(float32, to), x); };
    CHECK(cast(int8_t(), int8) ==
          std::vector<int8_t>{0, 0, 1, -1, 44, 127, 0, 0, 0, 0, 0, 0, 0, 0});
    CHECK(cast(uint8_t(), uint8) ==
          std::vector<uint8_t>{0, 0, 1, 255, 44, 127, 0, 0, 0, 0, 0, 0, 0, 0});
    int32_t low = INT32_MIN;
    CHECK(cast(int32_t(), int32) ==
          std::vector<int32_t>{0, 0, 1, -1, 300, -129, low, low, low, low, low, low, low, 0});
    CHECK(cast(uint32_t(), uint32) == std::vector<uint32_t>{0, 0, 1, 4294967295u, 300, 4294967167u,
                                                            3000000000u, 1294967296u, 0, 0, 0, 0, 0,
                                                            0});
    int64_t lowest = INT64_MIN;
    CHECK(cast(int64_t(), int64) == std::vector<int64_t>{0, 0, 1, -1, 300, -129, 3000000000,
                                                         -3000000000, lowest, lowest, lowest,
                                                         lowest, lowest, 0});
    CHECK(cast(uint64_t(), uint64) ==
          std::vector<uint64_t>{0, 0, 1, ~uint64_t(0), 300, ~uint64_t(128), 3000000000,
                                ~uint64_t(2999999999), 9999999980506447872ull, 0, 0, 1ull << 63,
                                1ull << 63, 0});
    CHECK(cast(uint8_t(), bool_) == std::vector<uint8_t>{0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    auto z = run<std::complex<double>>(k.find_cast(float32, complex128), x);
    CHECK(z[2] == std::complex<double>(1.5, 0));
    CHECK(run<float>(k.find_cast(complex128, float32), z)[4] == 300.7f);
  });
}

TEST_CASE("16-bit floats round once, to nearest even, from every type") {
  on_each_isa([](const ElementwiseKernels& k) {
    std::vector<uint16_t> all(65536);
    for (int i = 0; i < 65536; ++i) all[i] = static_cast<uint16_t>(i);
    auto half = run<float>(k.find_cast(float16, float32), all);
    auto brain = run<float>(k.find_cast(bfloat16, float32), all);
    for (int i = 0; i < 65536; ++i) {
      float a = float16_t::to_float(all[i]);
      REQUIRE((half[i] == a || (std::isnan(half[i]) && std::isnan(a))));
      REQUIRE(std::signbit(half[i]) == std::signbit(a));
    }
    CHECK(brain[0x3f80] == 1.0f);
    // All values, the midpoints between neighbours, and their neighbours in float and in double.
    std::vector<float> x;
    std::vector<double> wide;
    for (int i = 0; i < 0x7c00; ++i) {
      float mid = (half[i] + (i == 0x7bff ? 65536.0f : half[i + 1])) / 2;
      for (float v : {half[i], mid, std::nextafter(mid, 0.f), std::nextafter(mid, INFINITY)}) {
        x.push_back(v);
        x.push_back(-v);
      }
      wide.push_back(std::nextafter(static_cast<double>(mid), 0.0));
      wide.push_back(std::nextafter(static_cast<double>(mid), 1e9));
    }
    for (float v : {INFINITY, -INFINITY, 1e30f, -1e30f, 1e-45f}) x.push_back(v);
    auto y = run<uint16_t>(k.find_cast(float32, float16), x);
    auto b = run<uint16_t>(k.find_cast(float32, bfloat16), x);
    for (size_t i = 0; i < x.size(); ++i) {
      REQUIRE(y[i] == float16_t::from_float(x[i]));
      REQUIRE(b[i] == bfloat16_t::from_float(x[i]));
    }
    auto w = run<uint16_t>(k.find_cast(float64, float16), wide);
    for (int i = 0; i < 0x7c00; ++i) {
      REQUIRE(w[2 * i] == i);
      REQUIRE(w[2 * i + 1] == i + 1);
    }
    std::vector<float> nans = {NAN, -NAN, std::bit_cast<float>(0x7f800001)};
    for (Dtype t : {float16, bfloat16}) {
      auto n = run<uint16_t>(k.find_cast(float32, t), nans);
      for (float v : run<float>(k.find_cast(t, float32), n)) CHECK(std::isnan(v));
    }
    // 2^24 + 2^16 + 1 is just above the middle of two bfloat16 values; in float it is the middle.
    std::vector<int32_t> big = {(1 << 24) + (1 << 16) + 1, 65519, 65520};
    CHECK(run<uint16_t>(k.find_cast(int32, bfloat16), big)[0] == 0x4b81);
    auto halves = run<uint16_t>(k.find_cast(int32, float16), big);
    CHECK(halves[1] == 0x7bff);
    CHECK(halves[2] == 0x7c00);
    std::vector<int64_t> huge = {(int64_t(1) << 62) + (int64_t(1) << 54) + 1,
                                 -(int64_t(1) << 62) - (int64_t(1) << 54) - 1, INT64_MIN};
    CHECK(run<uint16_t>(k.find_cast(int64, bfloat16), huge) ==
          std::vector<uint16_t>{0x5e81, 0xde81, 0xdf00});
  });
}

TEST_CASE("conversions between all dtypes keep small integers") {
  on_each_isa([](const ElementwiseKernels& k) {
    constexpr int n = 77;
    std::vector<uint8_t> small(n);
    for (int i = 0; i < n; ++i) small[i] = static_cast<uint8_t>(i);
    for (int from = 0; from < kNumDtypes; ++from) {
      std::vector<char> a(n * 16), b(n * 16);
      const void* in[] = {small.data()};
      k.find_cast(uint8, dtype_at(from))(in, a.data(), n);
      for (int to = 0; to < kNumDtypes; ++to) {
        const void* from_a[] = {a.data()};
        k.find_cast(dtype_at(from), dtype_at(to))(from_a, b.data(), n);
        const void* from_b[] = {b.data()};
        std::vector<uint8_t> back(n);
        k.find_cast(dtype_at(to), uint8)(from_b, back.data(), n);
        for (int i = 0; i < n; ++i) {
          int expected = from == 0 || to == 0 ? i != 0 : i;
          REQUIRE_MESSAGE(back[i] == expected, "dtype ", from, " to ", to);
        }
      }
    }
  });
}

TEST_CASE_TEMPLATE("integer arithmetic", T, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                   uint32_t, uint64_t) {
  on_each_isa([](const ElementwiseKernels& k) {
    Dtype t = TypeToDtype<T>::value;
    std::vector<T> a, b;
    constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    std::vector<T> values = {0,          1,           2,     3,     5,     7,  100, low, high,
                             T(low + 1), T(high - 1), T(-1), T(-3), T(-7), 63, 31,  8};
    for (T x : values)
      for (T y : values) {
        a.push_back(x);
        b.push_back(y);
      }
    auto tile = [&](Row r) { return run<T>(k.find_tile(op(r), t), a, b); };
    auto q = tile(Row::floor_divide), r = tile(Row::remainder), s = tile(Row::add),
         p = tile(Row::multiply), l = tile(Row::left_shift), h = tile(Row::right_shift),
         e = tile(Row::power), m = tile(Row::maximum);
    for (size_t i = 0; i < a.size(); ++i) {
      INFO("a = ", +a[i], ", b = ", +b[i]);
      __int128 x = a[i], y = b[i], quotient = 0;
      if (y != 0) {
        quotient = x / y;
        if (quotient * y != x && (x < 0) != (y < 0)) --quotient;
      }
      REQUIRE(q[i] == T(quotient));
      REQUIRE(r[i] == (y == 0 ? T(0) : T(x - quotient * y)));
      REQUIRE(s[i] == T(x + y));
      REQUIRE(p[i] == T(static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y)));
      int width = 8 * sizeof(T);
      bool over = y < 0 || y >= width;
      REQUIRE(l[i] == (over ? T(0) : T(static_cast<unsigned __int128>(x) << int(y))));
      REQUIRE(h[i] == (over ? T(x < 0 ? -1 : 0) : T(x >> int(y))));
      REQUIRE(m[i] == std::max(a[i], b[i]));
      if (y < 0) REQUIRE(e[i] == 0);
      if (y >= 0 && y <= 8) {
        unsigned __int128 power = 1;
        for (int j = 0; j < int(y); ++j) power *= static_cast<unsigned __int128>(x);
        REQUIRE(e[i] == T(power));
      }
    }
  });
}

TEST_CASE("bool arithmetic is logic") {
  on_each_isa([](const ElementwiseKernels& k) {
    std::vector<uint8_t> a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
    auto tile = [&](Row r) { return run<uint8_t>(k.find_tile(op(r), bool_), a, b); };
    using V = std::vector<uint8_t>;
    CHECK(tile(Row::add) == V{0, 1, 1, 1});
    CHECK(tile(Row::multiply) == V{0, 0, 0, 1});
    CHECK(tile(Row::maximum) == V{0, 1, 1, 1});
    CHECK(tile(Row::bitwise_xor) == V{0, 1, 1, 0});
    CHECK(tile(Row::power) == V{1, 0, 1, 1});
    CHECK(tile(Row::floor_divide) == V{0, 0, 0, 1});
    CHECK(tile(Row::less) == V{0, 1, 0, 0});
    CHECK(run<uint8_t>(k.find_tile(op(Row::logical_not), bool_), a) == V{1, 1, 0, 0});
    CHECK(run<uint8_t>(k.find_tile(op(Row::bitwise_invert), bool_), a) == V{1, 1, 0, 0});
    CHECK(!k.find_tile(op(Row::negative), bool_));
  });
}

TEST_CASE_TEMPLATE("complex functions agree with the standard library", T, float, double) {
  using Z = std::complex<T>;
  using D = std::complex<double>;
  on_each_isa([](const ElementwiseKernels& k) {
    Dtype t = TypeToDtype<Z>::value;
    std::mt19937 random(3);
    std::uniform_real_distribution<T> uniform(-3, 3);
    std::vector<Z> a(200), b(200);
    for (auto& z : a) z = {uniform(random), uniform(random)};
    for (auto& z : b) z = {uniform(random), uniform(random)};
    a[0] = {T(1e-9), T(-2e-9)};
    a[1] = {0, 0};
    double bound = sizeof(T) == 4 ? 3e-7 : 1e-14;
    auto compare = [&](const char* name, const std::vector<Z>& got, auto reference) {
      for (size_t i = 0; i < got.size(); ++i) {
        D exact = reference(D(a[i]), D(b[i]));
        INFO(name, " of ", a[i].real(), " ", a[i].imag());
        if (!std::isfinite(exact.real()) || !std::isfinite(exact.imag())) continue;
        REQUIRE(std::abs(D(got[i]) - exact) <= bound * std::abs(exact) + 1e-300);
      }
    };
    auto one = [&](Row r, auto f) {
      compare(kRows[int(r)].name, run<Z>(k.find_tile(op(r), t), a), [&](D x, D) { return f(x); });
    };
    auto two = [&](Row r, auto f) {
      compare(kRows[int(r)].name, run<Z>(k.find_tile(op(r), t), a, b), f);
    };
    one(Row::exp, [](D z) { return std::exp(z); });
    one(Row::log, [](D z) { return std::log(z); });
    one(Row::log10, [](D z) { return std::log10(z); });
    one(Row::sin, [](D z) { return std::sin(z); });
    one(Row::tanh, [](D z) { return std::tanh(z); });
    one(Row::arccos, [](D z) { return std::acos(z); });
    one(Row::arctanh, [](D z) { return std::atanh(z); });
    one(Row::sqrt, [](D z) { return std::sqrt(z); });
    one(Row::square, [](D z) { return z * z; });
    one(Row::sigmoid, [](D z) { return 1.0 / (1.0 + std::exp(-z)); });
    one(Row::log1p, [](D z) { return std::abs(z) < 1e-6 ? z - z * z / 2.0 : std::log(1.0 + z); });
    one(Row::expm1, [](D z) { return std::abs(z) < 1e-6 ? z + z * z / 2.0 : std::exp(z) - 1.0; });
    two(Row::add, [](D x, D y) { return x + y; });
    two(Row::multiply, [](D x, D y) { return x * y; });
    two(Row::divide, [](D x, D y) { return x / y; });
    two(Row::power,
        [](D x, D y) { return x == 0.0 ? D(y.real() > 0 ? 0.0 : NAN) : std::pow(x, y); });
    two(Row::logaddexp, [](D x, D y) {  // the branch is that of the larger operand
      if (x.real() < y.real()) std::swap(x, y);
      return x + std::log(1.0 + std::exp(y - x));
    });
    auto modulus = run<T>(k.find_tile(op(Row::abs), t), a);
    for (size_t i = 0; i < a.size(); ++i) {
      REQUIRE(std::abs(modulus[i] - std::abs(D(a[i]))) <= bound * modulus[i]);
    }
    // The larger by real part, then imaginary part.
    std::vector<Z> x = {{1, 2}, {1, 3}, {2, 0}}, y = {{1, 3}, {1, 2}, {1, 9}};
    CHECK(run<Z>(k.find_tile(op(Row::maximum), t), x, y) == std::vector<Z>{{1, 3}, {1, 3}, {2, 0}});
    CHECK(run<uint8_t>(k.find_tile(op(Row::less), t), x, y) == std::vector<uint8_t>{1, 0, 0});
    std::vector<Z> small = {{2, 0}, {0, 1}, {-1, 0}}, exponents = {{3, 0}, {2, 0}, {-1, 0}};
    CHECK(run<Z>(k.find_tile(op(Row::power), t), small, exponents) ==
          std::vector<Z>{{8, 0}, {-1, 0}, {-1, 0}});
  });
}

TEST_CASE("streaming twins give the same bits") {
  on_each_isa([](const ElementwiseKernels& k) {
    constexpr int n = 531;
    std::mt19937 random(1);
    std::vector<float> a(n), b(n), c(n);
    for (auto* v : {&a, &b, &c})
      for (auto& x : *v) x = static_cast<float>(random()) * 0x1p-31f - 1;
    a[3] = NAN;
    b[4] = NAN;
    c[5] = NAN;
    for (int r = 0; r < static_cast<int>(Row::count); ++r) {
      TileFn nt = k.find_tile_nt(static_cast<OpId>(r), float32);
      if (!nt) continue;
      alignas(64) float expected[n], got[n + 16];
      const void* in[] = {a.data(), b.data(), c.data()};
      k.find_tile(static_cast<OpId>(r), float32)(in, expected, n);
      size_t bytes = kRows[r].name[0] == 'i' && kRows[r].name[1] == 's' ? n : n * 4;
      switch (static_cast<Row>(r)) {
        case Row::equal:
        case Row::not_equal:
        case Row::less:
        case Row::less_equal:
        case Row::greater:
        case Row::greater_equal:
          bytes = n;
          break;
        default:
          break;
      }
      for (float* out : {got, got + 1}) {  // aligned or not
        nt(in, out, n);
        k.fence();
        REQUIRE_MESSAGE(std::memcmp(out, expected, bytes) == 0, kRows[r].name);
      }
    }
    std::vector<float> copied(n + 16);
    const void* in[] = {a.data()};
    k.find_tile_nt(kCopy, float32)(in, copied.data(), n);
    k.fence();
    CHECK(std::memcmp(copied.data(), a.data(), n * 4) == 0);
    k.find_tile(kCopy, float32)(in, copied.data() + 1, n);
    CHECK(std::memcmp(copied.data() + 1, a.data(), n * 4) == 0);
  });
}

TEST_CASE("gather, scatter, fill and transposed load for every item size") {
  on_each_isa([](const ElementwiseKernels& k) {
    std::vector<unsigned char> src(40 * 50 * 16);
    for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<unsigned char>(i * 131 + i / 251);
    for (int size : {1, 2, 4, 8, 16}) {
      INFO("item size ", size);
      auto item = [&](int64_t i) { return src.data() + i * size; };
      std::vector<unsigned char> out(src.size(), 0x11);
      for (int64_t stride : {1, -1, 3, -7, 0}) {
        const int n = 100;
        k.load_strided(out.data(), item(1000), stride, n, size);
        for (int i = 0; i < n; ++i) {
          REQUIRE(std::memcmp(&out[i * size], item(1000 + i * stride), size) == 0);
        }
      }
      for (int64_t stride : {1, -2, 5}) {
        std::vector<unsigned char> spread(src.size(), 0x11);
        k.store_strided(&spread[1000 * size], stride, src.data(), 100, size);
        for (int i = 0; i < 100; ++i) {
          REQUIRE(std::memcmp(&spread[(1000 + i * stride) * size], item(i), size) == 0);
        }
      }
      k.fill(out.data(), item(3), 37, size);
      for (int i = 0; i < 37; ++i) REQUIRE(std::memcmp(&out[i * size], item(3), size) == 0);
      for (auto [row_stride, col_stride] : {std::pair<int64_t, int64_t>{1, 40}, {40, 1}, {2, 81}}) {
        const int rows = 37, cols = 21;
        std::fill(out.begin(), out.end(), 0x11);
        k.load_transposed(out.data(), src.data(), rows, cols, row_stride, col_stride, size);
        for (int r = 0; r < rows; ++r)
          for (int c = 0; c < cols; ++c) {
            REQUIRE(std::memcmp(&out[(r * cols + c) * size], item(r * row_stride + c * col_stride),
                                size) == 0);
          }
        CHECK(out[rows * cols * size] == 0x11);
      }
    }
  });
}
