// The list of groups of a process.
#include "mlx/distributed/groups.h"

#include <algorithm>

namespace mlx::core::distributed {

namespace {

/// A reference to an object; null where it is being deleted.
Ref<Channel> if_alive(const Channel* channel) {
  uint32_t count = channel->refs.load(std::memory_order_relaxed);
  while (count != 0)
    if (channel->refs.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel))
      return Ref<Channel>::adopt(const_cast<Channel*>(channel));
  return {};
}

}  // namespace

void GroupList::add(GroupRecord& group) {
  std::lock_guard lock(mutex_);
  groups_.push_back(&group);
}

void GroupList::remove(const GroupRecord& group) {
  std::lock_guard lock(mutex_);
  std::erase(groups_, &group);
}

void GroupList::rename(GroupRecord& group, const Channel* channel) {
  std::lock_guard lock(mutex_);
  group.channel = channel;
}

void GroupList::begin(GroupRecord& group, const Header& header, Collective kind) {
  std::lock_guard lock(mutex_);
  group.last = header;
  group.last.kind = static_cast<uint8_t>(kind);
  group.begun = group.running = true;
}

void GroupList::end(GroupRecord& group, uint64_t bytes, bool well) {
  std::lock_guard lock(mutex_);
  group.running = false;
  if (!well) return;
  ++group.messages;
  group.bytes += bytes;
  ++messages_;
  bytes_ += bytes;
}

std::vector<GroupRecord> GroupList::all() const {
  std::lock_guard lock(mutex_);
  std::vector<GroupRecord> copies;
  for (const GroupRecord* g : groups_) copies.push_back(*g);
  return copies;
}

std::pair<uint64_t, uint64_t> GroupList::totals() const {
  std::lock_guard lock(mutex_);
  return {messages_, bytes_};
}

Ref<Channel> GroupList::find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  for (const GroupRecord* g : groups_)
    if (g->name == name)
      if (Ref<Channel> channel = if_alive(g->channel)) return channel;
  return {};
}

}  // namespace mlx::core::distributed
