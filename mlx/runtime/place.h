// The pass `place`: on which device and stream each node runs.
#pragma once

#include <vector>

#include "mlx/backend/backend.h"
#include "mlx/core/api.h"
#include "mlx/runtime/schedule.h"

namespace mlx::core {

/// A stream that nodes of a schedule run on, and what its device is like.
struct Target {
  Stream stream;
  Backend* backend;
  Space space;
  Caps caps;
};

/// The targets of a schedule; few, most often one.
class Targets {
 public:
  void clear() { list_.clear(); }
  void add(int stream);
  /// Adds a target with the device of another one.
  void add(int stream, const Target& like);
  /// The target of a stream that was added.
  const Target& of(int stream) const;

 private:
  std::vector<Target> list_;
};

/// Finds the targets of the nodes that must be computed. Throws ValueError for a device that is
/// gone.
MLX_API void place(const Schedule& items, Targets& targets);
/// The same with one device for all nodes.
void place_on(const Target& target, const Schedule& items, Targets& targets);

}  // namespace mlx::core
