// The geometry of convolutions, and convolutions as products by a library.
#pragma once

#include "mlx/backend/gpu/families/family.h"
#include "mlx/ops/conv.h"

namespace mlx::core::gpu {

/// Sizes of a convolution of x [batch, lengths.., channels] whose result is shaped as y; `kernel`:
/// lengths of the weight's spatial axes.
device::ConvArguments geometry(const Shape& x, const Shape& y, const Shape& kernel,
                               const ConvAttrs& c);
/// Positions of the result, and elements of the patch that each is computed from.
int64_t positions(const device::ConvArguments& p);
int64_t patch(const device::ConvArguments& p);
/// Whether element numbers up to `count`, and places of the input, fit into 32 bits.
bool counts_in_32_bits(const device::ConvArguments& p, int64_t count);

/// How patches become the rows of a matrix, which a library multiplies.
struct PatchPlan {
  int64_t rows = 0;  ///< patches at a time; 0 where the library does not compute the convolution
  bool in_place = false;  ///< the input is that matrix
  bool sums = false;      ///< products of parts are summed in float32, beside the patches
  size_t bytes = 0;       ///< of the workspace
  size_t sums_at = 0;     ///< where the sums are in it
};
PatchPlan plan_patches(const device::ConvArguments& p, Dtype type, bool weight,
                       const DeviceState& device);

/// A convolution, or the cotangent of its weight, by the library.
std::unique_ptr<const OpKernel> patch_product(const Step& step, const device::ConvArguments& p,
                                              const PatchPlan& plan, bool weight,
                                              DeviceState& device);

}  // namespace mlx::core::gpu
