// Checks and dtypes of sorting, partitioning and searching.
#include "mlx/ops/sort.h"

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/index.h"
#include "mlx/ops/reduce.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

constexpr int64_t kFullSort = -1;

array make_sort(const OpDef& op, const array& a, int axis, int64_t kth, Stream s) {
  const bool positions = &op == &op_argsort;
  if (positions && a.shape()[axis] > (int64_t{1} << 32))
    fail<SizeError>("argsort", a.shape()[axis], " elements along the axis; positions are uint32");
  return make_node(op, a.shape(), positions ? uint32 : a.dtype(), s,
                   make_attrs(SortAttrs{axis, kth}), a);
}
array sorted(const OpDef& op, const char* name, const array& a, int axis, StreamOrDevice s) {
  axis = normalize_axis(axis, static_cast<int64_t>(a.ndim()), name);
  return make_sort(op, a, axis, kFullSort, to_stream(s));
}
array partitioned(const OpDef& op, const char* name, const array& a, int64_t kth, int axis,
                  StreamOrDevice s) {
  axis = normalize_axis(axis, static_cast<int64_t>(a.ndim()), name);
  const int64_t n = a.shape()[axis];
  if (kth < -n || kth >= n)
    fail(name, "kth ", kth, " along axis ", axis, " of shape ", to_string(a.shape()),
         "; values from ", -n, " to ", n - 1, " are accepted");
  return make_sort(op, a, axis, kth < 0 ? kth + n : kth, to_stream(s));
}

template <const OpDef& Op>
Arrays build_sort(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<SortAttrs>(attrs);
  const char* name = &Op == &op_sort ? "partition" : "argpartition";
  if (a.kth == kFullSort) return {make_sort(Op, in[0], a.axis, kFullSort, s)};
  return {partitioned(Op, name, in[0], a.kth, a.axis, s)};
}

}  // namespace

constinit const OpDef op_sort{.name = "sort",
                              .kind = OpKind::kernel,
                              .shapeless = true,
                              .build = build_sort<op_sort>,
                              .vjp = rules::sort_vjp,
                              .jvp = rules::sort_jvp,
                              .vmap = rules::sort_vmap};
constinit const OpDef op_argsort{.name = "argsort",
                                 .kind = OpKind::kernel,
                                 .shapeless = true,
                                 .build = build_sort<op_argsort>,
                                 .vjp = rules::flat_vjp,
                                 .jvp = rules::flat_jvp,
                                 .vmap = rules::argsort_vmap};
constinit const OpDef op_searchsorted{
    .name = "searchsorted",
    .kind = OpKind::kernel,
    .shapeless = true,
    .build = [](const Arrays& in, const Attrs* attrs, Stream s) -> Arrays {
      return {search_rows(in[0], in[1], attrs_as<SearchSortedAttrs>(attrs).right, s)};
    },
    .vjp = rules::flat_vjp,
    .jvp = rules::flat_jvp,
    .vmap = rules::searchsorted_vmap};

array sort(const array& a, int axis, StreamOrDevice s) {
  return sorted(op_sort, "sort", a, axis, s);
}
array sort(const array& a, StreamOrDevice s) { return sort(flatten(a, s), 0, s); }
array argsort(const array& a, int axis, StreamOrDevice s) {
  return sorted(op_argsort, "argsort", a, axis, s);
}
array argsort(const array& a, StreamOrDevice s) { return argsort(flatten(a, s), 0, s); }

array partition(const array& a, int kth, int axis, StreamOrDevice s) {
  return partitioned(op_sort, "partition", a, kth, axis, s);
}
array partition(const array& a, int kth, StreamOrDevice s) {
  return partition(flatten(a, s), kth, 0, s);
}
array argpartition(const array& a, int kth, int axis, StreamOrDevice s) {
  return partitioned(op_argsort, "argpartition", a, kth, axis, s);
}
array argpartition(const array& a, int kth, StreamOrDevice s) {
  return argpartition(flatten(a, s), kth, 0, s);
}

array topk(const array& a, int k, int axis, StreamOrDevice s) {
  axis = normalize_axis(axis, static_cast<int64_t>(a.ndim()), "topk");
  const int64_t n = a.shape()[axis];
  if (k < 0 || k > n)
    fail("topk", "k = ", k, " along axis ", axis, " of shape ", to_string(a.shape()),
         "; values from 0 to ", n, " are accepted");
  if (k == n) return a;
  Shape start(a.ndim(), 0), stop = a.shape();
  start[axis] = n - k;
  return slice(k == 0 ? a : partition(a, -k, axis, s), start, stop, s);
}
array topk(const array& a, int k, StreamOrDevice s) { return topk(flatten(a, s), k, 0, s); }

array search_rows(const array& sorted, const array& values, bool right, Stream s) {
  return make_node(op_searchsorted, values.shape(), uint32, s, make_attrs(SearchSortedAttrs{right}),
                   sorted, values);
}

array searchsorted(const array& sorted, const array& values, const std::string& side,
                   StreamOrDevice s) {
  if (side != "left" && side != "right")
    fail("searchsorted", "side '", side, "'; 'left' and 'right' are accepted");
  if (sorted.ndim() != 1)
    fail("searchsorted", "a sorted sequence of ", sorted.ndim(), " dimensions; 1 is accepted");
  const Stream st = to_stream(s);
  const Dtype t = promote_types(sorted.dtype(), values.dtype());
  return search_rows(cast_to(sorted, t, st), cast_to(values, t, st), side == "right", st);
}

array searchsorted(const array& sequence, const array& values, const std::string& side,
                   const array& sorter, StreamOrDevice s) {
  if (sorter.shape() != sequence.shape())
    fail("searchsorted", "a sorter of shape ", to_string(sorter.shape()),
         " for a sequence of shape ", to_string(sequence.shape()), "; equal shapes are accepted");
  return searchsorted(take(sequence, sorter, 0, s), values, side, s);
}

}  // namespace mlx::core
