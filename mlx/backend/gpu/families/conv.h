// The geometry of convolutions, convolutions by a library that knows them, and as products by one
// that does not.
#pragma once

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/libraries.h"
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

/// How a library of convolutions computes a step: as one, or as the cotangent of one.
struct LibraryPlan {
  std::shared_ptr<const ConvolutionPlan> plan = {};  ///< null where it does not
  /// The step is the transpose of the library's convolution: x and y change places, and the weight
  /// has the channels of both sides exchanged.
  bool transposed = false;
  bool exchanges = false;  ///< a kernel exchanges them, in the workspace
  bool pads = false;       ///< kernels add channels of zeros to the input and the weight, there
  size_t bytes = 0;        ///< of the workspace: of the weight, the input, and the library
  size_t weight_bytes = 0, input_bytes = 0;
};
LibraryPlan plan_library(const device::ConvArguments& p, std::span<const Layout> operands,
                         Precision precision, bool weight, const DeviceState& device);
std::unique_ptr<const OpKernel> library_convolution(const Step& step,
                                                    const device::ConvArguments& p,
                                                    const LibraryPlan& plan, bool weight,
                                                    DeviceState& device);

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
                                              const PatchPlan& plan, Precision precision,
                                              bool weight, DeviceState& device);

}  // namespace mlx::core::gpu
