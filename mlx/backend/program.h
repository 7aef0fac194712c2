// The small language of fused elementwise kernels: straight-line code over scalar micro-ops. The
// CPU interprets it over tiles; GPUs print it as source.
#pragma once

#include <vector>

#include "mlx/core/dtype.h"
#include "mlx/core/small_vector.h"

namespace mlx::core {

/// Micro-ops are the rows of ops/elementwise.def, then these.
enum class OpId : uint16_t {
#define E(name, ...) name,
#include "mlx/ops/elementwise.def"
#undef E
  cast,  ///< from `type` to `out`
  copy,
  count,
};
inline constexpr int kElementwiseCount = static_cast<int>(OpId::cast);

/// One micro-op: value = op(a, b, c), rounded to `out`. Values are numbered: the program's inputs
/// first, then its constants, then one per instruction.
struct Instr {
  OpId op;
  Dtype::Val type;  ///< dtype of the operands (of `b` and `c` for `where`, whose `a` is bool)
  Dtype::Val out;
  uint16_t a = 0, b = 0, c = 0;
  bool operator==(const Instr&) const = default;
};

struct Program {
  SmallVector<Dtype::Val, 8> inputs;
  SmallVector<Dtype::Val, 8> constants;  ///< their values are parameters of the launch
  std::vector<Instr> code;
  SmallVector<uint16_t, 4> outputs;  ///< values to store; never an input or a constant
  bool operator==(const Program&) const = default;

  int first_instr() const { return static_cast<int>(inputs.size() + constants.size()); }
};

}  // namespace mlx::core
