// Blocks of device memory: capacities, slabs, and the cache of freed blocks.
#include "mlx/backend/gpu/memory.h"

#include <algorithm>

#include "mlx/backend/gpu/threads.h"
#include "mlx/core/error.h"

namespace mlx::core::gpu {

namespace {

constexpr size_t kGrain = 512, kSlab = size_t{8} << 20;
#ifdef __SANITIZE_ADDRESS__
// Each block is an allocation of the device of the tests and is given back at once: the sanitizer
// sees what is used beside it, or after it.
constexpr bool kWatched = true;
#else
constexpr bool kWatched = false;
#endif
constexpr size_t kSmall = size_t{256} << 10;
constexpr size_t kAbsurd = size_t{1} << 47;

/// Few sizes, so that blocks serve again: eighths of powers of two.
size_t capacity_for(size_t bytes, bool watched) {
  if (watched) return std::max<size_t>(bytes, 1);
  size_t step = kGrain;
  while (step * 16 < bytes) step *= 2;
  return std::max((bytes + step - 1) / step * step, kGrain);
}

}  // namespace

Pool::Pool(Hardware& hardware, void (*poll)(), void (*wait_for_all)())
    : hardware_(hardware),
      watched_(kWatched || hardware.watched),
      poll_(poll),
      wait_for_all_(wait_for_all) {
  limits_[soft] = limits_[hard] = hardware.limit;
  limits_[cache] = watched_ ? 0 : limits_[soft];
}

/// Takes a block out of the cache.
void Pool::remove(Blocks::iterator at) {
  const Block& b = at->second;
  cached_ -= b.capacity;
  if (!b.slab) {
    cache_.erase(at);
    return;
  }
  idle_slabs_.erase(b.slab);
  b.slab->idle -= b.capacity;
  b.slab->parts.erase(b.address);
  parts_.erase(at);
}

bool Pool::find_cached(size_t capacity, Block& found) {
  std::lock_guard lock(mutex_);
  for (Blocks* blocks : {&parts_, &cache_}) {
    auto it = blocks->lower_bound({capacity, 0});
    if (it == blocks->end() || it->first.first > capacity + capacity / 4 + kGrain) continue;
    found = it->second;
    remove(it);
    return true;
  }
  return false;
}

bool Pool::allocate(size_t capacity, Block& found) {
  std::lock_guard lock(mutex_);
  const bool small = capacity <= kSmall && hardware_.parts && !watched_;
  if (small && !slabs_.empty() && slabs_.back().given + capacity <= kSlab) {
    Slab& slab = slabs_.back();
    idle_slabs_.erase(&slab);
    found = {slab.address + slab.given, 0, capacity, &slab};
    slab.given += capacity;
    return true;
  }
  Address address = 0;
  auto call = [&] {
    hardware_.enter();
    address = hardware_.alloc(small ? kSlab : capacity);
  };
  if (has_small_stack())
    on_own_stack(call);
  else
    call();
  if (!address) return false;
  found = {address, 0, capacity};
  if (small) {
    found.slab = &slabs_.emplace_back(Slab{address, capacity});
    found.slab->self = std::prev(slabs_.end());
  }
  return true;
}

Block Pool::take(size_t bytes) {
  Block b = find(bytes);
  if (hardware_.probe) hardware_.probe->block_taken(b.address, b.capacity);
  return b;
}

Block Pool::find(size_t bytes) {
  if (hardware_.probe) hardware_.probe->admit(bytes);
  if (bytes > kAbsurd)
    fail<MemoryError>("malloc", "requested ", bytes, " bytes; the device has less");
  if (!reserve(bytes)) {
    wait_for_all_();
    if (!reserve(bytes))
      fail<MemoryError>("malloc", "requested ", bytes, " bytes; ", active(),
                        " bytes are in use and the ceiling is ", limit(hard), " bytes.");
  }
  const size_t capacity = capacity_for(bytes, watched_);
  Block b;
  auto unreserve = [&] {
    std::lock_guard lock(mutex_);
    active_ -= bytes;
  };
  try {
    if (find_cached(capacity, b)) {
      b.size = bytes;
      return b;
    }
    poll_();
    if (!find_cached(capacity, b) && !allocate(capacity, b)) {
      // Cached blocks go back, once the work that uses them is over; then once more.
      wait_for_all_();
      clear_cache();
      if (!allocate(capacity, b))
        fail<MemoryError>("malloc", "requested ", bytes, " bytes; ", active() - bytes,
                          " bytes are in use, ", cached(),
                          " are cached, and the device has no more");
    }
  } catch (...) {
    unreserve();
    throw;
  }
  b.size = bytes;
  return b;
}

void Pool::give(Block b) noexcept {
  if (hardware_.probe) hardware_.probe->block_given(b.address, b.capacity);
  std::lock_guard lock(mutex_);
  active_ -= b.size;
  const size_t capacity = b.capacity;
  cached_ += capacity;
  const auto at = (b.slab ? parts_ : cache_).emplace(std::pair{capacity, b.address}, b).first;
  if (b.slab) {
    b.slab->parts.emplace(b.address, at);
    if ((b.slab->idle += capacity) == b.slab->given) idle_slabs_.insert(b.slab);
  }
  if (cached_ > limits_[cache]) trim(limits_[cache]);
}

/// Gives cached blocks back until no more than `most` bytes are left; the driver waits for the work
/// that uses them. Parts of slabs stay while others of them are in use. Called with the lock.
void Pool::trim(size_t most) {
  while (cached_ > most && !cache_.empty()) {
    const auto largest = std::prev(cache_.end());
    const Address address = largest->second.address;
    remove(largest);
    hardware_.free(address);
  }
  while (cached_ > most && !idle_slabs_.empty()) {
    Slab& slab = **idle_slabs_.begin();
    while (!slab.parts.empty()) remove(slab.parts.begin()->second);
    idle_slabs_.erase(&slab);
    hardware_.free(slab.address);
    slabs_.erase(slab.self);
  }
}

size_t Pool::cached() const {
  std::lock_guard lock(mutex_);
  size_t bytes = cached_;
  for (const Slab& s : slabs_)
    if (s.idle != s.given) bytes -= s.idle;
  return bytes;
}

}  // namespace mlx::core::gpu
