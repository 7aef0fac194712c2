// Checks and compositions of array creation.
#include "mlx/ops/creation.h"

#include <cmath>

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/concat.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

array range(const ArangeAttrs& a, Stream s) {
  if (a.dtype == bool_) fail<ValueError>("arange", "dtype bool; number dtypes are accepted");
  return make_node(op_arange, Shape{a.size}, a.dtype, s, make_attrs(a));
}
Arrays build_arange(const Arrays&, const Attrs* attrs, Stream s) {
  return {range(attrs_as<ArangeAttrs>(attrs), s)};
}

bool generate_range(const Node& n, Generator& how) {
  const auto& a = attrs_as<ArangeAttrs>(n.attrs.get());
  how = {Generator::range, 1, a.start, a.step, a.int_start, a.int_step};
  return true;
}

int64_t saturated(double v) {
  return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : static_cast<int64_t>(v);
}

/// Row indices 0 .. n - 1 (plus `shift`) and column indices 0 .. m - 1 of an n by m matrix.
struct Grid {
  array rows, columns;
  Grid(int64_t n, int64_t m, int64_t shift, Stream s) {
    Dtype t = std::max(n, m) + std::abs(shift) < INT32_MAX ? int32 : int64;
    rows = expand_dims(arange(shift, shift + n, 1, t, s), 1, s);
    columns = arange(0, m, 1, t, s);
  }
};

void require_lengths(const char* op, int64_t n, int64_t m) {
  if (n < 0 || m < 0)
    fail<ValueError>(op, n, " by ", m, " elements; lengths from 0 up are accepted");
}

/// True on and below diagonal k.
array lower(int64_t n, int64_t m, int64_t k, Stream s) {
  if (s.device == Device::gpu || n == 0 || m == 0) {
    Grid grid(n, m, k, s);
    return greater_equal(grid.rows, grid.columns, s);
  }
  // Each row is the one above, shifted: a view of a line is read faster than positions are
  // compared, most of all where rows are short. A GPU has the positions, and would need a second
  // kernel.
  const array line = arange(1 - n, m, 1, n + m < INT32_MAX ? int32 : int64, s);
  return as_strided(less_equal(line, array(k, int64), s), {n, m}, {-1, 1}, n - 1, s);
}

/// A window of M points over angles 2 pi i / (M - 1).
template <class F>
array window(int M, StreamOrDevice stream, F&& of_angle) {
  Stream s = to_stream(stream);
  if (M < 1) return zeros({0}, float32, s);
  if (M == 1) return ones({1}, float32, s);
  array angle = arange(0.0, M, 1.0, float32, s) * (2 * M_PI / (M - 1));
  return of_angle(angle);
}

}  // namespace

constinit const OpDef op_arange{
    .name = "arange", .kind = OpKind::kernel, .build = build_arange, .generator = generate_range};

array integer_range(int64_t start, int64_t stop, int64_t step, Dtype dtype, StreamOrDevice s) {
  if (step == 0) fail<ValueError>("arange", "a step of 0; other steps are accepted");
  __int128 span = static_cast<__int128>(stop) - start;
  __int128 size =
      span == 0 || (span > 0) != (step > 0) ? 0 : (span + step - (step > 0 ? 1 : -1)) / step;
  if (size > INT64_MAX) fail<SizeError>("arange", "more than 2^63 - 1 elements");
  return range({static_cast<double>(start), static_cast<double>(step), start, step,
                static_cast<int64_t>(size), dtype},
               to_stream(s));
}
array arange(double start, double stop, double step, Dtype dtype, StreamOrDevice s) {
  if (step == 0) fail<ValueError>("arange", "a step of 0; other steps are accepted");
  double size = std::ceil((stop - start) / step);
  if (std::isinf(step) && std::isfinite(stop - start)) size = (stop - start) * step > 0;
  if (!std::isfinite(size) || std::isnan(step))
    fail<ValueError>("arange", "from ", start, " to ", stop, " by ", step,
                     "; a range with a number of elements is accepted");
  if (size >= 0x1p63) fail<SizeError>("arange", size, " elements; up to 2^63 - 1 are accepted");
  return range({start, step, saturated(start), saturated(step),
                std::max<int64_t>(0, static_cast<int64_t>(size)), dtype},
               to_stream(s));
}
array arange(double start, double stop, double step, StreamOrDevice s) {
  return arange(start, stop, step, float32, s);
}
array arange(double start, double stop, Dtype dtype, StreamOrDevice s) {
  return arange(start, stop, 1.0, dtype, s);
}
array arange(double start, double stop, StreamOrDevice s) {
  return arange(start, stop, 1.0, float32, s);
}
array arange(double stop, Dtype dtype, StreamOrDevice s) {
  return arange(0.0, stop, 1.0, dtype, s);
}
array arange(double stop, StreamOrDevice s) { return arange(0.0, stop, 1.0, float32, s); }
array arange(int start, int stop, int step, StreamOrDevice s) {
  return integer_range(start, stop, step, int32, s);
}
array arange(int start, int stop, StreamOrDevice s) { return arange(start, stop, 1, s); }
array arange(int stop, StreamOrDevice s) { return arange(0, stop, 1, s); }

array linspace(double start, double stop, int num, bool endpoint, Dtype dtype,
               StreamOrDevice stream) {
  if (num < 0) fail<ValueError>("linspace", num, " numbers; 0 or more are accepted");
  Stream s = to_stream(stream);
  Dtype t = dtype == float64 || dtype == complex128 ? float64 : float32;
  if (num == 1) return full({1}, constant(start, t), dtype, s);
  // Interpolated from both ends, so that each end is exact.
  array at = divide(arange(0.0, num, 1.0, t, s), constant(num - (endpoint ? 1 : 0), t), s);
  return cast_to((1 - at) * start + at * stop, dtype, s);
}
array linspace(double start, double stop, int num, Dtype dtype, StreamOrDevice s) {
  return linspace(start, stop, num, true, dtype, s);
}

array full(Shape shape, array vals, Dtype dtype, StreamOrDevice s) {
  for (int64_t n : shape)
    if (n < 0)
      fail<ValueError>("full", "shape ", to_string(shape), "; lengths from 0 up are accepted");
  return filled(astype(std::move(vals), dtype, s), shape, s);
}
array full(Shape shape, array vals, StreamOrDevice s) {
  Dtype dtype = vals.dtype();
  return full(std::move(shape), std::move(vals), dtype, s);
}
array full_like(const array& a, array vals, Dtype dtype, StreamOrDevice s) {
  return full(a.shape(), std::move(vals), dtype, s);
}
array full_like(const array& a, array vals, StreamOrDevice s) {
  return full(a.shape(), std::move(vals), a.dtype(), s);
}
array zeros(const Shape& shape, Dtype dtype, StreamOrDevice s) {
  return full(shape, constant(0.0, dtype), dtype, s);
}
array zeros(const Shape& shape, StreamOrDevice s) { return zeros(shape, float32, s); }
array zeros_like(const array& a, StreamOrDevice s) { return zeros(a.shape(), a.dtype(), s); }
array zeros_like(const array& a, Dtype dtype, StreamOrDevice s) {
  return zeros(a.shape(), dtype, s);
}
array ones(const Shape& shape, Dtype dtype, StreamOrDevice s) {
  return full(shape, constant(1.0, dtype), dtype, s);
}
array ones(const Shape& shape, StreamOrDevice s) { return ones(shape, float32, s); }
array ones_like(const array& a, StreamOrDevice s) { return ones(a.shape(), a.dtype(), s); }
array ones_like(const array& a, Dtype dtype, StreamOrDevice s) { return ones(a.shape(), dtype, s); }

array eye(int64_t n, int64_t m, int k, Dtype dtype, StreamOrDevice stream) {
  require_lengths("eye", n, m);
  Stream s = to_stream(stream);
  Grid grid(n, m, k, s);
  return cast_to(equal(grid.rows, grid.columns, s), dtype, s);
}
array eye(int n, Dtype dtype, StreamOrDevice s) { return eye(int64_t{n}, int64_t{n}, 0, dtype, s); }
array eye(int n, int m, StreamOrDevice s) { return eye(int64_t{n}, int64_t{m}, 0, float32, s); }
array eye(int n, int m, int k, StreamOrDevice s) {
  return eye(int64_t{n}, int64_t{m}, k, float32, s);
}
array eye(int n, StreamOrDevice s) { return eye(n, float32, s); }
array identity(int n, Dtype dtype, StreamOrDevice s) { return eye(n, dtype, s); }
array identity(int n, StreamOrDevice s) { return eye(n, float32, s); }

array tri(int64_t n, int64_t m, int k, Dtype type, StreamOrDevice stream) {
  Stream s = to_stream(stream);
  return cast_to(lower(std::max<int64_t>(0, n), std::max<int64_t>(0, m), k, s), type, s);
}
array tri(int n, Dtype type, StreamOrDevice s) { return tri(int64_t{n}, int64_t{n}, 0, type, s); }

namespace {
array triangle(const char* op, const array& x, int64_t k, bool below, StreamOrDevice stream) {
  if (x.ndim() < 2)
    fail<ValueError>(op, "an array with ", x.ndim(), " dimensions; two or more are accepted");
  Stream s = to_stream(stream);
  array mask = lower(x.shape(-2), x.shape(-1), k, s), zero = constant(0.0, x.dtype());
  return below ? where(mask, x, zero, s) : where(mask, zero, x, s);
}
}  // namespace

array tril(array x, int k, StreamOrDevice s) { return triangle("tril", x, k, true, s); }
array triu(array x, int k, StreamOrDevice s) {
  return triangle("triu", x, int64_t{k} - 1, false, s);
}

array diag(const array& a, int k, StreamOrDevice stream) {
  if (a.ndim() == 2) return diagonal(a, k, 0, 1, stream);
  if (a.ndim() != 1)
    fail<ValueError>("diag", "an array with ", a.ndim(), " dimensions; one or two are accepted");
  Stream s = to_stream(stream);
  int64_t low = std::max<int64_t>(0, -int64_t{k}), high = std::max(0, k);
  array v = pad(a, {0}, Shape{low}, Shape{high}, constant(0.0, a.dtype()), "constant", s);
  int64_t n = v.shape(0);
  return where(eye(n, n, k, bool_, s), expand_dims(v, 1, s), constant(0.0, a.dtype()), s);
}

std::vector<array> meshgrid(const std::vector<array>& arrays, bool sparse,
                            const std::string& indexing, StreamOrDevice s) {
  if (indexing != "xy" && indexing != "ij")
    fail<ValueError>("meshgrid", "indexing '", indexing, "'; 'xy' and 'ij' are accepted");
  size_t n = arrays.size();
  Arrays out;
  for (size_t i = 0; i < n; ++i) {
    size_t axis = indexing == "xy" && n > 1 && i < 2 ? 1 - i : i;
    Shape shape(n, 1);
    shape[axis] = static_cast<int64_t>(arrays[i].size());
    out.push_back(reshape(arrays[i], shape, s));
  }
  return sparse ? out : broadcast_arrays(out, s);
}

array hanning(int M, StreamOrDevice s) {
  return window(M, s, [](const array& t) { return 0.5 - 0.5 * cos(t); });
}
array hamming(int M, StreamOrDevice s) {
  return window(M, s, [](const array& t) { return 0.54 - 0.46 * cos(t); });
}
array blackman(int M, StreamOrDevice s) {
  return window(M, s, [](const array& t) { return 0.42 - 0.5 * cos(t) + 0.08 * cos(2.0 * t); });
}
array bartlett(int M, StreamOrDevice s) {
  return window(M, s, [](const array& t) { return 1.0 - abs(t * (1 / M_PI) - 1.0); });
}

}  // namespace mlx::core
