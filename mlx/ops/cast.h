// Dtype conversions, reinterpretation of bits, 8-bit floats; and identities that only affect the
// graph (copy, stop_gradient, contiguous, depends).
#pragma once

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// `a` converted to `dtype`; `a` itself if it already has that dtype.
MLX_API array astype(array a, Dtype dtype, StreamOrDevice s = {});
/// The same on a given stream.
array cast_to(const array& a, Dtype dtype, Stream s);
/// The bytes of `a` in row-major order, reinterpreted as elements of `dtype`. If the sizes differ,
/// the last axis becomes longer or shorter; throws ValueError if its bytes are not a multiple of
/// the size. As bool, nonzero bytes are true.
MLX_API array view(const array& a, const Dtype& dtype, StreamOrDevice s = {});
/// Complex numbers from real and imaginary parts: real arrays of one shape and of dtype float32
/// (giving complex64) or float64 (complex128). Exact, also for infinities and signed zeros.
MLX_API array from_parts(const array& real, const array& imag, StreamOrDevice s = {});
/// The same elements in a new buffer.
MLX_API array copy(array a, StreamOrDevice s = {});
/// The same elements in row-major memory order; with `allow_col_major`, column-major is kept.
MLX_API array contiguous(const array& a, bool allow_col_major = false, StreamOrDevice s = {});
/// `a`, treated as a constant by differentiation.
MLX_API array stop_gradient(const array& a, StreamOrDevice s = {});
/// The inputs, available only after `dependencies` are computed.
MLX_API std::vector<array> depends(const std::vector<array>& inputs,
                                   const std::vector<array>& dependencies);

/// Floating elements rounded to the nearest 8-bit float with 4 exponent and 3 mantissa bits
/// (e4m3fn), as uint8. Magnitudes above 448 become 448; NaN stays NaN.
MLX_API array to_fp8(array x, StreamOrDevice s = {});
/// The values of 8-bit floats (e4m3fn) stored as uint8.
MLX_API array from_fp8(array x, Dtype dtype, StreamOrDevice s = {});

/// The result dtype of functions on floating numbers: bool and integers become float32.
inline Dtype at_least_float(Dtype t) { return is_inexact(t) ? t : float32; }

struct ViewAttrs {
  Dtype dtype;
  template <class F>
  void each(F&& f) {
    f("dtype", dtype);
  }
};
struct CastAttrs {
  Dtype dtype;
  template <class F>
  void each(F&& f) {
    f("dtype", dtype);
  }
};
struct ContiguousAttrs {
  bool allow_col_major;
  template <class F>
  void each(F&& f) {
    f("allow_col_major", allow_col_major);
  }
};

extern const OpDef op_cast, op_copy, op_view, op_contiguous, op_stop_gradient, op_depends;

namespace rules {
Arrays cast_vjp(const RuleArgs& r);
Arrays cast_jvp(const RuleArgs& r);
Arrays view_vjp(const RuleArgs& r);
Arrays view_jvp(const RuleArgs& r);
Arrays stop_gradient_vjp(const RuleArgs& r);
Arrays stop_gradient_jvp(const RuleArgs& r);
Batched cast_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched copy_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched view_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched contiguous_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched stop_gradient_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
