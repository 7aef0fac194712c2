// The two passes of a transform of planes, for backends that have no single one.
#pragma once

#include "mlx/core/shape.h"
#include "mlx/ops/fft.h"

namespace mlx::core {

/// Transforms along one axis, in their order, and the result of the first.
struct FftPlanePasses {
  FftAttrs first, second;
  Layout between;  ///< in rows

  FftPlanePasses(const FftPlanesAttrs& a, const Layout& in, const Layout& out) {
    const int last = static_cast<int>(out.shape.size()) - 1;
    const FftAttrs real{a.kind, last, a.n, a.scale};
    const bool back = a.kind == FftKind::inverse || a.kind == FftKind::hermitian;
    const FftAttrs complex{back ? FftKind::inverse : FftKind::forward, last - 1,
                           out.shape[last - 1], a.other_scale};
    const bool complex_first = a.kind == FftKind::hermitian;
    first = complex_first ? complex : real;
    second = complex_first ? real : complex;
    const Layout& of = complex_first ? in : out;
    between = {of.shape, row_major(of.shape), 0, of.dtype};
  }
};

}  // namespace mlx::core
