// Derivatives and batching of take, gather and take_along_axis. Cotangents are scattered back.
#include "mlx/ops/index.h"

#include <algorithm>
#include <numeric>

#include "mlx/ops.h"

namespace mlx::core::rules {

Arrays take_vjp(const RuleArgs& r) {
  Arrays out(2);
  if (!r.requested[0]) return out;
  const array &a = r.inputs[0], &indices = r.inputs[1];
  int axis = attrs_as<TakeAttrs>(r.attrs).axis, rank = static_cast<int>(indices.ndim());
  // [outer, index, inner] -> [index, outer, 1, inner]
  std::vector<int> order(rank + a.ndim() - 1);
  std::iota(order.begin(), order.begin() + rank, axis);
  std::iota(order.begin() + rank, order.begin() + rank + axis, 0);
  std::iota(order.begin() + rank + axis, order.end(), axis + rank);
  array updates = expand_dims(transpose(r.grads[0], order, r.stream), rank + axis, r.stream);
  out[0] = scatter_add(zeros_like(a, r.stream), indices, updates, axis, r.stream);
  return out;
}

Arrays take_along_axis_vjp(const RuleArgs& r) {
  Arrays out(2);
  if (r.requested[0])
    out[0] = scatter_add_axis(zeros_like(r.inputs[0], r.stream), r.inputs[1], r.grads[0],
                              attrs_as<TakeAttrs>(r.attrs).axis, r.stream);
  return out;
}

Arrays gather_vjp(const RuleArgs& r) {
  Arrays out(r.inputs.size());
  if (r.requested[0])
    out[0] =
        scatter_add(zeros_like(r.inputs[0], r.stream), Arrays(r.inputs.begin() + 1, r.inputs.end()),
                    r.grads[0], attrs_as<GatherAttrs>(r.attrs).axes, r.stream);
  return out;
}

Batched gather_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs* attrs,
                    Stream s) {
  const auto& g = attrs_as<GatherAttrs>(attrs);
  Arrays indices =
      batch_indices(Arrays(in.begin() + 1, in.end()), {mapped.begin() + 1, mapped.end()});
  bool batched = std::any_of(mapped.begin() + 1, mapped.end(), [](int axis) { return axis >= 0; });
  std::vector<int> axes = g.axes;
  if (mapped[0] < 0) return {{gather(in[0], indices, axes, g.slice_sizes, s)}, {0}};

  array a = moveaxis(in[0], mapped[0], 0, s);
  Shape sizes = g.slice_sizes;
  for (int& axis : axes) ++axis;
  if (!batched) {
    sizes.insert(sizes.begin(), a.shape(0));
    int rank = static_cast<int>(broadcast_indices(indices, "gather").size());
    return {{gather(a, indices, axes, sizes, s)}, {rank}};
  }
  // Each batch element reads from its own slice of `a`.
  sizes.insert(sizes.begin(), 1);
  Shape lengths(indices[0].ndim(), 1);
  lengths[0] = a.shape(0);
  indices.push_back(reshape(arange(int64_t{0}, a.shape(0), int64_t{1}, int64, s), lengths, s));
  axes.push_back(0);
  return {{squeeze(gather(a, indices, axes, sizes, s), static_cast<int>(lengths.size()), s)}, {0}};
}

Batched take_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs* attrs, Stream s) {
  int axis = attrs_as<TakeAttrs>(attrs).axis;
  if (mapped[1] < 0) return {{take(moveaxis(in[0], mapped[0], 0, s), in[1], axis + 1, s)}, {0}};
  array indices = moveaxis(in[1], mapped[1], 0, s);
  if (mapped[0] < 0) return {{take(in[0], indices, axis, s)}, {axis}};

  Shape sizes = in[0].shape();
  sizes.erase(sizes.begin() + mapped[0]);
  sizes[axis] = 1;
  array out =
      gather_vmap({in[0], indices}, {mapped[0], 0}, make_attrs(GatherAttrs{{axis}, sizes}).get(), s)
          .first[0];
  // [batch, index, outer, 1, inner] -> [batch, outer, index, inner]
  int rank = static_cast<int>(indices.ndim());
  out = squeeze(out, rank + axis, s);
  std::vector<int> order{0};
  for (int i = 0; i < axis; ++i) order.push_back(rank + i);
  for (int i = 1; i < rank; ++i) order.push_back(i);
  for (int i = rank + axis; i < static_cast<int>(out.ndim()); ++i) order.push_back(i);
  return {{transpose(out, order, s)}, {0}};
}

Batched take_along_axis_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs* attrs,
                             Stream s) {
  Arrays moved;
  for (int i = 0; i < 2; ++i)
    moved.push_back(mapped[i] < 0 ? expand_dims(in[i], 0, s) : moveaxis(in[i], mapped[i], 0, s));
  return {{take_along_axis(moved[0], moved[1], attrs_as<TakeAttrs>(attrs).axis + 1, s)}, {0}};
}

}  // namespace mlx::core::rules
