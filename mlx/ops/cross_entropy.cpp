// Cross entropy of logits and class indices.
#include "mlx/ops/cross_entropy.h"

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core::fast {

array cross_entropy(const array& logits, const array& targets, StreamOrDevice stream) {
  if (logits.ndim() == 0)
    fail<ValueError>("cross_entropy", "scalar logits; at least one axis is needed");
  if (!is_floating(logits.dtype()))
    fail<ValueError>("cross_entropy", "logits of dtype ", dtype_name(logits.dtype()),
                     "; floating dtypes are accepted");
  if (!issubdtype(targets.dtype(), integer))
    fail<ValueError>("cross_entropy", "targets of dtype ", dtype_name(targets.dtype()),
                     "; integers are accepted");
  Shape shape(logits.shape().begin(), logits.shape().end() - 1);
  if (targets.shape() != shape)
    fail<ValueError>("cross_entropy", "targets of shape ", to_string(targets.shape()),
                     " for logits of shape ", to_string(logits.shape()), "; shape ",
                     to_string(shape), " is accepted");
  Stream s = to_stream(stream);
  array x = logits.dtype().size() < 4 ? astype(logits, float32, s) : logits;
  if (x.size() == 0) return zeros(shape, x.dtype(), s);
  // Relative to a large maximum, the difference below would lose precision.
  x = subtract(x, stop_gradient(max(x, std::vector<int>{-1}, true, s), s), s);
  array picked = take_along_axis(x, expand_dims(targets, -1, s), -1, s);
  return subtract(logsumexp(x, -1, false, s), squeeze(picked, -1, s), s);
}

}  // namespace mlx::core::fast
