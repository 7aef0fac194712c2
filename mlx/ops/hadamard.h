// The Hadamard transform.
#pragma once

#include <optional>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// scale * a · H_n^T over the last axis, whose length n is m * 2^k with m one of 1, 12, 20 and 28:
/// H_n is the Kronecker product of a fixed Hadamard matrix of order m and Sylvester's of order 2^k.
/// The scale is 1 / sqrt(n) unless given. Dtypes that are not floating become float32.
MLX_API array hadamard_transform(const array& a, std::optional<float> scale = {},
                                 StreamOrDevice s = {});

struct HadamardAttrs {
  double scale;
  bool transposed;  ///< multiplies by H_n instead
  template <class F>
  void each(F&& f) {
    f("scale", scale);
    f("transposed", transposed);
  }
};

extern const OpDef op_hadamard;

/// The factorisation n = m * 2^k; m is 0 if there is none.
struct HadamardOrder {
  int64_t m, power;
};
MLX_API HadamardOrder hadamard_order(int64_t n);

}  // namespace mlx::core
