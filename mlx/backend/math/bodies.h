// A function object per row of ops/elementwise.def: bodies::exp{}(x) is m::exp(x). A new op is a
// row there and a function with that name in one of the math headers.
#pragma once

#include "mlx/backend/math/math.h"

namespace mlx::core::bodies {

#define E(name, ...)                       \
  struct name {                            \
    template <class... V>                  \
    MLX_FN auto operator()(V... x) const { \
      return m::name(x...);                \
    }                                      \
  };
#include "mlx/ops/elementwise.def"
#undef E

}  // namespace mlx::core::bodies
