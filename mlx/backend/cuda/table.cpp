// Op -> kernel. A family adds its entries here.
#include <algorithm>
#include <cstring>

#include "mlx/backend/cuda/kernel.h"

namespace mlx::core::cuda {

const KernelEntry* find_kernel(const OpDef& op, const Attrs* attrs,
                               std::span<const Layout> operands, int n_inputs,
                               const DeviceState& device, Requirements& needs) {
  for (std::span<const KernelEntry> family :
       {attention_kernels, compact_kernels, conv_kernels, counting_kernels, creation_kernels,
        custom_kernels, delta_kernels, gather_product_kernels, hadamard_kernels, index_kernels,
        matmul_kernels, packed_kernels, reduce_kernels, rows_kernels, scan_kernels, scatter_kernels,
        slice_kernels, sort_kernels})
    for (const KernelEntry& k : family)
      if (!std::strcmp(k.op, op.name))
        return k.find(attrs, operands, n_inputs, device, needs) ? &k : nullptr;
  return nullptr;
}

bool set_axes(std::span<device::Axes* const> to, Shape shape, std::vector<Strides> strides) {
  collapse_axes(shape, strides);
  if (shape.size() > device::kMostAxes) return false;
  for (size_t k = 0; k < to.size(); ++k) {
    to[k]->rank = static_cast<int64_t>(shape.size());
    std::ranges::copy(shape, to[k]->shape);
    std::ranges::copy(strides[k], to[k]->strides);
  }
  return true;
}

const char* element_type(Dtype t) {
  switch (t.val()) {
#define MLX_NAME(T, D) \
  case Dtype::Val::D:  \
    return #T;
    MLX_FOR_EACH_DTYPE(MLX_NAME)
#undef MLX_NAME
  }
  return "";
}

}  // namespace mlx::core::cuda
