// Selection by masks: counting, checks and shapes.
#include "mlx/ops/compact.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/runtime/evaluate.h"

namespace mlx::core {
namespace {

/// How many bytes of a bool array are not 0. A foreign array may have bytes other than 0 and 1.
array count_of_true(const array& values, StreamOrDevice s) {
  const array holds = not_equal(view(values, uint8, s), constant(0, uint8), s);
  return sum(values.size() > INT32_MAX ? astype(holds, int64, s) : holds, s);
}

/// An evaluated condition, and the number of elements where it is true.
struct EvaluatedMask {
  array values;
  int64_t count = 0;

  EvaluatedMask(const array& a, StreamOrDevice s)
      : values(contiguous(astype(a, bool_, s), false, s)) {
    constexpr size_t kFew = 4096;  // below this size counting is faster than an evaluation
    constexpr const char* kInstead =
        "where(condition, x, y) and products with the condition keep the shape";
    if (a.size() <= kFew) {
      compute_for("nonzero", {values}, kInstead);
      const auto* p = values.data<const unsigned char>();
      count = std::count_if(p, p + values.size(), [](unsigned char x) { return x != 0; });
      return;
    }
    const array sums = count_of_true(values, s);
    compute_for("nonzero", {values, sums}, kInstead);
    count = sums.item<int64_t>();
  }
};

/// The indices as columns or rows, computed at once: the memory of the condition may change later.
array positions_where(const array& condition, bool rows, StreamOrDevice s) {
  const EvaluatedMask truth(condition, s);
  const auto axes = static_cast<int64_t>(condition.ndim());
  return make_node(op_nonzero, rows ? Shape{truth.count, axes} : Shape{axes, truth.count},
                   condition.size() > INT32_MAX ? int64 : int32, to_stream(s),
                   make_attrs(NonzeroAttrs{truth.count, rows}), truth.values);
}

Arrays build_compact(const Arrays& in, const Attrs* attrs, Stream s) {
  return {rules::compact_node(in[0], in[1], attrs_as<CompactAttrs>(attrs), s)};
}
Arrays build_masked_scatter(const Arrays& in, const Attrs*, Stream s) {
  return {rules::masked_scatter_node(in[0], in[1], in[2], s)};
}

bool covers_leading(const array& mask, const array& a) {
  return mask.ndim() <= a.ndim() &&
         std::equal(mask.shape().begin(), mask.shape().end(), a.shape().begin());
}
void need_leading(const array& mask, const array& a) {
  if (!covers_leading(mask, a))
    fail<IndexError>("masked_scatter", "a mask of shape ", to_string(mask.shape()),
                     " for an array of shape ", to_string(a.shape()),
                     "; the leading axes must agree");
}

}  // namespace

constinit const OpDef op_nonzero{
    .name = "nonzero", .kind = OpKind::kernel, .vjp = rules::stop_gradient_vjp};
constinit const OpDef op_compact{.name = "compact",
                                 .kind = OpKind::kernel,
                                 .shapeless = true,
                                 .build = build_compact,
                                 .vjp = rules::compact_vjp,
                                 .jvp = rules::compact_jvp,
                                 .vmap = rules::compact_vmap};

constinit const OpDef op_masked_scatter{.name = "masked_scatter",
                                        .kind = OpKind::kernel,
                                        .shapeless = true,
                                        .build = build_masked_scatter,
                                        .vjp = rules::masked_scatter_vjp,
                                        .jvp = rules::masked_scatter_jvp,
                                        .vmap = rules::masked_scatter_vmap};

array rules::compact_node(const array& a, const array& mask, const CompactAttrs& attrs, Stream s) {
  if (!covers_leading(mask, a))
    fail<IndexError>("index", "a mask of shape ", to_string(mask.shape()),
                     " on axes from 0 of an array of shape ", to_string(a.shape()),
                     "; the lengths must agree");
  Shape shape{attrs.count};
  shape.insert(shape.end(), a.shape().begin() + mask.ndim(), a.shape().end());
  return make_node(op_compact, std::move(shape), a.dtype(), s, make_attrs(CompactAttrs(attrs)), a,
                   mask);
}

array rules::masked_scatter_node(const array& a, const array& mask, const array& values, Stream s) {
  need_leading(mask, a);
  Shape shape{values.shape(0)};
  shape.insert(shape.end(), a.shape().begin() + mask.ndim(), a.shape().end());
  return make_node(op_masked_scatter, a.shape(), a.dtype(), s, {}, a, mask,
                   broadcast_to(values, shape, s));
}

void compute_for(const char* op, const std::vector<array>& arrays, const char* instead) {
  try {
    eval(arrays);
  } catch (const PlaceholderError&) {
    fail<PlaceholderError>(op,
                           "an array without values, as a function sees it while it is traced; the "
                           "shape of the result depends on them: ",
                           instead);
  }
}

std::vector<array> nonzero(const array& a, StreamOrDevice s) {
  if (a.ndim() == 0) fail("nonzero", "a scalar; at least one dimension is needed");
  const array all = positions_where(a, false, s);
  std::vector<array> out;
  for (int64_t axis = 0; axis < all.shape(0); ++axis) out.push_back(take(all, axis, 0, s));
  eval(out);
  return out;
}

array argwhere(const array& a, StreamOrDevice s) {
  array out = positions_where(a, true, s);
  eval(out);
  return out;
}

array flatnonzero(const array& a, StreamOrDevice s) {
  return nonzero(reshape(a, {static_cast<int64_t>(a.size())}, s), s)[0];
}

array compress(const array& condition, const array& a, std::optional<int> axis, StreamOrDevice s) {
  if (condition.ndim() != 1)
    fail("compress", "a condition of shape ", to_string(condition.shape()),
         "; one dimension is accepted");
  const array x = axis ? a : flatten(a, s);
  const int along = normalize_axis(axis.value_or(0), static_cast<int64_t>(x.ndim()), "compress");
  if (along == 0 && condition.shape(0) <= x.shape(0)) {
    Shape stop = x.shape();
    stop[0] = condition.shape(0);
    return at_mask(slice(x, Shape(x.ndim(), 0), stop, s), condition, s);
  }
  const array at = flatnonzero(condition, s);
  // A longer condition is accepted if the rest is false.
  if (at.size() > 0 && condition.shape(0) > x.shape(along)) {
    const auto last = take(at, -1, s).item<int64_t>();
    if (last >= x.shape(along))
      fail<IndexError>("compress", "a condition that holds at ", last, " for ", x.shape(along),
                       " elements; it may be longer where it is false");
  }
  return take(x, at, along, s);
}

array extract(const array& condition, const array& a, StreamOrDevice s) {
  return compress(flatten(condition, s), a, std::nullopt, s);
}

array at_mask(const array& a, const array& mask, StreamOrDevice s) {
  const EvaluatedMask truth(mask, s);
  return rules::compact_node(a, truth.values, {truth.count, true}, to_stream(s));
}

array masked_scatter(const array& a, const array& mask, const array& src, StreamOrDevice s) {
  if (mask.dtype() != bool_)
    fail<IndexError>("masked_scatter", "a mask of ", dtype_name(mask.dtype()),
                     "; a boolean mask is accepted");
  need_leading(mask, a);
  const array values = astype(src, a.dtype(), s);
  const size_t rest = a.ndim() - mask.ndim();
  Shape covering = mask.shape();
  covering.resize(a.ndim(), 1);
  if (src.ndim() <= rest) return where(reshape(mask, covering, s), values, a, s);

  const size_t leading = src.ndim() - rest;
  for (size_t i = 0; i + 1 < leading; ++i)
    if (src.shape()[i] != 1)
      fail("masked_scatter", "values of shape ", to_string(src.shape()), " for a mask of shape ",
           to_string(mask.shape()), " over an array of shape ", to_string(a.shape()),
           "; one axis for the elements of the mask, and the rest of the array's, are accepted");
  Shape rows(src.shape().begin() + leading - 1, src.shape().end());
  const array table = reshape(values, rows, s);
  if (rows[0] == 0 && any(mask, s).item<bool>())
    fail<IndexError>("masked_scatter",
                     "no values for a mask that holds somewhere; a value for each element that is "
                     "replaced is needed");
  if (rows[0] == 0) return a;
  if (rows[0] == 1) return where(reshape(mask, covering, s), squeeze(table, 0, s), a, s);
  return rules::masked_scatter_node(a, mask, table, to_stream(s));
}

}  // namespace mlx::core
