// Prints graphs, with names for the arrays in them.
#include "mlx/compat/graph.h"

#include <map>
#include <ostream>

#include "mlx/ops/custom.h"
#include "mlx/transforms/export.h"
#include "mlx/transforms/graph.h"
#include "mlx/transforms/names.h"

namespace mlx::core {

const std::string& NodeNamer::get_name(const array& x) {
  if (auto it = names.find(x.id()); it != names.end() && !it->second.empty()) return it->second;
  if (known_ != names.size()) {  // set without `set_name`
    taken_.clear();
    for (const auto& [id, name] : names) taken_.insert(name);
  }
  Letters letters(letters_);
  std::string next = letters.next();
  while (!taken_.insert(next).second) next = letters.next();
  letters_ = letters.count();
  std::string& name = names[x.id()];
  known_ = names.size();
  return name = std::move(next);
}

void NodeNamer::set_name(const array& x, std::string name) {
  taken_.insert(name);
  const bool known = known_ == names.size();
  names[x.id()] = std::move(name);
  if (known) known_ = names.size();
}

namespace {

void print_arrays(std::ostream& os, NodeNamer& namer, const Arrays& arrays) {
  for (size_t k = 0; k < arrays.size(); ++k)
    os << (k ? ", " : "") << namer.get_name(arrays[k]) << " [" << to_string(arrays[k].shape())
       << ", " << dtype_name(arrays[k].dtype()) << "]";
}

/// The results of bundles that a graph reads.
std::map<std::pair<Node*, int>, Node*> parts_of(const std::vector<Node*>& nodes) {
  std::map<std::pair<Node*, int>, Node*> parts;
  for (Node* n : nodes)
    if (n->op->kind == OpKind::part) parts.emplace(std::pair(n->inputs()[0], int{n->part}), n);
  return parts;
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
  const auto parts = parts_of(nodes);
  NodeSet results;  // of the ops that are printed
  for (Node* n : nodes) {
    if (n->op->kind == OpKind::bundle || results.contains(n)) continue;
    array a(n);
    Arrays made = a.outputs();
    if (n->op->kind == OpKind::part)
      for (array& r : made)
        if (auto it = parts.find({n->inputs()[0], r.node()->part}); it != parts.end())
          r = array(it->second);
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
