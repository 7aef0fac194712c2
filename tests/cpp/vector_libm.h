// The C library's vector functions (libmvec), as references that are fast enough for every float32:
// within 4 ULP of double, that is 1e-8 ULP of float32. Null where the library or the machine lacks
// them.
#pragma once

#include <string.h>

#if defined(MLX_HAVE_MVEC)
#include <immintrin.h>
#define MLX_VECTOR_LIBM(X) \
  X(exp)                   \
  X(expm1)                 \
  X(log)                   \
  X(log2)                  \
  X(log10)                 \
  X(log1p)                 \
  X(sin)                   \
  X(cos)                   \
  X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(erfc)
extern "C" {
#define X(name) __attribute__((target("avx2"))) __m256d _ZGVdN4v_##name(__m256d);
MLX_VECTOR_LIBM(X)
#undef X
}
#else
#define MLX_VECTOR_LIBM(X)
#endif

/// r[i] = f(x[i]) for i < n; n is a multiple of 4.
using ManyFn = void (*)(const double* x, double* r, int n);

/// The vector function of that name, as in <math.h>.
inline ManyFn vector_libm(const char* name) {
#if defined(MLX_HAVE_MVEC)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return nullptr;
#define X(f)                                                                       \
  if (!strcmp(name, #f))                                                           \
    return [](const double* x, double* r, int n) __attribute__((target("avx2"))) { \
      for (int i = 0; i < n; i += 4)                                               \
          _mm256_storeu_pd(r + i, _ZGVdN4v_##f(_mm256_loadu_pd(x + i)));           \
    };
  MLX_VECTOR_LIBM(X)
#undef X
#endif
  return nullptr;
}
