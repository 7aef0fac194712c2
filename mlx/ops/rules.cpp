// Helpers of rules.
#include "mlx/ops/rules.h"

#include "mlx/ops/cast.h"
#include "mlx/ops/reduce.h"
#include "mlx/ops/view.h"

namespace mlx::core::rules {

array sum_to(const array& g, const Shape& shape, Stream s) {
  if (g.shape() == shape) return g;
  size_t extra = g.ndim() - shape.size();
  std::vector<int> axes;
  for (size_t i = 0; i < g.ndim(); ++i)
    if (i < extra || (shape[i - extra] == 1 && g.shape()[i] != 1))
      axes.push_back(static_cast<int>(i));
  // sum() widens small integers.
  return reshape(astype(sum(g, axes, true, s), g.dtype(), s), shape, s);
}

array to_front(const array& x, int axis, Stream s) {
  return axis <= 0 ? x : moveaxis(x, axis, 0, s);
}

array with_batch(const array& x, int axis, int64_t n, Stream s) {
  if (axis >= 0) return to_front(x, axis, s);
  return broadcast_to(x, prepend(n, x.shape()), s);
}

int64_t batch_size(const Arrays& inputs, const std::vector<int>& axes) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] >= 0) return inputs[i].shape()[axes[i]];
  return 1;
}

Shape prepend(int64_t first, const Shape& rest) {
  Shape out{first};
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

std::vector<int> shifted(const std::vector<int>& axes) {
  std::vector<int> out;
  for (int a : axes) out.push_back(a + 1);
  return out;
}

Arrays identity_vjp(const RuleArgs& r) {
  Arrays out(r.inputs.size());
  out[0] = r.grads[0];
  return out;
}

array zero(Dtype dtype) { return constant(0.0, dtype); }

}  // namespace mlx::core::rules
