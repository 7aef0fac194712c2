// The LAPACK routines that linear algebra uses, overloaded on the element type: the real, double,
// complex and double complex variants under one name. Matrices are column-major, integers 32-bit.
// Each returns LAPACK's info. Workspaces are allocated here.
#pragma once

#include <cblas.h>

#include <algorithm>
#include <complex>
#include <type_traits>

#include "mlx/backend/cpu/allocator.h"

namespace mlx::core::cpu::lapack {

using Int = int;
using c64 = std::complex<float>;
using c128 = std::complex<double>;
template <class T>
inline constexpr bool is_complex = !std::is_floating_point_v<T>;
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

// Fortran passes the lengths of character arguments after all others.
extern "C" {
#define MLX_LAPACK(P, T, R, SYEVD, ORGLQ)                                                    \
  void scipy_##P##potrf_(const char*, const Int*, T*, const Int*, Int*, size_t);             \
  void scipy_##P##getrf_(const Int*, const Int*, T*, const Int*, Int*, Int*);                \
  void scipy_##P##getri_(const Int*, T*, const Int*, const Int*, T*, const Int*, Int*);      \
  void scipy_##P##trtri_(const char*, const char*, const Int*, T*, const Int*, Int*, size_t, \
                         size_t);                                                            \
  void scipy_##P##gelqf_(const Int*, const Int*, T*, const Int*, T*, T*, const Int*, Int*);  \
  void scipy_##P##ORGLQ##_(const Int*, const Int*, const Int*, T*, const Int*, const T*, T*, \
                           const Int*, Int*);
#define MLX_LAPACK_REAL(P, T)                                                                      \
  MLX_LAPACK(P, T, T, syevd, orglq)                                                                \
  void scipy_##P##gesdd_(const char*, const Int*, const Int*, T*, const Int*, T*, T*, const Int*,  \
                         T*, const Int*, T*, const Int*, Int*, Int*, size_t);                      \
  void scipy_##P##syevd_(const char*, const char*, const Int*, T*, const Int*, T*, T*, const Int*, \
                         Int*, const Int*, Int*, size_t, size_t);                                  \
  void scipy_##P##geev_(const char*, const char*, const Int*, T*, const Int*, T*, T*, T*,          \
                        const Int*, T*, const Int*, T*, const Int*, Int*, size_t, size_t);
#define MLX_LAPACK_COMPLEX(P, T, R)                                                                \
  MLX_LAPACK(P, T, R, heevd, unglq)                                                                \
  void scipy_##P##gesdd_(const char*, const Int*, const Int*, T*, const Int*, R*, T*, const Int*,  \
                         T*, const Int*, T*, const Int*, R*, Int*, Int*, size_t);                  \
  void scipy_##P##heevd_(const char*, const char*, const Int*, T*, const Int*, R*, T*, const Int*, \
                         R*, const Int*, Int*, const Int*, Int*, size_t, size_t);                  \
  void scipy_##P##geev_(const char*, const char*, const Int*, T*, const Int*, T*, T*, const Int*,  \
                        T*, const Int*, T*, const Int*, R*, Int*, size_t, size_t);
MLX_LAPACK_REAL(s, float)
MLX_LAPACK_REAL(d, double)
MLX_LAPACK_COMPLEX(c, c64, float)
MLX_LAPACK_COMPLEX(z, c128, double)
#undef MLX_LAPACK_COMPLEX
#undef MLX_LAPACK_REAL
#undef MLX_LAPACK
}

/// The variant of a routine for T.
#define MLX_PICK(NAME)                            \
  [] {                                            \
    if constexpr (std::is_same_v<T, float>)       \
      return scipy_s##NAME##_;                    \
    else if constexpr (std::is_same_v<T, double>) \
      return scipy_d##NAME##_;                    \
    else if constexpr (std::is_same_v<T, c64>)    \
      return scipy_c##NAME##_;                    \
    else                                          \
      return scipy_z##NAME##_;                    \
  }()
#define MLX_PICK_BY_KIND(REAL, COMPLEX)           \
  [] {                                            \
    if constexpr (std::is_same_v<T, float>)       \
      return scipy_s##REAL##_;                    \
    else if constexpr (std::is_same_v<T, double>) \
      return scipy_d##REAL##_;                    \
    else if constexpr (std::is_same_v<T, c64>)    \
      return scipy_c##COMPLEX##_;                 \
    else                                          \
      return scipy_z##COMPLEX##_;                 \
  }()

/// Runs `call(work, lwork)` twice: once to query the workspace size, once to compute.
template <class T, class F>
void with_work(F&& call) {
  T size{};
  call(&size, Int{-1});
  // A float represents large sizes only approximately.
  const Int n = static_cast<Int>(std::max(1.0, std::real(std::complex<double>(size)) * 1.0001 + 1));
  Scratch work(static_cast<size_t>(n) * sizeof(T));
  call(work.get<T>(), n);
}

/// Cholesky factor of the triangle `uplo`, in place.
template <class T>
Int potrf(char uplo, Int n, T* a) {
  const Int ld = std::max(n, 1);
  Int info = 0;
  MLX_PICK(potrf)(&uplo, &n, a, &ld, &info, 1);
  return info;
}
/// LU factors with row exchanges (counted from 1), in place.
template <class T>
Int getrf(Int m, Int n, T* a, Int* pivots) {
  const Int ld = std::max(m, 1);
  Int info = 0;
  MLX_PICK(getrf)(&m, &n, a, &ld, pivots, &info);
  return info;
}
/// The inverse from the factors of getrf.
template <class T>
Int getri(Int n, T* a, const Int* pivots) {
  const Int ld = std::max(n, 1);
  Int info = 0;
  with_work<T>([&](T* work, Int size) { MLX_PICK(getri)(&n, a, &ld, pivots, work, &size, &info); });
  return info;
}
/// The inverse of a triangular matrix, in place.
template <class T>
Int trtri(char uplo, Int n, T* a) {
  const Int ld = std::max(n, 1);
  const char diag = 'N';
  Int info = 0;
  MLX_PICK(trtri)(&uplo, &diag, &n, a, &ld, &info, 1, 1);
  return info;
}
/// a = L · Q, in place as reflectors; `tau` has min(m, n) elements.
template <class T>
Int gelqf(Int m, Int n, T* a, T* tau) {
  const Int ld = std::max(m, 1);
  Int info = 0;
  with_work<T>(
      [&](T* work, Int size) { MLX_PICK(gelqf)(&m, &n, a, &ld, tau, work, &size, &info); });
  return info;
}
/// The first m rows of Q from k reflectors that lie in a matrix with `ld` rows.
template <class T>
Int orglq(Int m, Int n, Int k, T* a, Int ld, const T* tau) {
  Int info = 0;
  with_work<T>([&](T* work, Int size) {
    MLX_PICK_BY_KIND(orglq, unglq)(&m, &n, &k, a, &ld, tau, work, &size, &info);
  });
  return info;
}
/// Singular values, and vectors: job 'N' none, 'S' the first min(m, n), 'A' all. Destroys `a`.
template <class T>
Int gesdd(char job, Int m, Int n, T* a, Real<T>* s, T* u, T* vt) {
  const Int ld = std::max(m, 1), k = std::min(m, n), large = std::max(m, n);
  const Int ldvt = std::max(job == 'S' ? k : n, 1);
  Int info = 0;
  Scratch integers(sizeof(Int) * 8 * static_cast<size_t>(std::max(k, 1)));
  Int* iwork = integers.get<Int>();
  if constexpr (is_complex<T>) {
    const size_t s1 = static_cast<size_t>(k), l1 = static_cast<size_t>(large);
    Scratch reals(
        sizeof(Real<T>) *
        std::max<size_t>(1, job == 'N' ? 7 * s1 : s1 * std::max(5 * s1 + 7, 2 * l1 + 2 * s1 + 1)));
    with_work<T>([&](T* work, Int size) {
      MLX_PICK(gesdd)(&job, &m, &n, a, &ld, s, u, &ld, vt, &ldvt, work, &size, reals.get<Real<T>>(),
                      iwork, &info, 1);
    });
  } else {
    with_work<T>([&](T* work, Int size) {
      MLX_PICK(gesdd)(&job, &m, &n, a, &ld, s, u, &ld, vt, &ldvt, work, &size, iwork, &info, 1);
    });
  }
  return info;
}
/// Eigenvalues, ascending, and for `vectors` eigenvectors in place of the triangle `uplo`.
template <class T>
Int syevd(bool vectors, char uplo, Int n, T* a, Real<T>* w) {
  const char job = vectors ? 'V' : 'N';
  const Int ld = std::max(n, 1);
  Int info = 0;
  const Int liwork = vectors ? 3 + 5 * n : 1;
  Scratch integers(sizeof(Int) * static_cast<size_t>(liwork));
  if constexpr (is_complex<T>) {
    const double size = vectors ? 1 + 5.0 * n + 2.0 * n * n : std::max(n, 1);
    if (size > 2147483647.0) return -1;
    const Int lrwork = static_cast<Int>(size);
    Scratch reals(sizeof(Real<T>) * static_cast<size_t>(lrwork));
    with_work<T>([&](T* work, Int size) {
      MLX_PICK_BY_KIND(syevd, heevd)(&job, &uplo, &n, a, &ld, w, work, &size, reals.get<Real<T>>(),
                                     &lrwork, integers.get<Int>(), &liwork, &info, 1, 1);
    });
  } else {
    with_work<T>([&](T* work, Int size) {
      MLX_PICK_BY_KIND(syevd, heevd)(&job, &uplo, &n, a, &ld, w, work, &size, integers.get<Int>(),
                                     &liwork, &info, 1, 1);
    });
  }
  return info;
}
/// Eigenvalues and, where `v` is not null, right eigenvectors of a complex matrix (destroyed).
template <class T>
  requires is_complex<T>
Int geev(Int n, T* a, T* w, T* v) {
  const char none = 'N', job = v ? 'V' : 'N';
  const Int ld = std::max(n, 1);
  Int info = 0;
  T unused{};
  Scratch reals(sizeof(Real<T>) * 2 * static_cast<size_t>(ld));
  with_work<T>([&](T* work, Int size) {
    MLX_PICK(geev)(&none, &job, &n, a, &ld, w, &unused, &ld, v ? v : &unused, &ld, work, &size,
                   reals.get<Real<T>>(), &info, 1, 1);
  });
  return info;
}
/// The same for a real matrix: parts of the eigenvalues, and eigenvectors in LAPACK's packed form.
template <class T>
  requires(!is_complex<T>)
Int geev(Int n, T* a, T* re, T* im, T* v) {
  const char none = 'N', job = v ? 'V' : 'N';
  const Int ld = std::max(n, 1);
  Int info = 0;
  T unused{};
  with_work<T>([&](T* work, Int size) {
    MLX_PICK(geev)(&none, &job, &n, a, &ld, re, im, &unused, &ld, v ? v : &unused, &ld, work, &size,
                   &info, 1, 1);
  });
  return info;
}
#undef MLX_PICK
#undef MLX_PICK_BY_KIND

/// b = a⁻¹ · b for a row-major triangular `a` (n, n) and b (n, k).
template <class T>
void trsm(bool upper, bool unit, Int n, Int k, const T* a, T* b) {
  const auto call = [&](auto f, auto one) {
    f(CblasRowMajor, CblasLeft, upper ? CblasUpper : CblasLower, CblasNoTrans,
      unit ? CblasUnit : CblasNonUnit, n, k, one, a, std::max(n, 1), b, std::max(k, 1));
  };
  const T one = 1;
  if constexpr (std::is_same_v<T, float>) {
    call(scipy_cblas_strsm, one);
  } else if constexpr (std::is_same_v<T, double>) {
    call(scipy_cblas_dtrsm, one);
  } else if constexpr (std::is_same_v<T, c64>) {
    call(scipy_cblas_ctrsm, &one);
  } else {
    call(scipy_cblas_ztrsm, &one);
  }
}
/// c = aᴴ · bᴴ, or a · b, of column-major matrices; c is (m, n).
template <class T>
void gemm(bool adjoint, Int m, Int n, Int k, const T* a, const T* b, T* c) {
  const CBLAS_TRANSPOSE op = adjoint ? CblasConjTrans : CblasNoTrans;
  const auto call = [&](auto f, auto one, auto none) {
    f(CblasColMajor, op, op, m, n, k, one, a, std::max(adjoint ? k : m, 1), b,
      std::max(adjoint ? n : k, 1), none, c, std::max(m, 1));
  };
  const T one = 1, none = 0;
  if constexpr (std::is_same_v<T, float>) {
    call(scipy_cblas_sgemm, one, none);
  } else if constexpr (std::is_same_v<T, double>) {
    call(scipy_cblas_dgemm, one, none);
  } else if constexpr (std::is_same_v<T, c64>) {
    call(scipy_cblas_cgemm, &one, &none);
  } else {
    call(scipy_cblas_zgemm, &one, &none);
  }
}

}  // namespace mlx::core::cpu::lapack
