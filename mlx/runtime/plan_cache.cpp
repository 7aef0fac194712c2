#include "mlx/runtime/plan_cache.h"

#include <algorithm>

namespace mlx::core {

namespace {

uint64_t flags_of(const Item& item) {
  const Node& n = *item.node;
  return static_cast<uint64_t>(n.dtype.val()) | uint64_t{item.leaf} << 8 |
         uint64_t{item.wanted} << 9 | uint64_t{item.held} << 10 | uint64_t{item.donatable} << 11 |
         uint64_t{n.part} << 16 | static_cast<uint64_t>(static_cast<uint32_t>(n.stream)) << 32;
}

}  // namespace

/// Position of the first constant equal to this one among those that differ.
uint64_t PlanCache::constant_class(const Node& n) {
  constexpr size_t kFew = 16;
  auto equal = [&](const Node* m) { return m->dtype == n.dtype && m->scalar() == n.scalar(); };
  for (size_t k = 0; k < std::min(constants_.size(), kFew); ++k)
    if (equal(constants_[k])) return k;
  auto id = static_cast<uint32_t>(constants_.size());
  if (id >= kFew) {
    uint64_t hash = n.scalar().as<uint64_t>() * 0x9e3779b97f4a7c15ull >> 40;
    auto [it, end] = constant_at_.equal_range(hash);
    for (; it != end; ++it)
      if (equal(constants_[it->second])) return it->second;
    constant_at_.emplace(hash, id);
  }
  constants_.push_back(&n);
  return id;
}

void PlanCache::describe(const Schedule& items) {
  form_.clear();
  attrs_.clear();
  constants_.clear();
  if (!constant_at_.empty()) constant_at_.clear();
  auto put_all = [&](const auto& list) { form_.insert(form_.end(), list.begin(), list.end()); };
  for (const Item& item : items) {
    const Node& n = *item.node;
    bool data = item.leaf && n.op != &op_constant;
    form_.push_back(reinterpret_cast<uintptr_t>(data ? &op_data : n.op));
    form_.push_back(flags_of(item));
    form_.push_back(n.shape.size());
    put_all(n.shape);
    if (data) {
      const Value& v = value_of(n);
      form_.push_back(reinterpret_cast<uintptr_t>(&v.storage->backend()));
      form_.push_back(static_cast<uint64_t>(leaf_phase(v, n.dtype.size())));
      put_all(v.strides);
    } else if (item.leaf) {
      form_.push_back(constant_class(n));
    } else {
      for (const Node* in : computed_from(n)) form_.push_back(item_index(in));
      if (n.parts)
        for (const PartInfo& p : *n.parts) {
          form_.push_back(static_cast<uint64_t>(p.dtype.val()) << 32 | p.shape.size());
          put_all(p.shape);
        }
      if (n.attrs) {
        form_.push_back(n.attrs->hash());
        attrs_.push_back(n.attrs.get());
      }
    }
  }
  hash_ = form_.size();
  for (uint64_t w : form_) hash_ = (hash_ ^ w) * 0x9e3779b97f4a7c15ull + (hash_ >> 31);
}

bool PlanCache::matches(const Entry& e) const {
  if (e.form != form_ || e.attrs.size() != attrs_.size()) return false;
  for (size_t k = 0; k < attrs_.size(); ++k)
    if (e.attrs[k].get() != attrs_[k] && !e.attrs[k]->equals(*attrs_[k])) return false;
  return true;
}

std::shared_ptr<const Plan> PlanCache::find(const Schedule& items) {
  seen_ = false;
  if (items.size() > kMaxItems) return nullptr;
  describe(items);
  auto it = entries_.find(hash_);
  if (it != entries_.end() && matches(it->second)) return it->second.plan;
  uint64_t& last = recent_[hash_ % kRecent];
  seen_ = last == hash_;
  last = hash_;
  return nullptr;
}

void PlanCache::keep(const std::shared_ptr<const Plan>& plan) {
  if (!seen_) return;
  if (entries_.size() >= kMaxEntries) entries_.clear();
  Entry e{form_, {}, plan};
  for (const Attrs* a : attrs_) e.attrs.emplace_back(a);
  entries_.insert_or_assign(hash_, std::move(e));
}

}  // namespace mlx::core
