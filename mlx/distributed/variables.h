// Variables of the environment by which launchers tell a process which rank it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mlx/distributed/tcp.h"

namespace mlx::core::distributed {

/// The value of a variable; null where it is not set, or empty.
const char* variable(const char* name);
/// A number of seconds from a variable, or a default. Throws ExecutionError.
double seconds_of(const char* name, double otherwise);
/// A number from 0 to 65535 from a variable that is set. Throws ExecutionError.
int whole_number(const char* name);

/// A process of a launch in which all know the address of rank 0.
struct Start {
  int rank, size;
  int local_rank;     ///< among the ranks on its machine
  Address first;      ///< where rank 0 listens
  std::string token;  ///< text that is the same in all ranks of a launch
};

/// By MLX_RANK, MLX_WORLD_SIZE, NCCL_HOST_IP and NCCL_PORT, which are set. Throws ExecutionError.
Start start_by_nccl_variables();
/// By RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them; empty where one of them
/// is not set. Throws ExecutionError for values that make no sense.
std::optional<Start> start_by_torchrun();
/// By the variables of a step that Slurm's srun started; empty where there are none. Throws
/// ExecutionError for values that make no sense.
std::optional<Start> start_by_slurm();
/// The first of torchrun's variables that is missing where others are set; else null.
const char* missing_of_torchrun();

/// "node07" of "node[07-09,12],login": the first name of a list of Slurm.
std::string first_host(std::string_view node_list);

}  // namespace mlx::core::distributed
