// Derivatives and batching of concatenate.
#include "mlx/ops/concat.h"

#include "mlx/ops/slice.h"

namespace mlx::core::rules {

Arrays concatenate_vjp(const RuleArgs& r) {
  int axis = attrs_as<ConcatenateAttrs>(r.attrs).axis;
  Arrays out(r.inputs.size());
  Shape start(r.grads[0].ndim(), 0), stop = r.grads[0].shape();
  for (size_t i = 0; i < out.size(); ++i) {
    stop[axis] = start[axis] + r.inputs[i].shape()[axis];
    if (r.requested[i]) out[i] = slice(r.grads[0], start, stop, r.stream);
    start[axis] = stop[axis];
  }
  return out;
}

Batched concatenate_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                         Stream s) {
  int64_t batch = batch_size(in, axes);
  Arrays batched;
  for (size_t i = 0; i < in.size(); ++i) batched.push_back(with_batch(in[i], axes[i], batch, s));
  return {{concatenate(std::move(batched), attrs_as<ConcatenateAttrs>(attrs).axis + 1, s)}, {0}};
}

}  // namespace mlx::core::rules
