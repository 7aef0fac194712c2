// Attention of a few queries in 16 bits, its keys divided among blocks.
#pragma once

#include "mlx/backend/gpu/families/attention_tiles.h"

namespace mlx::core::gpu {

/// Whether the kernels of kernels/attention_few.cuh serve operands: queries, keys, values.
bool has_few_queries(const Layout& q, const Layout& k, const Layout& v);
/// Bytes that they need between them.
size_t few_queries_workspace(const Layout& q, const Layout& k, const Layout& v);
std::unique_ptr<const OpKernel> prepare_few_queries(const Step& step, DeviceState& device);

}  // namespace mlx::core::gpu
