// Links, the parts of elementwise programs that run on registers, give the bits of the tile
// kernels.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "mlx/backend/cpu/divisors.h"
#include "mlx/core/half.h"
#include "tile_kernels.h"

using namespace mlx::core;
using namespace mlx::core::cpu;

namespace {

/// Links over random operands, and the results of the tile kernels.
struct LinkTest {
  const ElementwiseKernels& k;
  const LinkKernels& links;
  const int64_t n;
  std::mt19937 random{1};
  std::vector<float> a, b, fives, out;

  explicit LinkTest(const ElementwiseKernels& kernels)
      : k(kernels), links(k.links()), n(3 * links.burst), a(n), b(n), fives(n, 5.0f), out(n) {
    for (auto* v : {&a, &b})
      for (auto& x : *v) x = static_cast<float>(random()) * 0x1p-31f - 1;
    a[3] = NAN;
    b[4] = NAN;
    a[40] = -0.0f;
  }
  bool same(const std::vector<float>& expected) const {
    for (int64_t i = 0; i < n; ++i)
      if (out[i] != expected[i] && !(std::isnan(out[i]) && std::isnan(expected[i]))) return false;
    return true;
  }
  static Link link(LinkFn run, const void* operand = nullptr) {
    return {run, operand, 0, nullptr, 5.0f, 0, 0};
  }
  void run_links(std::vector<Link> list) {
    list.insert(list.begin(), link(links.find_move(LinkMove::load, float32), a.data()));
    list.push_back(link(links.find_move(LinkMove::store, float32), out.data()));
    list.push_back(link(links.end));
    links.run(list.data(), 3);
  }
  /// The second operand of a form.
  const std::vector<float>& operand(LinkForm f, const std::vector<float>& x) const {
    if (f == LinkForm::both) return x;
    return f == LinkForm::constant || f == LinkForm::constant_first ? fives : b;
  }
  /// The result as the tile kernels have it.
  std::vector<float> expected(Row r, LinkForm f, const std::vector<float>& x) const {
    TileFn tile = k.find_tile(op(r), float32);
    if (f == LinkForm::unary) return run<float>(tile, x);
    bool first = f == LinkForm::tile_first || f == LinkForm::constant_first;
    return first ? run<float>(tile, operand(f, x), x) : run<float>(tile, x, operand(f, x));
  }
};

}  // namespace

TEST_CASE("links give the bits of the tile kernels, one by one and two in one") {
  on_each_isa([](const ElementwiseKernels& k) {
    LinkTest t(k);
    constexpr LinkForm kForms[] = {LinkForm::unary,    LinkForm::both,
                                   LinkForm::tile,     LinkForm::tile_first,
                                   LinkForm::constant, LinkForm::constant_first};
    int handlers = 0, twofold = 0;
    for (int r = 0; r < static_cast<int>(Row::count); ++r) {
      for (LinkForm f : kForms) {
        Row row = static_cast<Row>(r);
        LinkFn fn = t.links.find_link(op(row), f, float32);
        bool fits = (kRows[r].arity == 1) == (f == LinkForm::unary);
        REQUIRE((!fn || fits));
        if (!fn) continue;
        ++handlers;
        t.run_links({t.link(fn, t.b.data())});
        REQUIRE_MESSAGE(t.same(t.expected(row, f, t.a)), kRows[r].name, " form ", int(f));
        for (int q = 0; q < static_cast<int>(Row::count); ++q)
          for (LinkForm g : kForms)
            if (LinkFn two = t.links.find_joint(op(row), f, op(static_cast<Row>(q)), g)) {
              ++twofold;
              t.run_links({t.link(two, t.b.data()), t.link(nullptr, t.b.data())});
              REQUIRE(t.same(t.expected(static_cast<Row>(q), g, t.expected(row, f, t.a))));
            }
      }
    }
    CHECK(handlers == 11 + 6 * 5);
    CHECK(twofold == 36);
  });
}

TEST_CASE("links of calls and of quotients give the bits of the tile kernels") {
  on_each_isa([](const ElementwiseKernels& k) {
    LinkTest t(k);
    for (LinkForm f : {LinkForm::unary, LinkForm::both, LinkForm::tile, LinkForm::tile_first}) {
      Row row = f == LinkForm::unary ? Row::sin : Row::arctan2;
      Link call = t.link(t.links.find_call(f), t.b.data());
      call.tile = k.find_tile(op(row), float32);
      t.run_links({call});
      CHECK(t.same(t.expected(row, f, t.a)));
    }
    for (float divisor : {3.0f, 1.4142135f, -10.0f, 0.3f}) {
      float high, low;
      REQUIRE(reciprocal_parts(divisor, high, low));
      if (!t.links.quotient) continue;
      const std::vector<float> divisors(t.n, divisor);
      for (bool rare : {false, true}) {
        for (int64_t i = 0; i < t.n; ++i)
          t.a[i] = std::ldexp(static_cast<float>(t.random() | 1), i % 50 - 40);
        if (rare)
          t.a[5] = 0.0f, t.a[200 % t.n] = INFINITY, t.a[70 % t.n] = 1e-42f, t.a[90 % t.n] = -3e38f;
        t.run_links({Link{t.links.quotient, nullptr, 0, nullptr, divisor, high, low}});
        CHECK(t.same(run<float>(k.find_tile(op(Row::divide), float32), t.a, divisors)));
      }
    }
  });
}

TEST_CASE("corrected quotients by any divisor give the bits of the tile kernels") {
  on_each_isa([](const ElementwiseKernels& k) {
    LinkTest t(k);
    if (!t.links.corrected_quotient) return;
    for (int round = 0; round < 2000; ++round) {
      // Divisors of few bits, next to powers of two, and any others, of all sizes.
      float divisor = std::ldexp(static_cast<float>(t.random() >> 8 | 1 << 23), round % 78 - 62);
      if (round % 3 == 1) divisor = std::ldexp(static_cast<float>(t.random() % 64 + 1), round % 9);
      if (round % 3 == 2) divisor = std::nextafter(std::ldexp(1.0f, round % 60 - 30), round % 4);
      float high, low;
      REQUIRE(split_reciprocal(divisor, high, low));
      for (int64_t i = 0; i < t.n; ++i)
        t.a[i] = std::ldexp(static_cast<float>(t.random() >> 8), round % 100 - 75);
      if (round % 5 == 0) t.a[5] = -0.0f, t.a[9] = INFINITY, t.a[70] = 1e-42f, t.a[90] = NAN;
      t.run_links({Link{t.links.corrected_quotient, nullptr, 0, nullptr, divisor, high, low}});
      const std::vector<float> divisors(t.n, divisor);
      REQUIRE(t.same(run<float>(k.find_tile(op(Row::divide), float32), t.a, divisors)));
    }
    float high, low;
    for (float unusual : {0.0f, INFINITY, NAN, 0x1p41f, 0x1p-41f})
      CHECK(!split_reciprocal(unusual, high, low));
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
