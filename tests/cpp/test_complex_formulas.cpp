// Complex functions from real ones (math_complex_formulas.h), which device code uses, against the C
// library's.
#define MLX_WITHOUT_C_LIBRARY
#include <algorithm>
#include <complex>
#include <limits>
#include <random>

#include "mlx/backend/math/complex.h"
#include "support.h"

using namespace mlx::core;

namespace {

using Number = std::complex<double>;

bool same_part(double x, double y) {
  if (x != x || y != y) return x != x && y != y;
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return std::abs(x - y) <= 1e-12 * std::abs(x) + 1e-300;
}

template <class F, class G>
void compare(const char* name, F f, G library) {
  INFO(name);
  auto ours = [&](Number z) {
    const m::Cx<double> r = f(m::Cx<double>{z.real(), z.imag()});
    return Number(r.re, r.im);
  };
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const double inf = std::numeric_limits<double>::infinity();
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    auto part = [&] { return normal(random) * std::pow(10.0, static_cast<int>(random() % 7) - 4); };
    const Number z(part(), part()), a = library(z), b = ours(z);
    if (!std::isfinite(a.real()) || !std::isfinite(a.imag()) || std::abs(a) > 1e300) continue;
    const double error = std::abs(a - b) / std::abs(a);
    worst = error == error ? std::max(worst, error) : inf;
  }
  CHECK(worst < 2e-15);
  // Zeros, limits and infinities; where a part is NaN C leaves some results open.
  const double parts[] = {0.0, -0.0, 0.5, -1, 2, 1e300, -1e300, 1e-310, inf, -inf};
  for (double x : parts) {
    for (double y : parts) {
      const Number a = library({x, y}), b = ours({x, y});
      if (a.real() != a.real() || a.imag() != a.imag()) continue;
      INFO(x, " ", y);
      CHECK(same_part(a.real(), b.real()));
      CHECK(same_part(a.imag(), b.imag()));
    }
  }
}

}  // namespace

TEST_CASE("complex formulas equal the C library's functions") {
#define MLX_COMPARE(ours, library) \
  compare(#ours, [](auto z) { return m::ours(z); }, [](Number z) { return std::library(z); });
  MLX_COMPARE(exp, exp)
  MLX_COMPARE(log, log)
  MLX_COMPARE(sqrt, sqrt)
  MLX_COMPARE(sin, sin)
  MLX_COMPARE(cos, cos)
  MLX_COMPARE(tan, tan)
  MLX_COMPARE(sinh, sinh)
  MLX_COMPARE(cosh, cosh)
  MLX_COMPARE(tanh, tanh)
  MLX_COMPARE(arcsin, asin)
  MLX_COMPARE(arccos, acos)
  MLX_COMPARE(arctan, atan)
  MLX_COMPARE(arcsinh, asinh)
  MLX_COMPARE(arccosh, acosh)
  MLX_COMPARE(arctanh, atanh)
#undef MLX_COMPARE
}
