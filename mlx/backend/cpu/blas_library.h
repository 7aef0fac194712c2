// The routines of BLAS and LAPACK that are called, declared here once for each element type: their
// names are overloaded, and bound to the library's by labels. Integers are 32-bit. OpenBLAS has a
// prefix, a final underscore and, behind the other arguments, the lengths of characters; Accelerate
// (macOS 13.3 and later) marks this interface by a suffix and has neither.
#pragma once

#include <complex>
#include <cstddef>
#include <type_traits>
#if defined(MLX_ACCELERATE)
#include <dlfcn.h>
#endif

namespace mlx::core::cpu::library {

using Int = int;
using c64 = std::complex<float>;
using c128 = std::complex<double>;

enum Order : int { kRowMajor = 101, kColumnMajor = 102 };
enum Transpose : int { kPlain = 111, kTransposed = 112, kAdjoint = 113 };
enum Triangle : int { kUpper = 121, kLower = 122 };
enum Diagonal : int { kAnyDiagonal = 131, kUnitDiagonal = 132 };
enum Side : int { kLeft = 141, kRight = 142 };

#if defined(MLX_ACCELERATE)
#if defined(__APPLE__)
#define MLX_LABEL(NAME) "_" NAME "$NEWLAPACK"
#else
#define MLX_LABEL(NAME) NAME "$NEWLAPACK"
#endif
#define MLX_BLAS(NAME) __asm__(MLX_LABEL("cblas_" #NAME))
#define MLX_LAPACK(NAME) __asm__(MLX_LABEL(#NAME))
#define MLX_LENGTH
#define MLX_LENGTHS
#else
#define MLX_BLAS(NAME) __asm__("scipy_cblas_" #NAME)
#define MLX_LAPACK(NAME) __asm__("scipy_" #NAME "_")
#define MLX_LENGTH , size_t = 1
#define MLX_LENGTHS , size_t = 1, size_t = 1
void set_num_threads(int) __asm__("scipy_openblas_set_num_threads");
#endif

/// Limits the library to the calling thread.
inline void use_one_thread() {
#if defined(MLX_ACCELERATE)
  // In macOS 15 and later; before, there is no such function.
  if (void* set = dlsym(RTLD_DEFAULT, "BLASSetThreading"))
    reinterpret_cast<int (*)(int)>(set)(1);  // 1: a single thread
#else
  set_num_threads(1);
#endif
}

/// A factor as BLAS takes it: a real number itself, a complex one by address.
template <class T>
auto factor(const T& x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return &x;
}

// P: the letter of the element type T; S: the result type of factor().
#define MLX_PRODUCTS(P, T, S)                                                                  \
  void gemm(Order, Transpose, Transpose, Int m, Int n, Int k, S alpha, const T* a, Int lda,    \
            const T* b, Int ldb, S beta, T* c, Int ldc) MLX_BLAS(P##gemm);                     \
  void gemv(Order, Transpose, Int rows, Int columns, S alpha, const T* a, Int lda, const T* x, \
            Int step_x, S beta, T* y, Int step_y) MLX_BLAS(P##gemv);                           \
  void trsm(Order, Side, Triangle, Transpose, Diagonal, Int m, Int n, S alpha, const T* a,     \
            Int lda, T* b, Int ldb) MLX_BLAS(P##trsm);
MLX_PRODUCTS(s, float, float)
MLX_PRODUCTS(d, double, double)
MLX_PRODUCTS(c, c64, const c64*)
MLX_PRODUCTS(z, c128, const c128*)
#undef MLX_PRODUCTS

// R: the real type. Products of reflectors have other names for complex matrices.
#define MLX_ROUTINES(P, T, R, ORGLQ, ORGQR)                                                      \
  void potrf(const char*, const Int*, T*, const Int*, Int* MLX_LENGTH) MLX_LAPACK(P##potrf);     \
  void getrf(const Int*, const Int*, T*, const Int*, Int*, Int*) MLX_LAPACK(P##getrf);           \
  void getri(const Int*, T*, const Int*, const Int*, T*, const Int*, Int*) MLX_LAPACK(P##getri); \
  void trtri(const char*, const char*, const Int*, T*, const Int*, Int* MLX_LENGTHS)             \
      MLX_LAPACK(P##trtri);                                                                      \
  void gelqf(const Int*, const Int*, T*, const Int*, T*, T*, const Int*, Int*)                   \
      MLX_LAPACK(P##gelqf);                                                                      \
  void orglq(const Int*, const Int*, const Int*, T*, const Int*, const T*, T*, const Int*, Int*) \
      MLX_LAPACK(P##ORGLQ);                                                                      \
  void geqrf(const Int*, const Int*, T*, const Int*, T*, T*, const Int*, Int*)                   \
      MLX_LAPACK(P##geqrf);                                                                      \
  void orgqr(const Int*, const Int*, const Int*, T*, const Int*, const T*, T*, const Int*, Int*) \
      MLX_LAPACK(P##ORGQR);
#define MLX_REAL_ROUTINES(P, T)                                                                 \
  MLX_ROUTINES(P, T, T, orglq, orgqr)                                                           \
  void gesdd(const char*, const Int*, const Int*, T*, const Int*, T*, T*, const Int*, T*,       \
             const Int*, T*, const Int*, Int*, Int* MLX_LENGTH) MLX_LAPACK(P##gesdd);           \
  void syevd(const char*, const char*, const Int*, T*, const Int*, T*, T*, const Int*, Int*,    \
             const Int*, Int* MLX_LENGTHS) MLX_LAPACK(P##syevd);                                \
  void gebrd(const Int*, const Int*, T*, const Int*, T*, T*, T*, T*, T*, const Int*, Int*)      \
      MLX_LAPACK(P##gebrd);                                                                     \
  void bdsdc(const char*, const char*, const Int*, T*, T*, T*, const Int*, T*, const Int*, T*,  \
             Int*, T*, Int*, Int* MLX_LENGTHS) MLX_LAPACK(P##bdsdc);                            \
  void stedc(const char*, const Int*, T*, T*, T*, const Int*, T*, const Int*, Int*, const Int*, \
             Int* MLX_LENGTH) MLX_LAPACK(P##stedc);                                             \
  void sterf(const Int*, T*, T*, Int*) MLX_LAPACK(P##sterf);                                    \
  void geev(const char*, const char*, const Int*, T*, const Int*, T*, T*, T*, const Int*, T*,   \
            const Int*, T*, const Int*, Int* MLX_LENGTHS) MLX_LAPACK(P##geev);
#define MLX_COMPLEX_ROUTINES(P, T, R)                                                      \
  MLX_ROUTINES(P, T, R, unglq, ungqr)                                                      \
  void gesdd(const char*, const Int*, const Int*, T*, const Int*, R*, T*, const Int*, T*,  \
             const Int*, T*, const Int*, R*, Int*, Int* MLX_LENGTH) MLX_LAPACK(P##gesdd);  \
  void syevd(const char*, const char*, const Int*, T*, const Int*, R*, T*, const Int*, R*, \
             const Int*, Int*, const Int*, Int* MLX_LENGTHS) MLX_LAPACK(P##heevd);         \
  void geev(const char*, const char*, const Int*, T*, const Int*, T*, T*, const Int*, T*,  \
            const Int*, T*, const Int*, R*, Int* MLX_LENGTHS) MLX_LAPACK(P##geev);
MLX_REAL_ROUTINES(s, float)
MLX_REAL_ROUTINES(d, double)
MLX_COMPLEX_ROUTINES(c, c64, float)
MLX_COMPLEX_ROUTINES(z, c128, double)
#undef MLX_COMPLEX_ROUTINES
#undef MLX_REAL_ROUTINES
#undef MLX_ROUTINES
#undef MLX_LENGTHS
#undef MLX_LENGTH
#undef MLX_LAPACK
#undef MLX_BLAS
#undef MLX_LABEL

}  // namespace mlx::core::cpu::library
