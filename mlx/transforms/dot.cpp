// Graphs in Graphviz format.
#include <algorithm>
#include <ostream>
#include <unordered_set>

#include "mlx/transforms/export.h"
#include "mlx/transforms/graph.h"
#include "mlx/transforms/names.h"

namespace mlx::core {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

class DotWriter {
 public:
  DotWriter(std::ostream& out, const std::unordered_map<std::uintptr_t, std::string>& names)
      : out_(out), given_(names) {}

  void write(const Arrays& outputs) {
    auto nodes = pending_nodes(outputs);
    std::unordered_set<const Node*> read;
    for (Node* n : nodes)
      for (Node* in : n->inputs()) read.insert(in);
    out_ << "digraph {\n";
    for (Node* n : nodes) {
      for (Node* in : n->inputs()) leaf(*in);
      if (n->op->kind == OpKind::bundle) {
        box(*n);
        continue;
      }
      if (n->op->kind != OpKind::part) box(*n);
      declare(*n, read.contains(n) ? "" : "rank=sink; ");
      Node* from = n->op->kind == OpKind::part ? n->inputs()[0] : n;
      out_ << boxes_.at(from) << " -> " << quoted(name(*n)) << "\n";
    }
    for (const array& a : outputs) leaf(*a.node());
    out_ << "}\n";
  }

 private:
  void leaf(const Node& n) {
    if (n.op->kind != OpKind::bundle && !names_.contains(&n)) declare(n, "rank=source; ");
  }
  void declare(const Node& n, const char* rank) {
    out_ << "{ " << rank << quoted(name(n)) << " [tooltip=\"" << dtype_name(n.dtype) << " "
         << to_string(n.shape) << "\"]; }\n";
  }
  void box(const Node& n) {
    size_t id = boxes_.size() + 1;
    boxes_[&n] = id;
    out_ << "{ " << id << " [label=" << quoted(n.op->name) << ", shape=rectangle]; }\n";
    for (Node* in : n.inputs())
      if (in->op->kind != OpKind::bundle) out_ << quoted(name(*in)) << " -> " << id << "\n";
  }
  const std::string& name(const Node& n) {
    std::string& s = names_[&n];
    if (!s.empty()) return s;
    auto it = given_.find(reinterpret_cast<std::uintptr_t>(&n));
    if (it != given_.end()) return s = it->second;
    auto taken = [&] {
      return std::any_of(given_.begin(), given_.end(), [&](auto& g) { return g.second == s; });
    };
    do s = letters_.next();
    while (taken());
    return s;
  }

  std::ostream& out_;
  const std::unordered_map<std::uintptr_t, std::string>& given_;
  std::unordered_map<const Node*, std::string> names_;
  std::unordered_map<const Node*, size_t> boxes_;
  Letters letters_;
};

}  // namespace

void export_to_dot(std::ostream& out, const std::vector<array>& outputs,
                   const std::unordered_map<std::uintptr_t, std::string>& names) {
  DotWriter(out, names).write(outputs);
}

}  // namespace mlx::core
