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
  const Dtype dtype = logits.dtype().size() < 4 ? float32 : logits.dtype();
  if (logits.size() == 0) return zeros(shape, dtype, s);
  // Relative to a large maximum, the difference would lose precision. No array of the shifted
  // logits is stored: the sum and the pick read the logits.
  const array largest =
      astype(stop_gradient(max(logits, std::vector<int>{-1}, true, s), s), dtype, s);
  const auto shifted = [&](const array& x) { return subtract(astype(x, dtype, s), largest, s); };
  const array picked = take_along_axis(logits, expand_dims(targets, -1, s), -1, s);
  const array total = sum(exp(shifted(logits), s), std::vector<int>{-1}, true, s);
  return squeeze(subtract(log(total, s), shifted(picked), s), -1, s);
}

}  // namespace mlx::core::fast
