// Plans of loops: a graph of a form that was seen before runs the plan made then. The form is all
// that a plan depends on: ops, attributes, shapes, layouts, who refers to what. The values of
// leaves and of constants are not part of it, but which constants are equal is.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/runtime/plan.h"
#include "mlx/runtime/schedule.h"

namespace mlx::core {

/// The form of a schedule.
class MLX_API PlanForm {
 public:
  /// Describes a schedule; false where it is too large to be worth it.
  bool describe(const Schedule& items);

 private:
  friend class PlanCache;
  void describe(const Item& item);
  void describe_parts(const std::vector<PartInfo>& parts);
  uint64_t constant_class(const Node& n);
  void reserve(size_t n);
  std::span<const uint64_t> words() const { return {words_.data(), count_}; }

  static constexpr size_t kMaxItems = 1 << 14;
  uint64_t hash_ = 0;
  std::vector<uint64_t> words_;  // the first `count_` of them
  size_t count_ = 0;
  std::vector<const Attrs*> attrs_;
  std::vector<const Node*> constants_;                       // that differ
  std::unordered_multimap<uint64_t, uint32_t> constant_at_;  // their places, where they are many
};

/// Plans by form; the least recently used are dropped. Threads share it.
class MLX_API PlanCache {
 public:
  /// The plan of a form, or null; null too where the plan could not be prepared. Remembers the form
  /// for `keep`.
  std::shared_ptr<const Plan> find(const PlanForm& form);
  /// Keeps a plan for a form that has been looked up before the last time, too: a form
  /// that never comes back costs no memory.
  void keep(const PlanForm& form, const std::shared_ptr<const Plan>& plan);
  void clear();
  size_t size() const;

 private:
  struct Entry {
    uint64_t hash;
    std::vector<uint64_t> words;
    std::vector<Ref<const Attrs>> attrs;
    std::shared_ptr<const Plan> plan;
  };
  using Entries = std::list<Entry>;  // the one used last comes first
  static bool matches(const Entry& e, const PlanForm& form);

  static constexpr size_t kMaxEntries = 256, kRecent = 4096;
  mutable std::mutex mutex_;
  Entries entries_;
  std::unordered_map<uint64_t, Entries::iterator> by_hash_;
  /// Of each class of hashes, the form that was looked up last, and whether twice.
  struct Recent {
    uint64_t hash = 0;
    bool again = false;
  };
  std::vector<Recent> recent_ = std::vector<Recent>(kRecent);
};

}  // namespace mlx::core
