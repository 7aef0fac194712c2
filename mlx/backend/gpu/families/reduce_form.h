// The names of reductions in the source of kernels.
#pragma once

#include <string>

#include "mlx/core/dtype.h"
#include "mlx/ops/reduce_kind.h"

namespace mlx::core::gpu {

/// A kind of reduction in kernels/reduce.cuh: how elements combine, and what becomes of the result.
struct ReduceForm {
  std::string operation, finish;
  int64_t accumulator;  ///< bytes
};
/// `count`: of the elements reduced to one.
ReduceForm reduce_form(Reduction kind, Dtype type, int64_t count);

}  // namespace mlx::core::gpu
