// A function of arrays as data: a graph over placeholders that reads nothing else but constants.
// Control-flow ops keep the functions that they run as such graphs.
#pragma once

#include <memory>

#include "mlx/core/array.h"
#include "mlx/core/blocking.h"
#include "mlx/core/node_map.h"

namespace mlx::core {

struct Routine;

/// Immutable except for the routines, which are planned when the function first runs on a device.
class MLX_API Subgraph : public RefCounted {
 public:
  /// `outputs` are computed from `inputs`, which are placeholders, and from constants.
  Subgraph(Arrays inputs, Arrays outputs);
  const Arrays& inputs() const { return inputs_; }
  const Arrays& outputs() const { return outputs_; }

  /// True where both compute the same by the same ops.
  bool equals(const Subgraph& other) const;
  size_t hash() const { return hash_; }

  /// The steps that run the function on the device of a space, made by the first call of `make`.
  template <class F>
  std::shared_ptr<const Routine> routine(Space space, F make) const {
    std::lock_guard lock(mutex_);
    for (const auto& [where, made] : routines_)
      if (where == space) return made;
    return routines_.emplace_back(space, make()).second;
  }

 private:
  Arrays inputs_, outputs_;
  std::vector<Node*> nodes_;  // topological; inputs first
  NodeMap<uint32_t> place_;   // of each node in `nodes_`
  size_t hash_ = 0;
  mutable EngineMutex mutex_;  // of the routines and, while one is made, of the nodes
  mutable std::vector<std::pair<Space, std::shared_ptr<const Routine>>> routines_;
};

/// Attributes of ops that run functions.
struct FunctionAttrs : Attrs {
  std::vector<Ref<const Subgraph>> functions;
};
/// The functions that an op with these attributes runs, or null.
inline const std::vector<Ref<const Subgraph>>* functions_of(const Attrs* attrs) {
  const auto* a = dynamic_cast<const FunctionAttrs*>(attrs);
  return a ? &a->functions : nullptr;
}

}  // namespace mlx::core
