// Plans of loops: a graph of a form that was seen before runs the plan made then. The form is all
// that a plan depends on: ops, attributes, shapes, layouts, who holds what. The values of leaves
// and of constants are not part of it, but which constants are equal is.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "mlx/runtime/plan.h"

namespace mlx::core {

class PlanCache {
 public:
  /// The plan of a schedule of this form, or null. Remembers the form for `keep`.
  std::shared_ptr<const Plan> find(const Schedule& items);
  /// Keeps a plan for the form that was looked up last, if that form has been seen before.
  void keep(const std::shared_ptr<const Plan>& plan);
  void clear() { entries_.clear(); }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::vector<uint64_t> form;
    std::vector<Ref<const Attrs>> attrs;
    std::shared_ptr<const Plan> plan;
  };
  void describe(const Schedule& items);
  uint64_t constant_class(const Node& n);
  bool matches(const Entry& e) const;

  static constexpr size_t kMaxEntries = 256, kMaxItems = 1 << 14, kRecent = 4096;
  std::unordered_map<uint64_t, Entry> entries_;
  std::vector<uint64_t> recent_ = std::vector<uint64_t>(kRecent, 0);
  // The form looked up last.
  uint64_t hash_ = 0;
  bool seen_ = false;
  std::vector<uint64_t> form_;
  std::vector<const Attrs*> attrs_;
  std::vector<const Node*> constants_;                       // that differ
  std::unordered_multimap<uint64_t, uint32_t> constant_at_;  // their places, where they are many
};

}  // namespace mlx::core
