// Checks and dtypes of counting ops.
#include "mlx/ops/counting.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

Arrays build_count(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<CountAttrs>(attrs);
  const size_t bounds = a.bins != Bins::values;
  auto at = [&](size_t i, bool there) { return there ? std::optional(in[i]) : std::nullopt; };
  return {count(in[0], at(1, bounds), at(1 + bounds, in.size() > 1 + bounds), a, s)};
}

/// The weights of the elements of `a`, with its shape; bools are counted.
std::optional<array> weights_of(const char* op, const array& a, const std::optional<array>& weights,
                                StreamOrDevice s) {
  if (!weights) return {};
  if (weights->shape() != a.shape())
    fail(op, "weights of shape ", to_string(weights->shape()), " for an array of shape ",
         to_string(a.shape()), "; equal shapes are accepted");
  return astype(*weights, weights->dtype() == bool_ ? int32 : weights->dtype(), s);
}

/// Edges of bins of equal width.
array even_edges(const array& x, int64_t bins, const HistogramRange& range, StreamOrDevice s) {
  // 16-bit floats cannot represent the intermediate numbers.
  const Dtype result = at_least_float(x.dtype()), t = promote_types(result, float32);
  array low = constant(0, t), high = constant(1, t);
  if (range) {
    if (!(range->first <= range->second) || !std::isfinite(range->second - range->first))
      fail("histogram", "a range from ", range->first, " to ", range->second,
           "; finite numbers in ascending order are accepted");
    low = constant(range->first, t);
    high = constant(range->second, t);
  } else if (x.size() > 0) {
    low = astype(min(x, s), t, s);
    high = astype(max(x, s), t, s);
  }
  const array half = where(equal(low, high, s), constant(0.5, t), constant(0, t), s);
  low = subtract(low, half, s);
  high = add(high, half, s);
  const array i = astype(integer_range(0, bins + 1, 1, int64, s), t, s);
  const array part = divide(i, constant(static_cast<double>(bins), t), s);
  const array inner = add(low, multiply(subtract(high, low, s), part, s), s);
  // The last edge is exactly the largest element, independent of rounding.
  return astype(where(equal(i, constant(static_cast<double>(bins), t), s), high, inner, s), result,
                s);
}

std::pair<array, array> binned(const array& x, const array& edges, Bins bins,
                               const std::optional<array>& weights, bool density,
                               StreamOrDevice s) {
  array sums = count(x, edges, weights_of("histogram", x, weights, s),
                     {bins, 0, edges.shape(0) - 1}, to_stream(s));
  if (density) {
    const Dtype t = promote_types(at_least_float(edges.dtype()), sums.dtype());
    const array width = astype(diff(edges, 1, 0, s), t, s);
    const array all = astype(sum(sums, s), t, s);
    sums = divide(divide(astype(sums, t, s), width, s), all, s);
  }
  return {sums, edges};
}

}  // namespace

constinit const OpDef op_count{.name = "count",
                               .kind = OpKind::kernel,
                               .build = build_count,
                               .vjp = rules::count_vjp,
                               .jvp = rules::count_jvp};

array count(const array& x, const std::optional<array>& edges, const std::optional<array>& weights,
            const CountAttrs& attrs, Stream s) {
  if (attrs.length > UINT32_MAX - 1)
    fail<SizeError>(attrs.bins == Bins::values ? "bincount" : "histogram", attrs.length,
                    " results; up to ", UINT32_MAX - 1, " are accepted");
  std::vector<array> in{x};
  if (edges) in.push_back(*edges);
  if (weights) in.push_back(*weights);
  return make_node(op_count, {attrs.length}, weights ? weights->dtype() : int32, s,
                   std::span<const array>(in), make_attrs(CountAttrs(attrs)));
}

array isin(const array& a, const array& values, bool invert, StreamOrDevice s) {
  const Dtype t = promote_types(a.dtype(), values.dtype());
  if (values.size() == 0) return full(a.shape(), array(invert), bool_, s);
  const array x = astype(a, t, s), sorted = sort(astype(values, t, s), s);
  const array end = array(static_cast<int64_t>(values.size()) - 1, uint32);
  const array at = minimum(searchsorted(sorted, x, "left", s), end, s);
  const array found = take(sorted, at, 0, s);
  return invert ? not_equal(found, x, s) : equal(found, x, s);
}

array bincount(const array& x, const std::optional<array>& weights, int64_t minlength,
               std::optional<int64_t> length, StreamOrDevice s) {
  if (x.ndim() != 1 || is_inexact(x.dtype()))
    fail("bincount", "an array of shape ", to_string(x.shape()), " and dtype ",
         dtype_name(x.dtype()), "; integers with one dimension are accepted");
  if (minlength < 0 || (length && *length < 0))
    fail("bincount", "a length of ", length ? *length : minlength, "; values from 0 are accepted");
  if (length == 0 && x.size() > 0)
    fail<IndexError>("bincount", "a length of 0 for ", x.size(), " elements; more is accepted");
  const auto values = weights_of("bincount", x, weights, s);
  int64_t results = length.value_or(minlength);
  if (!length && x.size() > 0) {
    const array ends = astype(stack({min(x, s), max(x, s)}, s), int64, s);
    compute_for("bincount", {ends}, "length=n gives as many results as are asked for");
    const auto* p = ends.data<const int64_t>();
    if (p[0] < 0) fail("bincount", "the element ", p[0], "; numbers from 0 are accepted");
    results = std::max(results, p[1] + 1);
  }
  return count(x, {}, values, {Bins::values, 0, results}, to_stream(s));
}

std::pair<array, array> histogram(const array& a, int bins, const HistogramRange& range,
                                  const std::optional<array>& weights, bool density,
                                  StreamOrDevice s) {
  if (bins < 1) fail("histogram", bins, " bins; at least 1 is accepted");
  if (is_complex(a.dtype())) fail("histogram", "complex numbers; real ones are accepted");
  return binned(a, even_edges(a, bins, range, s), Bins::even, weights, density, s);
}

std::pair<array, array> histogram(const array& a, const array& edges,
                                  const std::optional<array>& weights, bool density,
                                  StreamOrDevice s) {
  if (edges.ndim() != 1 || edges.size() == 0 || is_complex(a.dtype()) || is_complex(edges.dtype()))
    fail("histogram", "bounds of shape ", to_string(edges.shape()), " and dtype ",
         dtype_name(edges.dtype()), " for ", dtype_name(a.dtype()),
         "; real numbers with one dimension are accepted");
  const Dtype t = promote_types(a.dtype(), edges.dtype());
  return binned(astype(a, t, s), astype(edges, t, s), Bins::uneven, weights, density, s);
}

}  // namespace mlx::core
