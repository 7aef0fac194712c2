// The one primitive that our engines implement: every member of a mesh sends to and receives from
// any others at once.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "mlx/distributed/groups.h"

namespace mlx::core::distributed {

using Clock = std::chrono::steady_clock;

/// Bytes to or from a rank of the mesh. Parts of one rank follow each other.
struct Part {
  int peer;
  void* data;
  size_t bytes;
};

/// The same part with a copy of its bytes, for messages that are sent later.
Part copied(const Part& part, std::unique_ptr<char[]>& copy);

/// A group of this process in a mesh, for messages.
struct Parties {
  std::span<const int> ranks;  ///< of the mesh, by rank in the group
  int rank_of(int mesh_rank) const;
};

/// All processes of a launch, or threads of a simulation, as one of them sees it. Used by one
/// thread at a time, under `mutex`.
class Mesh : public RefCounted {
 public:
  Mesh(int rank, int size);

  const int rank, size;
  std::mutex mutex;
  GroupList groups;

  /// Sends every part of `out` and fills every part of `in`. One header goes to each rank that
  /// `out` names, in front of its parts, and one comes from each rank that `in` names, which must
  /// agree with it. Parts may be empty. Throws CommunicationError, and Interrupted.
  virtual void exchange(Header header, std::span<const Part> out, std::span<const Part> in,
                        const Parties& parties) = 0;
  /// Takes a copy of the bytes and sends them later.
  virtual void post(Header header, const Part& part) = 0;
  /// Throws where another process has failed or is gone, for a message that waits elsewhere.
  virtual void look(const Header&) {}
  /// Tells all others that this process has failed, and why. Nothing works afterwards. Any thread
  /// may call it.
  virtual void fail(const std::string& why) noexcept = 0;
  /// Tells all others that this process leaves. Waits until what was posted is gone.
  virtual void leave() noexcept = 0;
  /// After `leave`: closes the connections that the others have closed; true where that is all.
  virtual bool close_ended() noexcept { return false; }

  /// Throws the error of a mesh that has failed, in a message of this op.
  void check(const char* op) const;
  std::string failure() const;

  /// Seconds without progress after which a message fails, and seconds after which a line tells
  /// about it.
  double timeout = 1800, report_after = 30;
  Stream queue;  ///< Channel::queue

 protected:
  /// Keeps the first reason; true where it is.
  bool set_failure(const std::string& why) noexcept;
  /// False in a child made by fork.
  bool is_own_process() const;
  bool failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex failure_mutex_;
  std::string failure_;
  const uint32_t process_;  ///< that made it, by the number of forks
};

/// Watches one message for progress.
class Patience {
 public:
  Patience(const Mesh& mesh, const Header& header) : mesh_(&mesh), header_(header) {}
  void progress() { since_ = Clock::now(); }
  /// Reports a message that takes long, once a minute; throws CommunicationError after the timeout.
  /// `missing` are the ranks that it waits for.
  void check(const std::vector<int>& missing);
  double seconds() const { return std::chrono::duration<double>(Clock::now() - since_).count(); }

 private:
  const Mesh* mesh_;
  Header header_;
  Clock::time_point since_ = Clock::now();
  double next_report_ = -1;
};

/// Throws the error of a message: "[all_sum] …".
[[noreturn]] void fail_message(const Header& header, const std::string& text);

}  // namespace mlx::core::distributed
