// Derivatives and batching of convolutions. With y = conv(x, w), the cotangent of x is a
// convolution of the cotangent of y, and the cotangent of w is the bilinear op conv_weight, whose
// cotangents are convolutions again.
#include "mlx/ops/conv.h"

#include "mlx/ops.h"

namespace mlx::core::rules {
namespace {

/// (O, k.., C / groups) to (C, k.., O / groups), within each group.
array swap_channels(const array& w, int64_t groups, Stream s) {
  int last = static_cast<int>(w.ndim());
  Shape split = prepend(groups, w.shape());
  split[1] /= groups;
  std::vector<int> order{0, last};
  for (int i = 2; i < last; ++i) order.push_back(i);
  order.push_back(1);
  array t = transpose(reshape(w, split, s), order, s);  // (groups, C / groups, k.., O / groups)
  Shape joined(t.shape());
  joined.erase(joined.begin());
  joined[0] *= groups;
  return reshape(t, joined, s);
}

/// The cotangent of an input of spatial lengths `x`, from that of the result.
array input_cotangent(const array& g, const array& w, const Shape& x, const ConvAttrs& c,
                      Stream s) {
  ConvAttrs t = c;
  t.stride = c.input_dilation;
  t.input_dilation = c.stride;
  t.flip = !c.flip;
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    int64_t window = (w.shape()[i + 1] - 1) * c.kernel_dilation[i] + 1;
    int64_t from = (g.shape()[i + 1] - 1) * c.stride[i] + 1;
    int64_t to = (x[i + 1] - 1) * c.input_dilation[i] + 1;
    t.padding_lo[i] = window - 1 - c.padding_lo[i];
    t.padding_hi[i] = to - from - t.padding_lo[i] + window - 1;
  }
  return conv_node(g, swap_channels(w, c.groups, s), t, s);
}

/// Merges axis `from` of x into axis `to` as its outer part.
array merge_axis(const array& x, int from, int to, Stream s) {
  array moved = moveaxis(x, from, to < 0 ? to - 1 : to, s);
  int at = to < 0 ? static_cast<int>(moved.ndim()) + to - 1 : to;
  Shape shape = moved.shape();
  shape[at] *= shape[at + 1];
  shape.erase(shape.begin() + at + 1);
  return reshape(moved, shape, s);
}

/// Splits the outer part, of length n, off axis `at` (negative: from the end) and moves it to the
/// front.
array unmerge_axis(const array& x, int at, int64_t n, Stream s) {
  if (at < 0) at += static_cast<int>(x.ndim());
  Shape shape = x.shape();
  shape.insert(shape.begin() + at, n);
  shape[at + 1] /= n;
  return moveaxis(reshape(x, shape, s), at, 0, s);
}

/// Operands that are both mapped become groups of one convolution: the batch is the outer part of
/// the grouped channels, and the original groups are the inner part.
array conv_of_batches(const array& x, const array& w, const ConvAttrs& c, int64_t n, Stream s) {
  ConvAttrs grouped = c;
  grouped.groups *= n;
  return unmerge_axis(conv_node(merge_axis(x, 0, -1, s), merge_axis(w, 0, 0, s), grouped, s), -1, n,
                      s);
}

}  // namespace

Arrays conv_vjp(const RuleArgs& r) {
  const auto& c = attrs_as<ConvAttrs>(r.attrs);
  const array &x = r.inputs[0], &w = r.inputs[1], &g = r.grads[0];
  Arrays out(2);
  if (x.size() == 0 || w.size() == 0) {
    for (int i = 0; i < 2; ++i) out[i] = zeros_like(r.inputs[i], r.stream);
    return out;
  }
  if (r.requested[0]) out[0] = input_cotangent(g, w, x.shape(), c, r.stream);
  if (r.requested[1]) {
    Shape kernel(w.shape().begin() + 1, w.shape().end() - 1);
    out[1] = conv_weight_node(x, g, {c, kernel}, r.stream);
  }
  return out;
}

Arrays conv_weight_vjp(const RuleArgs& r) {
  const auto& c = attrs_as<ConvWeightAttrs>(r.attrs).conv;
  const array &x = r.inputs[0], &g = r.inputs[1], &w = r.grads[0];
  Arrays out(2);
  if (r.requested[0]) out[0] = input_cotangent(g, w, x.shape(), c, r.stream);
  if (r.requested[1]) out[1] = conv_node(x, w, c, r.stream);
  return out;
}

Batched conv_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs* attrs, Stream s) {
  const auto& c = attrs_as<ConvAttrs>(attrs);
  int64_t n = batch_size(in, mapped);
  if (mapped[1] < 0) {
    array x = to_front(in[0], mapped[0], s);
    return {{unmerge_axis(conv_node(merge_axis(x, 0, 0, s), in[1], c, s), 0, n, s)}, {0}};
  }
  array w = to_front(in[1], mapped[1], s);
  if (mapped[0] < 0 && c.groups == 1)
    return {{unmerge_axis(conv_node(in[0], merge_axis(w, 0, 0, s), c, s), -1, n, s)}, {0}};
  return {{conv_of_batches(with_batch(in[0], mapped[0], n, s), w, c, n, s)}, {0}};
}

Batched conv_weight_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs* attrs,
                         Stream s) {
  auto c = attrs_as<ConvWeightAttrs>(attrs);
  int64_t n = batch_size(in, mapped);
  array x = merge_axis(with_batch(in[0], mapped[0], n, s), 0, -1, s);
  array g = merge_axis(with_batch(in[1], mapped[1], n, s), 0, -1, s);
  c.conv.groups *= n;
  return {{unmerge_axis(conv_weight_node(x, g, c, s), 0, n, s)}, {0}};
}

}  // namespace mlx::core::rules
