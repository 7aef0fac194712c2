// A function of arrays as data: a graph over placeholders that reads nothing else but constants.
// Control-flow ops keep the functions that they run as such graphs.
#pragma once

#include <memory>

#include "mlx/core/array.h"
#include "mlx/core/blocking.h"
#include "mlx/core/node_map.h"

namespace mlx::core {

struct Routine;

/// Immutable except for the routine, which is planned when the function first runs.
class MLX_API Subgraph : public RefCounted {
 public:
  /// `outputs` are computed from `inputs`, which are placeholders, and from constants.
  Subgraph(Arrays inputs, Arrays outputs);
  const Arrays& inputs() const { return inputs_; }
  const Arrays& outputs() const { return outputs_; }

  /// True where both compute the same by the same ops.
  bool equals(const Subgraph& other) const;
  size_t hash() const { return hash_; }

  /// The steps that run the function, made by the first call of `make`.
  template <class F>
  std::shared_ptr<const Routine> routine(F make) const {
    std::lock_guard lock(mutex_);
    if (!routine_) routine_ = make();
    return routine_;
  }

 private:
  Arrays inputs_, outputs_;
  std::vector<Node*> nodes_;  // topological; inputs first
  NodeMap<uint32_t> place_;   // of each node in `nodes_`
  size_t hash_ = 0;
  mutable EngineMutex mutex_;  // of the routine and, while it is made, of the nodes
  mutable std::shared_ptr<const Routine> routine_;
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
