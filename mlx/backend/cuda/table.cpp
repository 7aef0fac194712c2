// Op -> kernel. A family adds its entries here.
#include <cstring>

#include "mlx/backend/cuda/kernel.h"

namespace mlx::core::cuda {

const KernelEntry* find_kernel(const OpDef& op, const Attrs* attrs,
                               std::span<const Layout> operands, int n_inputs,
                               const DeviceState& device, Requirements& needs) {
  for (std::span<const KernelEntry> family : {reduce_kernels})
    for (const KernelEntry& k : family)
      if (!std::strcmp(k.op, op.name))
        return k.find(attrs, operands, n_inputs, device, needs) ? &k : nullptr;
  return nullptr;
}

const char* element_type(Dtype t) {
  switch (t.val()) {
#define MLX_NAME(T, D)  \
  case Dtype::Val::D: \
    return #T;
    MLX_FOR_EACH_DTYPE(MLX_NAME)
#undef MLX_NAME
  }
  return "";
}

}  // namespace mlx::core::cuda
