// Checks and shape inference of gather_mm and segmented_mm.
#include "mlx/ops/gather_mm.h"

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/materialized.h"

namespace mlx::core {
namespace {

array gather_node(const array& a, const array& b, const array& lhs, const array& rhs, Stream s) {
  Shape shape = lhs.shape();
  shape.push_back(a.shape(-2));
  shape.push_back(b.shape(-1));
  return make_node(op_gather_mm, std::move(shape), a.dtype(), s, {}, a, b, lhs, rhs);
}

Arrays build_gather_mm(const Arrays& in, const Attrs*, Stream s) {
  return {gather_node(in[0], in[1], in[2], in[3], s)};
}
Arrays build_segmented_mm(const Arrays& in, const Attrs*, Stream s) {
  return {segmented_mm(in[0], in[1], in[2], s)};
}

}  // namespace

array as_stack(const array& x, Stream s) {
  const int64_t n = num_elements(Shape(x.shape().begin(), x.shape().end() - 2));
  return reshape(x, {n, x.shape(-2), x.shape(-1)}, s);
}

array own_positions(const array& x, Stream s) {
  Shape batch(x.shape().begin(), x.shape().end() - 2);
  return reshape(arange(int64_t{0}, num_elements(batch), int64_t{1}, int64, s), batch, s);
}

array gather_mm(array a, array b, std::optional<array> lhs_indices,
                std::optional<array> rhs_indices, bool, StreamOrDevice s) {
  if (!lhs_indices && !rhs_indices) return matmul(a, b, s);
  Stream stream = to_stream(s);
  if (a.ndim() == 0 || b.ndim() == 0 || (b.ndim() == 1 && rhs_indices) ||
      (a.ndim() == 1 && lhs_indices))
    fail("gather_mm", "operands of shapes ", to_string(a.shape()), " and ", to_string(b.shape()),
         "; matrices or stacks of them are accepted");
  bool row = a.ndim() == 1, column = b.ndim() == 1;
  if (row) a = expand_dims(a, 0, stream);
  if (column) b = expand_dims(b, 1, stream);
  if (a.shape(-1) != b.shape(-2))
    fail("gather_mm", "operands of shapes ", to_string(a.shape()), " and ", to_string(b.shape()),
         "; the last axis of the first and the last but one of the second must agree");
  array lhs = lhs_indices ? *lhs_indices : own_positions(a, stream);
  array rhs = rhs_indices ? *rhs_indices : own_positions(b, stream);
  Shape shape = broadcast_indices({lhs, rhs}, "gather_mm");
  Dtype type = promote_types(a.dtype(), b.dtype());
  array out = gather_node(
      as_stack(cast_to(a, type, stream), stream), as_stack(cast_to(b, type, stream), stream),
      broadcast_to(lhs, shape, stream), broadcast_to(rhs, shape, stream), stream);
  if (column) out = squeeze(out, -1, stream);
  return row ? squeeze(out, column ? -1 : -2, stream) : out;
}

array segmented_mm(array a, array b, array segments, StreamOrDevice s) {
  Stream stream = to_stream(s);
  require_integer(segments, "segmented_mm");
  if (a.ndim() != 2 || b.ndim() != 2 || a.shape(1) != b.shape(0))
    fail("segmented_mm", "operands of shapes ", to_string(a.shape()), " and ", to_string(b.shape()),
         "; matrices that can be multiplied are accepted");
  if (segments.ndim() < 1 || segments.shape(-1) != 2)
    fail("segmented_mm", "segments of shape ", to_string(segments.shape()),
         "; a last axis of length 2 is needed");
  Dtype type = promote_types(a.dtype(), b.dtype());
  Shape shape(segments.shape().begin(), segments.shape().end() - 1);
  shape.push_back(a.shape(0));
  shape.push_back(b.shape(1));
  return make_node(op_segmented_mm, std::move(shape), type, stream, {}, cast_to(a, type, stream),
                   cast_to(b, type, stream), segments);
}

constinit const OpDef op_gather_mm{.name = "gather_mm",
                                   .kind = OpKind::kernel,
                                   .linearity = Linearity::multilinear,
                                   .shapeless = true,
                                   .build = build_gather_mm,
                                   .vjp = rules::gather_mm_vjp,
                                   .vmap = rules::gather_mm_vmap};
constinit const OpDef op_segmented_mm{.name = "segmented_mm",
                                      .kind = OpKind::kernel,
                                      .linearity = Linearity::multilinear,
                                      .build = build_segmented_mm,
                                      .vjp = rules::segmented_mm_vjp,
                                      .vmap = rules::segmented_mm_vmap};

namespace rules {
namespace {

/// Zeros of the shape of the stack `x` with `parts` added at the indices `positions`.
array added_up(const array& x, const array& positions, const array& parts, Stream s) {
  int rank = static_cast<int>(positions.ndim());
  return scatter_add(zeros_like(x, s), positions, expand_dims(parts, rank, s), 0, s);
}

/// (.., 1, K): true where an inner index belongs to the segment.
array membership(const array& segments, int64_t length, Stream s) {
  array k = arange(int64_t{0}, length, int64_t{1}, int64, s);
  array ends = astype(segments, int64, s);
  // Negative ends count from one past the last index, as in the kernel.
  ends = where(less(ends, array(0), s), add(ends, array(length + 1), s), ends, s);
  array ranges = expand_dims(ends, -1, s);  // (.., 2, 1)
  array from = take(ranges, 0, -2, s), to = take(ranges, 1, -2, s);
  return expand_dims(logical_and(greater_equal(k, from, s), less(k, to, s), s), -2, s);
}

array sum_segments(const array& x, const array& inside, Stream s) {
  array kept = where(inside, x, zero(x.dtype()), s);
  std::vector<int> axes;
  for (int i = 0; i + 2 < static_cast<int>(kept.ndim()); ++i) axes.push_back(i);
  return axes.empty() ? kept : sum(kept, axes, false, s);
}

}  // namespace

Arrays gather_mm_vjp(const RuleArgs& r) {
  const array &a = r.inputs[0], &b = r.inputs[1], &lhs = r.inputs[2], &rhs = r.inputs[3];
  const array& g = r.grads[0];
  Stream s = r.stream;
  Arrays out(4);
  if (r.requested[0]) {
    array part =
        gather_node(as_stack(g, s), conjugate_transpose(b, s), own_positions(g, s), rhs, s);
    out[0] = added_up(a, lhs, part, s);
  }
  if (r.requested[1]) {
    array part =
        gather_node(conjugate_transpose(a, s), as_stack(g, s), lhs, own_positions(g, s), s);
    out[1] = added_up(b, rhs, part, s);
  }
  return out;
}

Arrays segmented_mm_vjp(const RuleArgs& r) {
  const array &a = r.inputs[0], &b = r.inputs[1], &g = r.grads[0];
  Stream s = r.stream;
  array inside = membership(r.inputs[2], a.shape(1), s);
  Arrays out(3);
  if (r.requested[0]) out[0] = sum_segments(matmul(g, conjugate_transpose(b, s), s), inside, s);
  if (r.requested[1])
    out[1] = sum_segments(matmul(conjugate_transpose(a, s), g, s), swapaxes(inside, -1, -2, s), s);
  return out;
}

Batched gather_mm_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs*, Stream s) {
  // The stacks of all batches are concatenated; the indices are offset accordingly.
  int64_t n = batch_size(in, mapped);
  Arrays x;
  for (int i = 0; i < 4; ++i) x.push_back(with_batch(in[i], mapped[i], n, s));
  for (int i = 0; i < 2; ++i) {
    int64_t length = x[i].shape(1);
    Shape starts(x[2 + i].ndim(), 1);
    starts[0] = n;
    array first = reshape(arange(int64_t{0}, n * length, length, int64, s), starts, s);
    array own = astype(x[2 + i], int64, s);
    array positive = where(less(own, array(0), s), add(own, array(length), s), own, s);
    x[2 + i] = add(positive, first, s);
    x[i] = flatten(x[i], 0, 1, s);
  }
  return {{gather_node(x[0], x[1], x[2], x[3], s)}, {0}};
}

Batched segmented_mm_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs*,
                          Stream s) {
  if (mapped[0] < 0 && mapped[1] < 0)
    return {{segmented_mm(in[0], in[1], to_front(in[2], mapped[2], s), s)}, {0}};
  // Other cases become a loop op: elements outside all segments are never read, and may be
  // infinite.
  return {};
}

}  // namespace rules
}  // namespace mlx::core
