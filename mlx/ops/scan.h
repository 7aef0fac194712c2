// Cumulative sums, products and extrema along an axis, or over the flattened array if no axis is
// given. `reverse` starts at the end; an exclusive scan (`inclusive` false) excludes the element
// itself and starts with the neutral element. 16-bit floats are accumulated in float32.
#pragma once

#include <optional>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"
#include "mlx/ops/scan_kind.h"

namespace mlx::core {

#define MLX_TYPED_SCAN(name)                                                                   \
  MLX_API array name(const array& a, bool reverse, bool inclusive, std::optional<Dtype> dtype, \
                     StreamOrDevice s = {});                                                   \
  MLX_API array name(const array& a, int axis, bool reverse, bool inclusive,                   \
                     std::optional<Dtype> dtype, StreamOrDevice s = {});
#define MLX_SCAN(name)                                                                      \
  MLX_API array name(const array& a, bool reverse = false, bool inclusive = true,           \
                     StreamOrDevice s = {});                                                \
  MLX_API array name(const array& a, int axis, bool reverse = false, bool inclusive = true, \
                     StreamOrDevice s = {});
/// Cumulative sum, computed in `dtype` or by default the dtype of `a`; bool is counted in int32.
MLX_TYPED_SCAN(cumsum)
MLX_SCAN(cumsum)
/// Cumulative product, computed in `dtype` or by default the dtype of `a`.
MLX_TYPED_SCAN(cumprod)
MLX_SCAN(cumprod)
/// Cumulative maximum; NaN from the first NaN on.
MLX_SCAN(cummax)
/// Cumulative minimum; NaN from the first NaN on.
MLX_SCAN(cummin)
/// log(cumsum(exp(a))) without overflow.
MLX_SCAN(logcumsumexp)
#undef MLX_TYPED_SCAN
#undef MLX_SCAN
/// Differences of neighbours along an axis, applied `n` times; for bools, whether they differ.
MLX_API array diff(const array& a, int n = 1, int axis = -1, StreamOrDevice s = {});
/// The same with elements before and after the axis; scalars are broadcast to length 1 along it.
MLX_API array diff(const array& a, int n, int axis, const std::optional<array>& prepend,
                   const std::optional<array>& append, StreamOrDevice s = {});

struct ScanAttrs {
  ScanKind kind;
  int axis;
  bool reverse, inclusive;
  template <class F>
  void each(F&& f) {
    f("kind", kind);
    f("axis", axis);
    f("reverse", reverse);
    f("inclusive", inclusive);
  }
};

struct AffineScanAttrs {
  int axis;
  bool reverse;
  template <class F>
  void each(F&& f) {
    f("axis", axis);
    f("reverse", reverse);
  }
};

extern const OpDef op_scan, op_affine_scan;

/// A scan by its kind; `axis` may be negative.
MLX_API array scan(const array& a, ScanKind kind, int axis, bool reverse, bool inclusive,
                   StreamOrDevice s = {});
/// The linear recurrence y_i = b_i + a_i * y_{i-1} along an axis, from 0: used by the derivatives
/// of cumulative products. Operands of one shape and one floating or complex dtype.
array affine_scan(const array& a, const array& b, int axis, bool reverse, StreamOrDevice s = {});

namespace rules {
Arrays scan_vjp(const RuleArgs& r);
Arrays scan_jvp(const RuleArgs& r);
Batched scan_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Arrays affine_scan_vjp(const RuleArgs& r);
Arrays affine_scan_jvp(const RuleArgs& r);
Batched affine_scan_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
