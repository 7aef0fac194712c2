// QR factors of large column-major matrices, by panels of reflectors.
#pragma once

#include <algorithm>
#include <cmath>

#include "mlx/backend/cpu/isa/small_systems.h"
#include "mlx/backend/cpu/linalg_blocked.h"

namespace mlx::core::cpu::linalg {

inline constexpr int64_t kReflected = 48;    // smaller matrices are not divided
inline constexpr int64_t kNarrowPanel = 32;  // columns of a panel: reflectors are made one by one

/// The QR factors of a small row-major matrix (m, n), in float64: q is (m, k) and r (k, n) with the
/// smaller number k. Returns false, where sums of squares have few digits or are not finite.
template <class T>
bool factor_small_qr(int64_t m, int64_t n, const T* in, T* q, T* r) {
  constexpr double kLeast = 1e-280, kMost = 1e280;
  const int64_t k = std::min(m, n);
  double a[kSmall][kSmall], x[kSmall][kSmall] = {}, factors[kSmall];  // column after column
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) a[j][i] = in[i * n + j];
  // Subtracts the part along the reflector of column j.
  const auto reflect = [&](int64_t j, double* column) {
    double along = column[j];
    for (int64_t i = j + 1; i < m; ++i) along += a[j][i] * column[i];
    along *= factors[j];
    column[j] -= along;
    for (int64_t i = j + 1; i < m; ++i) column[i] -= a[j][i] * along;
  };
  for (int64_t j = 0; j < k; ++j) {
    double* const v = a[j];
    double squares = 0;
    for (int64_t i = j + 1; i < m; ++i) squares += v[i] * v[i];
    const double all = squares + v[j] * v[j];
    if (!(all < kMost) || (all < kLeast && all > 0)) return false;
    factors[j] = 0;
    if (squares == 0) continue;
    const double length = -std::copysign(std::sqrt(all), v[j]);
    const double inverse = 1 / (v[j] - length);
    factors[j] = (length - v[j]) / length;
    for (int64_t i = j + 1; i < m; ++i) v[i] *= inverse;
    for (int64_t c = j + 1; c < n; ++c) reflect(j, a[c]);
    v[j] = length;
  }
  for (int64_t j = k; j-- > 0;) {
    x[j][j] = 1;
    for (int64_t c = j; c < k; ++c) reflect(j, x[c]);
  }
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < n; ++j) r[i * n + j] = i <= j ? static_cast<T>(a[j][i]) : T(0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < k; ++j) q[i * k + j] = static_cast<T>(x[j][i]);
  return true;
}

/// Products of reflectors by panels, whose columns are kept: H = I - V · T · Vᴴ of each.
template <class T>
class ReflectorPanels {
 public:
  /// Panels of `count` reflectors of vectors with m elements.
  ReflectorPanels(int64_t m, int64_t count)
      : m_(m),
        k_(count),
        vectors_(static_cast<size_t>(m * count) * sizeof(T)),
        triangles_(static_cast<size_t>(kNarrowPanel * count) * sizeof(T)) {}

  int64_t width(int64_t c) const { return std::min(kNarrowPanel, k_ - c); }
  /// The vectors of the panel at column c, from row c on.
  Columns<T> vectors(int64_t c) const { return {vectors_.template get<T>() + c * m_, m_}; }

  /// Completes the panel at column c, whose vectors are there.
  void make_triangle(int64_t c, const T* factors) {
    T products[kNarrowPanel * kNarrowPanel] = {};
    const Columns<T> v = vectors(c), t = triangle(c);
    add_product<T>(true, width(c), width(c), m_ - c, T(1), {v.data, m_}, {v.data, m_},
                   {products, kNarrowPanel});
    // Column j of T: -factor · T · (Vᴴ · v_j), with the factor itself on the diagonal.
    for (int64_t j = 0; j < width(c); ++j) {
      std::fill_n(t.at(0, j), kNarrowPanel, T(0));
      for (int64_t l = 0; l < j; ++l)
        for (int64_t i = 0; i <= l; ++i)
          *t.at(i, j) -= factors[j] * *t.at(i, l) * products[j * kNarrowPanel + l];
      *t.at(j, j) = factors[j];
    }
  }

  /// x = H · x, or Hᴴ · x, for the panel at column c and the rows from c on.
  void apply(bool adjoint, int64_t c, Columns<T> x, int64_t count) const {
    const int64_t rows = m_ - c;
    T first[kNarrowPanel * kPanel] = {}, second[kNarrowPanel * kPanel] = {};
    const Columns<T> one{first, kNarrowPanel}, two{second, kNarrowPanel};
    const Columns<const T> v{vectors(c).data, m_}, t{triangle(c).data, kNarrowPanel};
    add_product<T>(true, width(c), count, rows, T(1), v, {x.data, x.ld}, one);
    add_product<T>(adjoint, width(c), count, width(c), T(1), t, {first, kNarrowPanel}, two);
    add_product<T>(false, rows, count, width(c), T(-1), v, {second, kNarrowPanel}, x);
  }
  /// x = H · x for all panels up to the one that has reflector `last`.
  void apply_all(int64_t last, Columns<T> x, int64_t count) const {
    for (int64_t c = last / kNarrowPanel * kNarrowPanel; c >= 0; c -= kNarrowPanel)
      apply(false, c, {x.at(c, 0), x.ld}, count);
  }
  /// x = H · x for all panels and a square x; threads share its columns.
  void apply_to_square(Columns<T> x) const {
    for_column_blocks(0, m_, 2.0 * static_cast<double>(m_ * m_), [&](int64_t c, int64_t count) {
      apply_all(k_ - 1, {x.at(0, c), x.ld}, count);
    });
  }

 private:
  Columns<T> triangle(int64_t c) const {
    return {triangles_.template get<T>() + c * kNarrowPanel, kNarrowPanel};
  }

  int64_t m_, k_;
  Scratch vectors_, triangles_;
};

/// The reflectors of a QR factorisation.
template <class T>
class Reflectors {
 public:
  /// Factors a = Q · R with m rows in place of `a`, of which R stays above the diagonal.
  Reflectors(int64_t m, int64_t n, T* matrix)
      : m_(m), k_(std::min(m, n)), a_{matrix, m}, panels_(m, k_) {
    make_panel(0);
    for (int64_t c = 0; c < k_; c += kNarrowPanel) {
      const int64_t width = panels_.width(c), next = c + width;
      for_column_blocks(next, n, static_cast<double>(2 * width * (m_ - c)),
                        [&](int64_t j, int64_t count) {
                          panels_.apply(true, c, {a_.at(c, j), m_}, count);
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
      panels_.apply_all(std::min(j + count, k_) - 1, {q.at(0, j), m_}, count);
    });
  }

 private:
  void make_panel(int64_t c) {
    T factors[kNarrowPanel];
    lapack::geqrf(static_cast<lapack::Int>(m_ - c), static_cast<lapack::Int>(panels_.width(c)),
                  a_.at(c, c), factors, static_cast<lapack::Int>(m_));
    const Columns<T> v = panels_.vectors(c);
    for (int64_t j = 0; j < panels_.width(c); ++j) {
      std::fill(v.at(0, j), v.at(j, j), T(0));
      *v.at(j, j) = T(1);
      std::copy_n(a_.at(c + j + 1, c + j), m_ - c - j - 1, v.at(j + 1, j));
    }
    panels_.make_triangle(c, factors);
  }

  int64_t m_, k_;
  Columns<T> a_;
  ReflectorPanels<T> panels_;
};

}  // namespace mlx::core::cpu::linalg
