// Triangles that are packed for the kernels of the instruction set in use, and what is solved by
// them: systems with columns of a column-major matrix, and with rows of a row-major one.
#pragma once

#include <algorithm>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/factors.h"
#include "mlx/backend/cpu/lapack.h"

namespace mlx::core::cpu::linalg {

/// Whether kernels factor matrices of T.
template <class T>
inline constexpr bool kOwnFactors = !lapack::is_complex<T>;

template <class T>
const FactorKernels& factor_kernels() {
  static const FactorKernels kernels =
      MLX_FOR_ISA(find_factors)(sizeof(T) == 4 ? Dtype::Val::float32 : Dtype::Val::float64);
  return kernels;
}

/// A triangle whose element (i, k) is at a[i * row + k * column].
template <class T>
struct TriangleView {
  const T* a;
  int64_t row, column, n;
  bool upper, unit;
};

/// Right-hand sides of one thread: rows of as many as are solved for at a time.
template <class T>
class RightSides {
 public:
  explicit RightSides(int64_t n)
      : n_(n), memory_(sizeof(T) * static_cast<size_t>((n + 2 * lines()) * columns())) {
    std::fill_n(memory_.template get<T>(), lines() * columns(), T(0));
    std::fill_n(row(n), lines() * columns(), T(0));
  }
  T* row(int64_t i) const { return memory_.template get<T>() + (lines() + i) * columns(); }
  int64_t size() const { return n_; }
  static int64_t columns() { return factor_kernels<T>().columns; }

 private:
  // Panels of a triangle may go beyond either end.
  static int64_t lines() { return factor_kernels<T>().lines; }

  int64_t n_;
  Scratch memory_;
};

template <class T>
class PackedTriangle {
 public:
  /// Memory for triangles of up to `most` rows.
  explicit PackedTriangle(int64_t most)
      : memory_(sizeof(T) * static_cast<size_t>(factor_kernels<T>().packed_size(most))) {}
  explicit PackedTriangle(const TriangleView<T>& view) : PackedTriangle(view.n) { pack(view); }

  void pack(const TriangleView<T>& v) {
    n_ = v.n;
    upper_ = v.upper;
    const T* last = v.a + (v.n - 1) * (v.row + v.column);
    factor_kernels<T>().pack(v.upper ? last : v.a, v.upper ? -v.row : v.row,
                             v.upper ? -v.column : v.column, v.n, v.unit, memory_.get<T>());
  }
  /// x = a⁻¹ · x for the first `count` elements of each row; of a lower triangle's, the rows in
  /// front of `first` are zeros.
  void solve(const RightSides<T>& x, int64_t count, int64_t first = 0) const {
    const int64_t step = RightSides<T>::columns();
    factor_kernels<T>().solve(memory_.get<T>(), n_, first, x.row(upper_ ? n_ - 1 : 0),
                              upper_ ? -step : step, count);
  }
  /// b = a⁻¹ · b for column-major b.
  void solve_columns(T* b, int64_t ld, int64_t columns) const {
    const RightSides<T> x(n_);
    for (int64_t c = 0; c < columns; c += x.columns()) {
      const int64_t count = std::min(x.columns(), columns - c);
      factor_kernels<T>().load(b + c * ld, ld, n_, count, x.row(0));
      solve(x, count);
      factor_kernels<T>().store(x.row(0), n_, count, b + c * ld, ld);
    }
  }

 private:
  int64_t n_ = 0;
  bool upper_ = false;
  Scratch memory_;
};

/// x = a⁻¹ · x of row-major x (n, columns) from the factors that factor_lu makes of the transpose
/// of `a`: row-major a lower and a unit upper triangle, and pivots counted from 1.
template <class T>
class FactoredRows {
 public:
  FactoredRows(const T* lu, const lapack::Int* pivots, int64_t n)
      : lower_(TriangleView<T>{lu, n, 1, n, false, false}),
        upper_(TriangleView<T>{lu, n, 1, n, true, true}),
        sources_(sizeof(int64_t) * static_cast<size_t>(n)) {
    int64_t* const from = sources_.get<int64_t>();
    for (int64_t r = 0; r < n; ++r) from[r] = r;
    for (int64_t r = n; r-- > 0;) std::swap(from[r], from[pivots[r] - 1]);
  }
  void solve(const RightSides<T>& x, int64_t count, int64_t first) const {
    lower_.solve(x, count, first);
    upper_.solve(x, count);
  }
  /// The row of x that is row r of the solution.
  int64_t source(int64_t r) const { return sources_.get<int64_t>()[r]; }

 private:
  PackedTriangle<T> lower_, upper_;
  Scratch sources_;
};

}  // namespace mlx::core::cpu::linalg
