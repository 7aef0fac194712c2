// Graphs as text, with names for arrays.
#pragma once

#include <iosfwd>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Names of arrays by their id: names that were set, and A, B, .. in the order of the questions.
struct MLX_API NodeNamer {
  std::unordered_map<std::uintptr_t, std::string> names;
  const std::string& get_name(const array& x);
  void set_name(const array& x, std::string name);

 private:
  std::unordered_set<std::string> taken_;  ///< the values of `names`, when there were `known_`
  size_t known_ = 0, letters_ = 0;         ///< and how many names of letters were tried
};

/// Writes the inputs, the outputs and a line for each op between them: its name, then inputs ->
/// results with dtype and shape.
///
///   print_graph(std::cout, x + y);
MLX_API void print_graph(std::ostream& os, NodeNamer namer, const std::vector<array>& outputs);
MLX_API void print_graph(std::ostream& os, const std::vector<array>& outputs);
/// The graph in Graphviz format (transforms/export.h), with the names of `namer`.
MLX_API void export_to_dot(std::ostream& os, NodeNamer namer, const std::vector<array>& outputs);

template <class... A>
concept SomeArrays = sizeof...(A) > 0 && (std::is_same_v<std::remove_cvref_t<A>, array> && ...);

template <class... A>
  requires SomeArrays<A...>
void print_graph(std::ostream& os, A&&... outputs) {
  print_graph(os, std::vector<array>{outputs...});
}
template <class... A>
  requires SomeArrays<A...>
void print_graph(std::ostream& os, NodeNamer namer, A&&... outputs) {
  print_graph(os, std::move(namer), std::vector<array>{outputs...});
}
template <class... A>
  requires SomeArrays<A...>
void export_to_dot(std::ostream& os, A&&... outputs) {
  export_to_dot(os, NodeNamer{}, std::vector<array>{outputs...});
}
template <class... A>
  requires SomeArrays<A...>
void export_to_dot(std::ostream& os, NodeNamer namer, A&&... outputs) {
  export_to_dot(os, std::move(namer), std::vector<array>{outputs...});
}

}  // namespace mlx::core
