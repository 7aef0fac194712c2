// Products with packed matrices by products of fragments, without unpacking them in memory.
#pragma once

#include <optional>
#include <string>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/grouped.h"
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
/// Compiles.
Function packed_tiles_kernel(const std::string& text, DeviceState& device);

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
  int64_t columns_ = 0;
};

}  // namespace mlx::core::gpu
