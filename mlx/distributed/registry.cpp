// Which group a thread is in: that of the process, by the variables of its launcher, or that of a
// simulation.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <thread>

#include "mlx/backend/backend.h"
#include "mlx/core/blocking.h"
#include "mlx/core/environment.h"
#include "mlx/core/error.h"
#include "mlx/distributed/algorithms.h"
#include "mlx/distributed/distributed.h"
#include "mlx/distributed/mpi.h"
#include "mlx/distributed/mpi_library.h"
#include "mlx/distributed/nccl.h"
#include "mlx/distributed/tcp.h"
#include "mlx/distributed/threads.h"
#include "mlx/distributed/variables.h"

namespace mlx::core {

namespace distributed {

namespace {

/// All processes of a launch as one of them sees it, or a rank of a simulation.
struct World {
  const char* engine;
  Ref<Channel> channel;
  Ref<Mesh> mesh;
  uint64_t number;
  std::string library = {};  ///< that carries its messages, and which version
};

struct Registry {
  std::mutex mutex;
  World world{};                    ///< of the process
  std::atomic<uint64_t> number{0};  ///< of that
  std::vector<World> ended;         ///< kept until the others have read its last words
};
Registry& registry() {
  static auto& r = *new Registry;
  return r;
}
thread_local constinit const World* simulated = nullptr;

/// The lock of the registry, which another thread may hold while it connects processes.
std::unique_lock<std::mutex> lock_registry() {
  std::unique_lock lock(registry().mutex, std::try_to_lock);
  if (!lock) {
    BlockingRegion region;
    lock.lock();
  }
  return lock;
}

uint64_t next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

/// Throws for words that nothing would read.
void check_words() { check_variable("MLX_DISTRIBUTED_CHECK", {"on", "off"}); }

World make_world(const char* engine, Ref<Mesh> mesh, bool of_process) {
  mesh->queue = new_thread_unsafe_stream(Device::cpu);
  std::vector<int> ranks(static_cast<size_t>(mesh->size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return {engine, make_ref<MeshChannel>(mesh, std::move(ranks), 0, of_process), mesh,
          next_number()};
}

/// True where the variables of the ring are complete; tells about a missing one.
bool has_ring_variables(bool strict, bool named) {
  const char *hosts = variable("MLX_HOSTFILE"), *rank = variable("MLX_RANK");
  if (hosts && rank) return true;
  if (!named && !hosts) return false;
  if (strict && (named || hosts))
    fail<ExecutionError>("init",
                         hosts  ? "MLX_RANK"
                         : rank ? "MLX_HOSTFILE"
                                : "MLX_HOSTFILE and MLX_RANK",
                         " not set; mlx.launch sets MLX_HOSTFILE and MLX_RANK");
  if (hosts || rank)
    std::fprintf(stderr, "[mlx] %s is set and %s is not: a group of this process alone\n",
                 hosts ? "MLX_HOSTFILE" : "MLX_RANK", hosts ? "MLX_RANK" : "MLX_HOSTFILE");
  return false;
}

World open_ring(double timeout) {
  const int rank = whole_number("MLX_RANK");
  const Hosts hosts = read_hostfile(variable("MLX_HOSTFILE"));
  const int size = static_cast<int>(hosts.ranks.size());
  if (rank >= size)
    fail<ExecutionError>("init", "MLX_RANK = ", rank, ", and ", size,
                         " ranks in MLX_HOSTFILE; ranks from 0 to ", size - 1, " are accepted");
  if (variable("MLX_WORLD_SIZE") && whole_number("MLX_WORLD_SIZE") != size)
    fail<ExecutionError>("init", "MLX_WORLD_SIZE = ", variable("MLX_WORLD_SIZE"), ", and ", size,
                         " ranks in MLX_HOSTFILE; equal numbers are accepted");
  if (size == 1) return {};
  const char* token = variable("MLX_DISTRIBUTED_TOKEN");
  Ref<Mesh> mesh =
      make_tcp_mesh(connect_ranks(hosts, rank, token ? token : "", timeout), rank, size);
  mesh->timeout = timeout;
  mesh->report_after = seconds_of("MLX_DISTRIBUTED_REPORT", mesh->report_after);
  return make_world("ring", std::move(mesh), true);
}

World open_mpi(bool strict, double timeout) {
  Ref<Mesh> mesh = make_mpi_mesh();
  if (!mesh && strict && ranks_by_mpi_launcher() == 0)
    fail<ExecutionError>("init",
                         "no launcher of MPI has started this process; mpiexec does, and "
                         "mlx.launch --backend mpi");
  if (!mesh) return {};
  mesh->timeout = timeout;
  mesh->report_after = seconds_of("MLX_DISTRIBUTED_REPORT", mesh->report_after);
  World world = make_world("mpi", std::move(mesh), true);
  world.library = mpi_library().version;
  return world;
}

/// Of a launch in which all know the address of rank 0: by NCCL, or by TCP alone.
World open_started(const Start& start, bool nccl, double timeout) {
  if (start.size == 1) return {};
  // Ranks of different engines do not meet.
  const char* engine = nccl ? "nccl" : "ring";
  const std::string token = cat(engine, " ", start.token);
  Ref<Mesh> mesh = make_tcp_mesh(connect_by(start.first, start.rank, start.size, token, timeout),
                                 start.rank, start.size);
  mesh->timeout = timeout;
  mesh->report_after = seconds_of("MLX_DISTRIBUTED_REPORT", mesh->report_after);
  if (!nccl) return make_world(engine, std::move(mesh), true);
  return {engine, make_nccl_channel(mesh, start.local_rank), mesh, next_number(),
          device_links.load()->version()};
}

/// True where the variables of NCCL are complete.
bool has_nccl_variables(bool named) {
  for (const char* name : {"NCCL_HOST_IP", "NCCL_PORT", "MLX_WORLD_SIZE", "MLX_RANK"})
    if (!variable(name)) return false;
  // Ranks that are launched with a hostfile use it, unless they ask for NCCL.
  return named || !variable("MLX_HOSTFILE");
}

/// True where NCCL can be used; tells why not.
bool has_nccl(bool strict) {
  const std::string reason = missing_nccl();
  if (reason.empty()) return true;
  if (strict)
    fail<ExecutionError>("init", "NCCL: ", reason, "; ring needs neither a GPU nor a library");
  std::fprintf(stderr, "[mlx] NCCL cannot be used (%s): a group of this process alone\n",
               reason.c_str());
  return false;
}

/// True where MPI is asked for, or its launcher started the process, and a library can be used.
/// `otherwise`: without a library, the ranks meet by other means.
bool has_mpi(bool strict, bool named, bool otherwise) {
  if (!named && ranks_by_mpi_launcher() == 0) return false;
  const MpiLibrary& mpi = mpi_library();
  if (mpi.usable) return true;
  if (otherwise) return false;
  if (strict) return true;  // opening it tells why not
  if (ranks_by_mpi_launcher() > 1)
    std::fprintf(stderr,
                 "[mlx] started by MPI, of which no library can be used (%s): a group of "
                 "this process alone\n",
                 mpi.problem.c_str());
  return false;
}

/// Throws the reason for which a group of others was asked for and there is none; or tells it,
/// where that is a variable of torchrun.
void explain_alone(bool strict, const std::string& backend) {
  const char* missing = missing_of_torchrun();
  if (missing && strict)
    fail<ExecutionError>("init", missing,
                         " not set; torchrun sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
  if (missing && ranks_by_mpi_launcher() == 0)
    std::fprintf(stderr,
                 "[mlx] variables of torchrun are set and %s is not: a group of this "
                 "process alone\n",
                 missing);
  if (!strict) return;
  if (backend == "nccl")
    for (const char* name : {"NCCL_HOST_IP", "NCCL_PORT", "MLX_WORLD_SIZE", "MLX_RANK"})
      if (!variable(name))
        fail<ExecutionError>("init", name, " not set; mlx.launch --backend nccl sets it");
  if (backend == "any")
    fail<ExecutionError>("init", "nothing has launched this process; mlx.launch does");
  fail<ExecutionError>("init", "backend '", backend,
                       "' is not there; ring connects processes, which mlx.launch starts");
}

/// The group that the variables of a launcher name; an empty one for a process alone. The order:
/// variables of this engine, of torchrun, of MPI, of Slurm, which may have started the others.
World open_world(bool strict, const std::string& backend, double timeout) {
  const bool any = backend == "any", tcp = any || backend == "ring" || backend == "nccl";
  auto patience = [&](bool nccl) {
    const bool own = nccl && variable("MLX_NCCL_TIMEOUT");
    const char* name = own ? "MLX_NCCL_TIMEOUT" : "MLX_DISTRIBUTED_TIMEOUT";
    return timeout == 0 ? seconds_of(name, 1800) : timeout;
  };
  auto open = [&](const Start& start) {
    // Ranks that compute on their CPUs may share a GPU, which NCCL refuses.
    const bool on_gpu = default_device().type == Device::gpu;
    const bool nccl = backend == "nccl" || (any && on_gpu && missing_nccl().empty());
    if (backend == "nccl" && !has_nccl(strict)) return World{};
    return open_started(start, nccl, patience(nccl));
  };
  if (tcp && backend != "ring" && has_nccl_variables(!any))
    return has_nccl(strict) ? open_started(start_by_nccl_variables(), true, patience(true))
                            : World{};
  const std::optional<Start> torchrun = tcp ? start_by_torchrun() : std::nullopt;
  const std::optional<Start> slurm = tcp ? start_by_slurm() : std::nullopt;
  const bool other = torchrun || slurm;
  const bool ring_variables = variable("MLX_HOSTFILE") && variable("MLX_RANK");
  if ((any || backend == "ring") && (ring_variables || !other) && has_ring_variables(strict, !any))
    return open_ring(patience(false));
  if (torchrun) return open(*torchrun);
  if ((any || backend == "mpi") && has_mpi(strict, !any, other))
    return open_mpi(strict, patience(false));
  if (slurm) return open(*slurm);
  explain_alone(strict, backend);
  return {};
}

void end_at_exit() { end_all(""); }

}  // namespace

bool is_available(const std::string& backend) {
  return backend == "any" || backend == "ring" || (backend == "mpi" && mpi_library().usable) ||
         (backend == "nccl" && missing_nccl().empty());
}

Group init(bool strict, const std::string& backend, double timeout) {
  constexpr std::array<std::string_view, 5> kEngines = {"any", "mpi", "nccl", "jaccl", "ring"};
  if (std::ranges::find(kEngines, backend) == kEngines.end())
    fail<ValueError>("init", "backend '", backend,
                     "'; any, mpi, nccl, jaccl and ring are accepted");
  if (!(timeout >= 0))
    fail<ValueError>("init", "timeout = ", timeout, "; a number of seconds is accepted");
  if (simulated) return Group(simulated->channel);
  Registry& r = registry();
  const auto lock = lock_registry();
  if (r.world.channel && (backend == "any" || backend == r.world.engine))
    return Group(r.world.channel);
  check_words();
  std::erase_if(r.ended, [](const World& w) { return w.mesh->close_ended(); });
  World made = open_world(strict, backend, timeout);
  if (!made.channel) return {};
  static const int registered = std::atexit(end_at_exit);
  (void)registered;
  r.world = std::move(made);
  r.number = r.world.number;
  return Group(r.world.channel);
}

void end_all(const std::string& failure) noexcept {
  Registry& r = registry();
  World world;
  {
    const auto lock = lock_registry();
    world = std::exchange(r.world, {});
    r.number = 0;
    if (world.channel) r.ended.push_back(world);
  }
  if (!world.channel) return;
  if (!failure.empty()) world.mesh->fail(failure);
  world.channel->close(failure.empty());
  world.mesh->leave();
}

void clear_backends() {
  BlockingRegion region;
  end_all("");
}

namespace {

/// The world that the calling thread is in; an empty one where the process is alone.
World world_of_thread() {
  if (simulated) return *simulated;
  const auto lock = lock_registry();
  return registry().world;
}

GroupStatus status_of(const GroupRecord& g) {
  std::string last = g.begun ? describe(g.last) : "";
  // Sends and receives have no numbers.
  if (g.begun && g.last.number) last = cat("message ", g.last.number, ", ", last);
  return {g.name, g.rank,   static_cast<int>(g.ranks.size()), g.ranks, g.messages, g.bytes,
          last,   g.running};
}

}  // namespace

Status status() {
  const World w = world_of_thread();
  if (!w.channel) return {.engine = "none", .failure = {}, .library = {}, .groups = {}};
  const Mesh& m = *w.mesh;
  const auto [messages, bytes] = m.groups.totals();
  Status s{w.engine, m.rank, m.size, messages, bytes, m.failure(), w.library, {}};
  for (const GroupRecord& g : m.groups.all()) s.groups.push_back(status_of(g));
  return s;
}

Group group_named(const std::string& name) {
  const Group all = init();
  if (name == all.name()) return all;
  const World w = world_of_thread();
  const Ref<Channel> channel = w.mesh ? w.mesh->groups.find(name) : Ref<Channel>();
  if (!channel)
    fail<ValueError>("Group", "the name ", name,
                     " of a group that this process does not have; a group is found while one "
                     "that the same splits have made exists");
  return Group(channel);
}

// --- simulation

namespace {

/// The ranks of a simulation, and which of them failed first.
struct Simulation {
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  std::exception_ptr error;
};

}  // namespace

void simulate(int size, const std::function<void(int)>& fun,
              const std::function<std::string(std::exception_ptr)>& describe) {
  if (size < 1) fail<ValueError>("simulate", "size = ", size, "; at least 1 is accepted");
  check_words();
  std::vector<World> worlds;
  const double timeout = seconds_of("MLX_DISTRIBUTED_TIMEOUT", 1800);
  for (Ref<Mesh>& mesh : make_thread_meshes(size)) {
    mesh->timeout = timeout;
    worlds.push_back(make_world("threads", std::move(mesh), false));
  }
  Simulation all;
  all.running = size;
  auto run_rank = [&](int rank) {
    const World& world = worlds[static_cast<size_t>(rank)];
    Mesh& mesh = *world.mesh;
    simulated = &world;
    use_own_copy_streams();
    try {
      fun(rank);
      host_backend().synchronize(mesh.queue);
    } catch (...) {
      const std::string text = cat("rank ", rank, " ended: ", describe(std::current_exception()));
      {
        std::lock_guard lock(all.mutex);
        if (!all.error) all.error = std::current_exception();
      }
      mesh.fail(text);
    }
    mesh.leave();
    simulated = nullptr;
    std::lock_guard lock(all.mutex);
    --all.running;
    all.changed.notify_all();
  };
  BlockingRegion region;
  std::vector<std::thread> threads;
  for (int k = 0; k < size; ++k) threads.emplace_back(run_rank, k);
  std::exception_ptr interrupt;
  try {
    std::unique_lock lock(all.mutex);
    wait_for(all.changed, lock, [&] { return all.running == 0; });
  } catch (...) {
    interrupt = std::current_exception();
    for (World& w : worlds) w.mesh->fail("the simulation was interrupted");
  }
  for (std::thread& t : threads) t.join();
  if (interrupt) std::rethrow_exception(interrupt);
  if (all.error) std::rethrow_exception(all.error);
}

}  // namespace distributed

Ref<Channel> world_channel() {
  const Ref<Channel> c = distributed::init().channel();
  return c && c->size() > 1 ? c : Ref<Channel>();
}

uint64_t world_number() {
  return distributed::simulated ? distributed::simulated->number
                                : distributed::registry().number.load(std::memory_order_relaxed);
}

}  // namespace mlx::core
