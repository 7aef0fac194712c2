// The micro-ops of fused programs over runs of packed elements, each made of the shared math
// library over one lane.
#pragma once

#include "mlx/backend/program.h"

namespace mlx::core::fake {

/// out[i] = op(in[0][i], …) for i < n; operands are packed and do not overlap the result.
using MicroOp = void (*)(const void* const* in, void* out, int64_t n);

int arity_of(OpId op);
/// The micro-op of a row for operands of a dtype (of the alternatives, for `where`), or of `copy`;
/// null where the row does not take the dtype. 16-bit floats have none: float32's serves.
MicroOp find_micro_op(OpId op, Dtype::Val type);
/// Conversion between two dtypes.
MicroOp find_cast(Dtype::Val from, Dtype::Val to);

// The rows of one dtype, indexed by OpId; each made in a file that compiles beside the others.
extern const MicroOp* const bool_rows;
extern const MicroOp* const uint8_rows;
extern const MicroOp* const uint16_rows;
extern const MicroOp* const uint32_rows;
extern const MicroOp* const uint64_rows;
extern const MicroOp* const int8_rows;
extern const MicroOp* const int16_rows;
extern const MicroOp* const int32_rows;
extern const MicroOp* const int64_rows;
extern const MicroOp* const float32_rows;
extern const MicroOp* const float64_rows;
extern const MicroOp* const complex64_rows;
extern const MicroOp* const complex128_rows;

}  // namespace mlx::core::fake
