// The kinds of scan, shared by the attributes of scan nodes and the backends' kernels.
#pragma once

#include <cstdint>

namespace mlx::core {

enum class ScanKind : uint8_t { sum, prod, max, min, logsumexp };

}  // namespace mlx::core
