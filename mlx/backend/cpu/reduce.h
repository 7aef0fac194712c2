// Reductions on the CPU: adapts operands of any layout to the kernels of isa/reduce.h.
#pragma once

#include <vector>

#include "mlx/backend/cpu/isa/reduce.h"
#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

/// out = `in` reduced over sorted axes; `out` is row-contiguous. Threaded. The result does not
/// depend on the strides of `in` nor on the number of threads. With a source, which computes the
/// elements of `in`, `in` is row-contiguous and the axes are the last ones.
void reduce(const View& in, Reduction kind, const std::vector<int>& axes, const View& out,
            const FusedSource* source = nullptr);

}  // namespace mlx::core::cpu
