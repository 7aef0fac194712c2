// Descriptions of schedules as words, and the plans kept for the last of them.
#include "mlx/runtime/plan_cache.h"

#include <algorithm>

namespace mlx::core {

namespace {

uint64_t flags_of(const Item& item) {
  const Node& n = *item.node;
  return static_cast<uint64_t>(n.dtype.val()) | uint64_t{item.leaf} << 8 |
         uint64_t{item.requested} << 9 | uint64_t{item.referenced} << 10 |
         uint64_t{item.donatable} << 11 | uint64_t{item.requested && must_release_memory(n)} << 12 |
         uint64_t{n.part} << 16 |
         // The stream that computed a leaf does not matter any more.
         static_cast<uint64_t>(item.leaf ? 0 : static_cast<uint32_t>(n.stream)) << 32;
}

}  // namespace

/// Position of the first constant equal to this one among those that differ.
uint64_t PlanForm::constant_class(const Node& n) {
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

/// Makes room for so many words at the end.
void PlanForm::reserve(size_t n) {
  if (count_ + n > words_.size()) words_.resize(2 * (count_ + n));
}

void PlanForm::describe(const Item& item) {
  const Node& n = *item.node;
  const bool data = item.leaf && n.op != &op_constant;
  const auto inputs = item.leaf ? std::span<Node* const>{} : computed_from(n);
  reserve(2 * n.shape.size() + inputs.size() + 8);  // strides are as many as axes
  uint64_t* to = words_.data() + count_;
  *to++ = reinterpret_cast<uintptr_t>(data ? &op_data : n.op);
  *to++ = flags_of(item);
  *to++ = n.shape.size();
  to = std::copy(n.shape.begin(), n.shape.end(), to);
  if (data) {
    const Value& v = value_of(n);
    *to++ = v.storage->present();
    *to++ = static_cast<uint64_t>(misalignment(v, n.dtype.size()));
    to = std::copy(v.strides.begin(), v.strides.end(), to);
  } else if (item.leaf) {
    *to++ = constant_class(n);
  } else {
    for (const Node* in : inputs) *to++ = item_index(in);
    if (n.attrs) {
      *to++ = n.attrs->hash();
      attrs_.push_back(n.attrs.get());
    }
  }
  count_ = static_cast<size_t>(to - words_.data());
  if (n.parts) describe_parts(*n.parts);
}

void PlanForm::describe_parts(const std::vector<PartInfo>& parts) {
  for (const PartInfo& p : parts) {
    reserve(1 + p.shape.size());
    words_[count_++] = static_cast<uint64_t>(p.dtype.val()) << 32 | p.shape.size();
    for (int64_t n : p.shape) words_[count_++] = static_cast<uint64_t>(n);
  }
}

bool PlanForm::describe(const Schedule& items) {
  if (items.size() > kMaxItems) return false;
  count_ = 0;
  attrs_.clear();
  constants_.clear();
  if (!constant_at_.empty()) constant_at_.clear();
  for (const Item& item : items) describe(item);
  hash_ = count_;
  for (uint64_t w : words()) hash_ = (hash_ ^ w) * 0x9e3779b97f4a7c15ull + (hash_ >> 31);
  return true;
}

bool PlanCache::matches(const Entry& e, const PlanForm& form) {
  if (!std::ranges::equal(e.words, form.words()) || e.attrs.size() != form.attrs_.size())
    return false;
  for (size_t k = 0; k < form.attrs_.size(); ++k)
    if (e.attrs[k].get() != form.attrs_[k] && !e.attrs[k]->equals(*form.attrs_[k])) return false;
  return true;
}

std::shared_ptr<const Plan> PlanCache::find(const PlanForm& form) {
  std::lock_guard lock(mutex_);
  auto it = by_hash_.find(form.hash_);
  Recent& last = recent_[form.hash_ % kRecent];
  if (it != by_hash_.end() && matches(*it->second, form)) {
    entries_.splice(entries_.begin(), entries_, it->second);
    if (!it->second->plan->failed()) return it->second->plan;
    last = {form.hash_, true};  // the next plan takes its place
    return nullptr;
  }
  last = {form.hash_, last.hash == form.hash_};
  return nullptr;
}

void PlanCache::keep(const PlanForm& form, const std::shared_ptr<const Plan>& plan) {
  std::lock_guard lock(mutex_);
  const Recent& last = recent_[form.hash_ % kRecent];
  if (last.hash != form.hash_ || !last.again) return;
  if (auto it = by_hash_.find(form.hash_); it != by_hash_.end()) {
    entries_.erase(it->second);
    by_hash_.erase(it);
  }
  const auto words = form.words();
  entries_.push_front({form.hash_, {words.begin(), words.end()}, {}, plan});
  for (const Attrs* a : form.attrs_) entries_.front().attrs.emplace_back(a);
  by_hash_[form.hash_] = entries_.begin();
  if (entries_.size() <= kMaxEntries) return;
  by_hash_.erase(entries_.back().hash);
  entries_.pop_back();
}

void PlanCache::clear() {
  std::lock_guard lock(mutex_);
  by_hash_.clear();
  entries_.clear();
}

size_t PlanCache::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace mlx::core
