// Rotary position embedding (Su et al. 2021).
#pragma once

#include <optional>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

namespace fast {

/// Rotates pairs of the first `dims` features of x, of shape (B, .., T, D), by the angle (offset +
/// t) * scale * base^(-2i / dims) for pair i at position t, or divided by freqs[i] instead of the
/// power of the base. Pairs are adjacent (traditional) or dims / 2 apart. Angles are computed in
/// float64 before the sine and cosine. Throws ValueError unless x is floating with at least three
/// axes, dims is even and at most D, and exactly one of base and freqs is given.
MLX_API array rope(const array& x, int dims, bool traditional, std::optional<double> base,
                   double scale, int offset, const std::optional<array>& freqs = {},
                   StreamOrDevice s = {});
/// The same with an integer offset of one element, or of one per batch element.
MLX_API array rope(const array& x, int dims, bool traditional, std::optional<double> base,
                   double scale, const array& offset, const std::optional<array>& freqs = {},
                   StreamOrDevice s = {});

}  // namespace fast

struct RopeAttrs {
  int dims;
  bool traditional;
  double base, scale;
  bool has_freqs;
  bool inverse;  ///< rotates in the opposite direction
  template <class F>
  void each(F&& f) {
    f("dims", dims);
    f("traditional", traditional);
    f("base", base);
    f("scale", scale);
    f("has_freqs", has_freqs);
    f("inverse", inverse);
  }
};

/// Inputs: x, offset of dtype int32 with one axis of length 1 or B, and float32 freqs if the
/// attributes say so.
extern const OpDef op_rope;

}  // namespace mlx::core
