// Groups of processes and collectives over them. No communication backend is built in yet: every
// group has one member, for which a collective is the identity.
#pragma once

#include <optional>
#include <string>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core::distributed {

/// A group of processes.
class MLX_API Group {
 public:
  int rank() const { return 0; }
  int size() const { return 1; }
  /// Throws ExecutionError: a group of one process cannot be split.
  Group split(int color, int key = -1) const;
};

/// True if a communication backend of that name ("any", "mpi", "nccl", "ring", "jaccl") is
/// available.
MLX_API bool is_available(const std::string& backend = "any");
/// The group of all processes, which is this process alone. Throws ExecutionError if `strict` or a
/// named backend requires more, ValueError for an unknown name.
MLX_API Group init(bool strict = false, const std::string& backend = "any");
/// Does nothing: groups are not cached yet.
MLX_API void clear_backends();

MLX_API array all_sum(const array& x, std::optional<Group> group = {}, StreamOrDevice s = {});
MLX_API array all_max(const array& x, std::optional<Group> group = {}, StreamOrDevice s = {});
MLX_API array all_min(const array& x, std::optional<Group> group = {}, StreamOrDevice s = {});
MLX_API array all_gather(const array& x, std::optional<Group> group = {}, StreamOrDevice s = {});
MLX_API array sum_scatter(const array& x, std::optional<Group> group = {}, StreamOrDevice s = {});
/// Functions that throw ValueError: a group of one process has no other member.
MLX_API array send(const array& x, int dst, std::optional<Group> group = {}, StreamOrDevice s = {});
MLX_API array recv(Shape shape, Dtype dtype, int src, std::optional<Group> group = {},
                   StreamOrDevice s = {});
MLX_API array recv_like(const array& x, int src, std::optional<Group> group = {},
                        StreamOrDevice s = {});

}  // namespace mlx::core::distributed
