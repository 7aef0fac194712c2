// Lines along an axis that Fourier transforms read and write.
#pragma once

#include "mlx/backend/gpu/families/family.h"
#include "mlx/ops/fft.h"

namespace mlx::core::gpu {

/// Bytes of a part of a workspace, so that the next part is aligned.
inline int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// How many lines a result has: outer axes, and lines whose elements alternate.
struct FftShape {
  int64_t outer, inner;
  FftShape(const FftAttrs& a, const Layout& out)
      : outer(num_elements(Shape(out.shape.begin(), out.shape.begin() + a.axis))),
        inner(num_elements(Shape(out.shape.begin() + a.axis + 1, out.shape.end()))) {}
};

/// Where the lines of an input begin. False where they have too many axes.
inline bool set_fft_walk(device::Axes& walk, const Layout& in, int axis) {
  Shape shape = in.shape;
  Strides strides = in.strides;
  shape.erase(shape.begin() + axis);
  strides.erase(strides.begin() + axis);
  device::Axes* const to = &walk;
  return set_axes({&to, 1}, shape, {strides});
}

}  // namespace mlx::core::gpu
