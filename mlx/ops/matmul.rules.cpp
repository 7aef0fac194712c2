// Derivatives and batching of matrix products. The operands of the nodes are matrices or stacks of
// them.
#include "mlx/ops/matmul.h"

#include <algorithm>

#include "mlx/ops.h"
#include "mlx/ops/materialized.h"
#include "mlx/ops/precision.h"

namespace mlx::core::rules {
namespace {

array scaled(const array& x, double factor, Stream s) {
  return factor == 1 ? x : multiply(x, constant(factor, x.dtype()), s);
}

array as_rows(const array& x, Stream s) { return reshape(x, {-1, x.shape(-1)}, s); }

/// Cotangents of a and b from that of a · b; null unless requested.
std::pair<array, array> product_vjp(const array& a, const array& b, const array& g, bool want_a,
                                    bool want_b, Stream s) {
  std::pair<array, array> out;
  if (want_a) out.first = sum_to(matmul(g, conjugate_transpose(b, s), s), a.shape(), s);
  if (want_b) {
    if (b.ndim() == 2 && a.ndim() > 2 && a.size() > 0) {
      // One product over all rows instead of a sum over the batch.
      out.second = matmul(conjugate_transpose(as_rows(a, s), s), as_rows(g, s), s);
    } else {
      out.second = sum_to(matmul(conjugate_transpose(a, s), g, s), b.shape(), s);
    }
  }
  return out;
}

/// The mapped axis first, followed by axes of length 1 up to `rank` others.
array batched(const array& x, int axis, size_t rank, Stream s) {
  if (axis < 0) return x;
  array front = to_front(x, axis, s);
  if (front.ndim() == rank + 1) return front;
  Shape shape(rank + 1, 1);
  shape[0] = front.shape(0);
  std::copy(front.shape().begin() + 1, front.shape().end(), shape.end() - (front.ndim() - 1));
  return reshape(front, shape, s);
}

Arrays align(const Arrays& in, const std::vector<int>& mapped, Stream s) {
  size_t rank = 0;
  for (size_t i = 0; i < in.size(); ++i) rank = std::max(rank, in[i].ndim() - (mapped[i] >= 0));
  Arrays out;
  for (size_t i = 0; i < in.size(); ++i) out.push_back(batched(in[i], mapped[i], rank, s));
  return out;
}

}  // namespace

Arrays matmul_vjp(const RuleArgs& r) {
  PrecisionScope scope(precision_of(r.attrs));
  auto [a, b] =
      product_vjp(r.inputs[0], r.inputs[1], r.grads[0], r.requested[0], r.requested[1], r.stream);
  return {a, b};
}

Arrays addmm_vjp(const RuleArgs& r) {
  PrecisionScope scope(Precision::highest);
  const auto& attrs = attrs_as<AddmmAttrs>(r.attrs);
  const array& g = r.grads[0];
  array c;
  if (r.requested[0]) c = scaled(sum_to(g, r.inputs[0].shape(), r.stream), attrs.beta, r.stream);
  auto [a, b] = product_vjp(r.inputs[1], r.inputs[2], scaled(g, attrs.alpha, r.stream),
                            r.requested[1], r.requested[2], r.stream);
  return {c, a, b};
}

Arrays addmm_jvp(const RuleArgs& r) {
  PrecisionScope scope(Precision::highest);
  const auto& attrs = attrs_as<AddmmAttrs>(r.attrs);
  Stream s = r.stream;
  array sum;
  auto plus = [&](const array& term) { sum = sum ? add(sum, term, s) : term; };
  if (r.grads[1]) plus(scaled(matmul(r.grads[1], r.inputs[2], s), attrs.alpha, s));
  if (r.grads[2]) plus(scaled(matmul(r.inputs[1], r.grads[2], s), attrs.alpha, s));
  if (r.grads[0]) plus(broadcast_to(scaled(r.grads[0], attrs.beta, s), r.outputs[0].shape(), s));
  return {sum};
}

Batched matmul_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs* attrs,
                    Stream s) {
  PrecisionScope scope(precision_of(attrs));
  if (mapped[0] >= 0 && mapped[1] < 0 && in[1].ndim() == 2) {
    // The batch becomes rows of one matrix.
    return {{matmul(to_front(in[0], mapped[0], s), in[1], s)}, {0}};
  }
  Arrays x = align(in, mapped, s);
  return {{matmul(x[0], x[1], s)}, {0}};
}

Batched addmm_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs* attrs, Stream s) {
  const auto& r = attrs_as<AddmmAttrs>(attrs);
  PrecisionScope scope(Precision::highest);
  Arrays x = align(in, mapped, s);
  if (mapped[1] < 0 && mapped[2] < 0) x[1] = with_batch(x[1], -1, batch_size(in, mapped), s);
  return {{addmm(x[0], x[1], x[2], r.alpha, r.beta, s)}, {0}};
}

}  // namespace mlx::core::rules
