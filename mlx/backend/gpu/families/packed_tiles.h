// Products with packed matrices by products of fragments, without unpacking them in memory.
#pragma once

#include <optional>
#include <string>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/grouped.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/backend/gpu/libraries.h"
#include "mlx/ops/quantized.h"

namespace mlx::core::gpu {

/// A kernel, for addresses that are multiples of 16 bytes and for others.
struct PackedTiles {
  int64_t blocks = 0;  ///< 0: other kernels serve the product
  std::string text, unaligned;
};
/// The kernel of a product x · w^T, if it is served. `scale`: the dtype of the scales.
PackedTiles packed_tiles(const Packing& packing, Dtype x, Dtype scale,
                         const device::PackedProductArguments& p);
/// The kernel of a product of few rows of x, for such addresses where those of scales and biases
/// are multiples of 4.
PackedTiles packed_stages(const Packing& packing, Dtype x, Dtype scale,
                          const device::PackedProductArguments& p);
/// The kernel by products of warpgroups, for addresses that are multiples of 16 bytes, if it serves
/// a product of many rows; and the text of one for other addresses.
struct PackedWarpgroups {
  int64_t blocks = 0;  ///< 0: other kernels serve the product
  int rows = 0;        ///< of x in a block
  int units = 0;       ///< scales of a packed row for 64 elements, at most
  bool split = false;  ///< whether the warpgroups of a block divide the inner axis
  std::string unaligned = {};
};
PackedWarpgroups packed_warpgroups(const Packing& packing, Dtype x, Dtype scale,
                                   const device::PackedProductArguments& p,
                                   const DeviceState& device);
/// Compiles.
Function packed_tiles_kernel(const std::string& text, DeviceState& device);

/// A kernel by warpgroups whose blocks have 256 threads.
template <class T>
class PackedGroupKernel {
 public:
  PackedGroupKernel() = default;
  /// `shared`: bytes of a block.
  PackedGroupKernel(KernelOn<T> kernel, int shared, DeviceState& device)
      : kernel_(std::move(kernel)), shared_(shared) {
    device.hardware->warpgroups()->allow(kernel_.function().handle, shared_);
  }
  explicit operator bool() const { return static_cast<bool>(kernel_); }
  void launch(const Enqueue& to, int64_t blocks, const T& arguments) const {
    const ArgumentBlock<T> block{.p = arguments};
    to.queue.enqueue({.function = kernel_.function(),
                      .blocks = blocks,
                      .arguments = block.all(),
                      .shared = shared_});
  }

 private:
  KernelOn<T> kernel_;
  int shared_ = 0;
};

/// Products whose packed matrices indices say, grouped by these.
class PackedGroups {
 public:
  /// None unless `served`.
  PackedGroups(const Packing& packing, Dtype scale, const GroupedProblem& problem,
               const DeviceState& device);
  bool served() const { return products_.has_value(); }
  size_t workspace() const { return products_ ? products_->workspace() : 0; }
  void prepare(DeviceState& device);
  void launch(const Enqueue& to, const GroupedProducts::Operands& operands,
              const device::PackedArguments& w, const device::Positions& at) const;

 private:
  std::optional<GroupedProducts> products_;
  std::string text_, unaligned_;
  Kernel kernel_;
  PackedGroupKernel<device::GroupedPackedArguments> group_kernel_;
  Packing packing_;
  Dtype dtype_ = float16;
  int64_t columns_ = 0;      ///< of a block's results
  bool warpgroups_ = false;  ///< whether `group_kernel_` serves aligned addresses
};

}  // namespace mlx::core::gpu
