#include "mlx/backend/cuda/device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "mlx/core/error.h"

namespace mlx::core::cuda {

namespace {

std::atomic<bool> forked{false};

struct Devices {
  std::mutex mutex;
  std::vector<std::unique_ptr<DeviceState>> states;
};
Devices& devices() {
  static Devices& all = *[] {
    auto* d = new Devices;
    d->states.resize(device_count());
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
    return d;
  }();
  return all;
}

std::string text_of(const Uuid& id) {
  std::string text = "GPU-";
  for (int k = 0; k < 16; ++k) {
    char two[3];
    std::snprintf(two, sizeof(two), "%02x", static_cast<unsigned char>(id.bytes[k]));
    text += two;
    if (k == 3 || k == 5 || k == 7 || k == 9) text += '-';
  }
  return text;
}

}  // namespace

void* Staging::take() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    constexpr int kPieces = 16;
    void* memory = nullptr;
    check(driver().alloc_host(&memory, kPieces * kPiece, kHostPortable), "cuMemHostAlloc");
    for (int k = 0; k < kPieces; ++k) free_.push_back(static_cast<char*>(memory) + k * kPiece);
  }
  void* piece = free_.back();
  free_.pop_back();
  return piece;
}
void Staging::give(void* piece) {
  std::lock_guard lock(mutex_);
  free_.push_back(piece);
}

device::ErrorRecord* Records::take() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    constexpr int kMany = 1024;
    void* memory = nullptr;
    check(driver().alloc_host(&memory, kMany * sizeof(device::ErrorRecord),
                              kHostPortable | kHostMapped),
          "cuMemHostAlloc");
    for (int k = 0; k < kMany; ++k) free_.push_back(static_cast<device::ErrorRecord*>(memory) + k);
  }
  device::ErrorRecord* record = free_.back();
  free_.pop_back();
  *record = {};
  return record;
}
void Records::give(device::ErrorRecord* record) {
  std::lock_guard lock(mutex_);
  free_.push_back(record);
}

DeviceState::DeviceState(int index) : index(index) {
  const Driver& d = driver();
  check(d.device(&ordinal, index), "cuDeviceGet");
  char text[256] = {};
  check(d.device_name(text, sizeof(text), ordinal), "cuDeviceGetName");
  name = text;
  check(d.device_bus_id(text, sizeof(text), ordinal), "cuDeviceGetPCIBusId");
  bus_id = text;
  Uuid id;
  check(d.device_uuid(&id, ordinal), "cuDeviceGetUuid");
  uuid = text_of(id);
  check(d.device_bytes(&bytes, ordinal), "cuDeviceTotalMem");
  check(d.device_attribute(&processors, Attribute::processors, ordinal), "cuDeviceGetAttribute");
  check(d.device_attribute(&major, capability_major, ordinal), "cuDeviceGetAttribute");
  check(d.device_attribute(&minor, capability_minor, ordinal), "cuDeviceGetAttribute");
  architecture = "sm_" + std::to_string(major) + std::to_string(minor);
  check(d.primary_context(&context, ordinal), "cuDevicePrimaryCtxRetain");
  pool = std::make_unique<Pool>(context, bytes, poll_all, drain_all);
  kernels = std::make_unique<KernelCache>(architecture, context);
}

void DeviceState::enter() const {
  if (forked)
    fail<ExecutionError>("cuda", "the GPU was used before this process was forked; ",
                         "start child processes by spawn to use it there");
  check(driver().set_context(context), "cuCtxSetCurrent");
}

Queue& DeviceState::queue(int stream) {
  std::lock_guard lock(mutex_);
  auto& q = queues_[stream];
  if (!q) {
    enter();
    q = std::make_unique<Queue>(*this);
  }
  return *q;
}
Queue* DeviceState::find_queue(int stream) {
  std::lock_guard lock(mutex_);
  auto it = queues_.find(stream);
  return it == queues_.end() ? nullptr : it->second.get();
}

namespace {
std::vector<Queue*> all_queues(std::mutex& mutex,
                               const std::map<int, std::unique_ptr<Queue>>& queues) {
  std::lock_guard lock(mutex);
  std::vector<Queue*> found;
  for (const auto& [stream, queue] : queues) found.push_back(queue.get());
  return found;
}
}  // namespace

void DeviceState::drain() {
  for (Queue* q : all_queues(mutex_, queues_)) q->drain(false);
}
void DeviceState::poll() {
  for (Queue* q : all_queues(mutex_, queues_)) q->poll();
}

int device_count() {
  static const int count = [] {
    int n = 0;
    on_own_stack([&] { n = open_driver(); });
    return n;
  }();
  return count;
}

namespace {
std::atomic<int> entered = 0;
std::atomic<bool> closed = false;
thread_local int own_entries = 0;
thread_local bool closes = false;

/// Closes the entrance, and waits for those who are in, though not for ever: a thread may wait for
/// what another one that stays outside would do.
void close_entrance() {
  closes = true;
  closed = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (entered > (own_entries > 0) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}
}  // namespace

Entrance::Entrance() {
  if (own_entries++ > 0 || on_queue_thread()) return;
  ++entered;
  if (!closed || closes) return;
  --entered;
  for (;;) pause();
}
Entrance::~Entrance() {
  if (--own_entries == 0 && !on_queue_thread()) --entered;
}

namespace {
void leave() {
  if (forked || closed) return;
  close_entrance();
  drain_all();
}
}  // namespace

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

DeviceState& device(int index) {
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  auto& state = all.states.at(index);
  if (!state) {
    on_own_stack([&] { state = std::make_unique<DeviceState>(index); });
    drain_at_exit();
  }
  return *state;
}

namespace {
std::vector<DeviceState*> devices_in_use() {
  std::vector<DeviceState*> used;
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  for (auto& state : all.states)
    if (state) used.push_back(state.get());
  return used;
}
}  // namespace

void drain_all() {
  if (on_queue_thread() || forked) return;
  for (DeviceState* d : devices_in_use()) d->drain();
}
void poll_all() {
  for (DeviceState* d : devices_in_use()) d->poll();
}

}  // namespace mlx::core::cuda
