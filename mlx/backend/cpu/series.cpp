// Incomplete gamma and beta functions in float64: sums of powers below the bulk of the
// distribution, continued fractions above it, and for large parameters Temme's expansion (DLMF
// 8.12). The number of terms grows with the root of the parameters and is bounded.
#include "mlx/ops/series.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/log_gamma.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

constexpr double kSeriesNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSeriesInfinity = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 4;
/// Beyond this parameter the expansions for large parameters are used; sums are shorter than
/// kLongest terms below it.
constexpr double kLarge = 1e6;
constexpr int kLongest = 30000;

double digamma(double x) {
  double sum = 0;
  for (; x < 12; ++x) sum -= 1 / x;
  const double y = 1 / (x * x);
  double tail = 691.0 / 32760;
  for (const double c : {-1.0 / 132, 1.0 / 240, -1.0 / 252, 1.0 / 120, -1.0 / 12})
    tail = c + y * tail;
  return sum + std::log(x) - 0.5 / x + y * tail;
}

/// A number and its derivative with respect to the parameter a.
struct Dual {
  double value, slope;
};

/// The sum of x^n / ((a + 1) .. (a + n)) over n = 0, 1, ..
Dual power_sum(double a, double x) {
  Dual term{1, 0}, sum{1, 0};
  for (int n = 1; n < kLongest; ++n) {
    const double d = a + n;
    term = {term.value * x / d, (term.slope - term.value / d) * x / d};
    sum = {sum.value + term.value, sum.slope + term.slope};
    if (term.value < kEpsilon * sum.value && std::abs(term.slope) < kEpsilon * std::abs(sum.slope))
      break;
  }
  return sum;
}

/// gamma(a, x) exp(x) x^-a for x > a, by Legendre's continued fraction evaluated from its end.
Dual fraction(double a, double x) {
  // The error falls by exp(-4 sqrt(n x)) or, near x = a, with n / sqrt(a).
  const double terms = 12 + 100 / x + 8 * std::sqrt(std::max(a, 0.0)) / (0.2 + (x - a) / x);
  const int n = static_cast<int>(std::min(terms + 40, double{kLongest}));
  Dual tail{x + 2 * n + 1 - a, -1};
  for (int k = n; k > 0; --k) {
    const double top = k * (a - k), inverse = 1 / tail.value;
    const double slope = (k - top * tail.slope * inverse) * inverse;
    tail = {x + 2 * k - 1 - a + top * inverse, slope - 1};
  }
  const double inverse = 1 / tail.value;
  return {inverse, -tail.slope * inverse * inverse};
}

/// log1p(u) - u.
double log1p_rest(double u) {
  if (std::abs(u) > 0.3) return std::log1p(u) - u;
  double power = u, sum = 0;
  for (int k = 2; k < 60; ++k) {
    power *= -u;
    sum += power / k;
    if (std::abs(power) < kEpsilon * std::abs(sum)) break;
  }
  return sum;
}

/// x^a exp(-x) / gamma(a + 1), without the cancellation of large logarithms.
double weight(double a, double x) {
  if (a < 20) return std::exp(a * std::log(x) - x - log_gamma(a + 1));
  const double y = 1 / (a * a);
  const double rest = (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y / 1680))) / a;
  return std::exp(a * log1p_rest((x - a) / a) - rest) / std::sqrt(2 * std::numbers::pi * a);
}

/// The complement for large a: an error function and two terms of Temme's expansion.
double large_upper(double a, double x) {
  const double u = (x - a) / a, half = -log1p_rest(u);
  const double eta = std::copysign(std::sqrt(2 * half), u);
  double first = -1.0 / 3, second = -1.0 / 540;
  if (std::abs(eta) > 0.05) {
    first = 1 / u - 1 / eta;
    second = 1 / (eta * eta * eta) - 1 / (u * u * u) - 1 / (u * u) - 1 / (12 * u);
  } else {
    const double c[] = {1.0 / 12, -2.0 / 135, 1.0 / 864, 1.0 / 2835, -139.0 / 777600};
    double power = 1;
    for (const double v : c) first += v * (power *= eta);
    second += eta * (-1.0 / 288 + eta / 378);
  }
  const double density = std::exp(-a * half) / std::sqrt(2 * std::numbers::pi * a);
  return 0.5 * std::erfc(eta * std::sqrt(a / 2)) + density * (first + second / a);
}

double gamma_part(double a, double x, bool upper) {
  if (std::isnan(a) || std::isnan(x) || a < 0 || x < 0) return kSeriesNaN;
  if (x == 0) return a == 0 ? kSeriesNaN : upper;
  if (a == 0 || x == kSeriesInfinity) return a == kSeriesInfinity ? kSeriesNaN : !upper;
  if (a == kSeriesInfinity) return upper;
  if (a > kLarge && std::abs(x - a) < a / 2) {
    const double q = large_upper(a, x);
    return upper ? q : 1 - q;
  }
  if (x <= a || (x < 1 && x <= a + 0.5)) {
    const double p = weight(a, x) * power_sum(a, x).value;
    return upper ? 1 - p : p;
  }
  const double q = weight(a, x) * a * fraction(a, x).value;
  return upper ? q : 1 - q;
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto apart = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / apart(1 - (a + b) * x / (a + 1)), out = d;
  for (int m = 1; m < kLongest; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / apart(1 + even * d);
    c = apart(1 + even / c);
    out *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / apart(1 + odd * d);
    c = apart(1 + odd / c);
    out *= d * c;
    if (std::abs(d * c - 1) < 4 * kEpsilon) break;
  }
  return out;
}

double beta_part(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1) || std::isinf(a) || std::isinf(b))
    return kSeriesNaN;
  if (x == 0 || x == 1) return x;
  const double size =
      a * std::log(x) + b * std::log1p(-x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b);
  if (x < (a + 1) / (a + b + 2)) return std::exp(size) * beta_fraction(a, b, x) / a;
  return 1 - std::exp(size) * beta_fraction(b, a, 1 - x) / b;
}

/// d log x / da at a fixed value of the distribution function: -P_a / (x p).
double log_gamma_slope(double a, double log_x) {
  if (std::isnan(log_x) || !(a > 0) || a == kSeriesInfinity) return kSeriesNaN;
  const double x = std::exp(log_x);
  if (a > kLarge) {
    const double root = std::sqrt(a), z = (x - a) / root;
    return (1 + z / (2 * root)) / x;
  }
  if (x <= a || x < 1) {
    const Dual sum = power_sum(a, x);
    return -(sum.value * (log_x - digamma(a + 1)) + sum.slope) / a;
  }
  const Dual f = fraction(a, x);
  return f.value * (log_x - digamma(a)) + f.slope;
}

void run_series(const KernelArgs& args) {
  const Series kind = attrs_as<SeriesAttrs>(args.attrs).kind;
  const auto *a = args.in[0].as<const double>(), *b = args.in[1].as<const double>();
  const auto* c = args.in.size() > 2 ? args.in[2].as<const double>() : nullptr;
  auto* out = args.out[0].as<double>();
  const int64_t n = args.out[0].size();
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) switch (kind) {
        case Series::gammainc:
          out[i] = gamma_part(a[i], b[i], false);
          break;
        case Series::gammaincc:
          out[i] = gamma_part(a[i], b[i], true);
          break;
        case Series::betainc:
          out[i] = beta_part(a[i], b[i], c[i]);
          break;
        case Series::log_gamma_slope:
          out[i] = log_gamma_slope(a[i], b[i]);
          break;
      }
  };
  parallel_for(n, 64, run, 200.0 * static_cast<double>(n));
}

constexpr KernelEntry kSeriesKernels[] = {{.op = &op_series, .run = run_series, .contiguous = 7}};

}  // namespace

const std::span<const KernelEntry> series_entries = kSeriesKernels;

}  // namespace mlx::core::cpu
