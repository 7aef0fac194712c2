// LU and Cholesky factors of column-major matrices that are large or small, and what is solved by
// them. For small ones a call of LAPACK takes longer than the arithmetic.
#pragma once

#include <algorithm>
#include <utility>

#include "mlx/backend/cpu/isa/small_systems.h"
#include "mlx/backend/cpu/linalg_blocked.h"
#include "mlx/backend/cpu/linalg_scale.h"

namespace mlx::core::cpu::linalg {

inline constexpr int64_t kByRows = 1024;  // packed triangles of larger ones leave the caches

/// The rows from k to k + width of a column change places as the pivots of a panel, counted from 1.
template <class T>
void exchange_rows(T* column, const lapack::Int* pivots, int64_t k, int64_t width) {
  for (int64_t r = k; r < k + width; ++r) std::swap(column[r], column[pivots[r] - 1]);
}

/// The LU factors of a small matrix, column after column.
template <class T>
lapack::Int factor_small_lu(lapack::Int n, T* a, lapack::Int* pivots) {
  lapack::Int info = 0;
  for (lapack::Int k = 0; k < n; ++k) {
    T* const column = a + k * n;
    lapack::Int pivot = k;
    for (lapack::Int r = k + 1; r < n; ++r)
      if (largest_part(column[r]) > largest_part(column[pivot])) pivot = r;
    pivots[k] = pivot + 1;
    if (column[pivot] == T(0)) {
      if (info == 0) info = k + 1;
      continue;
    }
    if (pivot != k)
      for (lapack::Int c = 0; c < n; ++c) std::swap(a[c * n + k], a[c * n + pivot]);
    for (lapack::Int r = k + 1; r < n; ++r) column[r] /= column[k];
    for (lapack::Int c = k + 1; c < n; ++c) {
      T* const other = a + c * n;
      const T factor = other[k];
      for (lapack::Int r = k + 1; r < n; ++r) other[r] -= column[r] * factor;
    }
  }
  return info;
}

/// x = a⁻¹ · x for row-major x (n, k), by the factors that factor_lu makes of the transpose of `a`:
/// row-major a lower and a unit upper triangle.
template <class T>
void solve_small(const T* lu, const lapack::Int* pivots, T* x, lapack::Int n, lapack::Int k) {
  const auto subtract = [&](lapack::Int to, lapack::Int from) {
    const T factor = lu[to * n + from];
    for (lapack::Int c = 0; c < k; ++c) x[to * k + c] -= factor * x[from * k + c];
  };
  // A known row is subtracted from all others at once: these do not wait for one another.
  for (lapack::Int r = 0; r < n; ++r) {
    for (lapack::Int c = 0; c < k; ++c) x[r * k + c] /= lu[r * n + r];
    for (lapack::Int other = r + 1; other < n; ++other) subtract(other, r);
  }
  for (lapack::Int r = n; r-- > 1;)
    for (lapack::Int other = 0; other < r; ++other) subtract(other, r);
  for (lapack::Int r = n; r-- > 0;)
    if (const lapack::Int other = pivots[r] - 1; other != r)
      std::swap_ranges(x + r * k, x + (r + 1) * k, x + other * k);
}

/// The LU factors of a column-major matrix with few columns, m >= n.
template <class T>
lapack::Int factor_columns(int64_t m, int64_t n, Columns<T> a, lapack::Int* pivots) {
  if constexpr (kOwnFactors<T>) {
    return static_cast<lapack::Int>(factor_kernels<T>().lu(m, n, a.data, a.ld, pivots));
  } else {
    return lapack::getrf(static_cast<lapack::Int>(m), static_cast<lapack::Int>(n), a.data, pivots,
                         a.step());
  }
}

/// The LU factors of a large column-major matrix (m, n).
template <class T>
lapack::Int factor_lu_panels(int64_t m, int64_t n, Columns<T> a, lapack::Int* pivots) {
  const int64_t k_end = std::min(m, n);
  lapack::Int info = 0;
  DiagonalTriangles<T> triangles({a.data, 1, a.ld, k_end, false, true});
  const auto width_of = [&](int64_t k) { return std::min<int64_t>(kPanel, k_end - k); };
  const auto factor_panel = [&](int64_t k) {
    const int64_t width = width_of(k);
    const auto found = factor_columns<T>(m - k, width, {a.at(k, k), a.ld}, pivots + k);
    if (found != 0 && info == 0) info = found + static_cast<lapack::Int>(k);
    for (int64_t r = k; r < k + width; ++r) pivots[r] += static_cast<lapack::Int>(k);
    if (k + width < n) triangles.take(k, width);
  };
  factor_panel(0);
  for (int64_t k = 0; k < k_end; k += kPanel) {
    const int64_t width = width_of(k), next = k + width;
    for_column_blocks(next, n, static_cast<double>(width * (m - k)), [&](int64_t c, int64_t count) {
      for (int64_t j = c; j < c + count; ++j) exchange_rows(a.at(0, j), pivots, k, width);
      triangles.solve(k, width, count, {a.at(k, c), a.ld});
      if (next < m)
        add_product<T>(false, m - next, count, width, T(-1), {a.at(next, k), a.ld},
                       {a.at(k, c), a.ld}, {a.at(next, c), a.ld});
      // While other threads compute the blocks behind.
      if (c == next && next < k_end) factor_panel(next);
    });
  }
  const int64_t last = (k_end - 1) / kPanel * kPanel;
  for_column_blocks(0, last, static_cast<double>(m), [&](int64_t c, int64_t count) {
    const int64_t behind = c + count;
    for (int64_t j = c; j < behind; ++j) exchange_rows(a.at(0, j), pivots, behind, k_end - behind);
  });
  return info;
}

/// The LU factors of a column-major matrix (m, n), as getrf makes them.
template <class T>
lapack::Int factor_lu(lapack::Int m, lapack::Int n, T* matrix, lapack::Int* pivots) {
  if (m == n && n <= kSmall) return factor_small_lu(n, matrix, pivots);
  if (!kOwnFactors<T> && std::min(m, n) < kBlocked) return lapack::getrf(m, n, matrix, pivots);
  const int64_t ld = separate_columns<T>(m);
  if (ld == m) return factor_lu_panels<T>(m, n, {matrix, m}, pivots);
  Scratch memory(static_cast<size_t>(ld * n) * sizeof(T));
  const Columns<T> a{memory.get<T>(), ld}, result{matrix, m};
  const auto copy = [&](Columns<T> from, Columns<T> to) {
    for_column_blocks(0, n, static_cast<double>(m), [&](int64_t c, int64_t count) {
      for (int64_t j = c; j < c + count; ++j) std::copy_n(from.at(0, j), m, to.at(0, j));
    });
  };
  copy(result, a);
  const lapack::Int info = factor_lu_panels(m, n, a, pivots);
  copy(a, result);
  return info;
}

/// to = a⁻¹ · b for row-major `to` and b (n, columns), by the factors that factor_lu makes of the
/// transpose of `a`. `fill(x, c, count)` writes the columns of b from c on into the rows of x, and
/// returns the number of rows in front that are zeros.
template <class T, class F>
void solve_by_rows(const T* lu, const lapack::Int* pivots, T* to, int64_t n, int64_t columns,
                   F&& fill) {
  const FactoredRows<T> rows(lu, pivots, n);
  const int64_t width = RightSides<T>::columns();
  const double products = static_cast<double>(n) * static_cast<double>(n);
  parallel_for((columns + width - 1) / width, 1,
               [&](int64_t begin, int64_t end) {
                 const RightSides<T> x(n);
                 for (int64_t c = begin * width; c < std::min(columns, end * width); c += width) {
                   const int64_t count = std::min(width, columns - c);
                   std::fill(x.row(0), x.row(n), T(0));
                   rows.solve(x, count, fill(x, c, count));
                   for (int64_t r = 0; r < n; ++r)
                     std::copy_n(x.row(rows.source(r)), count, to + r * columns + c);
                 }
               },
               products / 40 * static_cast<double>(columns));
}

/// x = a⁻¹ · x for row-major x (n, k), by the factors that factor_lu makes of the transpose of `a`.
template <class T>
void solve_factored(const T* lu, const lapack::Int* pivots, T* x, lapack::Int n, lapack::Int k) {
  constexpr lapack::Int kFew = 4;  // packing a triangle takes longer
  if (n <= kSmall) return solve_small(lu, pivots, x, n, k);
  if constexpr (kOwnFactors<T>) {
    if (k > kFew)
      return solve_by_rows(lu, pivots, x, n, k,
                           [&](const RightSides<T>& to, int64_t c, int64_t count) {
                             for (int64_t r = 0; r < n; ++r)
                               std::copy_n(x + r * k + c, count, to.row(r));
                             return int64_t{0};
                           });
  }
  lapack::trsm(false, false, n, k, lu, x);
  lapack::trsm(true, true, n, k, lu, x);
  for (int64_t r = n - 1; r >= 0; --r)
    if (const int64_t other = pivots[r] - 1; other != r)
      std::swap_ranges(x + r * k, x + (r + 1) * k, x + other * k);
}

/// x = a⁻¹ · x for row-major `a` (n, n), which is destroyed, and x (n, k). Returns the row of a
/// zero pivot, or -1. The factors are those of the transpose: a = Uᵀ · Lᵀ · P, which are row-major
/// a lower and a unit upper triangle.
template <class T>
lapack::Int solve_in_place(T* a, T* x, lapack::Int n, lapack::Int k) {
  Scratch integers(sizeof(lapack::Int) * static_cast<size_t>(n));
  lapack::Int* pivots = integers.get<lapack::Int>();
  const lapack::Int info = factor_lu(n, n, a, pivots);
  if (info != 0) return info - 1;
  solve_factored(a, pivots, x, n, k);
  return -1;
}

/// Factors column-major `a` in place; returns the sign of the row exchanges. Singular matrices have
/// zeros on the diagonal.
template <class T>
int factor(T* a, lapack::Int n, lapack::Int* pivots) {
  if (n == 0) return 1;
  factor_lu(n, n, a, pivots);
  int sign = 1;
  for (lapack::Int r = 0; r < n; ++r)
    if (pivots[r] - 1 != r) sign = -sign;
  return sign;
}

/// x = a⁻¹ · x for a large triangle, by products with all but blocks on its diagonal.
template <class T>
void solve_large_triangle(library::Triangle triangle, library::Diagonal diagonal, int64_t n,
                          int64_t columns, Columns<const T> a, Columns<T> x) {
  const bool upper = triangle == library::kUpper;
  for (int64_t done = 0; done < n; done += kPanel) {
    const int64_t rows = std::min(kPanel, n - done), r = upper ? n - done - rows : done;
    const int64_t known = upper ? r + rows : 0;  // the first of `done` rows
    if (done > 0)
      add_product<T>(false, rows, columns, done, T(-1), {a.at(r, known), a.ld},
                     {x.at(known, 0), x.ld}, {x.at(r, 0), x.ld});
    solve_triangle<T>(triangle, library::kPlain, diagonal, rows, columns, {a.at(r, r), a.ld},
                      {x.at(r, 0), x.ld});
  }
}

/// The inverse from the factors of factor_lu, in place. Each block of columns is solved for by
/// itself: of the identity's, which have zeros above the block.
template <class T>
lapack::Int invert_factored(lapack::Int n, T* factors, const lapack::Int* pivots) {
  if (n <= kSmall) {
    T lu[kSmall * kSmall];
    std::copy_n(factors, n * n, lu);
    for (lapack::Int k = 0; k < n * n; ++k) factors[k] = k % (n + 1) == 0 ? T(1) : T(0);
    solve_small(lu, pivots, factors, n, n);
    return 0;
  }
  if constexpr (kOwnFactors<T>) {
    if (n <= kByRows) {
      solve_by_rows(factors, pivots, factors, n, n,
                    [&](const RightSides<T>& to, int64_t c, int64_t count) {
                      for (int64_t j = 0; j < count; ++j) to.row(c + j)[j] = T(1);
                      return c;
                    });
      return 0;
    }
  }
  if (n < kBlocked) return lapack::getri(n, factors, pivots);
  const size_t size = static_cast<size_t>(n);
  Scratch solutions(size * size * sizeof(T)), integers(size * sizeof(int64_t));
  const Columns<T> x{solutions.get<T>(), n};
  const Columns<const T> lu{factors, n};
  const double products = 0.7 * static_cast<double>(n) * static_cast<double>(n);
  for_column_blocks(0, n, products, [&](int64_t c, int64_t count) {
    std::fill(x.at(0, c), x.at(0, c) + count * n, T(0));
    for (int64_t j = c; j < c + count; ++j) *x.at(j, j) = T(1);
    solve_large_triangle<T>(library::kLower, library::kUnitDiagonal, n - c, count, {lu.at(c, c), n},
                            {x.at(c, c), n});
    solve_large_triangle<T>(library::kUpper, library::kAnyDiagonal, n, count, lu, {x.at(0, c), n});
  });
  int64_t* from = integers.get<int64_t>();
  for (int64_t c = 0; c < n; ++c) from[c] = c;
  for (int64_t c = n; c-- > 0;) std::swap(from[c], from[pivots[c] - 1]);
  for_column_blocks(0, n, static_cast<double>(n), [&](int64_t c, int64_t count) {
    for (int64_t j = c; j < c + count; ++j) std::copy_n(x.at(0, from[j]), n, factors + j * n);
  });
  return 0;
}

/// The Cholesky factor of a small column-major matrix in place of the triangle `uplo`.
template <class T>
lapack::Int factor_small_cholesky(char uplo, lapack::Int n, T* a) {
  // Element (i, j) of the lower triangle, or its conjugate, which is at (j, i) in the upper one.
  const lapack::Int row = uplo == 'U' ? n : 1, column = uplo == 'U' ? 1 : n;
  const auto l = [&](lapack::Int i, lapack::Int j) -> T& { return a[i * row + j * column]; };
  const auto product = [](T x, T y) -> T {
    if constexpr (lapack::is_complex<T>) {
      return x * std::conj(y);
    } else {
      return x * y;
    }
  };
  for (lapack::Int k = 0; k < n; ++k) {
    const auto square = std::real(l(k, k));
    if (!(square > 0)) return k + 1;
    const auto pivot = std::sqrt(square);
    l(k, k) = pivot;
    for (lapack::Int i = k + 1; i < n; ++i) l(i, k) /= pivot;
    for (lapack::Int j = k + 1; j < n; ++j)
      for (lapack::Int i = j; i < n; ++i) l(i, j) -= product(l(i, k), l(j, k));
  }
  return 0;
}

/// The Cholesky factor of the triangle `uplo`, as potrf makes it; of the other one nothing is kept.
template <class T>
lapack::Int factor_cholesky(char uplo, lapack::Int n, T* matrix) {
  if (n <= kSmall) return factor_small_cholesky(uplo, n, matrix);
  if (n < kBlocked || uplo != 'U') return lapack::potrf(uplo, n, matrix);
  const Columns<T> a{matrix, n};
  lapack::Int info = 0;
  DiagonalTriangles<T> triangles({matrix, n, 1, n, false, false});
  const auto factor_square = [&](int64_t k) {
    const auto width = static_cast<lapack::Int>(std::min<int64_t>(kPanel, n - k));
    const auto found = lapack::potrf('U', width, a.at(k, k), n);
    if (found != 0) info = found + static_cast<lapack::Int>(k);
    if (found == 0 && k + width < n) triangles.take(k, width);
  };
  factor_square(0);
  for (int64_t k = 0; k < n && info == 0; k += kPanel) {
    const int64_t width = std::min<int64_t>(kPanel, n - k), next = k + width;
    for_column_blocks(next, n, static_cast<double>(width * width), [&](int64_t c, int64_t count) {
      triangles.solve(k, width, count, {a.at(k, c), n});
    });
    const double products = static_cast<double>(width * (n - next)) / 2;
    for_column_blocks(next, n, products, [&](int64_t c, int64_t count) {
      add_product<T>(true, c + count - next, count, width, T(-1), {a.at(k, next), n},
                     {a.at(k, c), n}, {a.at(next, c), n});
      if (c == next) factor_square(next);  // while other threads compute the blocks behind
    });
  }
  return info;
}

}  // namespace mlx::core::cpu::linalg
