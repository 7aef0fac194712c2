// Joining, splitting and repeating arrays: concatenate, stack, split, repeat, tile, pad, roll,
// kron.
#pragma once

#include <string>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// The arrays one after another along an axis; the other lengths agree. Dtypes are promoted.
MLX_API array concatenate(std::vector<array> arrays, int axis, StreamOrDevice s = {});
/// The flattened arrays one after another.
MLX_API array concatenate(std::vector<array> arrays, StreamOrDevice s = {});
/// Arrays of one shape along a new axis.
MLX_API array stack(const std::vector<array>& arrays, int axis, StreamOrDevice s = {});
MLX_API array stack(const std::vector<array>& arrays, StreamOrDevice s = {});

/// `num_splits` parts of equal length along an axis (the first where none is given).
MLX_API std::vector<array> split(const array& a, int num_splits, int axis, StreamOrDevice s = {});
MLX_API std::vector<array> split(const array& a, int num_splits, StreamOrDevice s = {});
/// The parts between positions along an axis.
MLX_API std::vector<array> split(const array& a, const Shape& indices, int axis,
                                 StreamOrDevice s = {});
MLX_API std::vector<array> split(const array& a, const Shape& indices, StreamOrDevice s = {});

/// Every element (of an axis, or of the flattened array) `repeats` times in a row.
MLX_API array repeat(const array& arr, int repeats, int axis, StreamOrDevice s = {});
MLX_API array repeat(const array& arr, int repeats, StreamOrDevice s = {});
/// The array reps[i] times along axis i; the shorter of shape and reps gets leading ones.
MLX_API array tile(const array& arr, std::vector<int> reps, StreamOrDevice s = {});

/// `a` with elements added before and after it along the axes named. Modes: "constant" adds
/// pad_value (cast), "edge" the outermost element, "reflect" the mirror image without the outermost
/// element, "symmetric" with it.
MLX_API array pad(const array& a, const std::vector<int>& axes, const Shape& low_pad_size,
                  const Shape& high_pad_size, const array& pad_value = array(0),
                  const std::string& mode = "constant", StreamOrDevice s = {});
MLX_API array pad(const array& a, const std::vector<std::pair<int, int>>& pad_width,
                  const array& pad_value = array(0), const std::string& mode = "constant",
                  StreamOrDevice s = {});
MLX_API array pad(const array& a, const std::pair<int, int>& pad_width,
                  const array& pad_value = array(0), const std::string& mode = "constant",
                  StreamOrDevice s = {});
MLX_API array pad(const array& a, int pad_width, const array& pad_value = array(0),
                  const std::string& mode = "constant", StreamOrDevice s = {});

/// Elements moved along axes by `shift` places, around the end; of the flattened array where no
/// axis is named. Several shifts for one axis, and for no axis, add up.
MLX_API array roll(const array& a, int shift, StreamOrDevice s = {});
MLX_API array roll(const array& a, const Shape& shift, StreamOrDevice s = {});
MLX_API array roll(const array& a, int shift, int axis, StreamOrDevice s = {});
MLX_API array roll(const array& a, int shift, const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array roll(const array& a, const Shape& shift, int axis, StreamOrDevice s = {});
MLX_API array roll(const array& a, const Shape& shift, const std::vector<int>& axes,
                   StreamOrDevice s = {});

/// The Kronecker product: each element of `a` times the whole of `b`.
MLX_API array kron(const array& a, const array& b, StreamOrDevice s = {});

struct ConcatenateAttrs {
  int axis;
  template <class F>
  void each(F&& f) {
    f("axis", axis);
  }
};

extern const OpDef op_concatenate;

namespace rules {
Arrays concatenate_vjp(const RuleArgs& r);
Batched concatenate_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
