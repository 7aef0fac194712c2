// Checks, dtypes and shapes of the reductions.
#include "mlx/ops/reduce.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/sort.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

constexpr const char* kReductionNames[] = {"sum", "mean", "prod",   "max",   "min",
                                           "all", "any",  "argmax", "argmin"};
const char* reduction_name(Reduction kind) { return kReductionNames[static_cast<int>(kind)]; }

Dtype reduced_dtype(Reduction kind, Dtype t) {
  switch (kind) {
    case Reduction::sum:
    case Reduction::prod:
      if (t == bool_ || t == int8 || t == int16) return int32;
      return t == uint8 || t == uint16 ? uint32 : t;
    case Reduction::mean:
      return at_least_float(t);
    case Reduction::all:
    case Reduction::any:
      return bool_;
    case Reduction::max:
    case Reduction::min:
      return t;
    default:
      return uint32;
  }
}

Arrays build_reduce(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<ReduceAttrs>(attrs);
  return {reduce(in[0], a.kind, a.axes, a.keepdims, s)};
}

array arg_reduce(const array& a, Reduction kind, const std::vector<int>& given, bool keepdims,
                 StreamOrDevice s) {
  auto axes = normalize_axes(given, static_cast<int64_t>(a.ndim()), reduction_name(kind));
  if (a.size() == 0)
    fail(reduction_name(kind), "an array of shape ", to_string(a.shape()),
         ", which is empty; at least one element is needed");
  int64_t n = 1;
  for (int axis : axes) n *= a.shape()[axis];
  if (n > int64_t{std::numeric_limits<uint32_t>::max()} + 1)
    fail<SizeError>(reduction_name(kind), n, " elements along the axis; positions are uint32");
  return make_node(op_arg_reduce, reduced_shape(a.shape(), axes, keepdims), uint32, to_stream(s),
                   make_attrs(ReduceAttrs{kind, axes, keepdims}), a);
}
Arrays build_arg_reduce(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<ReduceAttrs>(attrs);
  return {arg_reduce(in[0], a.kind, a.axes, a.keepdims, s)};
}

}  // namespace

constinit const OpDef op_reduce{.name = "reduce",
                                .kind = OpKind::kernel,
                                .shapeless = true,
                                .build = build_reduce,
                                .vjp = rules::reduce_vjp,
                                .jvp = rules::reduce_jvp,
                                .vmap = rules::reduce_vmap};
constinit const OpDef op_arg_reduce{.name = "arg_reduce",
                                    .kind = OpKind::kernel,
                                    .shapeless = true,
                                    .build = build_arg_reduce,
                                    .vjp = rules::flat_vjp,
                                    .jvp = rules::flat_jvp,
                                    .vmap = rules::arg_reduce_vmap};

array number_of_elements(const array& a, std::vector<int> axes, bool inverted, Dtype dtype,
                         StreamOrDevice s) {
  note_shape_read(a);
  int64_t count = 1;
  for (int axis : normalize_axes(axes, static_cast<int64_t>(a.ndim()), "number_of_elements"))
    count *= a.shape()[axis];
  return inverted ? full({}, 1.0 / static_cast<double>(count), dtype, s)
                  : full({}, count, dtype, s);
}

std::vector<int> all_axes(const array& a) {
  std::vector<int> axes(a.ndim());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Shape reduced_shape(const Shape& shape, const std::vector<int>& axes, bool keepdims) {
  Shape out;
  for (size_t i = 0, k = 0; i < shape.size(); ++i) {
    if (k < axes.size() && axes[k] == static_cast<int>(i)) {
      ++k;
      if (keepdims) out.push_back(1);
    } else {
      out.push_back(shape[i]);
    }
  }
  return out;
}

array with_reduced_axes(const array& y, const std::vector<int>& axes, bool keepdims, Stream s) {
  return keepdims || axes.empty() ? y : expand_dims(y, axes, s);
}

array reduce(const array& a, Reduction kind, const std::vector<int>& given, bool keepdims,
             StreamOrDevice s) {
  auto axes = normalize_axes(given, static_cast<int64_t>(a.ndim()), reduction_name(kind));
  Stream stream = to_stream(s);
  const Dtype dtype = reduced_dtype(kind, a.dtype());
  if (axes.empty()) return cast_to(a, dtype, stream);
  Shape shape = reduced_shape(a.shape(), axes, keepdims);
  if (kind == Reduction::max || kind == Reduction::min) {
    for (int axis : axes) {
      if (a.shape()[axis] == 0)
        fail(reduction_name(kind), "axis ", axis, " of length 0 in shape ", to_string(a.shape()),
             "; at least one element is needed");
    }
  }
  return make_node(op_reduce, std::move(shape), dtype, stream,
                   make_attrs(ReduceAttrs{kind, std::move(axes), keepdims}), a);
}

#define MLX_OVERLOADS(name)                                                               \
  array name(const array& a, bool keepdims, StreamOrDevice s) {                           \
    return name(a, all_axes(a), keepdims, s);                                             \
  }                                                                                       \
  array name(const array& a, StreamOrDevice s) { return name(a, all_axes(a), false, s); } \
  array name(const array& a, int axis, bool keepdims, StreamOrDevice s) {                 \
    return name(a, std::vector<int>{axis}, keepdims, s);                                  \
  }
#define MLX_REDUCTION(name)                                                                   \
  array name(const array& a, const std::vector<int>& axes, bool keepdims, StreamOrDevice s) { \
    return reduce(a, Reduction::name, axes, keepdims, s);                                     \
  }                                                                                           \
  MLX_OVERLOADS(name)
MLX_REDUCTION(sum)
MLX_REDUCTION(prod)
MLX_REDUCTION(max)
MLX_REDUCTION(min)
MLX_REDUCTION(all)
MLX_REDUCTION(any)
MLX_REDUCTION(mean)
#undef MLX_REDUCTION

array count_nonzero(const array& a, const std::vector<int>& axes, bool keepdims, StreamOrDevice s) {
  normalize_axes(axes, static_cast<int64_t>(a.ndim()), "count_nonzero");
  return sum(astype(a, bool_, s), axes, keepdims, s);
}
MLX_OVERLOADS(count_nonzero)

array median(const array& a, const std::vector<int>& given, bool keepdims, StreamOrDevice s) {
  auto axes = normalize_axes(given, static_cast<int64_t>(a.ndim()), "median");
  Stream st = to_stream(s);
  array x = cast_to(a, at_least_float(a.dtype()), st);
  if (axes.empty()) return x;
  Shape kept = reduced_shape(a.shape(), axes, false);
  int64_t n = 1;
  for (int axis : axes) n *= a.shape()[axis];
  if (n == 0)
    fail("median", "no elements in shape ", to_string(a.shape()), "; at least one is needed");
  // The reduced axes are merged into the last axis.
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(a.ndim()); ++i)
    if (!std::binary_search(axes.begin(), axes.end(), i)) order.push_back(i);
  order.insert(order.end(), axes.begin(), axes.end());
  Shape rows = kept;
  rows.push_back(n);
  x = reshape(transpose(x, order, st), rows, st);
  if (num_elements(kept) == 0)
    return zeros(reduced_shape(a.shape(), axes, keepdims), x.dtype(), st);
  x = sort(x, -1, st);
  auto columns = [&](int64_t from, int64_t to) {
    Shape start(rows.size(), 0), stop = rows;
    start.back() = from, stop.back() = to;
    return slice(x, start, stop, st);
  };
  // NaN is sorted last.
  array last = squeeze(columns(n - 1, n), -1, st);
  array middle = mean(columns((n - 1) / 2, n / 2 + 1), -1, false, st);
  array y = where(isnan(last, st), last, middle, st);
  return keepdims ? expand_dims(y, axes, st) : y;
}
MLX_OVERLOADS(median)
#undef MLX_OVERLOADS

array variance(const array& a, const std::vector<int>& given, bool keepdims, double correction,
               double beyond, StreamOrDevice s) {
  auto axes = normalize_axes(given, static_cast<int64_t>(a.ndim()), "var");
  Stream st = to_stream(s);
  const Dtype dtype = at_least_float(a.dtype());
  const bool narrow = dtype == float16 || dtype == bfloat16;
  array x = cast_to(a, narrow ? float32 : dtype, st);
  array d = subtract(x, mean(x, axes, true, st), st);
  array squares =
      is_complex(dtype) ? add(square(real(d, st), st), square(imag(d, st), st), st) : square(d, st);
  array y = mean(squares, axes, keepdims, st);
  if (correction != 0) {
    double n = 1;
    note_shape_read(a);
    for (int axis : axes) n *= static_cast<double>(a.shape()[axis]);
    const double scale = n > correction ? n / (n - correction) : beyond;
    y = multiply(y, constant(scale, y.dtype()), st);
  }
  return narrow ? cast_to(y, dtype, st) : y;
}
array var(const array& a, const std::vector<int>& axes, bool keepdims, int ddof, StreamOrDevice s) {
  return variance(a, axes, keepdims, ddof, std::numeric_limits<double>::infinity(), s);
}
array std(const array& a, const std::vector<int>& axes, bool keepdims, int ddof, StreamOrDevice s) {
  normalize_axes(axes, static_cast<int64_t>(a.ndim()), "std");
  return sqrt(var(a, axes, keepdims, ddof, s), s);
}
#define MLX_OVERLOADS(name)                                                                  \
  array name(const array& a, bool keepdims, int ddof, StreamOrDevice s) {                    \
    return name(a, all_axes(a), keepdims, ddof, s);                                          \
  }                                                                                          \
  array name(const array& a, StreamOrDevice s) { return name(a, all_axes(a), false, 0, s); } \
  array name(const array& a, int axis, bool keepdims, int ddof, StreamOrDevice s) {          \
    return name(a, std::vector<int>{axis}, keepdims, ddof, s);                               \
  }
MLX_OVERLOADS(var)
MLX_OVERLOADS(std)
#undef MLX_OVERLOADS

std::tuple<array, array> minmax(const array& a, const std::vector<int>& axes, bool keepdims,
                                StreamOrDevice s) {
  return {min(a, axes, keepdims, s), max(a, axes, keepdims, s)};
}
std::tuple<array, array> minmax(const array& a, bool keepdims, StreamOrDevice s) {
  return minmax(a, all_axes(a), keepdims, s);
}
std::tuple<array, array> minmax(const array& a, StreamOrDevice s) {
  return minmax(a, all_axes(a), false, s);
}
std::tuple<array, array> minmax(const array& a, int axis, bool keepdims, StreamOrDevice s) {
  return minmax(a, std::vector<int>{axis}, keepdims, s);
}

#define MLX_ARG_REDUCTION(name)                                              \
  array name(const array& a, bool keepdims, StreamOrDevice s) {              \
    return arg_reduce(a, Reduction::name, all_axes(a), keepdims, s);         \
  }                                                                          \
  array name(const array& a, StreamOrDevice s) { return name(a, false, s); } \
  array name(const array& a, int axis, bool keepdims, StreamOrDevice s) {    \
    return arg_reduce(a, Reduction::name, {axis}, keepdims, s);              \
  }
MLX_ARG_REDUCTION(argmax)
MLX_ARG_REDUCTION(argmin)
#undef MLX_ARG_REDUCTION

}  // namespace mlx::core
