// Array creation: fills, ranges, identity-like matrices, triangles, grids, windows.
#pragma once

#include <concepts>
#include <string>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/elementwise.h"

namespace mlx::core {

/// start, start + step, .. below stop (above it for a negative step), each rounded once. Throws
/// ValueError for a step of 0 and if the length is not a number.
MLX_API array arange(double start, double stop, double step, Dtype dtype, StreamOrDevice s = {});
MLX_API array arange(double start, double stop, double step, StreamOrDevice s = {});
MLX_API array arange(double start, double stop, Dtype dtype, StreamOrDevice s = {});
MLX_API array arange(double start, double stop, StreamOrDevice s = {});
MLX_API array arange(double stop, Dtype dtype, StreamOrDevice s = {});
MLX_API array arange(double stop, StreamOrDevice s = {});
MLX_API array arange(int start, int stop, int step, StreamOrDevice s = {});
MLX_API array arange(int start, int stop, StreamOrDevice s = {});
MLX_API array arange(int stop, StreamOrDevice s = {});
/// The same for all of int64, exact.
MLX_API array integer_range(int64_t start, int64_t stop, int64_t step, Dtype dtype,
                            StreamOrDevice s = {});
template <std::integral A, std::integral B, std::integral C>
array arange(A start, B stop, C step, Dtype dtype, StreamOrDevice s = {}) {
  return integer_range(start, stop, step, dtype, s);
}
/// `num` numbers from start to stop, evenly spaced; stop is among them unless `endpoint` is false.
MLX_API array linspace(double start, double stop, int num, bool endpoint, Dtype dtype = float32,
                       StreamOrDevice s = {});
MLX_API array linspace(double start, double stop, int num = 50, Dtype dtype = float32,
                       StreamOrDevice s = {});

/// `vals`, cast and broadcast to a shape. A view until memory is needed.
MLX_API array full(Shape shape, array vals, Dtype dtype, StreamOrDevice s = {});
MLX_API array full(Shape shape, array vals, StreamOrDevice s = {});
template <WeakScalar T>
array full(Shape shape, T val, Dtype dtype, StreamOrDevice s = {}) {
  return full(std::move(shape), array(val, TypeToDtype<T>()), dtype, s);
}
template <WeakScalar T>
array full(Shape shape, T val, StreamOrDevice s = {}) {
  return full(std::move(shape), array(val), s);
}
/// The same in the shape of `a`, and in its dtype unless one is given.
MLX_API array full_like(const array& a, array vals, Dtype dtype, StreamOrDevice s = {});
MLX_API array full_like(const array& a, array vals, StreamOrDevice s = {});
template <WeakScalar T>
array full_like(const array& a, T val, Dtype dtype, StreamOrDevice s = {}) {
  return full_like(a, array(val, TypeToDtype<T>()), dtype, s);
}
template <WeakScalar T>
array full_like(const array& a, T val, StreamOrDevice s = {}) {
  return full_like(a, array(val), s);
}
MLX_API array zeros(const Shape& shape, Dtype dtype, StreamOrDevice s = {});
MLX_API array zeros(const Shape& shape, StreamOrDevice s = {});
MLX_API array zeros_like(const array& a, StreamOrDevice s = {});
MLX_API array zeros_like(const array& a, Dtype dtype, StreamOrDevice s = {});
MLX_API array ones(const Shape& shape, Dtype dtype, StreamOrDevice s = {});
MLX_API array ones(const Shape& shape, StreamOrDevice s = {});
MLX_API array ones_like(const array& a, StreamOrDevice s = {});
MLX_API array ones_like(const array& a, Dtype dtype, StreamOrDevice s = {});

/// An n by m matrix with ones on diagonal k (positive: above the main diagonal).
MLX_API array eye(int64_t n, int64_t m, int k, Dtype dtype, StreamOrDevice s = {});
MLX_API array eye(int n, Dtype dtype, StreamOrDevice s = {});
MLX_API array eye(int n, int m, StreamOrDevice s = {});
MLX_API array eye(int n, int m, int k, StreamOrDevice s = {});
MLX_API array eye(int n, StreamOrDevice s = {});
MLX_API array identity(int n, Dtype dtype, StreamOrDevice s = {});
MLX_API array identity(int n, StreamOrDevice s = {});
/// An n by m matrix with ones on and below diagonal k.
MLX_API array tri(int64_t n, int64_t m, int k, Dtype type, StreamOrDevice s = {});
MLX_API array tri(int n, Dtype type, StreamOrDevice s = {});
/// Matrices (the last two axes) with zeros above diagonal k (tril) or below it (triu).
MLX_API array tril(array x, int k = 0, StreamOrDevice s = {});
MLX_API array triu(array x, int k = 0, StreamOrDevice s = {});
/// A matrix with a vector on diagonal k, or diagonal k of a matrix.
MLX_API array diag(const array& a, int k = 0, StreamOrDevice s = {});

/// Vectors broadcast over the grid that they span; `indexing` is "xy" (the first two axes swapped)
/// or "ij". Sparse results keep length 1 along the other axes.
MLX_API std::vector<array> meshgrid(const std::vector<array>& arrays, bool sparse = false,
                                    const std::string& indexing = "xy", StreamOrDevice s = {});

/// Window functions of M points in float32.
MLX_API array hanning(int M, StreamOrDevice s = {});
MLX_API array hamming(int M, StreamOrDevice s = {});
MLX_API array bartlett(int M, StreamOrDevice s = {});
MLX_API array blackman(int M, StreamOrDevice s = {});

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
