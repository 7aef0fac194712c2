// Groups of processes, and collectives over them: every process of a group calls the same functions
// in the same order. A group of one process is alone: its collectives are the identity.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mlx/backend/engine.h"
#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core::distributed {

namespace detail {
class GroupImpl;
}  // namespace detail

/// A group of processes as one of them sees it. Copies are the same group.
class MLX_API Group {
 public:
  /// A group of this process alone.
  Group() = default;
  explicit Group(Ref<Channel> channel) : channel_(std::move(channel)) {}
  /// The group that `raw_group` gave. Throws ValueError for null.
  Group(const std::shared_ptr<detail::GroupImpl>& group);

  /// The place of this process in the group, from 0.
  int rank() const { return channel_ ? channel_->rank() : 0; }
  /// The number of processes.
  int size() const { return channel_ ? channel_->size() : 1; }
  /// The group of the members that give the same color, ordered by key, then by rank; a negative
  /// key stands for the rank. All members call it. Throws ExecutionError for a process alone,
  /// CommunicationError.
  Group split(int color, int key = -1) const;
  /// The name by which `group_named` finds it: Channel::name.
  std::string name() const { return channel_ ? channel_->name() : "world"; }
  /// Null for a process alone.
  const Ref<Channel>& channel() const { return channel_; }
  /// The group as an object behind a pointer.
  std::shared_ptr<detail::GroupImpl> raw_group() const;
  bool operator==(const Group&) const = default;

 private:
  Ref<Channel> channel_;
};

namespace detail {

/// A group behind a pointer, as MLX's engines of communication hand groups around.
class GroupImpl {
 public:
  explicit GroupImpl(Group group) : group_(std::move(group)) {}
  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  std::shared_ptr<GroupImpl> split(int color, int key = -1) const {
    return group_.split(color, key).raw_group();
  }
  const Group& group() const { return group_; }

 private:
  Group group_;
};

}  // namespace detail

/// True if an engine of that name ("any", "mpi", "nccl", "ring", "jaccl") can connect processes
/// here.
MLX_API bool is_available(const std::string& backend = "any");
/// The group of all processes that a launcher started: "nccl" where NCCL_HOST_IP and NCCL_PORT
/// are set, beside MLX_RANK and MLX_WORLD_SIZE, "ring" where MLX_HOSTFILE and MLX_RANK are, one of
/// both by the variables of torchrun and Slurm ("nccl" where the default device is a GPU and the
/// library is there), "mpi" where its launcher was used, and this process alone where nothing
/// launched it. The second call returns the first call's group. `timeout`: seconds without progress
/// after which a message fails; 0: the number in MLX_DISTRIBUTED_TIMEOUT, else 1800. Throws
/// ExecutionError if `strict` and no launcher has started the process (one that started a single
/// rank gives a group of one), or for variables that make no sense; ValueError for an unknown name;
/// CommunicationError where processes do not find each other.
MLX_API Group init(bool strict = false, const std::string& backend = "any", double timeout = 0);
/// Makes the function with which a process of that rank, in a group of that size, gives bytes to
/// all members and gets theirs, one after another.
using AllGatherFactory =
    std::function<std::function<void(const char* in, char* out, size_t bytes)>(int rank, int size)>;
/// The same as without a factory, which serves engines that cannot find the other processes by
/// themselves: no engine here calls it.
MLX_API Group init(bool strict, const std::string& backend, AllGatherFactory factory);
/// The group of that name: all processes for "world", as `init` returns them; for another one the
/// group that the same splits have made in this process. Throws ValueError where it does not exist.
MLX_API Group group_named(const std::string& name);
/// Leaves all groups: a later `init` connects again.
MLX_API void clear_backends();
/// Tells the other processes that this one ends, and why: empty if nothing went wrong. Groups do
/// not work afterwards. Called when the program ends.
MLX_API void end_all(const std::string& failure) noexcept;

/// The sum over all members; 16-bit floats are added in float32. Members compute the same bits.
MLX_API array all_sum(const array& x, std::optional<Group> group = {}, StreamOrDevice s = {});
MLX_API array all_max(const array& x, std::optional<Group> group = {}, StreamOrDevice s = {});
MLX_API array all_min(const array& x, std::optional<Group> group = {}, StreamOrDevice s = {});
/// The arrays of all members along the first axis; of scalars a vector.
MLX_API array all_gather(const array& x, std::optional<Group> group = {}, StreamOrDevice s = {});
/// The part of the sum over all members that belongs to this one: as many rows of the first axis as
/// to each. Throws ValueError where the members do not divide it.
MLX_API array sum_scatter(const array& x, std::optional<Group> group = {}, StreamOrDevice s = {});
/// The array of member `src`.
MLX_API array broadcast(const array& x, int src, std::optional<Group> group = {},
                        StreamOrDevice s = {});
/// Part j of the first axis of `x` goes to member j; the parts of all for this member, in their
/// order.
MLX_API array all_to_all(const array& x, std::optional<Group> group = {}, StreamOrDevice s = {});
/// `x`, when it is on its way to member `dst`. Throws ValueError for a group of one process.
MLX_API array send(const array& x, int dst, std::optional<Group> group = {}, StreamOrDevice s = {});
/// The array that member `src` sends, of that shape and dtype.
MLX_API array recv(Shape shape, Dtype dtype, int src, std::optional<Group> group = {},
                   StreamOrDevice s = {});
MLX_API array recv_like(const array& x, int src, std::optional<Group> group = {},
                        StreamOrDevice s = {});
/// Waits until all members have called it, and what they asked for before has run.
MLX_API void barrier(std::optional<Group> group = {});

/// Runs `fun(rank)` in `size` threads, each of which is one rank of a new group: `init` returns
/// that group. Rethrows the error of the rank that failed first; `describe` makes the text from it
/// that the other ranks see.
MLX_API void simulate(int size, const std::function<void(int rank)>& fun,
                      const std::function<std::string(std::exception_ptr)>& describe);

/// The part of this process in one group.
struct GroupStatus {
  std::string name;        ///< Group::name
  int rank = 0, size = 1;  ///< in the group
  std::vector<int> ranks;  ///< of its members among all processes
  uint64_t messages = 0, bytes = 0;
  std::string last;  ///< the newest message, or empty: "message 2, all_sum of 3 float32 (a.py:1)"
  bool running = false;  ///< that message is not over
};
/// The state of all groups of this process.
struct Status {
  std::string engine;  ///< "ring", "mpi", "nccl", "threads"; "none" alone
  int rank = 0, size = 1;
  uint64_t messages = 0, bytes = 0;  ///< sent by this process, in any group
  std::string failure;               ///< why no group works any more, or empty
  std::string library;               ///< name and version of the MPI or NCCL in use, or empty
  std::vector<GroupStatus> groups;   ///< that exist, in the order in which they were made
};
/// Does not wait for messages: any thread may ask while another one waits.
MLX_API Status status();

}  // namespace mlx::core::distributed
