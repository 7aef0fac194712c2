// The elementwise tile kernels of every instruction set that runs here, called directly: places and
// tails, conversions, integer and complex arithmetic, links, streaming stores, gathers.
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

using namespace mlx::core;
using namespace mlx::core::cpu;

namespace {

enum class Row : int {
#define E(name, ...) name,
#include "mlx/ops/elementwise.def"
#undef E
  count,
};
struct RowInfo {
  const char* name;
  int arity;
};
constexpr RowInfo kRows[] = {
#define E(name, arity, ...) {#name, arity},
#include "mlx/ops/elementwise.def"
#undef E
};
constexpr OpId op(Row r) { return static_cast<OpId>(r); }
constexpr OpId kCopy = static_cast<OpId>(static_cast<int>(Row::count) + 1);

template <class F>
void on_each_isa(F body) {
  struct {
    const char* name;
    const ElementwiseKernels& kernels;
    bool runs;
  } isas[] = {
#define MLX_ROW(ISA, ...) {#ISA, ISA::elementwise_kernels, Isa::ISA <= supported_isa()},
      MLX_EACH_ISA(MLX_ROW)
#undef MLX_ROW
  };
  for (auto& isa : isas) {
    if (!isa.runs) continue;
    INFO("instruction set ", isa.name);
    body(isa.kernels);
  }
}

/// `n` elements of a dtype from random small integers and fractions, zero among them, as bytes.
std::vector<char> operand(const ElementwiseKernels& k, Dtype t, int n, int seed) {
  std::mt19937 random(seed);
  std::vector<float> x(n);
  for (auto& v : x) v = static_cast<float>(static_cast<int>(random() % 41) - 20) * 0.25f;
  std::vector<char> bytes(n * t.size());
  const void* in[] = {x.data()};
  k.find_cast(Dtype::Val::float32, t)(in, bytes.data(), n);
  return bytes;
}

template <class Out, class... In>
std::vector<Out> run(TileFn fn, const std::vector<In>&... in) {
  REQUIRE(static_cast<bool>(fn));
  const void* p[] = {in.data()...};
  std::vector<Out> out(std::get<0>(std::tie(in...)).size());
  fn(p, out.data(), static_cast<int64_t>(out.size()));
  return out;
}

Dtype dtype_at(int i) { return Dtype(static_cast<Dtype::Val>(i)); }

}  // namespace

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

TEST_CASE("links give the bits of the tile kernels, one by one and two in one") {
  on_each_isa([](const ElementwiseKernels& k) {
    const LinkKernels& links = k.links();
    const int64_t n = 3 * links.burst;
    std::mt19937 random(1);
    std::vector<float> a(n), b(n), fives(n, 5.0f), out(n);
    for (auto* v : {&a, &b})
      for (auto& x : *v) x = static_cast<float>(random()) * 0x1p-31f - 1;
    a[3] = NAN;
    b[4] = NAN;
    a[40] = -0.0f;
    auto same = [&](const std::vector<float>& expected) {
      for (int64_t i = 0; i < n; ++i)
        if (out[i] != expected[i] && !(std::isnan(out[i]) && std::isnan(expected[i]))) return false;
      return true;
    };
    auto link = [&](LinkFn run, const void* operand = nullptr) {
      return Link{run, operand, 0, nullptr, 5.0f, 0, 0};
    };
    auto run_links = [&](std::vector<Link> list) {
      list.insert(list.begin(), link(links.find_move(LinkMove::load, float32), a.data()));
      list.push_back(link(links.find_move(LinkMove::store, float32), out.data()));
      list.push_back(link(links.end));
      links.run(list.data(), 3);
    };
    // The second operand of a form, and the result as the tile kernels have it.
    auto operand = [&](LinkForm f, const std::vector<float>& x) {
      return f == LinkForm::both                                        ? x
             : f == LinkForm::constant || f == LinkForm::constant_first ? fives
                                                                        : b;
    };
    auto expected = [&](Row r, LinkForm f, const std::vector<float>& x) {
      TileFn tile = k.find_tile(op(r), float32);
      if (f == LinkForm::unary) return run<float>(tile, x);
      bool first = f == LinkForm::tile_first || f == LinkForm::constant_first;
      return first ? run<float>(tile, operand(f, x), x) : run<float>(tile, x, operand(f, x));
    };
    constexpr LinkForm kForms[] = {LinkForm::unary,    LinkForm::both,
                                   LinkForm::tile,     LinkForm::tile_first,
                                   LinkForm::constant, LinkForm::constant_first};
    int handlers = 0, twofold = 0;
    for (int r = 0; r < static_cast<int>(Row::count); ++r) {
      for (LinkForm f : kForms) {
        Row row = static_cast<Row>(r);
        LinkFn fn = links.find_link(op(row), f, float32);
        bool fits = (kRows[r].arity == 1) == (f == LinkForm::unary);
        REQUIRE((!fn || fits));
        if (!fn) continue;
        ++handlers;
        run_links({link(fn, b.data())});
        REQUIRE_MESSAGE(same(expected(row, f, a)), kRows[r].name, " form ", int(f));
        for (int q = 0; q < static_cast<int>(Row::count); ++q)
          for (LinkForm g : kForms)
            if (LinkFn two = links.find_joint(op(row), f, op(static_cast<Row>(q)), g)) {
              ++twofold;
              run_links({link(two, b.data()), link(nullptr, b.data())});
              REQUIRE(same(expected(static_cast<Row>(q), g, expected(row, f, a))));
            }
      }
    }
    CHECK(handlers == 11 + 6 * 5);
    CHECK(twofold == 36);
    for (LinkForm f : {LinkForm::unary, LinkForm::both, LinkForm::tile, LinkForm::tile_first}) {
      Row row = f == LinkForm::unary ? Row::sin : Row::arctan2;
      Link call = link(links.find_call(f), b.data());
      call.tile = k.find_tile(op(row), float32);
      run_links({call});
      CHECK(same(expected(row, f, a)));
    }
    for (float divisor : {3.0f, 1.4142135f, -10.0f, 0.3f}) {
      float high, low;
      REQUIRE(reciprocal_parts(divisor, high, low));
      if (!links.quotient) continue;
      std::vector<float> divisors(n, divisor), wide = a;
      for (bool rare : {false, true}) {
        for (int64_t i = 0; i < n; ++i)
          a[i] = std::ldexp(static_cast<float>(random() | 1), i % 50 - 40);
        if (rare) a[5] = 0.0f, a[200 % n] = INFINITY, a[70 % n] = 1e-42f, a[90 % n] = -3e38f;
        run_links({Link{links.quotient, nullptr, 0, nullptr, divisor, high, low}});
        CHECK(same(run<float>(k.find_tile(op(Row::divide), float32), a, divisors)));
      }
      a = wide;
    }
  });
}

TEST_CASE_TEMPLATE("links round to 16-bit floats as conversions do", T, float16_t, bfloat16_t) {
  on_each_isa([](const ElementwiseKernels& k) {
    constexpr auto type = std::is_same_v<T, float16_t> ? Dtype::Val::float16 : Dtype::Val::bfloat16;
    const LinkKernels& links = k.links();
    const int64_t burst = links.burst, n = (1 << 16) / burst * burst;
    alignas(64) static T narrow[1 << 16], got[1 << 16];
    std::vector<float> x(n), out(n);
    auto bits = [](auto v) { return std::bit_cast<std::array<char, sizeof(v)>>(v); };
    // Bursts with and without subnormal numbers and NaN: there may be two ways for these.
    std::mt19937 random(1);
    for (int64_t i = 0; i < n; ++i) {
      const bool any = i / burst % 2, tie = i % 3 == 0;
      uint32_t word = random();
      if (!any) word = (word & 0x83ffffff) | 0x3c000000;
      x[i] = std::bit_cast<float>(tie ? (word & 0xffff0000) | 0x8000 : word);
      narrow[i].bits = static_cast<uint16_t>(i);
    }
    auto link = [](LinkFn run, const void* at) { return Link{run, at, 0, nullptr, 0, 0, 0}; };
    auto run = [&](std::vector<Link> list) {
      list.push_back(link(links.end, nullptr));
      links.run(list.data(), n / burst);
    };
    using enum LinkMove;
    run({link(links.find_move(load, float32), x.data()),
         link(links.find_move(round, type), nullptr), link(links.find_move(store, type), got),
         link(links.find_move(store, float32), out.data())});
    bool same = true;
    for (int64_t i = 0; i < n; ++i)
      same =
          same && got[i].bits == T(x[i]).bits && bits(out[i]) == bits(static_cast<float>(got[i]));
    CHECK(same);
    for (LinkMove end : {round_store, round_stream}) {
      std::ranges::fill(got, T());
      run({link(links.find_move(load, float32), x.data()), link(links.find_move(end, type), got)});
      for (int64_t i = 0; i < n; ++i) same = same && got[i].bits == T(x[i]).bits;
      CHECK(same);
    }
    run({link(links.find_move(load, type), narrow), link(links.find_move(touch, type), narrow),
         link(links.find_move(store, float32), out.data())});
    for (int64_t i = 0; i < n; ++i)
      same = same && (out[i] == static_cast<float>(narrow[i]) || std::isnan(out[i]));
    CHECK(same);
    // A tile of 16-bit floats as the second operand, or the first one.
    for (Row row :
         {Row::add, Row::subtract, Row::multiply, Row::divide, Row::maximum, Row::minimum})
      for (LinkForm form : {LinkForm::tile, LinkForm::tile_first}) {
        run({link(links.find_move(load, float32), x.data()),
             link(links.find_link(op(row), form, type), narrow),
             link(links.find_move(store, float32), out.data())});
        std::vector<float> wide(narrow, narrow + n);
        const bool first = form == LinkForm::tile_first;
        const auto tile = k.find_tile(op(row), float32);
        const auto expected = ::run<float>(tile, first ? wide : x, first ? x : wide);
        for (int64_t i = 0; i < n; ++i)
          same = same && (out[i] == expected[i] || (std::isnan(expected[i]) && std::isnan(out[i])));
        CHECK(same);
      }
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
