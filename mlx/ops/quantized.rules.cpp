// Derivatives and batching of quantized matrices. Packed words, and scales that are codes, have no
// derivative.
#include "mlx/ops/quantized.h"

#include <algorithm>
#include <tuple>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/composite.h"

namespace mlx::core::rules {
namespace {

array rebuilt(const OpDef& op, const Arrays& in, const Attrs* a, Stream s) {
  return op.build(in, a, s)[0];
}

/// (.., G, group) of (.., G * group).
array in_groups(const array& x, const Packing& p, Stream s) {
  return unflatten(x, -1, {-1, p.group}, s);
}

/// The codes as numbers of `dtype`, without scales and biases.
array codes(const array& words, const array& scales, const Packing& p, Dtype dtype, Stream s) {
  Dtype t = dtype == float64 ? float32 : dtype;
  Arrays in{words, full(scales.shape(), array(1.0f, t), t, s), zeros(scales.shape(), t, s)};
  auto attrs = make_attrs(DequantizeAttrs{p, t});
  return astype(rebuilt(op_dequantize, in, attrs.get(), s), dtype, s);
}

/// Cotangents of scales and biases from the cotangent `g` of the matrix.
std::pair<array, array> unit_cotangents(const array& g, const array& words, const array& scales,
                                        const Packing& p, Stream s) {
  array q = codes(words, scales, p, g.dtype(), s);
  return {astype(sum(in_groups(multiply(g, q, s), p, s), -1, false, s), scales.dtype(), s),
          astype(sum(in_groups(g, p, s), -1, false, s), scales.dtype(), s)};
}

/// True if scales or biases have a tangent.
bool moves(const Arrays& tangents, size_t first) {
  return static_cast<bool>(tangents[first]) || static_cast<bool>(tangents[first + 1]);
}

/// Tangents of scales and biases; null tangents become zeros.
Arrays unit_tangents(const Arrays& inputs, const Arrays& tangents, size_t first, Stream s) {
  Arrays out;
  for (size_t i = first; i < first + 2; ++i)
    out.push_back(tangents[i] ? tangents[i] : zeros_like(inputs[i], s));
  return out;
}

/// Scales and biases of mode affine in elementary ops.
Formula units(const Packing& p, Stream s) {
  return [p, s](const Arrays& in) {
    Dtype t = in[0].dtype();
    array x = in_groups(astype(in[0], float32, s), p, s);
    array high = max(x, -1, false, s), low = min(x, -1, false, s);
    array step = maximum(divide(subtract(high, low, s), array(float((1 << p.bits) - 1)), s),
                         array(1e-7f), s);
    array bias = low;
    if (p.bits > 1) {
      array negative_side = greater(abs(low, s), abs(high, s), s);
      step = where(negative_side, step, negative(step, s), s);
      array edge = where(negative_side, low, high, s);
      array at = round(divide(edge, step, s), s);
      array none = equal(at, array(0.0f), s);
      step = where(none, step, divide(edge, where(none, array(1.0f), at, s), s), s);
      bias = where(none, array(0.0f), edge, s);
    }
    return Arrays{astype(step, t, s), astype(bias, t, s)};
  };
}

/// The rule arguments restricted to scales and biases.
template <class F>
Arrays of_units(const RuleArgs& r, bool outputs, F rule) {
  Arrays results(r.outputs.begin() + 1, r.outputs.end()), grads = r.grads;
  if (outputs) grads.erase(grads.begin());
  return rule(RuleArgs{r.inputs, results, grads, r.attrs, r.stream, r.requested});
}

}  // namespace

Arrays quantize_vjp(const RuleArgs& r) {
  const auto& p = attrs_as<Packing>(r.attrs);
  if (!p.affine() || (!r.grads[1] && !r.grads[2])) return Arrays(r.inputs.size());
  return of_units(r, true, [&](const RuleArgs& units_only) {
    return formula_vjp(units(p, r.stream), units_only);
  });
}

Arrays quantize_jvp(const RuleArgs& r) {
  const auto& p = attrs_as<Packing>(r.attrs);
  if (!p.affine()) return Arrays(r.outputs.size());
  Arrays out = of_units(r, false, [&](const RuleArgs& units_only) {
    return formula_jvp(units(p, r.stream), units_only);
  });
  out.insert(out.begin(), array());
  return out;
}

Arrays dequantize_vjp(const RuleArgs& r) {
  const auto& attrs = attrs_as<DequantizeAttrs>(r.attrs);
  Arrays out(r.inputs.size());
  if (!attrs.packing.affine() || !(r.requested[1] || r.requested[2])) return out;
  std::tie(out[1], out[2]) =
      unit_cotangents(r.grads[0], r.inputs[0], r.inputs[1], attrs.packing, r.stream);
  return out;
}

Arrays dequantize_jvp(const RuleArgs& r) {
  const auto& attrs = attrs_as<DequantizeAttrs>(r.attrs);
  if (!attrs.packing.affine() || !moves(r.grads, 1)) return {array()};
  Arrays in{r.inputs[0]};
  for (const array& x : unit_tangents(r.inputs, r.grads, 1, r.stream)) in.push_back(x);
  return {rebuilt(op_dequantize, in, r.attrs, r.stream)};
}

Arrays quantized_matmul_vjp(const RuleArgs& r) {
  QuantizedMatmulAttrs attrs = attrs_as<QuantizedMatmulAttrs>(r.attrs);
  const array &x = r.inputs[0], &w = r.inputs[1], &g = r.grads[0];
  Stream s = r.stream;
  Arrays out(r.inputs.size());
  if (attrs.packing.affine() && (r.requested[2] || r.requested[3])) {
    const array &left = attrs.transpose ? g : x, &right = attrs.transpose ? x : g;
    array full = matmul(swapaxes(left, -1, -2, s), right, s);
    Shape shape = w.shape();
    shape.back() = full.shape(-1);
    std::tie(out[2], out[3]) =
        unit_cotangents(sum_to(full, shape, s), w, r.inputs[2], attrs.packing, s);
  }
  if (r.requested[0]) {
    attrs.transpose = !attrs.transpose;
    Arrays in = r.inputs;
    in[0] = g;
    out[0] = sum_to(rebuilt(op_quantized_matmul, in, make_attrs(attrs).get(), s), x.shape(), s);
  }
  return out;
}

/// Tangent of a product that is linear in x and jointly in scales and biases.
static Arrays product_jvp(const OpDef& op, const RuleArgs& r) {
  Stream s = r.stream;
  array out;
  if (r.grads[0]) {
    Arrays in = r.inputs;
    in[0] = r.grads[0];
    out = rebuilt(op, in, r.attrs, s);
  }
  bool affine = attrs_as<QuantizedMatmulAttrs>(r.attrs).packing.affine();
  if (affine && moves(r.grads, 2)) {
    Arrays in = r.inputs, units = unit_tangents(r.inputs, r.grads, 2, s);
    in[2] = units[0];
    in[3] = units[1];
    array part = rebuilt(op, in, r.attrs, s);
    out = out ? add(out, part, s) : part;
  }
  return {out};
}

Arrays quantized_matmul_jvp(const RuleArgs& r) { return product_jvp(op_quantized_matmul, r); }
Arrays gather_qmm_jvp(const RuleArgs& r) { return product_jvp(op_gather_qmm, r); }

Arrays gather_qmm_vjp(const RuleArgs& r) {
  QuantizedMatmulAttrs attrs = attrs_as<QuantizedMatmulAttrs>(r.attrs);
  const array &x = r.inputs[0], &w = r.inputs[1], &g = r.grads[0];
  size_t n = r.inputs.size();
  const array &lhs = r.inputs[n - 2], &rhs = r.inputs[n - 1];
  Stream s = r.stream;
  int rank = static_cast<int>(lhs.ndim());
  array stack = reshape(g, {static_cast<int64_t>(lhs.size()), g.shape(-2), g.shape(-1)}, s);
  array own = reshape(arange(int64_t{0}, static_cast<int64_t>(lhs.size()), int64_t{1}, int64, s),
                      lhs.shape(), s);
  auto added_up = [&](const Shape& shape, const array& positions, const array& parts) {
    return scatter_add(zeros(shape, parts.dtype(), s), positions, expand_dims(parts, rank, s), 0,
                       s);
  };
  Arrays out(n);
  if (attrs.packing.affine() && (r.requested[2] || r.requested[3])) {
    const array turned = swapaxes(attrs.transpose ? stack : x, -1, -2, s);
    array part = attrs.transpose ? gather_mm(turned, x, own, lhs, false, s)
                                 : gather_mm(turned, stack, lhs, own, false, s);
    array full = added_up({w.shape(0), w.shape(1), part.shape(-1)}, rhs, part);
    std::tie(out[2], out[3]) = unit_cotangents(full, w, r.inputs[2], attrs.packing, s);
  }
  if (r.requested[0]) {
    attrs.transpose = !attrs.transpose;
    Arrays in = r.inputs;
    in[0] = stack;
    in[n - 2] = own;
    out[0] = added_up(x.shape(), lhs, rebuilt(op_gather_qmm, in, make_attrs(attrs).get(), s));
  }
  return out;
}

Arrays quantize_round_jvp(const RuleArgs& r) { return {r.grads[0]}; }

Batched quantize_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* a, Stream s) {
  if (in.size() > 1 && axes[1] >= 0)
    throw ValueError("[quantize] a global scale that is mapped; one number is accepted");
  Arrays moved = in;
  moved[0] = to_front(in[0], axes[0], s);
  Arrays out = op_quantize.build(moved, a, s);
  return {out, std::vector<int>(out.size(), 0)};
}

Batched quantize_round_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* a,
                            Stream s) {
  if (in.size() > 1 && axes[1] >= 0)
    throw ValueError("[qqmm] a global scale that is mapped; one number is accepted");
  Arrays moved = in;
  moved[0] = to_front(in[0], axes[0], s);
  return {op_quantize_round.build(moved, a, s), {0}};
}

Batched dequantize_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* a, Stream s) {
  const auto& attrs = attrs_as<DequantizeAttrs>(a);
  int64_t n = batch_size(in, axes);
  size_t packed = attrs.packing.affine() ? 3 : 2;
  if (in.size() > packed && axes[packed] >= 0)
    throw ValueError("[dequantize] a global scale that is mapped; one number is accepted");
  Arrays moved = in;
  for (size_t i = 0; i < packed; ++i) moved[i] = with_batch(in[i], axes[i], n, s);
  return {op_dequantize.build(moved, a, s), {0}};
}

Batched quantized_matmul_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* a,
                              Stream s) {
  int64_t n = batch_size(in, axes);
  bool packed = std::any_of(axes.begin() + 1, axes.end(), [](int axis) { return axis >= 0; });
  size_t rank = std::max(in[0].ndim() - (axes[0] >= 0), in[1].ndim() - (axes[1] >= 0));
  /// The batch first, followed by axes of length 1 up to the common rank.
  auto aligned = [&](const array& x, int axis) {
    array front = with_batch(x, axis, n, s);
    Shape shape(rank + 1, 1);
    shape[0] = n;
    std::copy(front.shape().begin() + 1, front.shape().end(), shape.end() - (front.ndim() - 1));
    return reshape(front, shape, s);
  };
  Arrays moved = in;
  if (axes[0] >= 0) moved[0] = aligned(in[0], axes[0]);
  if (packed)
    for (size_t i = 1; i < in.size(); ++i) moved[i] = aligned(in[i], axes[i]);
  return {op_quantized_matmul.build(moved, a, s), {0}};
}

Batched gather_qmm_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* a, Stream s) {
  // The stacks of all batches are concatenated; the indices are offset accordingly.
  int64_t n = batch_size(in, axes);
  size_t last = in.size() - 2;
  Arrays moved = in;
  auto merge = [&](size_t first, size_t end, size_t positions) {
    bool any = false;
    for (size_t i = first; i < end; ++i) any = any || axes[i] >= 0;
    array own = astype(with_batch(in[positions], axes[positions], n, s), int64, s);
    if (any) {
      for (size_t i = first; i < end; ++i)
        moved[i] = flatten(with_batch(in[i], axes[i], n, s), 0, 1, s);
      int64_t length = moved[first].shape(0) / std::max<int64_t>(n, 1);
      Shape starts(own.ndim(), 1);
      starts[0] = n;
      array start = reshape(arange(int64_t{0}, n * length, length, int64, s), starts, s);
      own = add(where(less(own, array(0), s), add(own, array(length), s), own, s), start, s);
    }
    moved[positions] = own;
  };
  merge(0, 1, last);
  merge(1, last, last + 1);
  return {op_gather_qmm.build(moved, a, s), {0}};
}

}  // namespace mlx::core::rules
