// The engine whose ranks are processes with a GPU each: a library of the device carries the arrays,
// and a mesh over TCP everything else.
#pragma once

#include <string>

#include "mlx/distributed/mesh.h"

namespace mlx::core::distributed {

/// Why the engine cannot be used here; empty where it can.
std::string missing_nccl();

/// The group of all processes, over a mesh that connects them. The mesh's queue becomes one of the
/// device of this rank. Throws ExecutionError, CommunicationError.
Ref<Channel> make_nccl_channel(Ref<Mesh> mesh, int local_rank);

}  // namespace mlx::core::distributed
