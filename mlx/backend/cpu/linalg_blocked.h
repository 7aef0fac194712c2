// Factorisations of column-major matrices that are large or small. Large ones go by panels of
// columns: LAPACK factors a panel, and threads share what follows from it for the columns behind,
// in blocks of a fixed width, so that no bit depends on their number; the thread of the first block
// goes on to factor the next panel. For small ones a call of
// LAPACK takes longer than the arithmetic. Others are LAPACK's alone.
#pragma once

#include <algorithm>
#include <utility>

#include "mlx/backend/cpu/isa/small_systems.h"
#include "mlx/backend/cpu/lapack.h"
#include "mlx/backend/cpu/linalg_scale.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu::linalg {

inline constexpr int64_t kBlocked = 192;     // smaller matrices are not divided
inline constexpr int64_t kPanel = 64;        // columns of a panel and of a block
inline constexpr int64_t kNarrowPanel = 32;  // of reflectors, which are made one by one

/// A column-major matrix in memory, or a part of one.
template <class T>
struct Columns {
  T* data;
  int64_t ld;  // elements between columns
  T* at(int64_t row, int64_t column) const { return data + column * ld + row; }
  lapack::Int step() const { return static_cast<lapack::Int>(ld); }
};

/// Calls `f(begin, width)` for blocks of the columns from `first` to `end`; `products` is the
/// number of multiplications for each column.
template <class F>
void for_column_blocks(int64_t first, int64_t end, double products, F&& f) {
  if (first >= end) return;
  const int64_t blocks = (end - first + kPanel - 1) / kPanel;
  parallel_for(
      blocks, 1,
      [&](int64_t begin, int64_t stop) {
        for (int64_t b = begin; b < stop; ++b) {
          const int64_t column = first + b * kPanel;
          f(column, std::min(kPanel, end - column));
        }
      },
      (products / 20 + 100) * static_cast<double>(end - first));
}

/// c += factor · op(a) · b with op the adjoint or nothing; c is (m, n), k is the inner length.
template <class T>
void add_product(bool adjoint, int64_t m, int64_t n, int64_t k, T factor, Columns<const T> a,
                 Columns<const T> b, Columns<T> c) {
  using lapack::Int;
  const T one = 1;
  library::gemm(library::kColumnMajor, adjoint ? library::kAdjoint : library::kPlain,
                library::kPlain, static_cast<Int>(m), static_cast<Int>(n), static_cast<Int>(k),
                library::factor(factor), a.data, a.step(), b.data, b.step(), library::factor(one),
                c.data, c.step());
}

/// b = op(a)⁻¹ · b for a triangle `a` (n, n), and b (n, columns).
template <class T>
void solve_triangle(library::Triangle triangle, library::Transpose op, library::Diagonal diagonal,
                    int64_t n, int64_t columns, Columns<const T> a, Columns<T> b) {
  using lapack::Int;
  const T one = 1;
  library::trsm(library::kColumnMajor, library::kLeft, triangle, op, diagonal, static_cast<Int>(n),
                static_cast<Int>(columns), library::factor(one), a.data, a.step(), b.data,
                b.step());
}

/// The same for a large triangle, by products with all but blocks on its diagonal.
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

/// The LU factors of a square matrix, as getrf makes them.
template <class T>
lapack::Int factor_lu(lapack::Int n, T* matrix, lapack::Int* pivots) {
  if (n <= kSmall) return factor_small_lu(n, matrix, pivots);
  if (n < kBlocked) return lapack::getrf(n, n, matrix, pivots);
  const Columns<T> a{matrix, n};
  lapack::Int info = 0;
  const auto width_of = [&](int64_t k) { return std::min<int64_t>(kPanel, n - k); };
  const auto factor_panel = [&](int64_t k) {
    const auto width = static_cast<lapack::Int>(width_of(k));
    const auto found =
        lapack::getrf(static_cast<lapack::Int>(n - k), width, a.at(k, k), pivots + k, n);
    if (found != 0 && info == 0) info = found + static_cast<lapack::Int>(k);
    for (int64_t r = k; r < k + width; ++r) pivots[r] += static_cast<lapack::Int>(k);
  };
  factor_panel(0);
  for (int64_t k = 0; k < n; k += kPanel) {
    const int64_t width = width_of(k), next = k + width;
    for_column_blocks(next, n, static_cast<double>(width * (n - k)), [&](int64_t c, int64_t count) {
      for (int64_t j = c; j < c + count; ++j) exchange_rows(a.at(0, j), pivots, k, width);
      solve_triangle<T>(library::kLower, library::kPlain, library::kUnitDiagonal, width, count,
                        {a.at(k, k), n}, {a.at(k, c), n});
      add_product<T>(false, n - next, count, width, T(-1), {a.at(next, k), n}, {a.at(k, c), n},
                     {a.at(next, c), n});
      if (c == next) factor_panel(next);  // while other threads compute the blocks behind
    });
  }
  const int64_t last = (n - 1) / kPanel * kPanel;
  for_column_blocks(0, last, static_cast<double>(n), [&](int64_t c, int64_t count) {
    const int64_t behind = c + count;
    for (int64_t j = c; j < behind; ++j) exchange_rows(a.at(0, j), pivots, behind, n - behind);
  });
  return info;
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
  const auto factor_square = [&](int64_t k) {
    const auto width = static_cast<lapack::Int>(std::min<int64_t>(kPanel, n - k));
    const auto found = lapack::potrf('U', width, a.at(k, k), n);
    if (found != 0) info = found + static_cast<lapack::Int>(k);
  };
  factor_square(0);
  for (int64_t k = 0; k < n && info == 0; k += kPanel) {
    const int64_t width = std::min<int64_t>(kPanel, n - k), next = k + width;
    for_column_blocks(next, n, static_cast<double>(width * width), [&](int64_t c, int64_t count) {
      solve_triangle<T>(library::kUpper, library::kAdjoint, library::kAnyDiagonal, width, count,
                        {a.at(k, k), n}, {a.at(k, c), n});
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

/// Reflectors of a matrix, by panels: H = I - V · T · Vᴴ of each.
template <class T>
class Reflectors {
 public:
  /// Factors a = Q · R with m rows in place of `a`, of which R stays above the diagonal.
  Reflectors(int64_t m, int64_t n, T* matrix)
      : m_(m),
        k_(std::min(m, n)),
        a_{matrix, m},
        vectors_(static_cast<size_t>(m_ * k_) * sizeof(T)),
        triangles_(static_cast<size_t>(kNarrowPanel * k_) * sizeof(T)) {
    make_panel(0);
    for (int64_t c = 0; c < k_; c += kNarrowPanel) {
      const int64_t width = std::min(kNarrowPanel, k_ - c), next = c + width;
      for_column_blocks(next, n, static_cast<double>(2 * width * (m_ - c)),
                        [&](int64_t j, int64_t count) {
                          apply(true, c, {a_.at(c, j), m_}, count);
                          // While other threads compute the blocks behind.
                          if (j == next && next < k_) make_panel(next);
                        });
    }
  }
  /// The first min(m, n) columns of Q, with m rows.
  void unfold(T* to) const {
    const Columns<T> q{to, m_};
    const double products = static_cast<double>(m_ * k_);
    for_column_blocks(0, k_, products, [&](int64_t j, int64_t count) {
      std::fill(q.at(0, j), q.at(0, j) + count * m_, T(0));
      for (int64_t c = j; c < j + count; ++c) *q.at(c, c) = T(1);
      // Panels behind the block leave it as it is.
      const int64_t last = (std::min(j + count, k_) - 1) / kNarrowPanel * kNarrowPanel;
      for (int64_t c = last; c >= 0; c -= kNarrowPanel) apply(false, c, {q.at(c, j), m_}, count);
    });
  }

 private:
  Columns<T> vectors(int64_t c) const { return {vectors_.template get<T>() + c * m_, m_}; }
  Columns<T> triangle(int64_t c) const {
    return {triangles_.template get<T>() + c * kNarrowPanel, kNarrowPanel};
  }

  void make_panel(int64_t c) {
    const int64_t width = std::min(kNarrowPanel, k_ - c);
    T factors[kNarrowPanel], products[kNarrowPanel * kNarrowPanel] = {};
    lapack::geqrf(static_cast<lapack::Int>(m_ - c), static_cast<lapack::Int>(width), a_.at(c, c),
                  factors, static_cast<lapack::Int>(m_));
    const Columns<T> v = vectors(c), t = triangle(c);
    for (int64_t j = 0; j < width; ++j) {
      std::fill(v.at(0, j), v.at(j, j), T(0));
      *v.at(j, j) = T(1);
      std::copy_n(a_.at(c + j + 1, c + j), m_ - c - j - 1, v.at(j + 1, j));
    }
    add_product<T>(true, width, width, m_ - c, T(1), {v.data, m_}, {v.data, m_},
                   {products, kNarrowPanel});
    // Column j of T: -factor · T · (Vᴴ · v_j), with the factor itself on the diagonal.
    for (int64_t j = 0; j < width; ++j) {
      std::fill_n(t.at(0, j), kNarrowPanel, T(0));
      for (int64_t l = 0; l < j; ++l)
        for (int64_t i = 0; i <= l; ++i)
          *t.at(i, j) -= factors[j] * *t.at(i, l) * products[j * kNarrowPanel + l];
      *t.at(j, j) = factors[j];
    }
  }

  /// x = H · x, or Hᴴ · x, for the panel at column c and the rows from c on.
  void apply(bool adjoint, int64_t c, Columns<T> x, int64_t count) const {
    const int64_t width = std::min(kNarrowPanel, k_ - c), rows = m_ - c;
    T first[kNarrowPanel * kPanel] = {}, second[kNarrowPanel * kPanel] = {};
    const Columns<T> one{first, kNarrowPanel}, two{second, kNarrowPanel};
    const Columns<const T> v{vectors(c).data, m_}, t{triangle(c).data, kNarrowPanel};
    add_product<T>(true, width, count, rows, T(1), v, {x.data, x.ld}, one);
    add_product<T>(adjoint, width, count, width, T(1), t, {first, kNarrowPanel}, two);
    add_product<T>(false, rows, count, width, T(-1), v, {second, kNarrowPanel}, x);
  }

  int64_t m_, k_;
  Columns<T> a_;
  Scratch vectors_, triangles_;
};

}  // namespace mlx::core::cpu::linalg
