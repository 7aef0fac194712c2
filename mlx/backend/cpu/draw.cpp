// Random numbers by rejection. Each element has a separate stream of words, whose key is made of
// the key of the draw and the index of the element: results do not depend on threads.
#include "mlx/ops/draw.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/random.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/log_gamma.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Attempts of a rejection, each of which succeeds in at least half of the cases.
constexpr int kAttempts = 1000;

const RandomKernels& draw_kernels() { return MLX_FOR_ISA(random_kernels); }

/// Numbers made of the words for a key and the counters 0, 1, ..
class Words {
 public:
  Words(uint32_t first, uint32_t second) : key_{first, second} {}

  /// In (0, 1), of 53 bits.
  double uniform() {
    if (at_ == kBlock) {
      draw_kernels().threefry(key_, next_, 1u << 31, kBlock, high_, low_);
      next_ += kBlock;
      at_ = 0;
    }
    const uint64_t word = (uint64_t{high_[at_]} << 32 | low_[at_]) >> 11;
    ++at_;
    return (static_cast<double>(word) + 0.5) * 0x1p-53;
  }
  /// By Box and Muller's transformation.
  double normal() {
    const double size = std::sqrt(-2 * std::log(uniform()));
    return size * std::cos(2 * kPi * uniform());
  }

 private:
  static constexpr int kBlock = 8;
  uint32_t key_[2], high_[kBlock], low_[kBlock], next_ = 0;
  int at_ = kBlock;
};

/// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
double draw_log_gamma(Words& words, double a) {
  if (!(a >= 0)) return kNaN;
  if (a == 0 || a == kInfinity) return a == 0 ? -kInfinity : kInfinity;
  double boost = 0;
  if (a < 1) {
    boost = std::log(words.uniform()) / a;
    a += 1;
  }
  const double d = a - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (int i = 0; i < kAttempts; ++i) {
    const double x = words.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, log_v = 3 * std::log1p(c * x);
    if (std::log(words.uniform()) < 0.5 * x * x + d * (1 - v + log_v))
      return std::log(d) + log_v + boost;
  }
  return std::log(d) + boost;
}

/// Hörmann, "The transformed rejection method for generating Poisson random variables", 1993; for
/// small rates, the number of factors until a product of uniform numbers is below exp(-rate).
double draw_poisson(Words& words, double rate) {
  if (!(rate >= 0)) return -1;
  if (rate == 0 || rate == kInfinity) return rate;
  if (rate > 1e15) return std::floor(rate + std::sqrt(rate) * words.normal() + 0.5);
  if (rate < 10) {
    const double end = std::exp(-rate);
    int count = 0;
    for (double product = words.uniform(); product > end && count < kAttempts; ++count)
      product *= words.uniform();
    return count;
  }
  const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b, scale = std::log(1.1239 + 1.1328 / (b - 3.4));
  for (int i = 0; i < kAttempts; ++i) {
    const double u = words.uniform() - 0.5, v = words.uniform(), side = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / side + b) * u + rate + 0.43);
    if (side >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (side < 0.013 && v > side)) continue;
    if (std::log(v) + scale - std::log(a / (side * side) + b) <=
        k * log_rate - rate - log_gamma(k + 1))
      return k;
  }
  return std::floor(rate);
}

/// Successes of n trials with p <= 1/2: by the waiting times between them where they are few, else
/// Hörmann, "The generation of binomial random variates", 1993.
double draw_few_or_many(Words& words, double n, double p) {
  if (n * p < 10) {
    const double end = std::log1p(-p);
    double sum = 0, count = 0;
    for (; count < n; ++count) {
      sum += std::log(words.uniform()) / (n - count);
      if (sum < end) break;
    }
    return count;
  }
  const double root = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * root;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p, odds = std::log(p / (1 - p));
  const double alpha = (2.83 + 5.1 / b) * root, mode = std::floor((n + 1) * p);
  const double top = log_gamma(mode + 1) + log_gamma(n - mode + 1);
  for (int i = 0; i < kAttempts; ++i) {
    const double u = words.uniform() - 0.5, v = words.uniform(), side = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / side + b) * u + n * p + 0.5);
    if (k < 0 || k > n) continue;
    if (side >= 0.07 && v <= 0.92 - 4.2 / b) return k;
    const double ratio = top - log_gamma(k + 1) - log_gamma(n - k + 1);
    if (std::log(v * alpha / (a / (side * side) + b)) <= ratio + (k - mode) * odds) return k;
  }
  return mode;
}
double draw_binomial(Words& words, double n, double p) {
  if (!(n >= 0) || !(p >= 0) || !(p <= 1) || n == kInfinity) return -1;
  n = std::floor(n);
  if (p == 0 || n == 0) return 0;
  if (p <= 0.5) return draw_few_or_many(words, n, p);
  return p == 1 ? n : n - draw_few_or_many(words, n, 1 - p);
}

/// Best and Fisher, "Efficient simulation of the von Mises distribution", 1979.
double draw_von_mises(Words& words, double kappa) {
  if (!(kappa >= 0)) return kNaN;
  if (kappa < 1e-8) return kPi * (2 * words.uniform() - 1);
  if (kappa > 1e8) return words.normal() / std::sqrt(kappa);
  const double tau = 1 + std::sqrt(1 + 4 * kappa * kappa);
  const double rho = (tau - std::sqrt(2 * tau)) / (2 * kappa), r = (1 + rho * rho) / (2 * rho);
  double f = 1;
  for (int i = 0; i < kAttempts; ++i) {
    const double z = std::cos(kPi * words.uniform()), v = words.uniform();
    f = (1 + r * z) / (r + z);
    const double c = kappa * (r - f);
    if (c * (2 - c) > v || std::log(c / v) + 1 >= c) break;
  }
  return std::copysign(std::acos(std::min(f, 1.0)), words.uniform() - 0.5);
}

/// Elements [begin, end) of the part of one key.
template <class F>
void draw_part(const uint32_t* key, int64_t begin, int64_t end, F&& element) {
  constexpr int64_t kKeys = 64;
  uint32_t first[kKeys], second[kKeys];
  while (begin < end) {
    const int64_t n = std::min(kKeys - begin % kKeys, end - begin);
    // The counter of element i is (i, i + d), where d is the upper half of i.
    draw_kernels().threefry(key, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin >> 32),
                            n, first, second);
    for (int64_t i = 0; i < n; ++i) {
      Words words(first[i], second[i]);
      element(words, begin + i);
    }
    begin += n;
  }
}

void run_draw(const KernelArgs& args) {
  const Draw kind = attrs_as<DrawAttrs>(args.attrs).kind;
  const int64_t n = args.out[0].size(), keys = args.in[0].size() / 2;
  if (n == 0) return;
  const int64_t each = n / keys;
  const auto* a = args.in[1].as<const double>();
  const auto* b = args.in.size() > 2 ? args.in[2].as<const double>() : nullptr;
  auto* out = args.out[0].as<double>();
  const auto element = [&](Words& words, int64_t i) {
    switch (kind) {
      case Draw::log_gamma:
        out[i] = draw_log_gamma(words, a[i]);
        break;
      case Draw::poisson:
        out[i] = draw_poisson(words, a[i]);
        break;
      case Draw::binomial:
        out[i] = draw_binomial(words, a[i], b[i]);
        break;
      case Draw::von_mises:
        out[i] = draw_von_mises(words, a[i]);
        break;
    }
  };
  const auto run = [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t part = begin / each, from = part * each;
      const int64_t stop = std::min(end, from + each);
      draw_part(args.in[0].as<const uint32_t>() + 2 * part, begin - from, stop - from,
                [&](Words& words, int64_t i) { element(words, from + i); });
      begin = stop;
    }
  };
  parallel_for(n, 64, run, 60.0 * static_cast<double>(n));
}

constexpr KernelEntry kDrawKernels[] = {{.op = &op_draw, .run = run_draw, .contiguous = 7}};

}  // namespace

const std::span<const KernelEntry> draw_entries = kDrawKernels;

}  // namespace mlx::core::cpu
