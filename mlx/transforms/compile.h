// Compilation: a function is traced once, and its simplified graph then runs as one node by a plan
// that is replayed.
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

/// A function that gives what `fun` gives, traced once per dtypes and shapes of its inputs; with
/// `shapeless` once per dtypes and numbers of axes, where the graph means the same for all lengths
/// (and per shapes where it does not: a result is never that of other shapes). `fun` must be pure:
/// what else it reads is a constant of the trace. Evaluating within `fun` raises ValueError.
///
///   auto f = compile([](const Arrays& a) { return Arrays{exp(negative(a[0])) + a[1]}; });
MLX_API Function compile(Function fun, bool shapeless = false);
/// The same for a C++ function; all that compile the same one share its traces.
MLX_API Function compile(Arrays (*fun)(const Arrays&), bool shapeless = false);
template <class F>
  requires(!std::is_same_v<std::decay_t<F>, Arrays (*)(const Arrays&)>)
Function compile(F&& fun, bool shapeless = false) {
  return compile(Function(std::forward<F>(fun)), shapeless);
}

/// Compiled functions run as they are written until `enable_compile`. The environment variable
/// MLX_DISABLE_COMPILE starts a process so.
MLX_API void disable_compile();
MLX_API void enable_compile();
MLX_API void set_compile_mode(CompileMode mode);
MLX_API CompileMode compile_mode();

/// One trace of a function.
class MLX_API Compiled : public CacheEntry {
 public:
  /// Traces `fun` on placeholders like `inputs`. `name` is what messages call it.
  Compiled(const Function& fun, const Arrays& inputs, const std::string& name, bool shapeless);
  /// The outputs for inputs of the same dtypes and, unless `any_shape`, the same shapes: one node,
  /// or the graph itself where an input belongs to a transformation under way.
  Arrays operator()(const Arrays& inputs);
  /// True where the graph serves inputs of all shapes.
  bool any_shape() const { return any_shape_; }
  /// True where the graph will not do for these inputs: they belong to a transformation under way,
  /// which meets rules of the program that may hold inputs of the trace. The function itself will.
  bool needs_function(const Arrays& inputs) const;
  /// False where it captured an input of a transformation under way: it dies with that.
  bool reusable() const;
  /// The kernels of the plan that ran last.
  std::vector<std::string> steps() const;

 private:
  /// The graph for certain shapes, and where each output comes from.
  struct Shaped {
    Graph graph;
    std::vector<Shape> shapes;
    std::shared_ptr<Body> body;  ///< null where nothing is computed
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
  std::vector<std::shared_ptr<Shaped>> shaped_;  // the one used last comes first
};

/// Adds an array's dtype and shape (its number of axes only, for `shapeless`) to a key.
MLX_API void append_to_key(std::string& key, const array& a, bool shapeless);

}  // namespace mlx::core
