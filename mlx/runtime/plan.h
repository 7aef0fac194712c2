// Phase 3: the plan, the one thing that runs. Immutable once made: steps for the backends, where
// every value lies, and which buffers may be taken over.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mlx/backend/backend.h"
#include "mlx/runtime/fuse.h"

namespace mlx::core {

enum class SlotKind : uint8_t {
  leaf,    ///< memory of an evaluated input
  temp,    ///< part of the segment's arena
  output,  ///< a storage of its own
};

/// A run of memory that steps read and write.
struct Slot {
  SlotKind kind;
  size_t bytes = 0;
  int leaf = -1;                   ///< index in Plan::leaves
  int itemsize = 1;                ///< leaves: bytes of an element
  bool donatable = false;          ///< leaves: nobody looks at it after this plan
  const Backend* owner = nullptr;  ///< leaves: whose memory it is
  int home = -1;            ///< this slot lies in that one's memory (written in place), or -1
  int64_t home_offset = 0;  ///< bytes from the start of `home`
  size_t arena_offset = 0;
  int segment = -1;  ///< where it is written; -1 for leaves
  int last_step = -1;
  bool crosses = false;  ///< read by another segment than the one that writes it
};

/// Consecutive steps on one stream: one launch.
struct Segment {
  Stream stream;
  Backend* backend;
  std::vector<Step> steps;  ///< empty once prepared
  std::shared_ptr<const Executable> executable;
  std::vector<int> slots;            ///< slot of each binding
  std::vector<uint32_t> parameters;  ///< items whose constants are the launch's parameters
  size_t arena_bytes = 0;
  int first_step = 0;
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
/// Where in its storage a leaf starts is not part of the plan but for the last bits (`leaf_phase`).
struct Plan {
  std::vector<Segment> segments;
  std::vector<Slot> slots;
  std::vector<uint32_t> leaves;
  std::vector<Result> results;
  std::vector<std::string> step_names() const;
};

/// Elements from the last boundary of 16 bytes to where a value of elements of `itemsize` bytes
/// starts: what a plan knows of its place, since views as other dtypes depend on it.
inline int64_t leaf_phase(const Value& v, int itemsize) { return v.offset % (16 / itemsize); }

/// Lowers the units to steps, resolves views, and decides where every value lies.
void make_plan(const Schedule& items, const std::vector<Unit>& units,
               const std::vector<int>& unit_of, Plan& plan);

/// Memory: writes in place, takes over inputs, and packs temporaries into arenas. Part of
/// make_plan. `in_place` has, per step over all segments, the inputs whose memory the outputs may
/// take.
void assign_memory(Plan& plan, const std::vector<uint32_t>& in_place);

/// Prepares the segments' executables and forgets their steps.
void prepare(Plan& plan);

}  // namespace mlx::core
