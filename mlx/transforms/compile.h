// Compilation: a function is traced once; its simplified graph then runs as one node with a plan
// that is reused.
#pragma once

#include <memory>
#include <string>

#include "mlx/core/api.h"
#include "mlx/core/blocking.h"
#include "mlx/runtime/call.h"
#include "mlx/transforms/compile_cache.h"
#include "mlx/transforms/graph.h"

namespace mlx::core {

enum class CompileMode { disabled, no_simplify, no_fuse, enabled };

/// A function that returns what `fun` returns, traced once for each combination of input dtypes and
/// shapes. With `shapeless` it is traced once per dtypes and ranks if its graph is valid for all
/// lengths, and per shapes otherwise: a result never belongs to other shapes. `fun` must be pure:
/// everything else it reads is a constant of the trace. Evaluating arrays inside `fun` raises
/// ValueError.
///
///   auto f = compile([](const Arrays& a) { return Arrays{exp(negative(a[0])) + a[1]}; });
MLX_API Function compile(Function fun, bool shapeless = false);
/// The same for a C++ function pointer; all wrappers of one function share its traces.
MLX_API Function compile(Arrays (*fun)(const Arrays&), bool shapeless = false);
template <class F>
  requires(!std::is_same_v<std::decay_t<F>, Arrays (*)(const Arrays&)>)
Function compile(F&& fun, bool shapeless = false) {
  return compile(Function(std::forward<F>(fun)), shapeless);
}

/// Disables compilation until `enable_compile`: compiled functions run as ordinary functions. The
/// environment variable MLX_DISABLE_COMPILE does the same from the start.
MLX_API void disable_compile();
MLX_API void enable_compile();
MLX_API void set_compile_mode(CompileMode mode);
MLX_API CompileMode compile_mode();

// Functions that bindings of other languages compile: a number stands for the function.
namespace detail {
/// As `mlx::core::compile`; functions compiled with the same number, `shapeless` and `constants`
/// share their traces until `compile_erase`.
MLX_API Function compile(Function fun, std::uintptr_t fun_id, bool shapeless = false,
                         std::vector<uint64_t> constants = {});
/// Drops the traces of a number; functions compiled with it before keep theirs.
MLX_API void compile_erase(std::uintptr_t fun_id);
/// Drops the traces of all numbers.
MLX_API void compile_clear_cache();
}  // namespace detail

/// One trace of a function.
class MLX_API CompiledTrace : public CacheEntry {
 public:
  /// Traces `fun` on placeholders with the dtypes and shapes of `inputs`. `name` appears in
  /// messages.
  CompiledTrace(const Function& fun, const Arrays& inputs, const std::string& name, bool shapeless);
  /// The outputs for inputs of the same dtypes and, unless `any_shape`, the same shapes: one node,
  /// or a copy of the graph if an input belongs to an active transformation.
  Arrays operator()(const Arrays& inputs);
  /// True if the graph is valid for inputs of all shapes.
  bool any_shape() const { return any_shape_; }
  /// True if the function itself must be called for these inputs: they belong to an active
  /// transformation, and user-defined rules in the graph may hold inputs of the trace.
  bool needs_function(const Arrays& inputs) const;
  /// False if the trace captured an input of an active transformation: it is only valid while that
  /// is active.
  bool reusable() const;
  /// The names of the kernels of the plan that ran last.
  std::vector<std::string> steps() const;

 private:
  /// The graph for specific shapes, and the source of each output.
  struct Shaped {
    Graph graph;
    std::vector<Shape> shapes;
    std::shared_ptr<Body> body;  ///< null if nothing is computed
    struct Output {
      int input = -1, part = -1;
      array captured;
    };
    std::vector<Output> outputs;
  };
  std::shared_ptr<Shaped> shaped(const Arrays& inputs);
  std::shared_ptr<Shaped> lower(Graph g) const;

  static constexpr size_t kMaxShapes = 64;
  Graph graph_;
  bool any_shape_ = false;
  bool has_rules_ = false;
  CompileMode mode_;
  mutable EngineMutex mutex_;
  std::vector<std::shared_ptr<Shaped>> shaped_;  // most recently used first
};

/// Appends an array's dtype and shape (with `shapeless`, dtype and rank) to a key.
MLX_API void append_to_key(std::string& key, const array& a, bool shapeless);

}  // namespace mlx::core
