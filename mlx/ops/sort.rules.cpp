// Derivatives and batching of sorting. A sort permutes elements; the cotangents are permuted back.
#include "mlx/ops/sort.h"

#include "mlx/ops/creation.h"
#include "mlx/ops/index.h"
#include "mlx/ops/scatter.h"
#include "mlx/ops/view.h"

namespace mlx::core::rules {

namespace {
array sorting_positions(const RuleArgs& r) {
  return op_argsort.build({r.inputs[0]}, r.attrs, r.stream)[0];
}
template <const OpDef& Op>
Batched batched_sort(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                     Stream s) {
  SortAttrs a = attrs_as<SortAttrs>(attrs);
  ++a.axis;
  auto moved = make_attrs(a);
  return {Op.build({to_front(inputs[0], axes[0], s)}, moved.get(), s), {0}};
}
}  // namespace

Arrays sort_vjp(const RuleArgs& r) {
  const array& g = r.grads[0];
  if (!g) return {array{}};
  return {put_along_axis(zeros(g.shape(), g.dtype(), r.stream), sorting_positions(r), g,
                         attrs_as<SortAttrs>(r.attrs).axis, r.stream)};
}
Arrays sort_jvp(const RuleArgs& r) {
  if (!r.grads[0]) return {array{}};
  return {take_along_axis(r.grads[0], sorting_positions(r), attrs_as<SortAttrs>(r.attrs).axis,
                          r.stream)};
}

Batched sort_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                  Stream s) {
  return batched_sort<op_sort>(inputs, axes, attrs, s);
}
Batched argsort_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                     Stream s) {
  return batched_sort<op_argsort>(inputs, axes, attrs, s);
}
Batched searchsorted_vmap(const Arrays& inputs, const std::vector<int>& axes, const Attrs* attrs,
                          Stream s) {
  const bool right = attrs_as<SearchSortedAttrs>(attrs).right;
  // A single sequence for all values needs no batching.
  if (axes[0] < 0 && inputs[0].ndim() == 1)
    return {{search_rows(inputs[0], to_front(inputs[1], axes[1], s), right, s)}, {0}};
  const int64_t n = batch_size(inputs, axes);
  return {{search_rows(with_batch(inputs[0], axes[0], n, s), with_batch(inputs[1], axes[1], n, s),
                       right, s)},
          {0}};
}

}  // namespace mlx::core::rules
