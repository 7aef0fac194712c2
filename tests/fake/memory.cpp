#include "memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "control.h"
#include "mlx/core/error.h"
#include "streams.h"

namespace mlx::core::fake {

namespace {

constexpr size_t kGuard = 256;
constexpr unsigned char kFresh = 0xA5, kFreed = 0xDB, kEdge = 0xC3;

void fault(const char* what, const Block& b) {
  ++counts().faults;
  std::fprintf(stderr, "second backend: %s a block of %zu bytes\n", what, b.size);
}

bool holds(const unsigned char* p, size_t n, unsigned char value) {
  return std::all_of(p, p + n, [&](unsigned char c) { return c == value; });
}

Block fresh(size_t capacity) {
  auto* all = static_cast<unsigned char*>(std::aligned_alloc(kGuard, capacity + 2 * kGuard));
  if (!all) fail<MemoryError>("malloc", "requested ", capacity, " bytes; the machine has them not");
  std::memset(all, kEdge, kGuard);
  std::memset(all + kGuard + capacity, kEdge, kGuard);
  return {all + kGuard, 0, capacity};
}
void destroy(const Block& b) { std::free(b.data - kGuard); }

}  // namespace

Memory::Memory() {
  for (Limit l : {soft, cache, hard}) limits_[l] = host_backend().memory(0).limit(l);
}

Block Memory::find_cached(size_t capacity) {
  std::lock_guard lock(mutex_);
  auto it = cache_.lower_bound(capacity);
  if (it == cache_.end() || it->first > 2 * capacity) return {};
  Block b = it->second;
  cache_.erase(it);
  cached_ -= b.capacity;
  return b;
}

Block Memory::take(size_t bytes) {
  constexpr size_t kAbsurd = size_t{1} << 47;
  if (fails_now(Failure::allocation))
    fail<MemoryError>("malloc", "requested ", bytes, " bytes; they are refused on request");
  if (bytes > kAbsurd)
    fail<MemoryError>("malloc", "requested ", bytes, " bytes; the device has less");
  if (!reserve(bytes)) {
    drain_all();
    if (!reserve(bytes))
      fail<MemoryError>("malloc", "requested ", bytes, " bytes; ", active(),
                        " bytes are in use and the ceiling is ", limit(hard), " bytes.");
  }
  const size_t capacity = std::max<size_t>((bytes + kGuard - 1) / kGuard * kGuard, kGuard);
  Block b = find_cached(capacity);
  if (b.data && !holds(b.data, b.capacity, kFreed)) fault("somebody wrote to", b);
  if (!b.data) {
    try {
      b = fresh(capacity);
    } catch (...) {
      std::lock_guard lock(mutex_);
      active_ -= bytes;
      throw;
    }
  }
  b.size = bytes;
  std::memset(b.data, kFresh, b.capacity);
  ++counts().buffers;
  return b;
}

void Memory::give(const Block& b) {
  if (!holds(b.data - kGuard, kGuard, kEdge) || !holds(b.data + b.capacity, kGuard, kEdge))
    fault("somebody wrote beside", b);
  std::memset(b.data, kFreed, b.capacity);
  --counts().buffers;
  std::lock_guard lock(mutex_);
  active_ -= b.size;
  cache_.emplace(b.capacity, b);
  cached_ += b.capacity;
  trim(limits_[cache]);
}

/// Gives cached blocks back until no more than `most` bytes are left. Called with the lock.
void Memory::trim(size_t most) {
  while (cached_ > most) {
    auto last = std::prev(cache_.end());
    if (!holds(last->second.data, last->second.capacity, kFreed))
      fault("somebody wrote to", last->second);
    cached_ -= last->second.capacity;
    destroy(last->second);
    cache_.erase(last);
  }
}

}  // namespace mlx::core::fake
