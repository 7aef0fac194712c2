// The kinds of reduction, shared by the attributes of reduce nodes and the backends' kernels.
#pragma once

#include <cstdint>

namespace mlx::core {

/// `argmax` and `argmin` belong to op_arg_reduce, the others to op_reduce.
enum class Reduction : uint8_t { sum, mean, prod, max, min, all, any, argmax, argmin };

}  // namespace mlx::core
