// How the variables of each launcher are read.
#include "mlx/distributed/variables.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "mlx/core/error.h"

namespace mlx::core::distributed {

namespace {

constexpr int kHighestPort = 65535;
constexpr std::array kTorchrun = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};

const char* first_set(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (variable(name)) return name;
  return nullptr;
}

/// The place of a process by the names of three variables; of the last one, null stands for the
/// rank.
Start place_by(const char* rank_name, const char* size_name, const char* local_name) {
  Start s;
  s.rank = whole_number(rank_name);
  s.size = whole_number(size_name);
  if (s.size == 0) fail<ExecutionError>("init", size_name, " = 0; a number from 1 is accepted");
  if (s.rank >= s.size)
    fail<ExecutionError>("init", rank_name, " = ", s.rank, " and ", size_name, " = ", s.size,
                         "; ranks from 0 to ", s.size - 1, " are accepted");
  s.local_rank = local_name ? whole_number(local_name) : s.rank;
  return s;
}

/// The port of rank 0: that of MLX_DISTRIBUTED_PORT, or a default.
std::string port_or(int otherwise) {
  const bool given = variable("MLX_DISTRIBUTED_PORT");
  const int port = given ? whole_number("MLX_DISTRIBUTED_PORT") : otherwise;
  if (port < 1 || port > kHighestPort)
    fail<ExecutionError>("init", "port ", port, " for rank 0; MLX_DISTRIBUTED_PORT from 1 to ",
                         kHighestPort, " is accepted");
  return std::to_string(port);
}

std::string token_or(const std::string& otherwise) {
  const char* token = variable("MLX_DISTRIBUTED_TOKEN");
  return token ? token : otherwise;
}

}  // namespace

const char* variable(const char* name) {
  const char* v = std::getenv(name);
  return v && *v ? v : nullptr;
}

double seconds_of(const char* name, double otherwise) {
  const char* text = variable(name);
  if (!text) return otherwise;
  char* end = nullptr;
  const double v = std::strtod(text, &end);
  if (*end || !(v > 0))
    fail<ExecutionError>("init", name, " = ", text, "; a number of seconds is accepted");
  return v;
}

int whole_number(const char* name) {
  const char* text = variable(name);
  char* end = nullptr;
  const long v = std::strtol(text, &end, 10);
  if (end == text || *end || v < 0 || v > kHighestPort)
    fail<ExecutionError>("init", name, " = '", text, "'; a number from 0 to ", kHighestPort,
                         " is accepted");
  return static_cast<int>(v);
}

Start start_by_nccl_variables() {
  Start s = place_by("MLX_RANK", "MLX_WORLD_SIZE", first_set({"MLX_LOCAL_RANK"}));
  s.first = parse_address(cat(variable("NCCL_HOST_IP"), ":", variable("NCCL_PORT")));
  s.token = token_or("");
  return s;
}

std::optional<Start> start_by_torchrun() {
  for (const char* name : kTorchrun)
    if (!variable(name)) return {};
  Start s = place_by("RANK", "WORLD_SIZE", first_set({"MLX_LOCAL_RANK", "LOCAL_RANK"}));
  // torchrun itself, or PyTorch in this program, listens at MASTER_PORT.
  s.first = {variable("MASTER_ADDR"), port_or(whole_number("MASTER_PORT") + 1)};
  const char* run = variable("TORCHELASTIC_RUN_ID");
  s.token = token_or(run ? run : "");
  return s;
}

const char* missing_of_torchrun() {
  // One variable of so general a name may belong to something else.
  if (!variable("RANK") && !variable("WORLD_SIZE")) return nullptr;
  if (std::ranges::count_if(kTorchrun, variable) < 2) return nullptr;
  const auto missing = std::ranges::find_if_not(kTorchrun, variable);
  return missing == kTorchrun.end() ? nullptr : *missing;
}

std::optional<Start> start_by_slurm() {
  // A batch script has the variables of its job, and is no task of a step.
  const char* size = first_set({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
  const char* nodes = first_set({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  const char* step = variable("SLURM_STEP_ID");
  if (!variable("SLURM_PROCID") || !size || !nodes || !step) return {};
  Start s = place_by("SLURM_PROCID", size, first_set({"MLX_LOCAL_RANK", "SLURM_LOCALID"}));
  // Jobs, and steps of one job, that run on one machine at a time need ports of their own.
  constexpr int64_t kFirstPort = 20000, kPorts = 10000, kStepsOfJob = 16;
  const char* job = variable("SLURM_JOB_ID");
  const int64_t number = std::atoll(job ? job : "0") * kStepsOfJob + std::atoll(step);
  const int64_t port = kFirstPort + (number % kPorts + kPorts) % kPorts;
  s.first = {first_host(variable(nodes)), port_or(static_cast<int>(port))};
  s.token = token_or(cat(job ? job : "", ".", step));
  return s;
}

std::string first_host(std::string_view node_list) {
  std::string name;
  for (size_t k = 0; k < node_list.size() && node_list[k] != ','; ++k) {
    if (node_list[k] != '[') {
      name += node_list[k];
      continue;
    }
    const size_t end = std::min(node_list.find(']', k), node_list.size());
    const std::string_view range = node_list.substr(k + 1, end - k - 1);
    name += range.substr(0, range.find_first_of("-,"));
    k = end;
  }
  return name;
}

}  // namespace mlx::core::distributed
