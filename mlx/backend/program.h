// The language of fused elementwise kernels: straight-line code over scalar micro-ops. The CPU
// interprets it over tiles; GPUs compile it from source.
#pragma once

#include <vector>

#include "mlx/core/dtype.h"
#include "mlx/core/shape.h"

namespace mlx::core {

/// Micro-ops are the rows of ops/elementwise.def, then these.
enum class OpId : uint16_t {
#define E(name, ...) name,
#include "mlx/ops/elementwise.def"
#undef E
  cast,  ///< from `type` to `out`
  copy,
  position,     ///< start + n * step; n is the element's number in `numberings[a]`
  random_bits,  ///< word n of `numberings[a].count` words for the key of the two words b and c
  count,
};
inline constexpr int kElementwiseCount = static_cast<int>(OpId::cast);

/// True if the instruction reads the element's index: `a` is then a numbering, not a value.
constexpr bool reads_index(OpId op) { return op == OpId::position || op == OpId::random_bits; }

/// Numbers the elements of an iteration: n is the sum of index * stride over its axes. Also holds
/// the parameters of `position`. All of it is layout, not code: a parameter for backends that cache
/// compiled code.
struct Numbering {
  Strides strides;
  int64_t count = 0;  ///< upper bound of the numbers
  double start = 0, step = 0;
  int64_t int_start = 0, int_step = 0;
  bool operator==(const Numbering&) const = default;
};

/// One micro-op: value = op(a, b, c), rounded to `out`. Values are numbered: the program's inputs
/// first, then its constants, then one per instruction. `position` computes in `type`: in int64,
/// wrapping to the width of `out`, or in float64, rounded to `out` once and exactly `start` for
/// number 0. `random_bits` gives uint32 (Threefry-2x32, 20 rounds, of the counters (n, n + half)
/// or, from half = (count + 1) / 2 on, the second word of those of n - half; the last of an odd
/// half has counter 0).
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
  std::vector<Numbering> numberings;
  std::vector<Instr> code;
  SmallVector<uint16_t, 4> outputs;  ///< values to store; never an input or a constant
  bool operator==(const Program&) const = default;

  int first_instr() const { return static_cast<int>(inputs.size() + constants.size()); }
};

}  // namespace mlx::core
