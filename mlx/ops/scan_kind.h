// The kinds of scan: what the attributes of scan nodes and the backends' kernels agree on.
#pragma once

#include <cstdint>

namespace mlx::core {

enum class Scan : uint8_t { sum, prod, max, min, logsumexp };

}  // namespace mlx::core
