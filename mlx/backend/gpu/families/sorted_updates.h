// Many updates at indices: sorted by their targets, so that those of one target are neighbours in
// order, and a warp applies those of a target that has many; or, where blocks can look at all keys,
// found by the block that has the target; or, where the last one of a target counts, found by
// claims of the targets; or, where their order does not count, applied as they are.
#pragma once

#include <optional>
#include <string>

#include "mlx/backend/gpu/families/radix.h"
#include "mlx/ops/scatter.h"

namespace mlx::core::gpu {

/// More updates than a thread walks to find its own.
inline constexpr int64_t kWalked = 256;
/// The most updates that every block looks at, and the most bytes of one that one block applies.
inline constexpr int64_t kMostLookedAt = 1 << 15, kMostShared = 4096;

/// Where updates go: targets are `unit` elements apart, from 0 to `last` of them.
struct Targets {
  int64_t count, unit, last;
  ScatterMode mode;
  Dtype dtype;  ///< of the elements
  const Hardware* device;
  /// Whether to sort or claim. Few updates, and more than have room, are walked.
  bool sorted() const { return count > kWalked && problem().fits(); }
  /// Whether updates claim their targets, which are not many times more.
  bool claimed() const { return mode == ScatterMode::set && last / 16 <= count; }
  /// Whether updates are added at once: sums of integers need no order.
  bool unordered() const {
    return mode == ScatterMode::add && !is_inexact(dtype) && dtype.size() >= 4;
  }
  /// Whether blocks that have shares of the targets find the updates of `columns` elements.
  bool by_shares(int64_t columns) const {
    return !claimed() && !unordered() && count <= kMostLookedAt &&
           columns * dtype.size() <= kMostShared;
  }
  /// The dtype of a target's number.
  Dtype key() const;
  RadixProblem problem() const;
  size_t workspace() const;
};

/// The mode and the element type in the source of a kernel: assignments only move bytes.
std::string scatter_instance(ScatterMode mode, Dtype t);

/// The sort, or the claims, if there are any, and the kernel that applies the updates.
class SortedUpdates {
 public:
  SortedUpdates(const Targets& targets, Dtype dtype, const device::ScatterArguments& p,
                DeviceState& device);
  int64_t unit() const { return arguments_.unit; }
  /// Prepares the claims, behind the keys in the workspace: their address, or 0 without claims.
  int64_t begin(const Enqueue& to, int64_t workspace) const;
  /// Addresses: `workspace` begins with the keys.
  void launch(const Enqueue& to, int64_t workspace, int64_t updates, int64_t out) const;

 private:
  Targets targets_;
  std::optional<RadixSort> sort_;
  device::SortedUpdatesArguments arguments_ = {};
  KernelOn<device::SortedUpdatesArguments> clear_, apply_;
  KernelOn<device::SortedUpdatesArguments> apply_together_, apply_long_;
  int64_t together_ = 1;   ///< neighbouring columns that a thread may have at once
  int64_t access_ = 0;     ///< their bytes
  bool by_warps_ = false;  ///< a warp has all updates of a target
  int64_t shares_ = 0;     ///< of targets, a power of two; 0: updates are sorted
};

}  // namespace mlx::core::gpu
