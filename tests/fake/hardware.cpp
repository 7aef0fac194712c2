// Memory with guard bytes, and jobs that start late, on the host.
#include "hardware.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#include "control.h"
#include "mlx/backend/backend.h"
#include "mlx/core/error.h"

namespace mlx::core::fake {

namespace {

constexpr size_t kGuard = 256;
constexpr unsigned char kFresh = 0xA5, kFreed = 0xDB, kEdge = 0xC3;
constexpr int kAll = -2;

long setting(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

void fault(const char* what, size_t bytes) {
  ++counts().faults;
  std::fprintf(stderr, "second backend: %s a block of %zu bytes\n", what, bytes);
}
bool holds_only(const unsigned char* p, size_t n, unsigned char value) {
  return std::all_of(p, p + n, [&](unsigned char c) { return c == value; });
}

/// The streams that tests hold.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<int> held;

  void pass(int stream) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !held.contains(stream) && !held.contains(kAll); });
  }
};
Gate& gate() {
  static auto& g = *new Gate;
  return g;
}

/// A stream: its number, and the times at which its jobs start.
struct FakeStream {
  const int number;
  std::minstd_rand random;
};
FakeStream& stream_of(StreamHandle handle) { return *reinterpret_cast<FakeStream*>(handle); }

std::exception_ptr failure(const char* what) {
  return std::make_exception_ptr(ExecutionError(cat("[fake] ", what, " failed on request")));
}

}  // namespace

FakeHardware::FakeHardware(bool unified_memory) {
  limit = host_backend().memory(0).limit(MemoryControl::hard);
  unified = unified_memory;
  parts = false;
  on_queue = true;
  probe = this;
  std::atexit([] { release(); });
}

void FakeHardware::begin(StreamHandle handle) {
  static const long longest = setting("MLX_FAKE_DELAY", 30);      // microseconds
  thread_local const int slack = prctl(PR_SET_TIMERSLACK, 1000);  // ns: delays are not longer
  (void)slack;
  FakeStream& s = stream_of(handle);
  // Every other job starts at once: streams overtake each other.
  if (unsigned r = s.random(); longest > 0 && r & 1)
    std::this_thread::sleep_for(std::chrono::microseconds((r >> 1) % longest));
  gate().pass(s.number);
}

StreamHandle FakeHardware::make_stream(int number) {
  const auto seed = static_cast<unsigned>(setting("MLX_FAKE_SEED", 1) + 7919 * number);
  return reinterpret_cast<StreamHandle>(new FakeStream{number, std::minstd_rand(seed)});
}
void FakeHardware::free_stream(StreamHandle stream) noexcept { delete &stream_of(stream); }

//--- memory

Address FakeHardware::alloc(size_t bytes) {
  const size_t rounded = (bytes + kGuard - 1) / kGuard * kGuard;
  auto* all = static_cast<unsigned char*>(std::aligned_alloc(kGuard, rounded + 2 * kGuard));
  if (!all) return 0;
  std::memset(all, kEdge, kGuard);
  std::memset(all + kGuard + bytes, kEdge, rounded - bytes + kGuard);
  const auto address = reinterpret_cast<Address>(all + kGuard);
  std::lock_guard lock(mutex_);
  sizes_[address] = bytes;
  return address;
}

void FakeHardware::free(Address address) noexcept {
  {
    std::lock_guard lock(mutex_);
    auto block = given_.find(address);
    if (block != given_.end()) {
      if (!holds_only(bytes_at(address), block->second, kFreed)) fault("a write to", block->second);
      given_.erase(block);
    }
    sizes_.erase(address);
  }
  std::free(bytes_at(address) - kGuard);
}

void* FakeHardware::alloc_host(size_t bytes) {
  void* memory = std::aligned_alloc(kGuard, (bytes + kGuard - 1) / kGuard * kGuard);
  if (!memory) fail<MemoryError>("malloc", "requested ", bytes, " bytes; the machine has them not");
  return memory;
}

void FakeHardware::copy(Way way, Address to, Address from, size_t bytes, StreamHandle) {
  std::memcpy(bytes_at(to), bytes_at(from), bytes);
  auto& moved = way == Way::to_device ? counts().to_device
                : way == Way::to_host ? counts().to_host
                                      : counts().within;
  moved += static_cast<int64_t>(bytes);
}

//--- what tests ask for

void FakeHardware::admit(size_t bytes) {
  if (fails_now(Failure::allocation))
    fail<MemoryError>("malloc", "requested ", bytes, " bytes; they are refused on request");
}

void FakeHardware::block_taken(Address address, size_t bytes) {
  ++counts().buffers;
  std::lock_guard lock(mutex_);
  if (given_.erase(address) && !holds_only(bytes_at(address), bytes, kFreed))
    fault("a write to", bytes);
  std::memset(bytes_at(address), kFresh, bytes);
}

void FakeHardware::block_given(Address address, size_t bytes) {
  --counts().buffers;
  std::lock_guard lock(mutex_);
  const size_t size = sizes_[address];
  if (!holds_only(bytes_at(address) - kGuard, kGuard, kEdge) ||
      !holds_only(bytes_at(address) + size, kGuard, kEdge))
    fault("a write beside", bytes);
  std::memset(bytes_at(address), kFreed, bytes);
  given_[address] = bytes;
}

std::exception_ptr FakeHardware::launch_starts() {
  ++counts().launches;
  return fails_now(Failure::launch) ? failure("a launch") : nullptr;
}
std::exception_ptr FakeHardware::copy_starts() {
  return fails_now(Failure::copy) ? failure("a copy") : nullptr;
}
void FakeHardware::launch_ends() { ++counts().finished; }
bool FakeHardware::holds() {
  std::lock_guard lock(gate().mutex);
  return !gate().held.empty();
}

void hold(int stream) {
  std::lock_guard lock(gate().mutex);
  gate().held.insert(stream);
}
void release() {
  std::lock_guard lock(gate().mutex);
  gate().held.clear();
  gate().changed.notify_all();
}

}  // namespace mlx::core::fake
