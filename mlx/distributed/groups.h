// The groups of a process: their names, and the part of them in its messages so far. Any thread
// reads it, also while a message waits.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "mlx/distributed/order.h"

namespace mlx::core::distributed {

/// One group.
struct GroupRecord {
  std::string name;                     ///< Channel::name
  int rank = 0;                         ///< of this process in the group
  std::vector<int> ranks;               ///< members in the mesh, by rank in the group
  const Channel* channel = nullptr;     ///< the object that programs hold
  uint64_t messages = 0, bytes = 0;     ///< that are over
  Header last = {};                     ///< of the newest message
  bool begun = false, running = false;  ///< `last` is there; it is not over
};

/// All groups of a mesh that exist, and sums over them and those of the past.
class GroupList {
 public:
  void add(GroupRecord& group);
  void remove(const GroupRecord& group);
  /// Programs hold another object for a group.
  void rename(GroupRecord& group, const Channel* channel);
  void begin(GroupRecord& group, const Header& header, Collective kind);
  void end(GroupRecord& group, uint64_t bytes, bool well);

  /// Copies, in the order in which the groups were made.
  std::vector<GroupRecord> all() const;
  /// Number of messages and bytes since the start, of all groups.
  std::pair<uint64_t, uint64_t> totals() const;
  /// The group of a name; null where it does not exist any more, or never did.
  Ref<Channel> find(const std::string& name) const;

 private:
  mutable std::mutex mutex_;
  std::vector<GroupRecord*> groups_;
  uint64_t messages_ = 0, bytes_ = 0;
};

}  // namespace mlx::core::distributed
