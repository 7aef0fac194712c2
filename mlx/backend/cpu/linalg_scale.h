// Scaling of matrices whose elements are near the ends of a dtype's range. Libraries divide by a
// pivot as they multiply by its reciprocal, which overflows where the pivot is subnormal, and what
// they subtract there loses its digits. Scales are powers of two, so that they change no digit.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mlx/backend/cpu/lapack.h"

namespace mlx::core::cpu::linalg {

/// The larger of the magnitudes of the parts.
template <class T>
lapack::Real<T> largest_part(T x) {
  if constexpr (lapack::is_complex<T>) {
    const auto re = std::abs(x.real()), im = std::abs(x.imag());
    return re > im ? re : im;
  } else {
    return std::abs(x);
  }
}
/// x · 2^e, rounded once.
template <class T>
T times_power(T x, int e) {
  if constexpr (lapack::is_complex<T>) {
    return T(std::ldexp(x.real(), e), std::ldexp(x.imag(), e));
  } else {
    return std::ldexp(x, e);
  }
}
/// Exponents that are farther from 0 are near the ends of the range; for elements that are squared.
template <class R>
inline constexpr int kFar = std::numeric_limits<R>::max_exponent * 7 / 10;
template <class R>
inline constexpr int kFarSquared = std::numeric_limits<R>::max_exponent / 3;

/// The exponent by which elements up to `largest` come near 1; 0 if they are far enough from the
/// ends of the range, are zeros, or not finite.
template <class R>
int exponent_to_one(R largest, int far = kFar<R>) {
  if (!(largest > 0) || largest > std::numeric_limits<R>::max()) return 0;
  const int e = std::ilogb(largest);
  return e < -far || e > far ? -e : 0;
}

/// Multiplies all elements by two to the exponent that it returns, which is 0 for ordinary ones.
template <class T>
int scale_all(T* a, int64_t size, int far = kFar<lapack::Real<T>>) {
  lapack::Real<T> largest = 0;
  for (int64_t i = 0; i < size; ++i) largest = std::max(largest, largest_part(a[i]));
  const int e = exponent_to_one(largest, far);
  if (e != 0)
    for (int64_t i = 0; i < size; ++i) a[i] = times_power(a[i], e);
  return e;
}

/// Scales of the rows and columns of a row-major matrix: a' = R · a · C. There are none for
/// ordinary matrices.
template <class T>
class Scaling {
 public:
  /// No scales.
  explicit Scaling(int64_t n) : n_(n) {}
  /// Finds the scales of `a` (n, n) and applies them.
  Scaling(T* a, int64_t n) : n_(n) {
    if (are_ordinary(a)) return;
    row_.assign(n, 0);
    column_.assign(n, 0);
    for (int64_t i = 0; i < n; ++i) row_[i] = exponent_to_one(largest(a + i * n, 1));
    scale_both(a, [&](int64_t i, int64_t) { return row_[i]; });
    for (int64_t j = 0; j < n; ++j) column_[j] = exponent_to_one(largest(a + j, n));
    scale_both(a, [&](int64_t, int64_t j) { return column_[j]; });
  }

  /// b becomes R · b, for `b` (n, k).
  void scale_rows(T* b, int64_t k) const { scale(b, k, row_); }
  /// y with a' · y = R · b becomes x with a · x = b.
  void restore_solution(T* y, int64_t k) const { scale(y, k, column_); }
  /// The inverse of a' becomes that of a.
  void restore_inverse(T* a) const {
    if (!row_.empty()) scale_both(a, [&](int64_t i, int64_t j) { return column_[i] + row_[j]; });
  }
  /// The determinant of `a` is that of a' times two to this.
  int determinant_exponent() const {
    int sum = 0;
    for (size_t i = 0; i < row_.size(); ++i) sum -= row_[i] + column_[i];
    return sum;
  }

 private:
  using R = lapack::Real<T>;

  R largest(const T* a, int64_t step) const {
    R m = 0;
    for (int64_t i = 0; i < n_; ++i) {
      m = std::max(m, largest_part(a[i * step]));
    }
    return m;
  }
  bool are_ordinary(const T* a) const {
    std::vector<R> columns(n_, R(0));
    for (int64_t i = 0; i < n_; ++i) {
      R row = 0;
      for (int64_t j = 0; j < n_; ++j) {
        const R x = largest_part(a[i * n_ + j]);
        row = std::max(row, x);
        columns[j] = std::max(columns[j], x);
      }
      if (exponent_to_one(row) != 0) return false;
    }
    for (R m : columns)
      if (exponent_to_one(m) != 0) return false;
    return true;
  }
  template <class F>
  void scale_both(T* a, F exponent) const {
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) a[i * n_ + j] = times_power(a[i * n_ + j], exponent(i, j));
  }
  void scale(T* b, int64_t k, const std::vector<int>& by) const {
    for (size_t i = 0; i < by.size(); ++i)
      for (int64_t j = 0; j < k; ++j) b[i * k + j] = times_power(b[i * k + j], by[i]);
  }

  int64_t n_;
  std::vector<int> row_, column_;  // empty where nothing is scaled
};

}  // namespace mlx::core::cpu::linalg
