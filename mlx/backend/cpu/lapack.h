// The LAPACK routines that linear algebra uses, overloaded on the element type: the real, double,
// complex and double complex variants under one name. Matrices are column-major, integers 32-bit.
// Each returns LAPACK's info. Workspaces are allocated here.
#pragma once

#include <algorithm>
#include <array>
#include <complex>
#include <type_traits>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/blas_library.h"

namespace mlx::core::cpu::lapack {

using library::Int;
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

/// Runs `call(work, lwork)` to compute, after a call that queries the size of the workspace: one
/// for matrices of the same sizes in turn, as those of a batch are.
template <class T, class F>
void with_work(std::array<Int, 4> sizes, F&& call) {
  struct Answer {
    std::array<Int, 4> sizes;
    Int length = 0;
  };
  thread_local Answer last;  // for each caller: F is its own type
  if (last.length == 0 || last.sizes != sizes) {
    T size{};
    call(&size, Int{-1});
    // A float represents large sizes only approximately.
    const double length = std::real(std::complex<double>(size)) * 1.0001 + 1;
    last = {sizes, static_cast<Int>(std::max(1.0, length))};
  }
  Scratch work(static_cast<size_t>(last.length) * sizeof(T));
  call(work.get<T>(), last.length);
}

/// Cholesky factor of the triangle `uplo`, in place. `rows`: of the whole matrix, if `a` is a
/// part, here and below.
template <class T>
Int potrf(char uplo, Int n, T* a, Int rows = 0) {
  const Int ld = std::max({n, rows, 1});
  Int info = 0;
  library::potrf(&uplo, &n, a, &ld, &info);
  return info;
}
/// LU factors with row exchanges (counted from 1), in place.
template <class T>
Int getrf(Int m, Int n, T* a, Int* pivots, Int rows = 0) {
  const Int ld = std::max({m, rows, 1});
  Int info = 0;
  library::getrf(&m, &n, a, &ld, pivots, &info);
  return info;
}
/// The inverse from the factors of getrf.
template <class T>
Int getri(Int n, T* a, const Int* pivots) {
  const Int ld = std::max(n, 1);
  Int info = 0;
  with_work<T>({n},
               [&](T* work, Int size) { library::getri(&n, a, &ld, pivots, work, &size, &info); });
  return info;
}
/// The inverse of a triangular matrix, in place.
template <class T>
Int trtri(char uplo, Int n, T* a) {
  const Int ld = std::max(n, 1);
  const char diag = 'N';
  Int info = 0;
  library::trtri(&uplo, &diag, &n, a, &ld, &info);
  return info;
}
/// a = L · Q, in place as reflectors; `tau` has min(m, n) elements.
template <class T>
Int gelqf(Int m, Int n, T* a, T* tau) {
  const Int ld = std::max(m, 1);
  Int info = 0;
  with_work<T>({m, n},
               [&](T* work, Int size) { library::gelqf(&m, &n, a, &ld, tau, work, &size, &info); });
  return info;
}
/// The first m rows of Q from k reflectors that lie in a matrix with `ld` rows.
template <class T>
Int orglq(Int m, Int n, Int k, T* a, Int ld, const T* tau) {
  Int info = 0;
  with_work<T>({m, n, k, ld}, [&](T* work, Int size) {
    library::orglq(&m, &n, &k, a, &ld, tau, work, &size, &info);
  });
  return info;
}
/// a = Q · R, in place as reflectors; `tau` has min(m, n) elements.
template <class T>
Int geqrf(Int m, Int n, T* a, T* tau, Int rows = 0) {
  const Int ld = std::max({m, rows, 1});
  Int info = 0;
  with_work<T>({m, n, ld},
               [&](T* work, Int size) { library::geqrf(&m, &n, a, &ld, tau, work, &size, &info); });
  return info;
}
/// The first n columns of Q, in place of as many reflectors.
template <class T>
Int orgqr(Int m, Int n, T* a, const T* tau) {
  const Int ld = std::max(m, 1);
  Int info = 0;
  with_work<T>({m, n}, [&](T* work, Int size) {
    library::orgqr(&m, &n, &n, a, &ld, tau, work, &size, &info);
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
    with_work<T>({job, m, n}, [&](T* work, Int size) {
      library::gesdd(&job, &m, &n, a, &ld, s, u, &ld, vt, &ldvt, work, &size, reals.get<Real<T>>(),
                     iwork, &info);
    });
  } else {
    with_work<T>({job, m, n}, [&](T* work, Int size) {
      library::gesdd(&job, &m, &n, a, &ld, s, u, &ld, vt, &ldvt, work, &size, iwork, &info);
    });
  }
  return info;
}
/// Q · B · Pᴴ = a, real (n, n) with `ld` rows, in place as reflectors: the diagonal of B and what
/// is above it, and the factors of the reflectors.
template <class T>
Int gebrd(Int n, T* a, Int ld, T* diagonal, T* above, T* q, T* p) {
  Int info = 0;
  with_work<T>({n, ld}, [&](T* work, Int size) {
    library::gebrd(&n, &n, a, &ld, diagonal, above, q, p, work, &size, &info);
  });
  return info;
}
/// Singular values, descending, in place of the diagonal of a real bidiagonal matrix, and the
/// vectors: the columns of u and the rows of vt, both (n, n).
template <class T>
Int bdsdc(Int n, T* diagonal, T* above, T* u, T* vt) {
  const char uplo = 'U', vectors = 'I';
  const size_t size = static_cast<size_t>(n);
  Scratch work(sizeof(T) * (3 * size * size + 4 * size)), integers(sizeof(Int) * 8 * size);
  T unused{};
  Int unused_integer = 0, info = 0;
  library::bdsdc(&uplo, &vectors, &n, diagonal, above, u, &n, vt, &n, &unused, &unused_integer,
                 work.get<T>(), integers.get<Int>(), &info);
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
    with_work<T>({job, uplo, n}, [&](T* work, Int size) {
      library::syevd(&job, &uplo, &n, a, &ld, w, work, &size, reals.get<Real<T>>(), &lrwork,
                     integers.get<Int>(), &liwork, &info);
    });
  } else {
    with_work<T>({job, uplo, n}, [&](T* work, Int size) {
      library::syevd(&job, &uplo, &n, a, &ld, w, work, &size, integers.get<Int>(), &liwork, &info);
    });
  }
  return info;
}
/// Eigenvalues, ascending, of a tridiagonal matrix in place of its diagonal, and eigenvectors as
/// the columns of z. Destroys the elements below the diagonal.
template <class T>
Int stedc(Int n, T* diagonal, T* below, T* z, Int rows = 0) {
  const char job = 'I';
  const Int ld = std::max({n, rows, 1}), liwork = 3 + 5 * n;
  Int info = 0;
  Scratch integers(sizeof(Int) * static_cast<size_t>(liwork));
  with_work<T>({n}, [&](T* work, Int size) {
    library::stedc(&job, &n, diagonal, below, z, &ld, work, &size, integers.get<Int>(), &liwork,
                   &info);
  });
  return info;
}
/// The eigenvalues alone.
template <class T>
Int sterf(Int n, T* diagonal, T* below) {
  Int info = 0;
  library::sterf(&n, diagonal, below, &info);
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
  with_work<T>({job, n}, [&](T* work, Int size) {
    library::geev(&none, &job, &n, a, &ld, w, &unused, &ld, v ? v : &unused, &ld, work, &size,
                  reals.get<Real<T>>(), &info);
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
  with_work<T>({job, n}, [&](T* work, Int size) {
    library::geev(&none, &job, &n, a, &ld, re, im, &unused, &ld, v ? v : &unused, &ld, work, &size,
                  &info);
  });
  return info;
}

/// b = a⁻¹ · b for a row-major triangular `a` (n, n) and b (n, k).
template <class T>
void trsm(bool upper, bool unit, Int n, Int k, const T* a, T* b) {
  const T one = 1;
  library::trsm(library::kRowMajor, library::kLeft, upper ? library::kUpper : library::kLower,
                library::kPlain, unit ? library::kUnitDiagonal : library::kAnyDiagonal, n, k,
                library::factor(one), a, std::max(n, 1), b, std::max(k, 1));
}
/// c = aᴴ · bᴴ, or a · b, of column-major matrices; c is (m, n).
template <class T>
void gemm(bool adjoint, Int m, Int n, Int k, const T* a, const T* b, T* c) {
  const auto op = adjoint ? library::kAdjoint : library::kPlain;
  const T one = 1, none = 0;
  library::gemm(library::kColumnMajor, op, op, m, n, k, library::factor(one), a,
                std::max(adjoint ? k : m, 1), b, std::max(adjoint ? n : k, 1),
                library::factor(none), c, std::max(m, 1));
}

}  // namespace mlx::core::cpu::lapack
