// The engine whose ranks are threads of one process: `simulate`.
#pragma once

#include <memory>
#include <vector>

#include "mlx/distributed/mesh.h"

namespace mlx::core::distributed {

/// Where the threads of one simulation meet.
class MeetingPlace;

/// The meshes of a simulation, one for each rank.
std::vector<Ref<Mesh>> make_thread_meshes(int size);

}  // namespace mlx::core::distributed
