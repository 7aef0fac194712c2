// Singular values and vectors of real square matrices. LAPACK reduces a matrix to a bidiagonal one
// and divides and conquers that; threads share the products with reflectors.
#pragma once

#include <algorithm>

#include "mlx/backend/cpu/linalg_reflectors.h"
#include "mlx/backend/cpu/linalg_scale.h"

namespace mlx::core::cpu::linalg {

inline constexpr int64_t kBidiagonal = 128;  // for smaller matrices, LAPACK is called once

/// The reduction Qᵀ · a · P of a square matrix.
template <class T>
class Bidiagonal {
 public:
  /// Destroys `a` (n, n).
  Bidiagonal(int64_t n, Columns<T> a, T* diagonal, T* above) : left_(n, n), right_(n, n - 1) {
    Scratch factors(sizeof(T) * static_cast<size_t>(2 * n));
    T *const q = factors.get<T>(), *const p = q + n;
    lapack::gebrd(static_cast<lapack::Int>(n), a.data, a.step(), diagonal, above, q, p);
    for (int64_t c = 0; c < n; c += kNarrowPanel) {
      const Columns<T> v = left_.vectors(c);
      for (int64_t j = 0; j < left_.width(c); ++j) {
        begin_vector(v, j, j);
        std::copy_n(a.at(c + j + 1, c + j), n - c - j - 1, v.at(j + 1, j));
      }
      left_.make_triangle(c, q + c);
    }
    for (int64_t c = 0; c < n - 1; c += kNarrowPanel) {
      const Columns<T> v = right_.vectors(c);
      for (int64_t j = 0; j < right_.width(c); ++j) {
        begin_vector(v, j, j + 1);
        for (int64_t i = j + 2; i < n - c; ++i) *v.at(i, j) = *a.at(c + j, c + i);
      }
      right_.make_triangle(c, p + c);
    }
  }
  /// z = Q · z for z (n, n).
  void apply_left(Columns<T> z) const { left_.apply_to_square(z); }
  /// z = P · z.
  void apply_right(Columns<T> z) const { right_.apply_to_square(z); }

 private:
  /// Zeros, and 1 as the first element of reflector j.
  static void begin_vector(Columns<T> v, int64_t j, int64_t first) {
    std::fill(v.at(0, j), v.at(first, j), T(0));
    *v.at(first, j) = T(1);
  }

  ReflectorPanels<T> left_, right_;
};

/// Singular values, descending, of the column-major matrix at `a` (n, n), which is destroyed, with
/// left vectors as columns of `left` and right vectors as the rows of `right`, both column-major.
/// Returns the info of LAPACK's routine.
template <class T>
lapack::Int solve_singular(int64_t n, T* a, T* values, T* left, T* right) {
  const int exponent = scale_all(a, n * n, kFarSquared<T>);
  const size_t square = static_cast<size_t>(n * n);
  Scratch memory(sizeof(T) * (square + static_cast<size_t>(n)));
  T *const rows = memory.get<T>(), *const above = rows + square;
  const Bidiagonal<T> reduced(n, {a, n}, values, above);
  const auto info = lapack::bdsdc(static_cast<lapack::Int>(n), values, above, left, rows);
  if (info != 0) return info;
  reduced.apply_left({left, n});
  const auto transpose = factor_kernels<T>().transpose;
  transpose(rows, n, n, n, a, n);
  reduced.apply_right({a, n});
  transpose(a, n, n, n, right, n);
  if (exponent != 0)
    for (int64_t i = 0; i < n; ++i) values[i] = times_power(values[i], -exponent);
  return info;
}

}  // namespace mlx::core::cpu::linalg
