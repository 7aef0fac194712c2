// Closed functions: traced functions whose captured arrays became inputs, for control-flow ops.
#pragma once

#include <string>

#include "mlx/ops/control.h"
#include "mlx/transforms/graph.h"

namespace mlx::core {

/// A function of the captured arrays, followed by its own inputs.
struct ClosedFunction {
  Ref<const Subgraph> function;
  Arrays captured;
};

/// Closes a graph, whose inputs may be any nodes. Nodes that depend on no input are captured and
/// computed once, outside of the function; with `within`, nodes that this watch has seen become
/// part of the function instead. Throws ValueError naming `op` for functions that communicate.
ClosedFunction close(const char* op, const Graph& g, const ShapeWatch* within = nullptr);

/// Traces `fun` for inputs of the dtypes and shapes of `like`, merges common subexpressions and
/// closes the graph.
ClosedFunction trace_closed(const char* op, const Function& fun, const Arrays& like);

/// The outputs of a closed function over inputs of the same dtypes and shapes.
Arrays call(const Subgraph& f, const Arrays& inputs);

/// Placeholders of the dtypes and shapes of `like`; they belong to no trace.
Arrays placeholders_like(const Arrays& like);
/// Arrays that stand for inputs with an axis of length `n` in front, where `mapped` says so.
Arrays with_axis(const Arrays& like, const std::vector<bool>& mapped, int64_t n);

/// Which outputs depend on the inputs marked in `from`, by a derivative or, under Rule::vmap, at
/// all.
std::vector<bool> reached(const Subgraph& f, const std::vector<bool>& from, Rule rule);
/// Marks carried inputs, from `first` on, until each output that is carried on and reached by a
/// marked input is marked as an input, too.
void mark_carried(const Subgraph& f, size_t first, size_t count, Rule rule,
                  std::vector<bool>& marked);

/// A part of a list.
inline Arrays part(const Arrays& a, size_t first, size_t n) {
  const auto at = a.begin() + static_cast<int64_t>(first);
  return Arrays(at, at + static_cast<int64_t>(n));
}
inline void append(Arrays& to, const Arrays& more) {
  to.insert(to.end(), more.begin(), more.end());
}
/// The arrays that are marked.
Arrays marked_of(const Arrays& arrays, const std::vector<bool>& marked);

}  // namespace mlx::core
