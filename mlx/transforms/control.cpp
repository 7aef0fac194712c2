// Control flow as programs ask for it: functions are traced, closed and put into nodes.
#include "mlx/transforms/control.h"

#include <algorithm>
#include <cstdint>

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/concat.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/view.h"
#include "mlx/transforms/closed.h"

namespace mlx::core {

namespace {

std::string type_text(const array& a) {
  return cat("shape ", to_string(a.shape()), " and dtype ", dtype_name(a.dtype()));
}

void check_same_types(const char* op, const char* what, const Arrays& given, const char* other,
                      const Arrays& expected) {
  if (given.size() != expected.size())
    fail<ValueError>(op, what, " of ", given.size(), " arrays and ", other, " of ", expected.size(),
                     "; as many are accepted");
  for (size_t k = 0; k < given.size(); ++k)
    if (given[k].shape() != expected[k].shape() || given[k].dtype() != expected[k].dtype())
      fail<ValueError>(op, what, " with array ", k, " of ", type_text(given[k]), ", and ", other,
                       " with ", type_text(expected[k]), "; equal shapes and dtypes are accepted");
}

int64_t scan_length(const Arrays& xs, std::optional<int64_t> given) {
  if (given && *given < 0)
    fail<ValueError>("scan", "length ", *given, "; lengths from 0 on are accepted");
  std::optional<int64_t> length = given;
  for (const array& x : xs) {
    if (x.ndim() == 0)
      fail<ValueError>("scan", "a scalar among xs; arrays with a first axis are accepted");
    note_shape_read(x);
    if (length && x.shape(0) != *length)
      fail<ValueError>("scan", "first axes of xs, or a length, of ", *length, " and ", x.shape(0),
                       "; equal lengths are accepted");
    length = x.shape(0);
  }
  if (!length)
    fail<ValueError>("scan", "neither xs nor a length; the number of iterations is needed");
  return *length;
}

Arrays slices_like(const Arrays& xs) {
  Arrays out = placeholders_like(xs);
  for (array& x : out) {
    Shape shape = x.shape();
    shape.erase(shape.begin());
    x.node()->shape = std::move(shape);
  }
  return out;
}

Stream stream_for(const Arrays& a, const Arrays& b = {}) {
  return !a.empty() ? stream_of(a[0]) : !b.empty() ? stream_of(b[0]) : to_stream({});
}

void check_scalar(const char* op, const char* what, const array& a, bool any_dtype) {
  const bool fits = any_dtype ? true : !is_inexact(a.dtype());
  if (a.ndim() != 0 || !fits)
    fail<ValueError>(op, what, " of ", type_text(a), "; ",
                     any_dtype ? "a scalar is accepted" : "an integer scalar is accepted");
}

}  // namespace

std::pair<Arrays, Arrays> scan(const ScanFunction& f, const Arrays& init, const Arrays& xs,
                               const ScanOptions& options) {
  const int64_t length = scan_length(xs, options.length);
  Arrays like = init;
  append(like, slices_like(xs));
  const size_t n = init.size();
  auto flat = [&](const Arrays& in) {
    auto [carried, slices] = f(part(in, 0, n), part(in, n, xs.size()));
    check_same_types("scan", "the function returned a carry", carried, "init is one", init);
    append(carried, slices);
    return carried;
  };
  ClosedFunction closed = trace_closed("scan", flat, like);
  ControlAttrs attrs;
  attrs.functions = {closed.function};
  attrs.shared = static_cast<int64_t>(closed.captured.size());
  attrs.carried = static_cast<int64_t>(n);
  attrs.length = length;
  attrs.reverse = options.reverse;
  attrs.checkpoint = options.checkpoint;
  Arrays inputs = std::move(closed.captured);
  append(inputs, init);
  append(inputs, xs);
  Arrays out = make_control(op_scan_loop, inputs, std::move(attrs), stream_for(init, xs));
  return {part(out, 0, n), part(out, n, out.size() - n)};
}

Arrays map(const Function& f, const Arrays& xs) {
  return scan([&](const Arrays&, const Arrays& x) { return std::pair(Arrays{}, f(x)); }, {}, xs)
      .second;
}

Arrays while_loop(const Function& condition, const Function& body, const Arrays& init) {
  if (init.empty()) fail<ValueError>("while_loop", "no array in init; at least one is accepted");
  auto test = [&](const Arrays& in) {
    Arrays holds = condition(in);
    if (holds.size() != 1 || holds[0].ndim() != 0)
      fail<ValueError>("while_loop", "a condition that returned ",
                       holds.size() == 1 ? type_text(holds[0]) : cat(holds.size(), " arrays"),
                       "; one scalar is accepted");
    return Arrays{astype(holds[0], bool_)};
  };
  auto checked = [&](const Arrays& in) {
    Arrays out = body(in);
    check_same_types("while_loop", "the body returned a value", out, "init is one", init);
    return out;
  };
  ClosedFunction first = trace_closed("while_loop", test, init);
  ClosedFunction second = trace_closed("while_loop", checked, init);
  ControlAttrs attrs;
  attrs.functions = {first.function, second.function};
  attrs.shared = static_cast<int64_t>(first.captured.size());
  attrs.shared_body = static_cast<int64_t>(second.captured.size());
  attrs.carried = static_cast<int64_t>(init.size());
  Arrays inputs = std::move(first.captured);
  append(inputs, second.captured);
  append(inputs, init);
  return make_control(op_while_loop, inputs, std::move(attrs), stream_for(init));
}

Arrays fori_loop(int64_t lower, int64_t upper, const CountedFunction& body, const Arrays& init) {
  if (lower < INT32_MIN || upper > INT32_MAX)
    fail<ValueError>("fori_loop", "bounds ", lower, " and ", upper,
                     "; bounds of 32 bits are accepted");
  const int64_t length = std::max<int64_t>(0, upper - lower);
  auto step = [&](const Arrays& carried, const Arrays& number) {
    return std::pair(body(number[0], carried), Arrays{});
  };
  const array numbers =
      arange(static_cast<double>(lower), static_cast<double>(lower + length), 1.0, int32);
  return scan(step, init, {numbers}).first;
}

Arrays fori_loop(const array& lower, const array& upper, const CountedFunction& body,
                 const Arrays& init) {
  check_scalar("fori_loop", "a lower bound", lower, false);
  check_scalar("fori_loop", "an upper bound", upper, false);
  Arrays all{astype(lower, int32), astype(upper, int32)};
  append(all, init);
  auto below = [](const Arrays& a) { return Arrays{less(a[0], a[1])}; };
  auto step = [&](const Arrays& a) {
    Arrays out{add(a[0], array(1, int32)), a[1]};
    Arrays next = body(a[0], part(a, 2, init.size()));
    check_same_types("fori_loop", "the body returned a value", next, "init is one", init);
    append(out, next);
    return out;
  };
  return part(while_loop(below, step, all), 2, init.size());
}

Arrays cond(const array& pred, const Function& true_fn, const Function& false_fn,
            const Arrays& operands) {
  check_scalar("cond", "a predicate", pred, true);
  return switch_branch(astype(astype(pred, bool_), int32), {false_fn, true_fn}, operands);
}

Arrays switch_branch(const array& index, const std::vector<Function>& branches,
                     const Arrays& operands) {
  if (branches.empty()) fail<ValueError>("switch", "no branch; at least one is accepted");
  check_scalar("switch", "an index", index, false);
  const array last(static_cast<int32_t>(branches.size() - 1), int32);
  const array zero(0, int32);
  const array number = astype(
      maximum(minimum(astype(index, int64), astype(last, int64)), astype(zero, int64)), int32);
  // An array that one function captures is an argument of all of them.
  ShapeWatch within;
  std::vector<Graph> graphs;
  Arrays captured;
  NodeSet seen;
  for (const Function& f : branches) {
    graphs.push_back(simplify(trace(f, operands, "switch")));
    if (graphs.size() > 1)
      check_same_types("switch", cat("branch ", graphs.size() - 1, " returned a value").c_str(),
                       graphs.back().outputs, "branch 0 one", graphs[0].outputs);
    for (const array& a : close("switch", graphs.back(), &within).captured)
      if (seen.emplace(a.node()).second) captured.push_back(a);
  }
  ControlAttrs attrs;
  for (const Graph& g : graphs) {
    Arrays inputs = captured;
    append(inputs, g.inputs);
    attrs.functions.push_back(
        close("switch", {std::move(inputs), g.outputs, {}}, &within).function);
  }
  Arrays inputs{number};
  append(inputs, captured);
  append(inputs, operands);
  return make_control(op_switch, inputs, std::move(attrs), stream_of(number));
}

namespace {

using Combine = std::function<Arrays(const Arrays&, const Arrays&)>;

/// Every `step`-th position of an axis from `first` up to `last`.
array positions(const array& a, int axis, int64_t first, int64_t last, int64_t step) {
  Shape start(a.ndim(), 0), stop = a.shape(), steps(a.ndim(), 1);
  start[axis] = first;
  stop[axis] = std::max(first, last);
  steps[axis] = step;
  return slice(a, start, stop, steps);
}

/// Positions of two arrays in turns; `even` has as many as `odd`, or one more.
array interleaved(const array& even, const array& odd, int axis) {
  const int64_t n = odd.shape(axis);
  const array pairs = stack({positions(even, axis, 0, n, 1), odd}, axis + 1);
  const array joined = flatten(pairs, axis, axis + 1);
  if (even.shape(axis) == n) return joined;
  return concatenate({joined, positions(even, axis, n, n + 1, 1)}, axis);
}

Arrays scan_pairs(const Combine& f, const Arrays& elems, int axis) {
  const int64_t n = elems[0].shape(axis);
  if (n < 2) return elems;
  auto each = [&](const Arrays& list, int64_t first, int64_t last, int64_t step) {
    Arrays out;
    for (const array& a : list) out.push_back(positions(a, axis, first, last, step));
    return out;
  };
  auto combined = [&](const Arrays& a, const Arrays& b) {
    Arrays out = f(a, b);
    check_same_types("associative_scan", "the function returned a value", out,
                     "its argument is one", a);
    return out;
  };
  // Sums of neighbours give every second result; one more combination each of the others.
  const Arrays odd = scan_pairs(f, combined(each(elems, 0, n - 1, 2), each(elems, 1, n, 2)), axis);
  const int64_t pairs = odd[0].shape(axis);
  const Arrays before = n % 2 == 0 ? each(odd, 0, pairs - 1, 1) : odd;
  Arrays even = each(elems, 0, 1, 1);
  if (n > 2) {
    const Arrays rest = combined(before, each(elems, 2, n, 2));
    for (size_t k = 0; k < even.size(); ++k) even[k] = concatenate({even[k], rest[k]}, axis);
  }
  Arrays out;
  for (size_t k = 0; k < even.size(); ++k) out.push_back(interleaved(even[k], odd[k], axis));
  return out;
}

}  // namespace

Arrays associative_scan(const Combine& f, const Arrays& elems, bool reverse, int axis) {
  if (elems.empty()) fail<ValueError>("associative_scan", "no array; at least one is accepted");
  Arrays list = elems;
  int at = axis;
  for (size_t k = 0; k < elems.size(); ++k) {
    const int rank = static_cast<int>(elems[k].ndim());
    if (axis < -rank || axis >= rank)
      fail<IndexError>("associative_scan", "axis ", axis, " of an array of shape ",
                       to_string(elems[k].shape()), "; ", -rank, " to ", rank - 1, " are accepted");
    at = axis < 0 ? axis + rank : axis;
    if (axis < 0 && rank != static_cast<int>(elems[0].ndim()))
      fail<ValueError>("associative_scan", "axis ", axis,
                       " of arrays of different ranks; an axis from 0 on is accepted");
    if (elems[k].shape(at) != elems[0].shape(at))
      fail<ValueError>("associative_scan", "axes of lengths ", elems[0].shape(at), " and ",
                       elems[k].shape(at), "; equal lengths are accepted");
    note_shape_read(elems[k]);
    if (reverse) list[k] = flip(elems[k], at);
  }
  list = scan_pairs(f, list, at);
  if (reverse)
    for (array& a : list) a = flip(a, at);
  return list;
}

}  // namespace mlx::core
