// Shared by the kernels of linear algebra: iteration over a batch of matrices, and conversion
// between row-major and column-major order.
#pragma once

#include <cmath>
#include <cstring>

#include "mlx/backend/common/linalg_error.h"
#include "mlx/backend/cpu/blas.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/lapack.h"
#include "mlx/backend/cpu/linalg_triangle.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/core/error.h"

namespace mlx::core::cpu::linalg {

using lapack::Int;
using lapack::Real;

/// Sizes of a batch of row-contiguous matrices.
struct Batch {
  int64_t rows, columns, count;

  explicit Batch(const View& v) {
    const size_t n = v.shape().size();
    rows = v.shape()[n - 2];
    columns = v.shape()[n - 1];
    count = 1;
    for (size_t i = 0; i + 2 < n; ++i) count *= v.shape()[i];
  }
  int64_t size() const { return rows * columns; }
  int64_t small() const { return std::min(rows, columns); }
  Int m() const { return static_cast<Int>(rows); }
  Int n() const { return static_cast<Int>(columns); }
  /// Multiplications of a factorisation whose count is `factor` · rows · columns · min.
  double work(double factor) const {
    return factor * static_cast<double>(size()) * static_cast<double>(small());
  }
};

/// Calls `f(begin, end)` for ranges of the matrices of a batch, in parallel; `each` is the number
/// of multiplications.
template <class F>
void for_matrices(const Batch& b, double each, F&& f) {
  blas::prepare();
  parallel_for(b.count, 1, f, (each / 5 + 300) * static_cast<double>(b.count));
}
/// Calls `f(i)` for each matrix.
template <class F>
void for_each_matrix(const Batch& b, double each, F&& f) {
  for_matrices(b, each, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

/// Calls `f(TypeTag<T>{})` for float32, float64 and complex dtypes, the only ones that the ops
/// pass.
template <class F>
void dispatch_matrix(Dtype t, F&& f) {
  switch (t.val()) {
    case Dtype::Val::float32:
      return f(TypeTag<float>{});
    case Dtype::Val::float64:
      return f(TypeTag<double>{});
    case Dtype::Val::complex64:
      return f(TypeTag<complex64_t>{});
    default:
      return f(TypeTag<complex128_t>{});
  }
}

template <class T>
void copy_elements(const T* from, T* to, int64_t n) {
  if (from != to && n > 0) std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
}
template <class T>
T conjugated(T x) {
  if constexpr (lapack::is_complex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}
/// to[j][i] = f(from[i][j]) for `from` (rows, columns), in blocks that stay in the cache.
template <class T, class U, class F>
void transpose(const T* from, U* to, int64_t rows, int64_t columns, F f) {
  constexpr int64_t kBlock = 32;
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock)
    for (int64_t j0 = 0; j0 < columns; j0 += kBlock)
      for (int64_t i = i0; i < std::min(rows, i0 + kBlock); ++i)
        for (int64_t j = j0; j < std::min(columns, j0 + kBlock); ++j)
          to[j * rows + i] = f(from[i * columns + j]);
}
template <class T>
void transpose(const T* from, T* to, int64_t rows, int64_t columns) {
  if constexpr (kOwnFactors<T>) {
    factor_kernels<T>().transpose(from, rows, columns, columns, to, rows);
  } else {
    transpose(from, to, rows, columns, [](T x) { return x; });
  }
}
/// Zeros the elements outside a row-major triangle.
template <class T>
void clear_other_triangle(T* a, int64_t n, bool upper) {
  for (int64_t i = 0; i < n; ++i) {
    if (upper) {
      std::fill(a + i * n, a + i * n + i, T(0));
    } else {
      std::fill(a + i * n + i + 1, a + (i + 1) * n, T(0));
    }
  }
}

/// Throws for NaN and infinities, for which iterations may not converge.
template <class T>
void require_finite(const char* op, const T* a, int64_t size, int64_t matrix) {
  Real<T> sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    if constexpr (lapack::is_complex<T>) {
      sum += a[i].real() * 0 + a[i].imag() * 0;
    } else {
      sum += a[i] * 0;
    }
  }
  if (!(sum == 0))
    fail<LinAlgError>(op, "matrix ", matrix,
                      " of the batch has NaN or infinite elements; finite "
                      "ones are accepted");
}
inline void require_converged(const char* op, Int info, int64_t matrix) {
  if (info != 0)
    fail<LinAlgError>(op, "the iteration did not converge for matrix ", matrix,
                      " of the batch (code ", info, "); scaled or less singular ones may");
}

}  // namespace mlx::core::cpu::linalg
