// The interpreter of fused programs: pieces of a few elements at a time, in no useful order, as the
// blocks of a GPU would run.
#pragma once

#include "mlx/backend/backend.h"

namespace mlx::core::fake {

/// Whether the interpreter knows the instruction.
bool has_micro_op(const Instr& code);
/// Throws TypeError where a micro-op is missing.
void check_program(const Program& program);
/// Runs the program over a shape. `operands`: addresses of the first elements of the operands
/// (inputs, then outputs), which lie as `layouts` say.
void run_program(const Program& program, const Shape& shape, std::span<void* const> operands,
                 std::span<const Layout> layouts, const Scalar* constants);

}  // namespace mlx::core::fake
