// Visits every float32 and every 16-bit value of each unary function of the tile kernels, and
// samples of float64 values and of pairs, on each instruction set that this machine runs; prints
// the largest error in units in the last place and where it was, and fails where a bound is broken.
//
//   exhaustive_math [--quick] [--isa NAME] [--threads n] [function ...]
//
// References are the C library's: double for float32 and narrower, long double for float64. Of the
// float32 results, those which its vector functions show to be the worst so far, and all odd ones,
// are compared with its scalar functions.

#include <math.h>
#include <string.h>

#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/elementwise.h"
#include "tests/cpp/vector_libm.h"

using namespace mlx::core;
using namespace mlx::core::cpu;

namespace {

enum class Row : int {
#define E(name, ...) name,
#include "mlx/ops/elementwise.def"
#undef E
};

using Long = long double;

//--- references ----------------------------------------------------------------------------------

template <class T>
T erfinv_reference(T x) {
  if (!(fabsl(x) < 1)) return fabsl(x) == 1 ? copysignl(INFINITY, x) : T(NAN);
  T a = fabsl(x);
  if (a == 0) return x;
  // Newton's method on log erfc is globally convergent from the asymptote.
  T y = a < T(0.5) ? a * T(0.9) : sqrtl(-logl((1 - a) * (1 + a))) * T(0.95);
  for (int i = 0; i < 12; ++i) {
    T error = a < T(0.5) ? T(erfl(y)) - a : (1 - a) - T(erfcl(y));
    T step = error * T(0.886226925452758013649083741670572591L) * T(expl(y * y));
    T move = step / (1 + y * step);
    y -= move;
    if (fabsl(move) <= y * (sizeof(T) == 8 ? T(1e-15) : T(1e-19L))) break;
  }
  return copysignl(y, x);
}

/// The derivative of log |gamma(x)|: reflected, moved beyond 20, and Stirling's series.
template <class T>
T digamma_reference(T given) {
  const Long pi = 3.14159265358979323846264338327950288L;
  Long x = given, r = 0;
  if (x == 0) return copysignl(INFINITY, -x);
  if (isinf(x)) return x > 0 ? x : T(NAN);
  if (x < 0) {
    const Long off = x - rintl(x);
    if (off == 0) return NAN;
    r = -pi / tanl(pi * off);
    x = 1 - x;
  }
  for (; x < 20; x += 1) r -= 1 / x;
  const Long terms[] = {1 / 12.0L,  -1 / 120.0L,     1 / 252.0L, -1 / 240.0L,
                        1 / 132.0L, -691 / 32760.0L, 1 / 12.0L,  -3617 / 8160.0L};
  Long power = 1;
  r += logl(x) - 1 / (2 * x);
  for (const Long term : terms) r -= term * (power /= x * x);
  return T(r);
}

struct Unary {
  Row row;
  const char* name;
  double (*narrow)(double);  // for float32 and 16 bits
  Long (*wide)(Long);        // for float64
  double bound32, bound64;
  ManyFn many = nullptr;   // the same as `narrow`
  double without_fma = 1;  // times the bounds, where there is no FMA
  double least64 = 0;      // errors of smaller float64 results are in the ULP of this number
};

#define LIBM(name, c, b32, b64)                                      \
  {Row::name, #name,          [](double x) { return c(x); }, [](Long x) { return c##l(x); }, b32, \
   b64,       vector_libm(#c)}
#define FORMULA(name, f) \
  Row::name, #name, [](double x) { return double(f(x)); }, [](Long x) { return Long(f(x)); }

template <class T>
T sigmoid(T x) {
  T t = expl(-fabsl(x));
  return (x < 0 ? t : 1) / (1 + t);
}

void many_sigmoids(const double* x, double* r, int n) {
  static const ManyFn exps = vector_libm("exp");
  for (int i = 0; i < n; ++i) r[i] = -fabs(x[i]);
  if (exps) exps(r, r, n);
  for (int i = 0; i < n; ++i) {
    double t = exps ? r[i] : exp(r[i]);
    r[i] = (x[i] < 0 ? t : 1) / (1 + t);
  }
}

const Unary kUnary[] = {
    LIBM(exp, exp, 1.1, 1.1),
    LIBM(expm1, expm1, 1.5, 2.5),
    LIBM(log, log, 1, 1),
    LIBM(log2, log2, 1, 2),
    LIBM(log10, log10, 1, 2),
    LIBM(log1p, log1p, 1.5, 1.5),
    LIBM(sin, sin, 2, 2.25),
    LIBM(cos, cos, 2, 2.25),
    LIBM(tan, tan, 1, 3.5),
    LIBM(arcsin, asin, 1, 2),
    LIBM(arccos, acos, 1, 2),
    LIBM(arctan, atan, 1, 2),
    LIBM(sinh, sinh, 1, 3),
    LIBM(cosh, cosh, 1, 2.75),
    LIBM(tanh, tanh, 2, 3),
    LIBM(arcsinh, asinh, 1, 3),
    LIBM(arccosh, acosh, 1, 3),
    LIBM(arctanh, atanh, 1, 3),
    LIBM(cbrt, cbrt, 1, 1.5),
    LIBM(erf, erf, 1.6, 1.25),
    LIBM(erfc, erfc, 1, 3),
    {FORMULA(lgamma, [](Long x) { return lgammal(x); }), 1, 16, nullptr, 1, 1},
    {FORMULA(digamma, [](auto x) { return digamma_reference(x); }), 1, 16, nullptr, 1, 1},
    {FORMULA(erfinv, erfinv_reference), 2, 3},
    {FORMULA(sigmoid, sigmoid), 2, 2, many_sigmoids, 1.25},
    LIBM(sqrt, sqrt, 0.5, 0.5),
    {FORMULA(rsqrt, [](auto x) { return 1 / (sizeof(x) == 8 ? sqrt(x) : sqrtl(x)); }), 1.5, 1.5},
    {FORMULA(reciprocal, [](auto x) { return 1 / x; }), 0.5, 0.5},
    {FORMULA(square, [](auto x) { return x * x; }), 0.5, 0.5},
    LIBM(floor, floor, 0, 0),
    LIBM(ceil, ceil, 0, 0),
    LIBM(rint, rint, 0, 0),
    LIBM(trunc, trunc, 0, 0),
    LIBM(abs, fabs, 0, 0),
    {FORMULA(negative, [](auto x) { return -x; }), 0, 0},
    {FORMULA(sign, [](auto x) { return x > 0   ? decltype(x)(1)
                                       : x < 0 ? decltype(x)(-1)
                                               : x * x; }),
     0, 0},
};

template <class T>
T remainder_reference(T a, T b) {
  T r = fmodl(a, b);
  if (r != 0 && (r < 0) != (b < 0)) return r + b;
  return r == 0 ? copysignl(r, b) : r;
}
template <class T>
T floor_divide_reference(T a, T b) {
  if (b == 0) return a / b;
  T r = fmodl(a, b);
  bool down = r != 0 && (r < 0) != (b < 0);
  T q = (a - r) / b;
  return q == 0 && !down ? copysignl(0, a / b) : rintl(q) - (down ? 1 : 0);
}
template <class T>
T logaddexp_reference(T a, T b) {
  if (a == b) return a + T(0.693147180559945309417232121458176568L);
  return fmaxl(a, b) + log1pl(expl(-fabsl(a - b))) + (a != a ? a : b != b ? b : 0);
}

struct Binary {
  Row row;
  const char* name;
  double (*narrow)(double, double);
  Long (*wide)(Long, Long);
  double bound32, bound64;
};
#define LIBM2(name, c)                                          \
  Row::name, #name, [](double x, double y) { return c(x, y); }, \
      [](Long x, Long y) { return c##l(x, y); }
#define FORMULA2(name, f)                                               \
  Row::name, #name, [](double x, double y) { return double(f(x, y)); }, \
      [](Long x, Long y) { return Long(f(x, y)); }

const Binary kBinary[] = {
    {LIBM2(power, pow), 1, 1},
    {LIBM2(arctan2, atan2), 1, 2},
    {FORMULA2(logaddexp, logaddexp_reference), 2, 3},
    {FORMULA2(remainder, remainder_reference), 0.5, 0.5},
    {FORMULA2(floor_divide, floor_divide_reference), 0.5, 1},
    {FORMULA2(divide, [](auto x, auto y) { return x / y; }), 0.5, 0.5},
};

//--- formats -------------------------------------------------------------------------------------

struct Format {
  Dtype::Val dtype;
  const char* name;
  int fraction, min_exponent, max_exponent;  // of the unit in the last place; largest finite
};
constexpr Format kFloat16{Dtype::Val::float16, "float16", 10, -14, 15};
constexpr Format kBfloat16{Dtype::Val::bfloat16, "bfloat16", 7, -126, 127};
constexpr Format kFloat32{Dtype::Val::float32, "float32", 23, -126, 127};
constexpr Format kFloat64{Dtype::Val::float64, "float64", 52, -1022, 1023};

/// Distance of `got` from the exact result, in ULPs of the result; huge where the kinds differ.
double ulp_error(Long got, Long exact, const Format& f, Long least = 0) {
  constexpr double kWrong = 1e9;
  if (isnan(exact)) return isnan(got) ? 0 : kWrong;
  if (isnan(got)) return kWrong;
  if (got == exact) return exact == 0 && signbit(got) != signbit(exact) ? kWrong : 0;
  if (exact == 0 && least == 0) return kWrong;
  int e;
  frexpl(fabsl(exact) < least ? least : exact, &e);
  Long ulp = ldexpl(1, (e - 1 < f.min_exponent ? f.min_exponent : e - 1) - f.fraction);
  Long end = ldexpl(1, f.max_exponent + 1);
  if (isinf(exact)) return fabsl(got) == end ? 0 : kWrong;
  if (isinf(got)) {  // stands for the next number after the largest
    got = copysignl(end, got);
    if (fabsl(exact) >= end - ldexpl(1, f.max_exponent - f.fraction - 1))
      return signbit(got) == signbit(exact) ? 0 : kWrong;
  }
  if (got != 0 && fabsl(exact) >= least && signbit(got) != signbit(exact)) return kWrong;
  return static_cast<double>(fabsl(got - exact) / ulp);
}

double narrow_value(uint16_t bits, const Format& f) {
  return f.fraction == 10 ? float(float16_t::to_float(bits))
                          : float(std::bit_cast<bfloat16_t>(bits));
}

struct Worst {
  double error = 0, at = 0, at2 = 0, got = 0;
  void see(double e, double x, double y, double g) {
    if (e > error) *this = {e, x, y, g};
  }
  void see(const Worst& w) { see(w.error, w.at, w.at2, w.got); }
};

//--- the runs ------------------------------------------------------------------------------------

struct Options {
  bool quick = false;
  int threads = 2;
  std::string isa;
  std::vector<std::string> only;
  bool wants(const char* name) const {
    if (only.empty()) return true;
    for (const auto& o : only)
      if (o == name) return true;
    return false;
  }
};

/// Runs body(chunk, worst) for chunk < chunks on all threads.
template <class Body>
Worst parallel(int threads, int64_t chunks, Body body) {
  std::atomic<int64_t> next{0};
  std::vector<Worst> worst(threads);
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      for (int64_t c; (c = next++) < chunks;) body(c, worst[t]);
    });
  }
  for (auto& t : pool) t.join();
  Worst all;
  for (const auto& w : worst) all.see(w);
  return all;
}

constexpr int kBlock = 1024;  // operands of a block stay in the first-level cache

/// One step of Newton's method from the results `y`, which finds erfinv(x) to 1e-13 of it if they
/// are close, and something else if they are not.
bool many_erfinvs(const double* x, const float* y, double* r) {
  static const ManyFn erfs = vector_libm("erf"), erfcs = vector_libm("erfc"),
                      exps = vector_libm("exp");
  if (!erfs) return false;
  double size[kBlock], low[kBlock], high[kBlock], inverse_slope[kBlock];
  for (int i = 0; i < kBlock; ++i) {
    size[i] = fabs(static_cast<double>(y[i]));
    inverse_slope[i] = size[i] * size[i];
  }
  erfs(size, low, kBlock);
  erfcs(size, high, kBlock);
  exps(inverse_slope, inverse_slope, kBlock);
  for (int i = 0; i < kBlock; ++i) {
    double a = fabs(x[i]), error = a < 0.5 ? low[i] - a : (1 - a) - high[i];
    r[i] = copysign(size[i] - error * 0.88622692545275801365 * inverse_slope[i], x[i]);
  }
  return true;
}

/// The error of a float32 result in its ULP, given the exact one; -1 where it takes care to say.
/// Written for the compiler's vectors.
inline __attribute__((always_inline)) double float32_error(float result, double exact) {
  double got = result, size = fabs(exact);
  double normal = size > 0x1p-126 ? size : 0x1p-126;
  uint64_t ulps = 0x7fe0000000000000 + (uint64_t(23) << 52) -
                  (std::bit_cast<uint64_t>(normal) & 0x7ff0000000000000);
  double error = fabs(got - exact) * std::bit_cast<double>(ulps);
  double over = fabs(got) == INFINITY ? 0 : -1, nan = got != got ? 0 : -1;
  error = size < 0x1p127 ? error : -1;
  error = size > 0 ? error : -1;
  error = fabs(got) < INFINITY ? error : -1;
  error = size >= 0x1.ffffffp127 ? over : error;
  error = got == exact ? 0 : error;
  error = copysign(1.0, got) * copysign(1.0, exact) > 0 ? error : -1;
  error = got != got ? -1 : error;
  return exact != exact ? nan : error;
}

/// How many errors are -1 or above the limit.
#if defined(__x86_64__)
__attribute__((target_clones("default", "avx2", "arch=skylake-avx512")))
#endif
int64_t count_above(const float* y, const double* r, double limit) {
  int64_t count = 0;
  for (int i = 0; i < kBlock; ++i) {
    double error = float32_error(y[i], r[i]);
    count += error > limit ? int64_t(1) : int64_t(0);
    count += error < 0 ? int64_t(1) : int64_t(0);
  }
  return count;
}

Worst float32_unary(const Unary& u, TileFn fn, const Options& o) {
  // An odd stride, so that every pattern of low bits occurs.
  int64_t count = int64_t(1) << 32, stride = o.quick ? 4099 : 1;
  return parallel(o.threads, count / stride / kBlock + 1, [&](int64_t chunk, Worst& worst) {
    float x[kBlock], y[kBlock];
    double wide[kBlock], r[kBlock];
    auto first = static_cast<uint32_t>(chunk * kBlock * stride);
    for (int i = 0; i < kBlock; ++i)
      x[i] = std::bit_cast<float>(first + static_cast<uint32_t>(i) * static_cast<uint32_t>(stride));
    for (int i = 0; i < kBlock; ++i) wide[i] = x[i];
    const void* in[] = {x};
    fn(in, y, kBlock);
    if (u.row == Row::erfinv && many_erfinvs(wide, y, r)) {
    } else if (u.many) {
      u.many(wide, r, kBlock);
    } else {
      for (int i = 0; i < kBlock; ++i) r[i] = u.narrow(wide[i]);
    }
    double limit = std::max(worst.error, u.bound32 / 8);  // less is of no interest
    if (count_above(y, r, limit) == 0) return;
    for (int i = 0; i < kBlock; ++i) {
      if (double e = float32_error(y[i], r[i]); e < 0 || e > limit)
        worst.see(ulp_error(y[i], u.narrow(wide[i]), kFloat32), x[i], 0, y[i]);
    }
  });
}

Worst narrow_unary(const Unary& u, TileFn fn, const Format& f) {
  std::vector<uint16_t> x(65536), y(65536);
  for (int i = 0; i < 65536; ++i) x[i] = static_cast<uint16_t>(i);
  const void* in[] = {x.data()};
  fn(in, y.data(), 65536);
  Worst worst;
  for (int i = 0; i < 65536; ++i) {
    double a = narrow_value(x[i], f), got = narrow_value(y[i], f);
    worst.see(ulp_error(got, u.narrow(a), f), a, 0, got);
  }
  return worst;
}

/// Doubles of many kinds: any bits, moderate sizes, near 0 and 1, specials.
double sample(std::mt19937_64& random, int64_t i) {
  static const double kSpecial[] = {0.0,
                                    -0.0,
                                    1.0,
                                    -1.0,
                                    0.5,
                                    -0.5,
                                    2.0,
                                    -2.0,
                                    3.0,
                                    -3.0,
                                    INFINITY,
                                    -INFINITY,
                                    NAN,
                                    5e-324,
                                    -5e-324,
                                    2.2250738585072014e-308,
                                    -2.2250738585072014e-308,
                                    1.7976931348623157e308,
                                    -1.7976931348623157e308,
                                    1e9,
                                    -1e9,
                                    709.78,
                                    -745.2,
                                    1e-45,
                                    -1e-45,
                                    3.4028234663852886e38,
                                    -3.4028234663852886e38,
                                    1.1754943508222875e-38};
  constexpr int kSpecials = sizeof(kSpecial) / sizeof(double);
  if (i < kSpecials) return kSpecial[i];
  uint64_t bits = random();
  double unit = static_cast<double>(bits >> 11) * 0x1p-53 * 2 - 1;
  switch (bits % 5) {
    case 0: {
      double d;
      memcpy(&d, &bits, 8);
      return d;
    }
    case 1:
      return unit;
    case 2:
      return unit * 30;
    case 3:
      return unit * 800;
    default:
      return copysign(1 + unit * ldexp(1, -static_cast<int>(random() % 40)), bits & 64 ? 1 : -1);
  }
}

Worst float64_unary(const Unary& u, TileFn fn, const Options& o) {
  int64_t count = o.quick ? 1 << 16 : 1 << 24;
  return parallel(o.threads, count / kBlock, [&](int64_t chunk, Worst& worst) {
    std::mt19937_64 random(chunk + 1);
    double x[kBlock], y[kBlock];
    for (int i = 0; i < kBlock; ++i) x[i] = sample(random, chunk == 0 ? i : kBlock);
    const void* in[] = {x};
    fn(in, y, kBlock);
    for (int i = 0; i < kBlock; ++i) {
      worst.see(ulp_error(y[i], u.wide(x[i]), kFloat64, u.least64), x[i], 0, y[i]);
    }
  });
}

template <class T>
Worst binary(const Binary& b, TileFn fn, const Format& f, const Options& o) {
  int64_t count = o.quick ? 1 << 16 : 1 << 23;
  return parallel(o.threads, count / kBlock, [&](int64_t chunk, Worst& worst) {
    std::mt19937_64 random(chunk + 1);
    T x[kBlock], y[kBlock], z[kBlock];
    for (int i = 0; i < kBlock; ++i) {  // the first ones pair all specials
      int64_t at = chunk * kBlock + i;
      x[i] = static_cast<T>(sample(random, at / 64));
      y[i] = static_cast<T>(sample(random, at < 4096 ? at % 64 : kBlock));
    }
    const void* in[] = {x, y};
    fn(in, z, kBlock);
    for (int i = 0; i < kBlock; ++i) {
      Long exact = sizeof(T) == 4 ? Long(b.narrow(x[i], y[i])) : b.wide(x[i], y[i]);
      double e = ulp_error(z[i], exact, f);
      // Where the two terms cancel, the error counts against the larger operand.
      if (b.row == Row::logaddexp && e < 1e9 && x[i] < 0 && y[i] < 0) {
        Long larger = fmaxl(fabsl(x[i]), fabsl(y[i]));
        if (fabsl(exact) < larger) e *= static_cast<double>(fabsl(exact) / larger);
      }
      worst.see(e, x[i], y[i], z[i]);
    }
  });
}

int report(const char* isa, const char* name, const Format& f, const Worst& w, double bound,
           bool two) {
  bool broken = w.error > bound;
  char place[96];
  snprintf(place, sizeof place, two ? "(%.9g, %.9g)" : "%.9g", w.at, w.at2);
  printf("%-7s %-13s %-9s %8.3f  (bound %4.2f)  at %-28s gave %.9g%s\n", isa, name, f.name, w.error,
         bound, place, w.got, broken ? "   <-- BROKEN" : "");
  fflush(stdout);
  return broken;
}

int check(const char* isa, const ElementwiseKernels& k, const Options& o) {
  auto find = [&](Row row, const Format& f) {
    return k.find_tile(static_cast<OpId>(row), f.dtype);
  };
  int broken = 0;
  for (Unary u : kUnary) {
    if (!o.wants(u.name)) continue;
    if (!strcmp(isa, "v2")) u.bound32 *= u.without_fma, u.bound64 *= u.without_fma;
    // A 16-bit result is the float32 one, rounded once more.
    for (const Format& f : {kFloat16, kBfloat16}) {
      broken += report(isa, u.name, f, narrow_unary(u, find(u.row, f), f),
                       u.bound32 == 0 ? 0 : 0.501 + u.bound32 * ldexp(1, f.fraction - 23), false);
    }
    broken +=
        report(isa, u.name, kFloat32, float32_unary(u, find(u.row, kFloat32), o), u.bound32, false);
    broken +=
        report(isa, u.name, kFloat64, float64_unary(u, find(u.row, kFloat64), o), u.bound64, false);
  }
  for (const Binary& b : kBinary) {
    if (!o.wants(b.name)) continue;
    broken += report(isa, b.name, kFloat32, binary<float>(b, find(b.row, kFloat32), kFloat32, o),
                     b.bound32, true);
    broken += report(isa, b.name, kFloat64, binary<double>(b, find(b.row, kFloat64), kFloat64, o),
                     b.bound64, true);
  }
  return broken;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  o.threads = std::max(1u, std::thread::hardware_concurrency());
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    if (a == "--quick") {
      o.quick = true;
    } else if (a == "--isa" && i + 1 < argc) {
      o.isa = argv[++i];
    } else if (a == "--threads" && i + 1 < argc) {
      o.threads = std::max(1, atoi(argv[++i]));
    } else if (a[0] == '-') {
      fprintf(stderr,
              "usage: exhaustive_math [--quick] [--isa NAME] [--threads n] [function ...]\n");
      return 2;
    } else {
      o.only.push_back(a);
    }
  }
  struct {
    const char* name;
    const ElementwiseKernels* kernels;
    bool runs;
  } isas[] = {
#define MLX_ROW(ISA, ...) {#ISA, &ISA::elementwise_kernels, Isa::ISA <= supported_isa()},
      MLX_EACH_ISA(MLX_ROW)
#undef MLX_ROW
  };
  int broken = 0;
  for (const auto& isa : isas) {
    if (isa.runs && (o.isa.empty() || o.isa == isa.name))
      broken += check(isa.name, *isa.kernels, o);
  }
  if (broken) printf("%d bounds broken\n", broken);
  return broken != 0;
}
