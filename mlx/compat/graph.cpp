// Prints graphs, with names for the arrays in them.
#include "mlx/compat/graph.h"

#include <algorithm>
#include <ostream>

#include "mlx/ops/custom.h"
#include "mlx/transforms/export.h"
#include "mlx/transforms/graph.h"
#include "mlx/transforms/names.h"

namespace mlx::core {

const std::string& NodeNamer::get_name(const array& x) {
  std::string& name = names[x.id()];
  if (!name.empty()) return name;
  auto taken = [&](const std::string& s) {
    return std::ranges::any_of(names, [&](const auto& n) { return n.second == s; });
  };
  Letters letters;
  std::string next = letters.next();
  while (taken(next)) next = letters.next();
  return name = next;
}

void NodeNamer::set_name(const array& x, std::string name) { names[x.id()] = std::move(name); }

namespace {

void print_arrays(std::ostream& os, NodeNamer& namer, const Arrays& arrays) {
  for (size_t k = 0; k < arrays.size(); ++k)
    os << (k ? ", " : "") << namer.get_name(arrays[k]) << " [" << to_string(arrays[k].shape())
       << ", " << dtype_name(arrays[k].dtype()) << "]";
}

Node* computing(Node& n) { return n.op->kind == OpKind::part ? n.inputs()[0] : nullptr; }

/// The node of a result of a bundle, or null where the graph does not read it.
Node* part_of(const std::vector<Node*>& nodes, const Node* bundle, uint16_t part) {
  auto it = std::ranges::find_if(
      nodes, [&](Node* n) { return bundle && computing(*n) == bundle && n->part == part; });
  return it == nodes.end() ? nullptr : *it;
}

}  // namespace

void print_graph(std::ostream& os, NodeNamer namer, const std::vector<array>& outputs) {
  auto nodes = pending_nodes(outputs);
  Arrays leaves;
  NodeSet seen;
  for (Node* n : nodes) seen.emplace(n);
  for (Node* n : nodes)
    for (Node* in : n->inputs())
      if (seen.emplace(in).second) leaves.emplace_back(in);
  os << "Inputs: ";
  print_arrays(os, namer, leaves);
  os << "\nOutputs: ";
  print_arrays(os, namer, outputs);
  os << "\n";
  NodeSet results;  // of the ops that are printed
  for (Node* n : nodes) {
    if (n->op->kind == OpKind::bundle || results.contains(n)) continue;
    array a(n);
    Arrays made = a.outputs();
    for (array& r : made)
      if (Node* known = part_of(nodes, computing(*n), r.node()->part)) r = array(known);
    for (const array& r : made) results.emplace(r.node());
    os << a.primitive().name() << " ";
    print_arrays(os, namer, a.inputs());
    os << " -> ";
    print_arrays(os, namer, made);
    os << "\n";
  }
}

void print_graph(std::ostream& os, const std::vector<array>& outputs) {
  print_graph(os, NodeNamer{}, outputs);
}

void export_to_dot(std::ostream& os, NodeNamer namer, const std::vector<array>& outputs) {
  export_to_dot(os, outputs, namer.names);
}

}  // namespace mlx::core
