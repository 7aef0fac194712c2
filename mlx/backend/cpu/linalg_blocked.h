// The common parts of factorisations of large column-major matrices. They go by panels of columns:
// one thread factors a panel, and threads share what follows from it for the columns behind, in
// blocks of a fixed width, so that no bit depends on their number; the thread of the first block
// goes on to factor the next panel.
#pragma once

#include <algorithm>

#include "mlx/backend/cpu/lapack.h"
#include "mlx/backend/cpu/linalg_triangle.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu::linalg {

inline constexpr int64_t kBlocked = 192;  // smaller matrices are not divided
inline constexpr int64_t kPanel = 64;     // columns of a panel and of a block

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

/// The distance at which the columns of a matrix do not share the lines of a cache: that of dense
/// ones, or one line more.
template <class T>
int64_t separate_columns(int64_t m) {
  constexpr int64_t kLine = 64 / sizeof(T);
  return m >= kBlocked && m % (16 * kLine) == 0 ? m + kLine : m;
}

/// The triangles on the diagonal of a matrix, each of which is read while the next is made.
template <class T>
class DiagonalTriangles {
 public:
  explicit DiagonalTriangles(const TriangleView<T>& whole) : whole_(whole) {}
  /// Reads the triangle from row k on.
  void take(int64_t k, int64_t width) {
    if constexpr (kOwnFactors<T>) {
      TriangleView<T> part = whole_;
      part.a += k * (whole_.row + whole_.column);
      part.n = width;
      packed(k).pack(part);
    }
  }
  /// b = a⁻¹ · b for that triangle.
  void solve(int64_t k, int64_t width, int64_t columns, Columns<T> b) const {
    if constexpr (kOwnFactors<T>) {
      packed(k).solve_columns(b.data, b.ld, columns);
    } else {
      const bool down = whole_.row == 1;  // else the triangle is the adjoint of the one in memory
      solve_triangle<T>(
          whole_.upper == down ? library::kUpper : library::kLower,
          down ? library::kPlain : library::kAdjoint,
          whole_.unit ? library::kUnitDiagonal : library::kAnyDiagonal, width, columns,
          {whole_.a + k * (whole_.row + whole_.column), whole_.row * whole_.column}, b);
    }
  }

 private:
  struct None {
    explicit None(int64_t) {}
  };
  using Packed = std::conditional_t<kOwnFactors<T>, PackedTriangle<T>, None>;
  const Packed& packed(int64_t k) const { return k / kPanel % 2 == 0 ? even_ : odd_; }
  Packed& packed(int64_t k) { return k / kPanel % 2 == 0 ? even_ : odd_; }

  TriangleView<T> whole_;
  Packed even_{kPanel}, odd_{kPanel};
};

}  // namespace mlx::core::cpu::linalg
