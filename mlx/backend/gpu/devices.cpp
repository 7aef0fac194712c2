// The devices in use, around forks and at the end of the program.
#include "mlx/backend/gpu/devices.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "mlx/backend/gpu/threads.h"
#include "mlx/core/blocking.h"
#include "mlx/core/error.h"
#include "mlx/core/plugin.h"

namespace mlx::core::gpu {

namespace {

std::atomic<bool> forked{false};

struct Devices {
  std::mutex mutex;
  std::vector<std::unique_ptr<DeviceState>> states;
  std::unique_ptr<Hardware> (*open)(int index) = nullptr;
  bool forks = false;
};
Devices& devices() {
  static Devices& all = *new Devices;
  return all;
}

std::vector<DeviceState*> devices_in_use() {
  std::vector<DeviceState*> used;
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  for (auto& state : all.states)
    if (state) used.push_back(state.get());
  return used;
}

/// Throws in a child of fork, whose driver does not work, also where the parent has opened no more
/// than the driver.
void check_process() {
  if (forked && !devices().forks)
    fail<ExecutionError>("gpu", "the GPU was used before this process was forked; ",
                         "start child processes by spawn to use it there");
}

}  // namespace

DeviceState::DeviceState(int index, std::unique_ptr<Hardware> opened)
    : index(index),
      hardware(std::move(opened)),
      processors(hardware->processors),
      pool(std::make_unique<Pool>(*hardware, poll_all, drain_all)),
      kernels(std::make_unique<KernelCache>(*hardware)),
      staging(*hardware),
      records(*hardware) {}

void DeviceState::enter() const {
  check_process();
  hardware->enter();
}

Ref<Queue> DeviceState::queue(int stream) {
  std::lock_guard lock(mutex_);
  Ref<Queue>& q = queues_[stream];
  if (!q) {
    enter();
    q = make_ref<Queue>(*this, stream);
    q->set_released(released_.contains(stream));
  }
  return q;
}
Ref<Queue> DeviceState::find_queue(int stream) {
  std::lock_guard lock(mutex_);
  auto it = queues_.find(stream);
  return it == queues_.end() ? Ref<Queue>() : it->second;
}

void DeviceState::release(int stream) {
  if (forked && !devices().forks) return;
  {
    std::lock_guard lock(mutex_);
    released_.insert(stream);
    if (auto it = queues_.find(stream); it != queues_.end()) it->second->set_released(true);
  }
  poll();
}

void DeviceState::acquire(int stream) {
  std::lock_guard lock(mutex_);
  released_.erase(stream);
  if (auto it = queues_.find(stream); it != queues_.end()) it->second->set_released(false);
}

void DeviceState::close_idle() {
  std::vector<Ref<Queue>> closed;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  for (int stream : released_) {
    auto it = queues_.find(stream);
    if (it == queues_.end() || !it->second->idle()) continue;
    it->second->close();
    closed.push_back(std::move(it->second));
    queues_.erase(it);
  }
}

std::vector<Ref<Queue>> DeviceState::all_queues() {
  std::lock_guard lock(mutex_);
  std::vector<Ref<Queue>> found;
  for (const auto& [stream, queue] : queues_) found.push_back(queue);
  return found;
}

void DeviceState::drain() {
  for (const Ref<Queue>& q : all_queues()) q->drain(false);
}
void DeviceState::poll() {
  for (const Ref<Queue>& q : all_queues()) q->poll();
  close_idle();
}

Function DeviceState::kernel(const char* family, const std::string& text, const char* name) {
  return kernels->find(hardware->target()->source(family, text), name);
}

//--- forks

/// Around a fork: devices that serve children have no work then, and are locked.
struct Forks {
  static bool serve() { return devices().forks; }
  static void before() {
    if (!serve()) return;
    drain_all();
    for (DeviceState* d : devices_in_use()) d->mutex_.lock();
    devices().mutex.lock();
    locked = true;
  }
  static void unlock() {
    if (!std::exchange(locked, false)) return;
    devices().mutex.unlock();
    for (DeviceState* d : devices_in_use()) d->mutex_.unlock();
  }
  static void in_child();
  static thread_local bool locked;
};
thread_local bool Forks::locked = false;

void set_devices(int count, std::unique_ptr<Hardware> (*open)(int index), bool forks) {
  devices().open = open;
  devices().forks = forks;
  devices().states.resize(count);
  if (!forks)
    pthread_atfork(nullptr, nullptr, [] {
      forked = true;
      leave_default_gpu();
    });
}

DeviceState& device(int index) {
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  auto& state = all.states.at(index);
  if (!state) {
    check_process();
    // Handlers run from the latest one on: work of the devices ends before the CPU's streams, which
    // borrowed steps use, are locked.
    static const int handlers = [] {
      host_backend().synchronize(Stream(0, Device::cpu));
      return pthread_atfork(Forks::before, Forks::unlock, Forks::in_child);
    }();
    (void)handlers;
    on_own_stack([&] { state = std::make_unique<DeviceState>(index, all.open(index)); });
    drain_at_exit();
  }
  return *state;
}

DeviceState* device_in_use(int index) {
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  return all.states.at(index).get();
}

//--- the program's end

namespace {
std::atomic<int> entered = 0;
std::atomic<bool> closed = false;
thread_local int own_entries = 0;
thread_local bool closes = false;

/// Closes the entrance, and waits for the threads that are in, though not for ever: a thread may
/// wait for another one that stays outside.
void close_entrance() {
  closes = true;
  closed = true;
  interrupt_engine_threads();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (entered > (own_entries > 0) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void leave() {
  if (closed || (forked && !Forks::serve())) return;
  close_entrance();
  drain_all();
}
}  // namespace

void Forks::in_child() {
  forked = true;
  entered = own_entries > 0;
  // Threads of queues are not in this process: their memory is left as it is.
  if (locked)
    for (auto& state : devices().states) {
      if (!state) continue;
      for (auto& [stream, queue] : state->queues_) queue.release();
      state->queues_.clear();
    }
  unlock();
}

Entrance::Entrance() {
  if (own_entries++ > 0 || on_queue_thread()) return;
  ++entered;
  if (!gpu::closed || closes) return;
  --entered;
  for (;;) pause();
}
bool Entrance::closed() { return gpu::closed; }
Entrance::~Entrance() {
  if (--own_entries == 0 && !on_queue_thread()) --entered;
}

void drain_at_exit() {
  std::atexit(leave);
  // A library that a thread is about to open has its handler run before this one. Python's end
  // comes before them all.
  [[maybe_unused]] static const int python = [] {
    using Register = int (*)(void (*)());
    const auto at_exit = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "Py_AtExit"));
    return at_exit ? at_exit(leave) : 0;
  }();
}

bool serves() { return !closed && (!forked || Forks::serve()); }

void drain_all() {
  if (on_queue_thread()) return;
  for (DeviceState* d : devices_in_use())
    if ((!forked || devices().forks) && !(d->hardware->probe && d->hardware->probe->holds()))
      d->drain();
}
void poll_all() {
  for (DeviceState* d : devices_in_use()) d->poll();
}

}  // namespace mlx::core::gpu
