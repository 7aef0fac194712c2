// The definition of an operation: data and pointers to its rules. Core knows no particular op.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/attrs.h"
#include "mlx/core/device.h"
#include "mlx/core/shape.h"

namespace mlx::core {

class array;
struct Node;
using Arrays = std::vector<array>;

enum class OpKind : uint8_t {
  leaf,         ///< no inputs to compute: data, a constant, a placeholder
  elementwise,  ///< a row of ops/elementwise.def, or a cast or copy: runs in fused kernels
  view,         ///< same elements, another layout: no kernel if strides can express it
  kernel,       ///< one kernel per node
  bundle,       ///< one kernel with several results, read through `part` nodes
  part,         ///< one result of a bundle
};

/// How the result depends on the array inputs; determines rules that need not be written.
enum class Linearity : uint8_t { none, linear, multilinear };

/// Arguments of a derivative rule. Null arrays stand for zeros.
struct RuleArgs {
  const Arrays& inputs;
  const Arrays& outputs;
  const Arrays& grads;  ///< cotangents of the outputs, or tangents of the inputs
  const Attrs* attrs;
  Stream stream;
  const std::vector<bool>& requested;  ///< inputs whose cotangent is requested (vjp only)
};

/// The op that a loop op runs at each position along the first axis of its results.
struct LoopBody {
  const Node* node;                 ///< the op at one position, over placeholders
  const std::vector<bool>* mapped;  ///< inputs that have the axis in front; others are broadcast
};

/// How an op computes an element from its index alone, so that fused programs compute it where it
/// is read. Elements are numbered in row-major order over the last `axes` axes of the result.
struct Generator {
  enum Kind : uint8_t {
    range,        ///< start + number * step: integers wrap; other dtypes round it once from double
    random_bits,  ///< word `number` for a key: two words along the last axis of the input
  } kind = range;
  size_t axes = 0;
  double start = 0, step = 0;
  int64_t int_start = 0, int_step = 0;  ///< of integer dtypes
};

/// One operation. Instances are constants with static storage duration; the address is the
/// identity.
struct OpDef {
  const char* name;
  OpKind kind;
  Linearity linearity = Linearity::none;
  int elementwise = -1;  ///< row of ops/elementwise.def
  /// True if the attributes mean the same for inputs of other lengths, so that `build` gives what
  /// calling the function again would.
  bool shapeless = false;
  /// View ops: a result that is asked for has memory for each element, even if they repeat.
  bool distinct = false;
  /// View ops: a result that is asked for is copied where it would keep much more memory than its
  /// elements need.
  bool releases_memory = false;

  /// True for ops that communicate with other processes. They run on the communication queue of
  /// their group, in an order that all processes agree on; nodes derived from them run on the
  /// thread's default stream.
  bool communicates = false;
  /// True for ops whose value another process computes: no input shows what it depends on, and the
  /// derivative rules say that it has none.
  bool received = false;
  /// Ops that communicate, and calls of functions with such ops: the place in the order in which
  /// the program asked for them (`next_order`); 0: none.
  uint64_t (*order)(const Attrs* attrs) = nullptr;
  /// Ops that communicate: a new value of the last input, a uint64 that names the request.
  uint64_t (*ticket)(const Attrs* attrs) = nullptr;

  /// Loop ops only: these have no kernel; the op inside runs at each position.
  LoopBody (*loop)(const Attrs* attrs) = nullptr;

  /// Builds the op on other inputs, inferring shapes again; returns its outputs.
  Arrays (*build)(const Arrays& inputs, const Attrs* attrs, Stream s) = nullptr;
  /// View ops: the layout of the result over the input's buffer, or false if a copy is needed.
  bool (*view)(const Node& node, const Layout& in, Layout& out) = nullptr;
  /// View ops that only permute axes and insert or drop axes of length 1: for each axis of the
  /// result, the corresponding axis of the input, or -1. False if this node does more. Lets fusion
  /// continue through the view.
  bool (*permutes)(const Node& node, SmallVector<int, 8>& from) = nullptr;
  /// Ops whose elements can be computed from their indices: how. False if this node's cannot.
  bool (*generator)(const Node& node, Generator& how) = nullptr;
  /// Cotangents of the inputs (null: zero) from those of the outputs; if null, `jvp` is transposed.
  Arrays (*vjp)(const RuleArgs& args) = nullptr;
  /// Tangents of the outputs from those of the inputs; not needed if `linearity` determines them.
  Arrays (*jvp)(const RuleArgs& args) = nullptr;
  /// Outputs and their batch axes, for inputs of which input i is mapped over axes[i] (-1: not
  /// mapped). If it is null, or returns no outputs, the op becomes a loop op (ops/loop.h).
  std::pair<Arrays, std::vector<int>> (*vmap)(const Arrays& inputs, const std::vector<int>& axes,
                                              const Attrs* attrs, Stream s) = nullptr;
};

/// The place of a request that the program makes now in the order of all its requests: from 1.
uint64_t next_order();

/// Registers an op by its name, for export and lookups. Throws ValueError if the name is taken.
MLX_API const OpDef& register_op(const OpDef& op);
/// The op with that name, or null.
const OpDef* find_op(std::string_view name);

}  // namespace mlx::core
