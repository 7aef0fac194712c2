// Requests of arrays on GPUs. All members first compare headers over TCP, without waiting for their
// devices; then the library gets the request. 16-bit integers and messages between two ranks, which
// it does not carry, go through the host. A thread watches what is under way on the device.
#include "mlx/distributed/nccl.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <numeric>
#include <thread>

#include "mlx/backend/backend.h"
#include "mlx/core/blocking.h"
#include "mlx/core/error.h"
#include "mlx/core/plugin.h"
#include "mlx/distributed/algorithms.h"

namespace mlx::core {

namespace distributed {

namespace {

/// The shared part of all groups of a process: the mesh, the device, and the watch over requests
/// that the device has.
class NcclWorld final : public RefCounted {
 public:
  NcclWorld(Ref<Mesh> m, DeviceLinks& l, int d)
      : mesh(std::move(m)), links(l), device(d), watch_([this] { watch(); }) {}
  ~NcclWorld() override { stop(); }

  const Ref<Mesh> mesh;
  DeviceLinks& links;
  const int device;

  /// The work of a thread while the library is not done with a message.
  DeviceLink::Wait waiting(const Header& h) const {
    return [this, h, patience = Patience(*mesh, h)]() mutable {
      check_interrupt();
      look(h);
      patience.check(others());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
  }

  std::shared_ptr<DeviceLink> connect(const DeviceLinks::Id& id, int rank, int size,
                                      const Header& h) {
    auto link = links.connect(id, rank, size, device, waiting(h));
    std::lock_guard lock(mutex_);
    open_.push_back(link);
    return link;
  }

  void begin(const Header& h) {
    std::lock_guard lock(mutex_);
    pending_.push_back({++begun_, h, Patience(*mesh, h)});
    changed_.notify_all();
  }
  void end(bool well) noexcept {
    std::lock_guard lock(mutex_);
    if (pending_.empty()) return;
    const Header h = pending_.front().header;
    pending_.pop_front();
    for (Pending& p : pending_) p.patience.progress();
    if (!well && !aborted_)
      mesh->fail(cat("[", name_of(h.collective()), "] rank ", mesh->rank,
                     " could not compute its array of ", describe(h)));
  }
  void check() const {
    if (aborted_.load(std::memory_order_acquire)) throw CommunicationError(mesh->failure());
  }
  /// Breaks off everything, after the mesh has failed.
  void abort() noexcept {
    std::vector<std::shared_ptr<DeviceLink>> all;
    {
      std::lock_guard lock(mutex_);
      aborted_.store(true, std::memory_order_release);
      all = open_;
    }
    for (const auto& link : all) link->abort();
  }

  void close(bool well) noexcept {
    if (well) {
      try {
        backend_of(mesh->queue.device).synchronize(mesh->queue);
        constexpr auto kLongest = std::chrono::seconds(5);
        const auto end = Clock::now() + kLongest;
        const auto wait = [&] {
          if (Clock::now() > end) throw CommunicationError("[distributed] NCCL does not end");
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        };
        for (const auto& link : open_) link->close(wait);
      } catch (...) {
        // The mesh has failed, or an interrupt: others are told below.
        well = false;
      }
    }
    if (!well) abort();
    stop();
    open_.clear();
  }

 private:
  struct Pending {
    uint64_t number;
    Header header;
    Patience patience;
  };

  std::vector<int> others() const {
    std::vector<int> ranks;
    for (int j = 0; j < mesh->size; ++j)
      if (j != mesh->rank) ranks.push_back(j);
    return ranks;
  }
  /// Throws where this group has failed anywhere.
  void look(const Header& h) const {
    mesh->check(name_of(h.collective()));
    if (const std::unique_lock lock(mesh->mutex, std::try_to_lock); lock) mesh->look(h);
  }

  void stop() noexcept {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
      changed_.notify_all();
    }
    if (watch_.joinable()) watch_.join();
  }

  void watch() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    constexpr auto kPause = std::chrono::milliseconds(20);
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopped_ || (!pending_.empty() && !aborted_); });
      changed_.wait_for(lock, kPause, [&] { return stopped_; });
      if (stopped_) return;
      if (pending_.empty() || aborted_) continue;
      Pending first = pending_.front();
      const auto open = open_;
      lock.unlock();
      const std::string why = problem(first, open);
      if (!why.empty()) {
        mesh->fail(why);
        abort();
      }
      lock.lock();
      // A message that takes long is reported once a minute.
      if (!pending_.empty() && pending_.front().number == first.number)
        pending_.front().patience = first.patience;
    }
  }

  /// Why requests that the device has cannot end, or empty.
  std::string problem(Pending& p, const std::vector<std::shared_ptr<DeviceLink>>& open) const {
    try {
      look(p.header);
      for (const auto& link : open) {
        const std::string error = link->error();
        if (error.empty()) continue;
        // A rank that has ended says so, a moment later.
        constexpr auto kMoment = std::chrono::milliseconds(300);
        for (const auto end = Clock::now() + kMoment; Clock::now() < end;) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          look(p.header);
        }
        return cat("[", name_of(p.header.collective()), "] rank ", mesh->rank, ": ", error);
      }
      p.patience.check(others());
      return {};
    } catch (const std::exception& e) {
      return e.what();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Pending> pending_;
  uint64_t begun_ = 0;
  std::vector<std::shared_ptr<DeviceLink>> open_;
  std::atomic<bool> aborted_{false};
  bool stopped_ = false;
  std::thread watch_;
};

class NcclChannel final : public Channel {
 public:
  NcclChannel(Ref<NcclWorld> world, Ref<MeshChannel> host)
      : world_(std::move(world)), host_(std::move(host)) {
    host_->serve(this);
  }

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  std::string name() const override { return host_->name(); }
  Stream queue() const override { return host_->queue(); }
  bool is_world() const override { return host_->is_world(); }
  Ref<Channel> split(int color, int key) override {
    const Ref<Channel> part = host_->split(color, key);
    return make_ref<NcclChannel>(world_, Ref<MeshChannel>(static_cast<MeshChannel*>(part.get())));
  }
  void run(const Message& message, const void* in, void* out) override {
    host_->run(message, in, out);
  }

  bool runs_on_device(Collective kind, Dtype dtype) const override {
    return size() > 1 && world_->links.carries(kind, dtype);
  }
  void start(const Message& m, const DeviceOperands& operands) override {
    host_->agree(m);
    Header h;
    h.kind = static_cast<uint8_t>(m.kind);
    h.dtype = static_cast<uint8_t>(m.dtype.val());
    h.count = m.count;
    h.peer = m.peer;
    h.number = host_->messages();
    h.set_line(m.line);
    try {
      if (!link_) connect(h);
      world_->begin(h);
      link_->enqueue(m, operands, world_->waiting(h));
    } catch (const std::exception& e) {
      world_->mesh->fail(e.what());
      world_->abort();
      throw;
    }
  }
  void end(bool well) noexcept override { world_->end(well); }
  void check_started() const override { world_->check(); }
  void close(bool well) noexcept override { world_->close(well); }

  /// Meets the other members in the library.
  void connect(const Header& h) {
    DeviceLinks::Id id{};
    if (rank() == 0) id = world_->links.make_id();
    host_->run({.kind = Collective::broadcast,
                .dtype = uint8,
                .count = static_cast<int64_t>(id.size()),
                .peer = 0,
                .line = {}},
               id.data(), id.data());
    link_ = world_->connect(id, rank(), size(), h);
  }

  /// Throws where two members have one device.
  void compare_devices() {
    using Name = std::array<char, 128>;
    Name mine{};
    const char* host = std::getenv("NCCL_HOSTID");
    const std::string text = cat(world_->links.name_of(world_->device), " ", host ? host : "");
    std::memcpy(mine.data(), text.data(), std::min(text.size(), mine.size()));
    std::vector<Name> all(static_cast<size_t>(size()));
    host_->run({.kind = Collective::all_gather,
                .dtype = uint8,
                .count = static_cast<int64_t>(mine.size()),
                .line = {}},
               mine.data(), all.data());
    for (int j = 0; j < size(); ++j)
      for (int i = 0; i < j; ++i)
        if (all[static_cast<size_t>(i)] == all[static_cast<size_t>(j)])
          fail<ExecutionError>("init", "ranks ", i, " and ", j, " use one GPU (",
                               std::string(text.data(), text.find(' ')),
                               "); NCCL needs one for each rank, ring does not");
  }

 private:
  const Ref<NcclWorld> world_;
  const Ref<MeshChannel> host_;
  std::shared_ptr<DeviceLink> link_;
};

}  // namespace

std::string missing_nccl() {
  load_plugins();
  if (DeviceLinks* links = device_links.load()) return links->missing();
  const std::string reason = missing_gpu();
  return reason.empty() ? "no GPU of NVIDIA" : reason;
}

Ref<Channel> make_nccl_channel(Ref<Mesh> mesh, int local_rank) {
  const int devices = backend_of(Device::gpu).device_count();
  const int device = local_rank % devices;
  if (default_device().type == Device::gpu && default_device().index == 0 && device != 0)
    set_default_device(Device(Device::gpu, device));
  mesh->queue = new_thread_unsafe_stream(Device(Device::gpu, device));
  std::vector<int> ranks(static_cast<size_t>(mesh->size));
  std::iota(ranks.begin(), ranks.end(), 0);
  auto world = make_ref<NcclWorld>(mesh, *device_links.load(), device);
  auto channel = make_ref<NcclChannel>(
      std::move(world), make_ref<MeshChannel>(std::move(mesh), std::move(ranks), 0, true));
  BlockingRegion region;
  channel->compare_devices();
  Header h;
  h.kind = static_cast<uint8_t>(Collective::barrier);
  channel->connect(h);
  return channel;
}

}  // namespace distributed

std::atomic<DeviceLinks*> device_links{nullptr};

}  // namespace mlx::core
