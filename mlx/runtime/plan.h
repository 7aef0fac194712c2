// The plan, the one thing that runs. Immutable once made, except for the executables, which are
// prepared when it first runs: steps for the backends, the place of every value, and which buffers
// may be taken over.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mlx/backend/backend.h"
#include "mlx/core/api.h"

namespace mlx::core {

enum class SlotKind : uint8_t {
  leaf,    ///< memory of an evaluated input
  temp,    ///< part of the segment's arena
  output,  ///< a separate storage
};

/// A run of memory that steps read and write.
struct Slot {
  SlotKind kind;
  size_t bytes = 0;
  int leaf = -1;            ///< index in Plan::leaves
  int itemsize = 1;         ///< leaves: bytes of an element
  bool donatable = false;   ///< leaves: not read after this plan
  Spaces present = 0;       ///< leaves: the spaces that have it
  int home = -1;            ///< the slot whose memory contains this one (written in place), or -1
  int64_t home_offset = 0;  ///< bytes from the start of `home`
  size_t arena_offset = 0;
  int segment = -1;  ///< that writes it; -1 for leaves, and for outputs of no elements
  int last_step = -1;
  bool crosses = false;  ///< read by another segment than the one that writes it
};

/// Steps on one stream: one launch.
struct Segment {
  Stream stream;
  Backend* backend;
  Space space;
  size_t alignment;
  std::vector<Step> steps;             ///< empty once prepared
  SmallVector<uint32_t, 4> in_place;   ///< per step, the inputs whose memory the outputs may take
  SmallVector<int, 8> slots;           ///< slot of each binding
  SmallVector<int, 4> transfers;       ///< bindings whose bytes may have to come from another space
  SmallVector<uint32_t, 4> constants;  ///< items whose values are the launch's constants
  size_t first_constant = 0;           ///< among those of all segments
  size_t arena_bytes = 0;
  int first_step = 0;
  bool waited_for = false;    ///< by the next segment: nothing runs beside it
  bool communicates = false;  ///< with other processes, in turn
};

/// An item (or one part of a bundle) and where its value ends up.
struct Result {
  uint32_t item;
  int part;  ///< -1: the node itself
  int slot;
  int64_t offset;  ///< elements
  Strides strides;
};

/// Names nodes by their places in the schedule, so that it serves every schedule of the same form.
/// Where in its storage a leaf starts is not part of the plan, except its `misalignment`.
class MLX_API Plan {
 public:
  std::vector<Segment> segments;
  std::vector<Slot> slots;
  SmallVector<uint32_t, 8> leaves;
  std::vector<Result> results;
  int64_t bytes = 0;  ///< that the steps read and write, roughly

  /// Names of the steps, while the plan is not prepared; with the transfers in front of a segment.
  std::vector<std::string> step_names(bool transfers = false) const;
  /// The slot whose memory contains a slot.
  int home_of(int slot) const { return slots[slot].home < 0 ? slot : slots[slot].home; }
  /// The executables of the segments, null for one without steps. Called without locks after the
  /// pass `publish`; the first call prepares, others wait for it. Throws what a backend throws,
  /// every time.
  const std::vector<std::shared_ptr<const Executable>>& prepare() const;
  /// True where that has thrown or left a step without a kernel: a later evaluation makes another
  /// plan.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// True if it runs so briefly that releasing the program's lock (the GIL) would cost more.
  bool is_brief() const {
    constexpr int64_t kFew = 16384;
    return bytes <= kFew && prepared_.load(std::memory_order_acquire) && on_host_;
  }

 private:
  void prepare_segments() const;

  mutable std::mutex preparing_;
  mutable std::atomic<bool> prepared_{false}, failed_{false};
  mutable std::vector<std::shared_ptr<const Executable>> executables_;
  mutable std::exception_ptr error_;
  mutable bool on_host_ = false;
};

/// Elements from the last boundary of the widest dtype to where a value of elements of `itemsize`
/// bytes starts: the part of its place that a plan knows, since views as other dtypes depend on it.
inline int64_t misalignment(const Value& v, int itemsize) { return v.offset % (16 / itemsize); }

}  // namespace mlx::core
