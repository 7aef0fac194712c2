// A library in the place of Accelerate for tests on Linux: it exports the names of the routines
// that the engine calls, with the argument lists of that interface, and has OpenBLAS do the work.
// The lists are written here once more, so that a call which does not fit is found.
#include <complex>
#include <cstddef>

using c64 = std::complex<float>;
using c128 = std::complex<double>;
using Int = const int*;  // Fortran takes numbers by address

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" void scipy_openblas_set_num_threads(int);

// As in macOS 15: 1 is a single thread.
EXPORT int BLASSetThreading(int threading) {
  if (threading == 1) scipy_openblas_set_num_threads(1);
  return 0;
}

// --- BLAS: numbers by value, complex ones by address ---------------------------------------------

#define PRODUCTS(P, T, S)                                                                          \
  extern "C" {                                                                                     \
  void scipy_cblas_##P##gemm(int, int, int, int, int, int, S, const T*, int, const T*, int, S, T*, \
                             int);                                                                 \
  void scipy_cblas_##P##gemv(int, int, int, int, S, const T*, int, const T*, int, S, T*, int);     \
  void scipy_cblas_##P##trsm(int, int, int, int, int, int, int, S, const T*, int, T*, int);        \
  }                                                                                                \
  EXPORT void cblas_##P##gemm$NEWLAPACK(int order, int ta, int tb, int m, int n, int k, S alpha,   \
                                        const T* a, int lda, const T* b, int ldb, S beta, T* c,    \
                                        int ldc) {                                                 \
    scipy_cblas_##P##gemm(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);            \
  }                                                                                                \
  EXPORT void cblas_##P##gemv$NEWLAPACK(int order, int ta, int m, int n, S alpha, const T* a,      \
                                        int lda, const T* x, int step_x, S beta, T* y,             \
                                        int step_y) {                                              \
    scipy_cblas_##P##gemv(order, ta, m, n, alpha, a, lda, x, step_x, beta, y, step_y);             \
  }                                                                                                \
  EXPORT void cblas_##P##trsm$NEWLAPACK(int order, int side, int triangle, int ta, int diagonal,   \
                                        int m, int n, S alpha, const T* a, int lda, T* b,          \
                                        int ldb) {                                                 \
    scipy_cblas_##P##trsm(order, side, triangle, ta, diagonal, m, n, alpha, a, lda, b, ldb);       \
  }
PRODUCTS(s, float, float)
PRODUCTS(d, double, double)
PRODUCTS(c, c64, const void*)
PRODUCTS(z, c128, const void*)

// --- LAPACK: OpenBLAS's take the lengths of characters behind the other arguments ----------------

#define FACTORS(P, T, ORGLQ, ORGQR)                                                                \
  extern "C" {                                                                                     \
  void scipy_##P##potrf_(const char*, Int, T*, Int, int*, size_t);                                 \
  void scipy_##P##getrf_(Int, Int, T*, Int, int*, int*);                                           \
  void scipy_##P##getri_(Int, T*, Int, Int, T*, Int, int*);                                        \
  void scipy_##P##trtri_(const char*, const char*, Int, T*, Int, int*, size_t, size_t);            \
  void scipy_##P##gelqf_(Int, Int, T*, Int, T*, T*, Int, int*);                                    \
  void scipy_##P##ORGLQ##_(Int, Int, Int, T*, Int, const T*, T*, Int, int*);                       \
  void scipy_##P##geqrf_(Int, Int, T*, Int, T*, T*, Int, int*);                                    \
  void scipy_##P##ORGQR##_(Int, Int, Int, T*, Int, const T*, T*, Int, int*);                       \
  }                                                                                                \
  EXPORT void P##potrf$NEWLAPACK(const char* uplo, Int n, T* a, Int lda, int* info) {              \
    scipy_##P##potrf_(uplo, n, a, lda, info, 1);                                                   \
  }                                                                                                \
  EXPORT void P##getrf$NEWLAPACK(Int m, Int n, T* a, Int lda, int* pivots, int* info) {            \
    scipy_##P##getrf_(m, n, a, lda, pivots, info);                                                 \
  }                                                                                                \
  EXPORT void P##getri$NEWLAPACK(Int n, T* a, Int lda, Int pivots, T* work, Int size, int* info) { \
    scipy_##P##getri_(n, a, lda, pivots, work, size, info);                                        \
  }                                                                                                \
  EXPORT void P##trtri$NEWLAPACK(const char* uplo, const char* diagonal, Int n, T* a, Int lda,     \
                                 int* info) {                                                      \
    scipy_##P##trtri_(uplo, diagonal, n, a, lda, info, 1, 1);                                      \
  }                                                                                                \
  EXPORT void P##gelqf$NEWLAPACK(Int m, Int n, T* a, Int lda, T* tau, T* work, Int size,           \
                                 int* info) {                                                      \
    scipy_##P##gelqf_(m, n, a, lda, tau, work, size, info);                                        \
  }                                                                                                \
  EXPORT void P##ORGLQ##$NEWLAPACK(Int m, Int n, Int k, T* a, Int lda, const T* tau, T* work,      \
                                   Int size, int* info) {                                          \
    scipy_##P##ORGLQ##_(m, n, k, a, lda, tau, work, size, info);                                   \
  }                                                                                                \
  EXPORT void P##geqrf$NEWLAPACK(Int m, Int n, T* a, Int lda, T* tau, T* work, Int size,           \
                                 int* info) {                                                      \
    scipy_##P##geqrf_(m, n, a, lda, tau, work, size, info);                                        \
  }                                                                                                \
  EXPORT void P##ORGQR##$NEWLAPACK(Int m, Int n, Int k, T* a, Int lda, const T* tau, T* work,      \
                                   Int size, int* info) {                                          \
    scipy_##P##ORGQR##_(m, n, k, a, lda, tau, work, size, info);                                   \
  }
FACTORS(s, float, orglq, orgqr)
FACTORS(d, double, orglq, orgqr)
FACTORS(c, c64, unglq, ungqr)
FACTORS(z, c128, unglq, ungqr)

#define REAL_SPECTRA(P, T)                                                                         \
  extern "C" {                                                                                     \
  void scipy_##P##gesdd_(const char*, Int, Int, T*, Int, T*, T*, Int, T*, Int, T*, Int, int*,      \
                         int*, size_t);                                                            \
  void scipy_##P##syevd_(const char*, const char*, Int, T*, Int, T*, T*, Int, int*, Int, int*,     \
                         size_t, size_t);                                                          \
  void scipy_##P##stedc_(const char*, Int, T*, T*, T*, Int, T*, Int, int*, Int, int*, size_t);     \
  void scipy_##P##sterf_(Int, T*, T*, int*);                                                       \
  void scipy_##P##geev_(const char*, const char*, Int, T*, Int, T*, T*, T*, Int, T*, Int, T*, Int, \
                        int*, size_t, size_t);                                                     \
  }                                                                                                \
  EXPORT void P##gesdd$NEWLAPACK(const char* job, Int m, Int n, T* a, Int lda, T* s, T* u,         \
                                 Int ldu, T* vt, Int ldvt, T* work, Int size, int* iwork,          \
                                 int* info) {                                                      \
    scipy_##P##gesdd_(job, m, n, a, lda, s, u, ldu, vt, ldvt, work, size, iwork, info, 1);         \
  }                                                                                                \
  EXPORT void P##syevd$NEWLAPACK(const char* job, const char* uplo, Int n, T* a, Int lda, T* w,    \
                                 T* work, Int size, int* iwork, Int isize, int* info) {            \
    scipy_##P##syevd_(job, uplo, n, a, lda, w, work, size, iwork, isize, info, 1, 1);              \
  }                                                                                                \
  EXPORT void P##stedc$NEWLAPACK(const char* job, Int n, T* d, T* e, T* z, Int ldz, T* work,       \
                                 Int size, int* iwork, Int isize, int* info) {                     \
    scipy_##P##stedc_(job, n, d, e, z, ldz, work, size, iwork, isize, info, 1);                    \
  }                                                                                                \
  EXPORT void P##sterf$NEWLAPACK(Int n, T* d, T* e, int* info) {                                   \
    scipy_##P##sterf_(n, d, e, info);                                                              \
  }                                                                                                \
  EXPORT void P##geev$NEWLAPACK(const char* left, const char* right, Int n, T* a, Int lda, T* re,  \
                                T* im, T* vl, Int ldvl, T* vr, Int ldvr, T* work, Int size,        \
                                int* info) {                                                       \
    scipy_##P##geev_(left, right, n, a, lda, re, im, vl, ldvl, vr, ldvr, work, size, info, 1, 1);  \
  }
REAL_SPECTRA(s, float)
REAL_SPECTRA(d, double)

#define COMPLEX_SPECTRA(P, T, R)                                                                   \
  extern "C" {                                                                                     \
  void scipy_##P##gesdd_(const char*, Int, Int, T*, Int, R*, T*, Int, T*, Int, T*, Int, R*, int*,  \
                         int*, size_t);                                                            \
  void scipy_##P##heevd_(const char*, const char*, Int, T*, Int, R*, T*, Int, R*, Int, int*, Int,  \
                         int*, size_t, size_t);                                                    \
  void scipy_##P##geev_(const char*, const char*, Int, T*, Int, T*, T*, Int, T*, Int, T*, Int, R*, \
                        int*, size_t, size_t);                                                     \
  }                                                                                                \
  EXPORT void P##gesdd$NEWLAPACK(const char* job, Int m, Int n, T* a, Int lda, R* s, T* u,         \
                                 Int ldu, T* vt, Int ldvt, T* work, Int size, R* rwork,            \
                                 int* iwork, int* info) {                                          \
    scipy_##P##gesdd_(job, m, n, a, lda, s, u, ldu, vt, ldvt, work, size, rwork, iwork, info, 1);  \
  }                                                                                                \
  EXPORT void P##heevd$NEWLAPACK(const char* job, const char* uplo, Int n, T* a, Int lda, R* w,    \
                                 T* work, Int size, R* rwork, Int rsize, int* iwork, Int isize,    \
                                 int* info) {                                                      \
    scipy_##P##heevd_(job, uplo, n, a, lda, w, work, size, rwork, rsize, iwork, isize, info, 1,    \
                      1);                                                                          \
  }                                                                                                \
  EXPORT void P##geev$NEWLAPACK(const char* left, const char* right, Int n, T* a, Int lda, T* w,   \
                                T* vl, Int ldvl, T* vr, Int ldvr, T* work, Int size, R* rwork,     \
                                int* info) {                                                       \
    scipy_##P##geev_(left, right, n, a, lda, w, vl, ldvl, vr, ldvr, work, size, rwork, info, 1,    \
                     1);                                                                           \
  }
COMPLEX_SPECTRA(c, c64, float)
COMPLEX_SPECTRA(z, c128, double)
