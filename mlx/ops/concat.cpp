// Checks and compositions of concatenation, splitting, repetition and padding.
#include "mlx/ops/concat.h"

#include <numeric>

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

Arrays build_concatenate(const Arrays& in, const Attrs* attrs, Stream s) {
  return {concatenate(in, attrs_as<ConcatenateAttrs>(attrs).axis, s)};
}

/// Elements first, first + step, .. (`count` of them) along an axis.
array part(const array& a, int axis, int64_t first, int64_t count, int64_t step, Stream s) {
  Shape start(a.ndim(), 0), stop = a.shape(), strides(a.ndim(), 1);
  int64_t end = first + count * step;
  start[axis] = first;
  stop[axis] = end < 0 ? -a.shape()[axis] - 1 : end;
  strides[axis] = step;
  return slice(a, start, stop, strides, s);
}

array moved(const array& a, int64_t shift, int axis, Stream s) {
  int64_t n = a.shape()[axis];
  if (n == 0) return a;
  int64_t first = (n - shift % n) % n;  // start of the part that moves to the front
  if (first == 0) return a;
  return concatenate({part(a, axis, first, n - first, 1, s), part(a, axis, 0, first, 1, s)}, axis,
                     s);
}

enum class PadMode { constant, edge, reflect, symmetric };

PadMode pad_mode(const std::string& name) {
  if (name == "constant") return PadMode::constant;
  if (name == "edge") return PadMode::edge;
  if (name == "reflect") return PadMode::reflect;
  if (name == "symmetric") return PadMode::symmetric;
  fail<ValueError>("pad", "mode '", name,
                   "'; 'constant', 'edge', 'reflect' and 'symmetric' are accepted");
}

/// The source index of padded element `i`, relative to indices 0 to n - 1.
int64_t padded_source(PadMode mode, int64_t i, int64_t n) {
  if (mode == PadMode::edge || n == 1) return std::clamp<int64_t>(i, 0, n - 1);
  int64_t repeated = mode == PadMode::symmetric ? 1 : 0;  // whether the image repeats the edge
  int64_t period = 2 * (n - 1 + repeated);
  int64_t at = ((i % period) + period) % period;
  return at < n ? at : period - at - repeated;
}

/// One axis padded with copies of the array's elements, taken in ascending, descending or constant
/// runs.
array pad_axis(const array& a, int axis, int64_t low, int64_t high, PadMode mode, Stream s) {
  int64_t n = a.shape()[axis];
  if (low + high == 0) return a;
  if (n == 0)
    fail<ValueError>("pad", "an axis of length 0 with another mode than 'constant'; ",
                     "an axis with elements is accepted");
  Arrays pieces;
  auto add_run = [&](int64_t first, int64_t count, int64_t step) {
    if (step != 0) return pieces.push_back(part(a, axis, first, count, step, s));
    Shape shape = a.shape();
    shape[axis] = count;
    pieces.push_back(broadcast_to(part(a, axis, first, 1, 1, s), shape, s));
  };
  auto add_side = [&](int64_t from, int64_t to) {
    for (int64_t i = from, next; i < to; i = next) {
      int64_t first = padded_source(mode, i, n), step = 0;
      next = i + 1;
      if (next < to) step = padded_source(mode, next, n) - first;
      while (next < to && padded_source(mode, next, n) - padded_source(mode, next - 1, n) == step)
        ++next;
      add_run(first, next - i, next - i == 1 ? 1 : step);
    }
  };
  add_side(-low, 0);
  pieces.push_back(a);
  add_side(n, n + high);
  return concatenate(std::move(pieces), axis, s);
}

}  // namespace

constinit const OpDef op_concatenate{.name = "concatenate",
                                     .kind = OpKind::kernel,
                                     .linearity = Linearity::linear,
                                     .shapeless = true,
                                     .build = build_concatenate,
                                     .vjp = rules::concatenate_vjp,
                                     .vmap = rules::concatenate_vmap};

array concatenate(std::vector<array> arrays, int axis, StreamOrDevice stream) {
  if (arrays.empty()) fail<ValueError>("concatenate", "no arrays; at least one is accepted");
  const array& first = arrays[0];
  int at = normalize_axis(axis, first.ndim(), "concatenate");
  Shape shape = first.shape();
  Dtype dtype = first.dtype();
  for (size_t i = 1; i < arrays.size(); ++i) {
    const Shape& other = arrays[i].shape();
    bool fits = other.size() == shape.size();
    for (size_t k = 0; fits && k < shape.size(); ++k)
      fits = k == static_cast<size_t>(at) || other[k] == shape[k];
    if (!fits)
      fail<ValueError>("concatenate", "arrays of shapes ", to_string(first.shape()), " and ",
                       to_string(other), " along axis ", at, "; the other lengths must agree");
    if (__builtin_add_overflow(shape[at], other[at], &shape[at]))
      fail<SizeError>("concatenate", "a length above 2^63 - 1");
    dtype = promote_types(dtype, arrays[i].dtype());
  }
  Stream s = to_stream(stream);
  for (array& a : arrays) a = cast_to(a, dtype, s);
  if (arrays.size() == 1) return arrays[0];
  num_elements(shape);
  return make_node(op_concatenate, std::move(shape), dtype, s, arrays,
                   make_attrs(ConcatenateAttrs{at}));
}
array concatenate(std::vector<array> arrays, StreamOrDevice s) {
  for (array& a : arrays) a = reshape(a, {-1}, s);
  return concatenate(std::move(arrays), 0, s);
}

array stack(const std::vector<array>& arrays, int axis, StreamOrDevice stream) {
  if (arrays.empty()) fail<ValueError>("stack", "no arrays; at least one is accepted");
  int at = normalize_axis(axis, arrays[0].ndim() + 1, "stack");
  Stream s = to_stream(stream);
  Arrays grown;
  for (const array& a : arrays) {
    if (a.shape() != arrays[0].shape())
      fail<ValueError>("stack", "arrays of shapes ", to_string(arrays[0].shape()), " and ",
                       to_string(a.shape()), "; arrays of one shape are accepted");
    grown.push_back(expand_dims(a, at, s));
  }
  return concatenate(std::move(grown), at, s);
}
array stack(const std::vector<array>& arrays, StreamOrDevice s) { return stack(arrays, 0, s); }

std::vector<array> split(const array& a, int num_splits, int axis, StreamOrDevice stream) {
  int at = normalize_axis(axis, a.ndim(), "split");
  int64_t n = a.shape()[at];
  if (num_splits <= 0) fail<ValueError>("split", num_splits, " parts; one or more are accepted");
  if (n % num_splits)
    fail<ValueError>("split", num_splits, " parts of axis ", at, " of shape ", to_string(a.shape()),
                     "; a divisor of ", n, " is accepted");
  Stream s = to_stream(stream);
  Arrays out;
  for (int64_t i = 0, each = n / num_splits; i < num_splits; ++i)
    out.push_back(part(a, at, i * each, each, 1, s));
  return out;
}
std::vector<array> split(const array& a, int num_splits, StreamOrDevice s) {
  return split(a, num_splits, 0, s);
}

std::vector<array> split(const array& a, const Shape& indices, int axis, StreamOrDevice stream) {
  int at = normalize_axis(axis, a.ndim(), "split");
  int64_t n = a.shape()[at];
  Stream s = to_stream(stream);
  auto clamped = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  Arrays out;
  for (size_t i = 0; i <= indices.size(); ++i) {
    int64_t from = i ? clamped(indices[i - 1]) : 0;
    int64_t to = i < indices.size() ? clamped(indices[i]) : n;
    out.push_back(part(a, at, from, std::max<int64_t>(0, to - from), 1, s));
  }
  return out;
}
std::vector<array> split(const array& a, const Shape& indices, StreamOrDevice s) {
  return split(a, indices, 0, s);
}

array repeat(const array& arr, int repeats, int axis, StreamOrDevice s) {
  int at = normalize_axis(axis, arr.ndim(), "repeat");
  if (repeats < 0) fail<ValueError>("repeat", repeats, " repeats; 0 or more are accepted");
  if (repeats == 1) return arr;
  array grown = expand_dims(arr, at + 1, s);
  Shape shape = grown.shape();
  shape[at + 1] = repeats;
  return flatten(broadcast_to(grown, shape, s), at, at + 1, s);
}
array repeat(const array& arr, int repeats, StreamOrDevice s) {
  return repeat(reshape(arr, {-1}, s), repeats, 0, s);
}

array tile(const array& arr, std::vector<int> reps, StreamOrDevice s) {
  for (int r : reps)
    if (r < 0) fail<ValueError>("tile", r, " repetitions; 0 or more are accepted");
  size_t ndim = std::max(arr.ndim(), reps.size());
  Shape shape(ndim - arr.ndim(), 1);
  shape.insert(shape.end(), arr.shape().begin(), arr.shape().end());
  reps.insert(reps.begin(), ndim - reps.size(), 1);
  // A repetition axis is inserted before each axis, then both are merged.
  Shape apart, repeated, result;
  for (size_t i = 0; i < ndim; ++i) {
    if (reps[i] != 1) {
      apart.push_back(1);
      repeated.push_back(reps[i]);
    }
    apart.push_back(shape[i]);
    repeated.push_back(shape[i]);
    if (__builtin_mul_overflow(shape[i], static_cast<int64_t>(reps[i]), &shape[i]))
      fail<SizeError>("tile", "a length above 2^63 - 1");
  }
  return reshape(broadcast_to(reshape(arr, apart, s), repeated, s), shape, s);
}

array pad(const array& a, const std::vector<int>& axes, const Shape& low_pad_size,
          const Shape& high_pad_size, const array& pad_value, const std::string& mode,
          StreamOrDevice stream) {
  if (low_pad_size.size() != axes.size() || high_pad_size.size() != axes.size())
    fail<ValueError>("pad", low_pad_size.size(), " low and ", high_pad_size.size(),
                     " high widths for ", axes.size(), " axes; one of each an axis is accepted");
  PadMode how = pad_mode(mode);
  normalize_axes(axes, a.ndim(), "pad");
  Shape shape = a.shape(), low(a.ndim(), 0), stop = a.shape();
  for (size_t i = 0; i < axes.size(); ++i) {
    int at = normalize_axis(axes[i], a.ndim(), "pad");
    if (low_pad_size[i] < 0 || high_pad_size[i] < 0)
      fail<ValueError>("pad", "widths ", low_pad_size[i], " and ", high_pad_size[i], " on axis ",
                       at, "; widths from 0 up are accepted");
    if (__builtin_add_overflow(shape[at], low_pad_size[i], &shape[at]) ||
        __builtin_add_overflow(shape[at], high_pad_size[i], &shape[at]))
      fail<SizeError>("pad", "a length above 2^63 - 1 on axis ", at);
    low[at] = low_pad_size[i];
    stop[at] += low_pad_size[i];
  }
  if (shape == a.shape()) return a;
  Stream s = to_stream(stream);
  if (how == PadMode::constant) {
    if (pad_value.size() != 1)
      fail<ValueError>("pad", "a value of shape ", to_string(pad_value.shape()),
                       "; one element is accepted");
    array filled = full(shape, reshape(pad_value, Shape{}, s), a.dtype(), s);
    return slice_update(filled, a, low, stop, s);
  }
  array out = a;
  for (int i = 0; i < static_cast<int>(a.ndim()); ++i)
    out = pad_axis(out, i, low[i], shape[i] - stop[i], how, s);
  return out;
}
array pad(const array& a, const std::vector<std::pair<int, int>>& pad_width, const array& pad_value,
          const std::string& mode, StreamOrDevice s) {
  if (pad_width.size() != a.ndim() && pad_width.size() != 1)
    fail<ValueError>("pad", pad_width.size(), " pairs of widths for an array with ", a.ndim(),
                     " dimensions; one pair, or one for each axis, is accepted");
  std::vector<int> axes(a.ndim());
  std::iota(axes.begin(), axes.end(), 0);
  Shape low, high;
  for (size_t i = 0; i < a.ndim(); ++i) {
    low.push_back(pad_width[pad_width.size() == 1 ? 0 : i].first);
    high.push_back(pad_width[pad_width.size() == 1 ? 0 : i].second);
  }
  return pad(a, axes, low, high, pad_value, mode, s);
}
array pad(const array& a, const std::pair<int, int>& pad_width, const array& pad_value,
          const std::string& mode, StreamOrDevice s) {
  return pad(a, std::vector<std::pair<int, int>>{pad_width}, pad_value, mode, s);
}
array pad(const array& a, int pad_width, const array& pad_value, const std::string& mode,
          StreamOrDevice s) {
  return pad(a, std::pair<int, int>{pad_width, pad_width}, pad_value, mode, s);
}

array roll(const array& a, int shift, StreamOrDevice s) { return roll(a, Shape{shift}, s); }
array roll(const array& a, const Shape& shift, StreamOrDevice s) {
  int64_t total = std::accumulate(shift.begin(), shift.end(), int64_t{0});
  array flat = moved(reshape(a, {-1}, s), total, 0, to_stream(s));
  return reshape(flat, a.shape(), s);
}
array roll(const array& a, int shift, int axis, StreamOrDevice s) {
  return roll(a, Shape{shift}, std::vector<int>{axis}, s);
}
array roll(const array& a, int shift, const std::vector<int>& axes, StreamOrDevice s) {
  return roll(a, Shape(axes.size(), shift), axes, s);
}
array roll(const array& a, const Shape& shift, int axis, StreamOrDevice s) {
  return roll(a, shift, std::vector<int>(shift.size(), axis), s);
}
array roll(const array& a, const Shape& shift, const std::vector<int>& axes,
           StreamOrDevice stream) {
  Stream s = to_stream(stream);
  if (axes.size() != shift.size() && axes.size() != 1)
    fail<ValueError>("roll", shift.size(), " shifts for ", axes.size(),
                     " axes; one axis, or one for each shift, is accepted");
  array out = a;
  for (size_t i = 0; i < shift.size(); ++i) {
    int axis = axes[axes.size() == 1 ? 0 : i];
    out = moved(out, shift[i], normalize_axis(axis, a.ndim(), "roll"), s);
  }
  return out;
}

array kron(const array& a, const array& b, StreamOrDevice s) {
  size_t ndim = std::max(a.ndim(), b.ndim());
  Shape left, right, result;
  for (size_t i = 0; i < ndim; ++i) {
    int64_t m = i + a.ndim() < ndim ? 1 : a.shape()[i + a.ndim() - ndim];
    int64_t n = i + b.ndim() < ndim ? 1 : b.shape()[i + b.ndim() - ndim];
    left.push_back(m);
    left.push_back(1);
    right.push_back(1);
    right.push_back(n);
    result.push_back(m * n);
  }
  return reshape(multiply(reshape(a, left, s), reshape(b, right, s), s), result, s);
}

}  // namespace mlx::core
