// Arrays made from numbers: fills, ranges, identity-like matrices, triangles, grids, windows.
#pragma once

#include <concepts>
#include <string>

#include "mlx/core/array.h"
#include "mlx/ops/elementwise.h"

namespace mlx::core {

/// start, start + step, .. below stop (above it for a negative step), each rounded once. Throws
/// ValueError for a step of 0 and a length that is no number.
array arange(double start, double stop, double step, Dtype dtype, StreamOrDevice s = {});
array arange(double start, double stop, double step, StreamOrDevice s = {});
array arange(double start, double stop, Dtype dtype, StreamOrDevice s = {});
array arange(double start, double stop, StreamOrDevice s = {});
array arange(double stop, Dtype dtype, StreamOrDevice s = {});
array arange(double stop, StreamOrDevice s = {});
array arange(int start, int stop, int step, StreamOrDevice s = {});
array arange(int start, int stop, StreamOrDevice s = {});
array arange(int stop, StreamOrDevice s = {});
/// The same over all of int64, exact.
array integer_range(int64_t start, int64_t stop, int64_t step, Dtype dtype, StreamOrDevice s = {});
template <std::integral A, std::integral B, std::integral C>
array arange(A start, B stop, C step, Dtype dtype, StreamOrDevice s = {}) {
  return integer_range(start, stop, step, dtype, s);
}
/// `num` numbers from start to stop, evenly spaced; stop is among them unless `endpoint` is false.
array linspace(double start, double stop, int num, bool endpoint, Dtype dtype = float32,
               StreamOrDevice s = {});
array linspace(double start, double stop, int num = 50, Dtype dtype = float32,
               StreamOrDevice s = {});

/// `vals`, cast and broadcast to a shape. Takes no memory until it must.
array full(Shape shape, array vals, Dtype dtype, StreamOrDevice s = {});
array full(Shape shape, array vals, StreamOrDevice s = {});
template <WeakScalar T>
array full(Shape shape, T val, Dtype dtype, StreamOrDevice s = {}) {
  return full(std::move(shape), array(val), dtype, s);
}
template <WeakScalar T>
array full(Shape shape, T val, StreamOrDevice s = {}) {
  return full(std::move(shape), array(val), s);
}
/// The same in the shape of `a`, and in its dtype where none is given.
array full_like(const array& a, array vals, Dtype dtype, StreamOrDevice s = {});
array full_like(const array& a, array vals, StreamOrDevice s = {});
template <WeakScalar T>
array full_like(const array& a, T val, Dtype dtype, StreamOrDevice s = {}) {
  return full_like(a, array(val), dtype, s);
}
template <WeakScalar T>
array full_like(const array& a, T val, StreamOrDevice s = {}) {
  return full_like(a, array(val), s);
}
array zeros(const Shape& shape, Dtype dtype, StreamOrDevice s = {});
array zeros(const Shape& shape, StreamOrDevice s = {});
array zeros_like(const array& a, StreamOrDevice s = {});
array zeros_like(const array& a, Dtype dtype, StreamOrDevice s = {});
array ones(const Shape& shape, Dtype dtype, StreamOrDevice s = {});
array ones(const Shape& shape, StreamOrDevice s = {});
array ones_like(const array& a, StreamOrDevice s = {});
array ones_like(const array& a, Dtype dtype, StreamOrDevice s = {});

/// An n by m matrix with ones on diagonal k, counted to the right of the main one.
array eye(int64_t n, int64_t m, int k, Dtype dtype, StreamOrDevice s = {});
array eye(int n, Dtype dtype, StreamOrDevice s = {});
array eye(int n, int m, StreamOrDevice s = {});
array eye(int n, int m, int k, StreamOrDevice s = {});
array eye(int n, StreamOrDevice s = {});
array identity(int n, Dtype dtype, StreamOrDevice s = {});
array identity(int n, StreamOrDevice s = {});
/// An n by m matrix with ones on diagonal k and below.
array tri(int64_t n, int64_t m, int k, Dtype type, StreamOrDevice s = {});
array tri(int n, Dtype type, StreamOrDevice s = {});
/// Matrices (the last two axes) with zeros above diagonal k, or below it.
array tril(array x, int k = 0, StreamOrDevice s = {});
array triu(array x, int k = 0, StreamOrDevice s = {});
/// A matrix with a vector on diagonal k, or diagonal k of a matrix.
array diag(const array& a, int k = 0, StreamOrDevice s = {});

/// Vectors as arrays over the grid that they span; `indexing` is "xy" (the first two axes swapped)
/// or "ij". Sparse ones keep length 1 along the other axes.
std::vector<array> meshgrid(const std::vector<array>& arrays, bool sparse = false,
                            const std::string& indexing = "xy", StreamOrDevice s = {});

/// Window functions of M points in float32.
array hanning(int M, StreamOrDevice s = {});
array hamming(int M, StreamOrDevice s = {});
array bartlett(int M, StreamOrDevice s = {});
array blackman(int M, StreamOrDevice s = {});

/// Element i is start + i * step: in integers for integer dtypes, else in double.
struct ArangeAttrs {
  double start, step;
  int64_t int_start, int_step, size;
  Dtype dtype;
  template <class F>
  void each(F&& f) {
    f("start", start);
    f("step", step);
    f("int_start", int_start);
    f("int_step", int_step);
    f("size", size);
    f("dtype", dtype);
  }
};

extern const OpDef op_arange;

}  // namespace mlx::core
