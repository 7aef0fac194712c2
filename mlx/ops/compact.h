// What a condition selects: positions where it holds, and reads and writes of the elements there.
// How many they are is only known from its values, so all but writes evaluate the condition.
#pragma once

#include <optional>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// Computes arrays whose values decide the shape of a result of `op`. While a function is traced,
/// where there are no values, throws ValueError with what can be done `instead`.
void compute_for(const char* op, const std::vector<array>& arrays, const char* instead);

/// Positions of the elements that are not zero, one int32 or int64 array for each axis, in
/// row-major order. Evaluates `a`; throws ValueError for a scalar and while a function is traced.
MLX_API std::vector<array> nonzero(const array& a, StreamOrDevice s = {});
/// The same as rows of one (count, ndim) array.
MLX_API array argwhere(const array& a, StreamOrDevice s = {});
/// Positions in the flattened array.
MLX_API array flatnonzero(const array& a, StreamOrDevice s = {});

/// The slices of `a` along an axis, or the elements of the flattened array, at whose places the 1-D
/// `condition` holds. It may be shorter than the axis. Evaluates the condition.
MLX_API array compress(const array& condition, const array& a, std::optional<int> axis = {},
                       StreamOrDevice s = {});
/// The elements of the flattened array at whose places the flattened condition holds.
MLX_API array extract(const array& condition, const array& a, StreamOrDevice s = {});

/// The slices of `a` where `mask`, bool with the shape of its leading axes, holds. Evaluates the
/// mask.
array at_mask(const array& a, const array& mask, StreamOrDevice s = {});

/// `a` with the elements where `mask` holds replaced, in row-major order, by the elements of `src`.
/// The mask covers the leading axes of `a`; `src` broadcasts to the rest where it has fewer axes,
/// and needs at least as many elements as are replaced (IndexError when evaluated otherwise).
MLX_API array masked_scatter(const array& a, const array& mask, const array& src,
                             StreamOrDevice s = {});

/// `count` positions as the columns or, with `rows`, the rows of a matrix.
struct NonzeroAttrs {
  int64_t count;
  bool rows;
  template <class F>
  void each(F&& f) {
    f("count", count);
    f("rows", rows);
  }
};
/// `count` slices: as many as the mask selects or, unless `exact`, zeros after these.
struct CompactAttrs {
  int64_t count;
  bool exact;
  template <class F>
  void each(F&& f) {
    f("count", count);
    f("exact", exact);
  }
};

/// Its input is a bool array that selects `count` elements.
extern const OpDef op_nonzero;
/// Inputs: an array, and a bool array over its leading axes.
extern const OpDef op_compact;
/// Inputs: an array, a bool array over its leading axes, and slices to replace those that this
/// selects; there may be more of them.
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
