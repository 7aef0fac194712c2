// Eigenvalues and eigenvectors of real symmetric matrices. A kernel reduces a matrix to a
// tridiagonal one by panels, LAPACK divides and conquers that, and threads share the products with
// reflectors.
#pragma once

#include <algorithm>
#include <cmath>

#include "mlx/backend/cpu/isa/tridiagonal.h"
#include "mlx/backend/cpu/linalg_conquer.h"
#include "mlx/backend/cpu/linalg_reflectors.h"
#include "mlx/backend/cpu/linalg_scale.h"

namespace mlx::core::cpu::linalg {

inline constexpr int64_t kTridiagonal = 24;  // for smaller matrices, LAPACK is called once

/// The reduction Qᵀ · a · Q of a symmetric matrix.
template <class T>
class Tridiagonal {
 public:
  /// Of `a` (n, n) the lower triangle is read; all of it is destroyed.
  Tridiagonal(int64_t n, Columns<T> a, T* diagonal, T* below) : panels_(n, n - 1) {
    const auto reduce =
        MLX_FOR_ISA(find_tridiagonal)(sizeof(T) == 4 ? Dtype::Val::float32 : Dtype::Val::float64);
    const size_t width = static_cast<size_t>(kNarrowPanel);
    Scratch updates(sizeof(T) * static_cast<size_t>(n) * width);
    Scratch pairs(sizeof(T) * static_cast<size_t>(n) * width * 2);
    Scratch turned(sizeof(T) * static_cast<size_t>(n) * width * 2);
    for (int64_t c = 0; c < n - 1; c += kNarrowPanel) {
      T factors[kNarrowPanel];
      const int64_t columns = panels_.width(c);
      const Columns<T> v = panels_.vectors(c), w{updates.get<T>(), n - c};
      reduce({n - c, columns, a.at(c, c), a.ld, below + c, factors, v.data, v.ld, w.data, w.ld});
      panels_.make_triangle(c, factors);
      subtract(n - c - columns, {a.at(c + columns, c + columns), a.ld}, {v.at(columns, 0), v.ld},
               {w.at(columns, 0), w.ld}, columns, pairs.get<T>(), turned.get<T>());
    }
    for (int64_t r = 0; r < n; ++r) diagonal[r] = *a.at(r, r);
  }
  /// z = Q · z for z (n, n).
  void apply(Columns<T> z) const { panels_.apply_to_square(z); }

 private:
  /// Subtracts v · wᵀ + w · vᵀ from the lower triangle of the rest, as one product of pairs.
  static void subtract(int64_t rest, Columns<T> a, Columns<T> v, Columns<T> w, int64_t columns,
                       T* pairs, T* turned) {
    for (int64_t j = 0; j < columns; ++j) {
      std::copy_n(v.at(0, j), rest, pairs + j * rest);
      std::copy_n(w.at(0, j), rest, pairs + (columns + j) * rest);
    }
    const auto transpose = factor_kernels<T>().transpose;
    transpose(w.data, columns, rest, w.ld, turned, 2 * columns);
    transpose(v.data, columns, rest, v.ld, turned + columns, 2 * columns);
    const double products = static_cast<double>(columns * rest);
    for_column_blocks(0, rest, products, [&](int64_t c, int64_t count) {
      add_product<T>(false, rest - c, count, 2 * columns, T(-1), {pairs + c, rest},
                     {turned + c * 2 * columns, 2 * columns}, {a.at(c, c), a.ld});
    });
  }

  ReflectorPanels<T> panels_;
};

/// Eigenvalues, ascending, and for `vectors` eigenvectors in place of `a` (n, n), of which the
/// lower triangle is read. Returns the info of LAPACK's routine.
template <class T>
lapack::Int solve_symmetric(bool vectors, int64_t n, Columns<T> a, T* values) {
  T largest = 0;
  for (int64_t c = 0; c < n; ++c)
    for (int64_t r = c; r < n; ++r) largest = std::max(largest, std::abs(*a.at(r, c)));
  const int exponent = exponent_to_one(largest, kFarSquared<T>);
  if (exponent != 0)
    for (int64_t c = 0; c < n; ++c)
      for (int64_t r = c; r < n; ++r) *a.at(r, c) = times_power(*a.at(r, c), exponent);
  Scratch off_diagonal(sizeof(T) * static_cast<size_t>(n));
  T* const below = off_diagonal.get<T>();
  const Tridiagonal<T> reduced(n, a, values, below);
  lapack::Int info = 0;
  if (vectors) {
    info = solve_tridiagonal(n, values, below, a);
    if (info == 0) reduced.apply(a);
  } else {
    info = lapack::sterf(static_cast<lapack::Int>(n), values, below);
  }
  if (exponent != 0)
    for (int64_t r = 0; r < n; ++r) values[r] = times_power(values[r], -exponent);
  return info;
}

/// Eigenvalues of row-major `from` (n, n), by the triangle that `upper` names; the rows of `to`,
/// unless it is null, receive the elements of the eigenvectors.
template <class T>
lapack::Int solve_symmetric(bool upper, int64_t n, const T* from, T* values, T* to) {
  const int64_t ld = separate_columns<T>(n);
  Scratch memory(sizeof(T) * static_cast<size_t>(ld * n));
  const Columns<T> a{memory.get<T>(), ld};
  const auto transpose = factor_kernels<T>().transpose;
  if (upper)  // rows are columns of the lower triangle
    for (int64_t r = 0; r < n; ++r) std::copy_n(from + r * n, n, a.at(0, r));
  else
    transpose(from, n, n, n, a.data, ld);
  const lapack::Int info = solve_symmetric(to != nullptr, n, a, values);
  if (info == 0 && to != nullptr) transpose(a.data, n, n, ld, to, n);
  return info;
}

}  // namespace mlx::core::cpu::linalg
