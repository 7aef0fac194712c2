// Joining, splitting and repeating arrays: concatenate, stack, split, repeat, tile, pad, roll,
// kron.
#pragma once

#include <string>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// Concatenates arrays along an axis; the other lengths must be equal. Dtypes are promoted.
MLX_API array concatenate(std::vector<array> arrays, int axis, StreamOrDevice s = {});
/// Concatenates the flattened arrays.
MLX_API array concatenate(std::vector<array> arrays, StreamOrDevice s = {});
/// Joins arrays of one shape along a new axis.
MLX_API array stack(const std::vector<array>& arrays, int axis, StreamOrDevice s = {});
MLX_API array stack(const std::vector<array>& arrays, StreamOrDevice s = {});

/// Splits an axis (the first if none is given) into `num_splits` parts of equal length.
MLX_API std::vector<array> split(const array& a, int num_splits, int axis, StreamOrDevice s = {});
MLX_API std::vector<array> split(const array& a, int num_splits, StreamOrDevice s = {});
/// Splits an axis at the given indices.
MLX_API std::vector<array> split(const array& a, const Shape& indices, int axis,
                                 StreamOrDevice s = {});
MLX_API std::vector<array> split(const array& a, const Shape& indices, StreamOrDevice s = {});

/// Every element (of an axis, or of the flattened array) repeated `repeats` times in sequence.
MLX_API array repeat(const array& arr, int repeats, int axis, StreamOrDevice s = {});
MLX_API array repeat(const array& arr, int repeats, StreamOrDevice s = {});
/// The array repeated reps[i] times along axis i; the shorter of shape and reps is extended with
/// leading ones.
MLX_API array tile(const array& arr, std::vector<int> reps, StreamOrDevice s = {});

/// `a` with elements added before and after it along the given axes. Modes: "constant" adds
/// pad_value (cast), "edge" the outermost element, "reflect" the mirror image without the outermost
/// element, "symmetric" the mirror image with it.
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

/// Elements shifted cyclically by `shift` along axes, or in the flattened array if no axis is
/// given. Several shifts for one axis, or without an axis, are added.
MLX_API array roll(const array& a, int shift, StreamOrDevice s = {});
MLX_API array roll(const array& a, const Shape& shift, StreamOrDevice s = {});
MLX_API array roll(const array& a, int shift, int axis, StreamOrDevice s = {});
MLX_API array roll(const array& a, int shift, const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array roll(const array& a, const Shape& shift, int axis, StreamOrDevice s = {});
MLX_API array roll(const array& a, const Shape& shift, const std::vector<int>& axes,
                   StreamOrDevice s = {});

/// The Kronecker product: each element of `a` times all of `b`.
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
