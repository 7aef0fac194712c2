// The engine whose ranks are processes that a launcher of MPI has started.
#pragma once

#include "mlx/distributed/mesh.h"

namespace mlx::core::distributed {

/// The mesh of all ranks of MPI; null where the process is the only one. Throws ExecutionError
/// where no library can be used, or the library is not that of the launcher.
Ref<Mesh> make_mpi_mesh();

}  // namespace mlx::core::distributed
