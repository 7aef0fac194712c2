// Selection by masks: indices of true elements, and reads and writes of the elements there. The
// number of elements depends on values, so everything except writes evaluates the condition.
#pragma once

#include <optional>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// Evaluates arrays whose values determine the shape of a result of `op`. While a function is
/// traced, when there are no values, throws ValueError that names an alternative, `instead`.
void compute_for(const char* op, const std::vector<array>& arrays, const char* instead);

/// Indices of the nonzero elements in row-major order, one int32 or int64 array per axis. Evaluates
/// `a`; throws ValueError for a scalar and while a function is traced.
MLX_API std::vector<array> nonzero(const array& a, StreamOrDevice s = {});
/// The same as rows of one (count, ndim) array.
MLX_API array argwhere(const array& a, StreamOrDevice s = {});
/// Indices into the flattened array.
MLX_API array flatnonzero(const array& a, StreamOrDevice s = {});

/// The slices of `a` along an axis, or the elements of the flattened array, where the 1-D
/// `condition` is true. It may be shorter than the axis. Evaluates the condition.
MLX_API array compress(const array& condition, const array& a, std::optional<int> axis = {},
                       StreamOrDevice s = {});
/// The elements of the flattened array where the flattened condition is true.
MLX_API array extract(const array& condition, const array& a, StreamOrDevice s = {});

/// The slices of `a` where `mask`, a bool array over its leading axes, is true. Evaluates the mask.
array at_mask(const array& a, const array& mask, StreamOrDevice s = {});

/// `a` with the elements where `mask` is true replaced by the elements of `src`, in row-major
/// order. The mask covers the leading axes of `a`; `src` broadcasts over the remaining axes if it
/// has fewer axes, and must have at least as many elements as are replaced (otherwise IndexError
/// when evaluated).
MLX_API array masked_scatter(const array& a, const array& mask, const array& src,
                             StreamOrDevice s = {});

/// `count` indices as the columns of a matrix, or with `rows` as its rows.
struct NonzeroAttrs {
  int64_t count;
  bool rows;
  template <class F>
  void each(F&& f) {
    f("count", count);
    f("rows", rows);
  }
};
/// `count` slices: exactly as many as the mask selects, or, unless `exact`, padded with zeros.
struct CompactAttrs {
  int64_t count;
  bool exact;
  template <class F>
  void each(F&& f) {
    f("count", count);
    f("exact", exact);
  }
};

/// The input is a bool array with `count` true elements.
extern const OpDef op_nonzero;
/// Inputs: an array, and a bool array over its leading axes.
extern const OpDef op_compact;
/// Inputs: an array, a bool array over its leading axes, and at least as many slices as it selects.
extern const OpDef op_masked_scatter;

namespace rules {
array compact_node(const array& a, const array& mask, const CompactAttrs& attrs, Stream s);
Arrays compact_vjp(const RuleArgs& r);
Arrays compact_jvp(const RuleArgs& r);
Batched compact_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs, Stream s);
array masked_scatter_node(const array& a, const array& mask, const array& values, Stream s);
Arrays masked_scatter_vjp(const RuleArgs& r);
Arrays masked_scatter_jvp(const RuleArgs& r);
Batched masked_scatter_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                            Stream s);
}  // namespace rules

}  // namespace mlx::core
