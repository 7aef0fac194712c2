// Eigenvalues and eigenvectors of tridiagonal matrices, by halves: the matrix is that of two blocks
// and a product of a vector with itself. LAPACK computes the smallest blocks; threads share the
// roots and the products of a large one.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "mlx/backend/cpu/isa/secular.h"
#include "mlx/backend/cpu/linalg_blocked.h"

namespace mlx::core::cpu::linalg {

/// The eigenvectors of two adjacent blocks become those of both.
template <class T>
class Joint {
 public:
  /// `values` of the blocks [0, first) and [first, n), and `vectors`, (n, n) without the elements
  /// outside of the blocks, which are zeros. `order` lists the columns of each block by value.
  Joint(int64_t first, int64_t n, T beside, T* values, Columns<T> vectors, int64_t* order)
      : first_(first), n_(n), values_(values), q_(vectors), order_(order), z_(n), kind_(n) {
    if constexpr (sizeof(T) == 4)
      kernels_ = MLX_FOR_ISA(secular_of_floats)();
    else
      kernels_ = MLX_FOR_ISA(secular_of_doubles)();
    deflate(beside);
    gather();
    find_roots();
    multiply();
    std::iota(order, order + n, int64_t{0});
    std::stable_sort(order, order + n, [&](int64_t a, int64_t b) { return values[a] < values[b]; });
  }

 private:
  enum Kind : char { kUpper, kBoth, kLower };  // the rows of a vector that are not zero

  /// Takes out the vectors that remain as they are: with a small part in z, and one of two whose
  /// values are close.
  void deflate(T beside) {
    constexpr T kUnit = std::numeric_limits<T>::epsilon() / 2;
    const T root = std::sqrt(T(0.5)), sign = beside < 0 ? T(-1) : T(1);
    rho_ = 2 * std::abs(beside);
    T largest = 0;
    for (int64_t c = 0; c < n_; ++c) {
      z_[c] = root * (c < first_ ? *q_.at(first_ - 1, c) : sign * *q_.at(first_, c));
      kind_[c] = c < first_ ? kUpper : kLower;
      largest = std::max({largest, std::abs(z_[c]), std::abs(values_[c])});
    }
    const T tolerance = 8 * kUnit * largest;
    std::vector<int64_t> sorted(n_);
    std::merge(order_, order_ + first_, order_ + first_, order_ + n_, sorted.begin(),
               [&](int64_t a, int64_t b) { return values_[a] < values_[b]; });
    int64_t last = -1;  // is kept unless the next one is close
    for (const int64_t c : sorted) {
      if (rho_ * std::abs(z_[c]) <= tolerance) {
        apart_.push_back(c);
        continue;
      }
      if (last >= 0 && !rotate(last, c, tolerance)) kept_.push_back(last);
      last = c;
    }
    if (last >= 0) kept_.push_back(last);
  }

  /// If the values are close, moves the part in z of column a to column b.
  bool rotate(int64_t a, int64_t b, T tolerance) {
    const T length = std::hypot(z_[a], z_[b]), c = z_[b] / length, s = -z_[a] / length;
    if (std::abs((values_[b] - values_[a]) * c * s) > tolerance) return false;
    z_[b] = length;
    const T before = values_[a], after = values_[b];
    values_[a] = before * c * c + after * s * s;
    values_[b] = before * s * s + after * c * c;
    if (kind_[a] != kind_[b]) kind_[a] = kind_[b] = kBoth;
    T *const x = q_.at(0, a), *const y = q_.at(0, b);
    for (int64_t r = 0; r < n_; ++r) {
      const T old = x[r];
      x[r] = c * old + s * y[r];
      y[r] = c * y[r] - s * old;
    }
    apart_.push_back(a);
    return true;
  }

  /// Copies the vectors to dense columns: with upper rows, then with both, then with lower ones;
  /// and the vectors that remain.
  void gather() {
    const auto k = static_cast<int64_t>(kept_.size());
    place_.resize(kept_.size());
    int64_t next = 0;
    for (const Kind kind : {kUpper, kBoth, kLower}) {
      if (kind == kBoth) both_ = next;
      if (kind == kLower) lower_ = next;
      for (int64_t i = 0; i < k; ++i)
        if (kind_[kept_[i]] == kind) place_[i] = next++;
    }
    const auto size = [&](int64_t rows, int64_t columns) {
      return static_cast<size_t>(rows * columns);
    };
    copies_.resize(size(first_, lower_) + size(n_ - first_, k - both_) +
                   size(n_, static_cast<int64_t>(apart_.size())));
    T* const bottom = copies_.data() + first_ * lower_;
    T* const rest = bottom + (n_ - first_) * (k - both_);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t c = kept_[i], to = place_[i];
      if (to < lower_) std::copy_n(q_.at(0, c), first_, copies_.data() + to * first_);
      if (to >= both_)
        std::copy_n(q_.at(first_, c), n_ - first_, bottom + (to - both_) * (n_ - first_));
    }
    for (size_t i = 0; i < apart_.size(); ++i)
      std::copy_n(q_.at(0, apart_[i]), n_, rest + static_cast<int64_t>(i) * n_);
  }

  /// Calls `f(i)` for i < k, each of which takes time for `work` elements.
  template <class F>
  static void for_each(int64_t k, double work, F&& f) {
    parallel_for(
        k, 8,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) f(i);
        },
        work * static_cast<double>(k));
  }

  void find_roots() {
    const auto k = static_cast<int64_t>(kept_.size());
    std::vector<T> d(kept_.size()), z(kept_.size()), squares(kept_.size()), roots(kept_.size());
    for (int64_t i = 0; i < k; ++i) {
      d[i] = values_[kept_[i]];
      z[i] = z_[kept_[i]];
    }
    coefficients_.resize(static_cast<size_t>(k * k));
    T* const distances = coefficients_.data();
    const double work = static_cast<double>(k);
    for_each(k, 5 * work, [&](int64_t j) {
      roots[j] = kernels_.root(k, j, d.data(), z.data(), rho_, distances + j * k);
    });
    constexpr int64_t kRows = 64;
    for_each((k + kRows - 1) / kRows, kRows * work, [&](int64_t block) {
      const int64_t begin = block * kRows, end = std::min(k, begin + kRows);
      kernels_.weights(k, begin, end, d.data(), distances, squares.data());
      for (int64_t i = begin; i < end; ++i)
        z[i] = std::copysign(std::sqrt(std::max(T(0), -squares[i])), z[i]);
    });
    for_each(k, work, [&](int64_t j) {
      T* const column = distances + j * k;
      std::vector<T> vector(kept_.size());
      kernels_.vector(k, z.data(), column, vector.data());
      for (int64_t i = 0; i < k; ++i) column[place_[i]] = vector[i];
    });
    std::vector<T> others(apart_.size());
    for (size_t i = 0; i < apart_.size(); ++i) others[i] = values_[apart_[i]];
    std::copy(others.begin(), others.end(), std::copy(roots.begin(), roots.end(), values_));
  }

  void multiply() {
    const auto k = static_cast<int64_t>(kept_.size());
    const int64_t rows = n_ - first_;
    const T* const bottom = copies_.data() + first_ * lower_;
    const T* const rest = bottom + rows * (k - both_);
    const double products = static_cast<double>(first_ * lower_ + rows * (k - both_));
    for_column_blocks(0, k, products, [&](int64_t c, int64_t count) {
      for (int64_t j = c; j < c + count; ++j) std::fill_n(q_.at(0, j), n_, T(0));
      const T* const s = coefficients_.data() + c * k;
      if (lower_ > 0)
        add_product<T>(false, first_, count, lower_, T(1), {copies_.data(), first_}, {s, k},
                       {q_.at(0, c), q_.ld});
      if (k > both_)
        add_product<T>(false, rows, count, k - both_, T(1), {bottom, rows}, {s + both_, k},
                       {q_.at(first_, c), q_.ld});
    });
    for (int64_t c = k; c < n_; ++c) std::copy_n(rest + (c - k) * n_, n_, q_.at(0, c));
  }

  int64_t first_, n_, both_ = 0, lower_ = 0;
  T* values_;
  Columns<T> q_;
  int64_t* order_;
  T rho_ = 0;
  SecularKernels<T> kernels_;
  std::vector<T> z_, copies_, coefficients_;
  std::vector<Kind> kind_;
  std::vector<int64_t> kept_, apart_, place_;
};

/// Eigenvalues, ascending, of a tridiagonal matrix in place of its diagonal, and eigenvectors as
/// the columns of `vectors` (n, n). Destroys the elements below the diagonal. Returns the info of
/// LAPACK's routine.
template <class T>
lapack::Int solve_tridiagonal(int64_t n, T* diagonal, T* below, Columns<T> vectors) {
  constexpr int64_t kBlock = 48;  // rows of the blocks that LAPACK computes
  int64_t blocks = 1;
  while (n > blocks * kBlock) blocks *= 2;
  if (blocks == 1)
    return lapack::stedc(static_cast<lapack::Int>(n), diagonal, below, vectors.data,
                         vectors.step());
  // The tolerance of Joint is for elements up to 1.
  T largest = 0;
  for (int64_t i = 0; i < n; ++i)
    largest = std::max({largest, std::abs(diagonal[i]), i + 1 < n ? std::abs(below[i]) : T(0)});
  const int exponent = largest > 0 ? std::ilogb(largest) : 0;
  for (int64_t i = 0; i < n; ++i) {
    diagonal[i] = std::ldexp(diagonal[i], -exponent);
    if (i + 1 < n) below[i] = std::ldexp(below[i], -exponent);
  }
  const auto start = [&](int64_t block) { return block * n / blocks; };
  for (int64_t b = 1; b < blocks; ++b) {
    const T beside = std::abs(below[start(b) - 1]);
    diagonal[start(b) - 1] -= beside;
    diagonal[start(b)] -= beside;
  }
  const int64_t ld = separate_columns<T>(n);
  Scratch memory(static_cast<size_t>(ld * n) * sizeof(T));
  std::vector<int64_t> order(n);
  const Columns<T> q{memory.get<T>(), ld};
  std::fill_n(q.data, ld * n, T(0));
  std::vector<lapack::Int> infos(blocks);
  const auto each = [](int64_t count, double work, auto f) {
    parallel_for(
        count, 1,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) f(i);
        },
        work * static_cast<double>(count));
  };
  each(blocks, 1e5, [&](int64_t b) {
    const int64_t at = start(b), size = start(b + 1) - at;
    infos[b] = lapack::stedc(static_cast<lapack::Int>(size), diagonal + at, below + at,
                             q.at(at, at), q.step());
    std::iota(order.data() + at, order.data() + at + size, int64_t{0});
  });
  for (const lapack::Int info : infos)
    if (info != 0) return info;
  for (int64_t width = 1; width < blocks; width *= 2) {
    const int64_t pairs = blocks / (2 * width);
    const auto join = [&](int64_t pair) {
      const int64_t at = start(2 * pair * width), middle = start((2 * pair + 1) * width);
      const int64_t end = start((2 * pair + 2) * width);
      for (int64_t i = middle; i < end; ++i) order[i] += middle - at;
      const Joint<T> both(middle - at, end - at, below[middle - 1], diagonal + at,
                          {q.at(at, at), ld}, order.data() + at);
    };
    // Few pairs have their threads inside.
    if (pairs >= num_threads())
      each(pairs, static_cast<double>(n * n), join);
    else
      for (int64_t pair = 0; pair < pairs; ++pair) join(pair);
  }
  std::vector<T> values(diagonal, diagonal + n);
  for_column_blocks(0, n, static_cast<double>(n), [&](int64_t c, int64_t count) {
    for (int64_t j = c; j < c + count; ++j) {
      diagonal[j] = std::ldexp(values[order[j]], exponent);
      std::copy_n(q.at(0, order[j]), n, vectors.at(0, j));
    }
  });
  return 0;
}

}  // namespace mlx::core::cpu::linalg
