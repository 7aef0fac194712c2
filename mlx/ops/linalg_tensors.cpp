// Compositions of products, inverses and norms.
#include "mlx/ops/linalg_tensors.h"

#include <cmath>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/linalg.h"
#include "mlx/ops.h"

namespace mlx::core::linalg {

namespace {

array norm_of(const array& a, const NormOrder& order, StreamOrDevice s) {
  const std::vector<int> axes{-2, -1};
  if (auto* name = std::get_if<std::string>(&*order)) return norm(a, *name, axes, false, s);
  return norm(a, std::get<double>(*order), axes, false, s);
}

/// The cheapest division of each run of factors: where the last product is, by dynamic programming.
std::vector<std::vector<size_t>> divisions(const std::vector<int64_t>& lengths) {
  const size_t n = lengths.size() - 1;
  std::vector cost(n, std::vector<double>(n, 0));
  std::vector at(n, std::vector<size_t>(n, 0));
  for (size_t run = 1; run < n; ++run)
    for (size_t i = 0; i + run < n; ++i) {
      const size_t j = i + run;
      cost[i][j] = INFINITY;
      for (size_t k = i; k < j; ++k) {
        const double sides = static_cast<double>(lengths[i]) * static_cast<double>(lengths[j + 1]);
        const double all =
            cost[i][k] + cost[k + 1][j] + sides * static_cast<double>(lengths[k + 1]);
        if (all >= cost[i][j]) continue;
        cost[i][j] = all;
        at[i][j] = k;
      }
    }
  return at;
}

array product(const std::vector<array>& factors, const std::vector<std::vector<size_t>>& at,
              size_t i, size_t j, StreamOrDevice s) {
  if (i == j) return factors[i];
  const size_t k = at[i][j];
  return matmul(product(factors, at, i, k, s), product(factors, at, k + 1, j, s), s);
}

int64_t length_of(const Shape& shape, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t i = from; i < to; ++i) n *= shape[i];
  return n;
}

}  // namespace

array cond(const array& a, const NormOrder& order, StreamOrDevice s) {
  if (a.ndim() < 2)
    fail("linalg.cond", "an array of shape ", to_string(a.shape()),
         "; at least 2 axes are accepted");
  const Dtype t = at_least_float(a.dtype());
  const array x = astype(a, t.size() == 2 ? float32 : t, s);
  const auto* number = order ? std::get_if<double>(&*order) : nullptr;
  if (!order || (number && std::abs(*number) == 2)) {
    const array values = svd(x, false, s)[0];
    const array most = max(values, -1, false, s), least = min(values, -1, false, s);
    return number && *number < 0 ? divide(least, most, s) : divide(most, least, s);
  }
  return multiply(norm_of(x, order, s), norm_of(inv(x, s), order, s), s);
}

array multi_dot(const std::vector<array>& arrays, StreamOrDevice s) {
  if (arrays.size() < 2)
    fail("linalg.multi_dot", arrays.size(), " arrays; at least two are accepted");
  std::vector<array> factors = arrays;
  const bool row = factors.front().ndim() == 1, column = factors.back().ndim() == 1;
  if (row) factors.front() = expand_dims(factors.front(), 0, s);
  if (column) factors.back() = expand_dims(factors.back(), 1, s);
  std::vector<int64_t> lengths;
  for (const array& f : factors) {
    if (f.ndim() != 2)
      fail("linalg.multi_dot", "an array of shape ", to_string(f.shape()),
           "; matrices, and vectors at the ends, are accepted");
    note_shape_read(f);
    if (!lengths.empty() && lengths.back() != f.shape(0))
      fail("linalg.multi_dot", "a matrix of ", f.shape(0), " rows after one of ", lengths.back(),
           " columns; equal numbers are accepted");
    if (lengths.empty()) lengths.push_back(f.shape(0));
    lengths.push_back(f.shape(1));
  }
  array out = product(factors, divisions(lengths), 0, factors.size() - 1, s);
  if (column) out = squeeze(out, -1, s);
  return row ? squeeze(out, 0, s) : out;
}

array tensorinv(const array& a, int ind, StreamOrDevice s) {
  const auto n = static_cast<int>(a.ndim());
  if (ind < 1 || ind > n) fail("linalg.tensorinv", "ind ", ind, "; 1 to ", n, " are accepted");
  note_shape_read(a);
  const int64_t rows = length_of(a.shape(), 0, ind), columns = length_of(a.shape(), ind, n);
  if (rows != columns)
    fail("linalg.tensorinv", "a tensor of ", rows, " rows and ", columns,
         " columns; equal numbers are accepted");
  Shape shape(a.shape().begin() + ind, a.shape().end());
  shape.insert(shape.end(), a.shape().begin(), a.shape().begin() + ind);
  return reshape(inv(reshape(a, {rows, columns}, s), s), shape, s);
}

array tensorsolve(const array& a, const array& b, StreamOrDevice s) {
  note_shape_read(a);
  if (b.ndim() > a.ndim() || !std::equal(b.shape().begin(), b.shape().end(), a.shape().begin()))
    fail("linalg.tensorsolve", "shapes ", to_string(a.shape()), " and ", to_string(b.shape()),
         "; a tensor whose first axes are those of b is accepted");
  const int64_t rows = length_of(a.shape(), 0, b.ndim());
  const int64_t columns = length_of(a.shape(), b.ndim(), a.ndim());
  if (rows != columns)
    fail("linalg.tensorsolve", "a tensor of ", rows, " rows and ", columns,
         " columns; equal numbers are accepted");
  const array found = solve(reshape(a, {rows, columns}, s), reshape(b, {rows}, s), s);
  return reshape(found, Shape(a.shape().begin() + static_cast<int64_t>(b.ndim()), a.shape().end()),
                 s);
}

}  // namespace mlx::core::linalg
