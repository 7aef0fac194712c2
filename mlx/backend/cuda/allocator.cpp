#include "mlx/backend/cuda/allocator.h"

#include <algorithm>

#include "mlx/backend/cuda/streams.h"
#include "mlx/core/error.h"

namespace mlx::core::cuda {

namespace {

constexpr size_t kGrain = 512, kSlab = size_t{8} << 20;
#ifdef __SANITIZE_ADDRESS__
// Each block is an allocation of the driver of the host and is given back at once: the sanitizer
// sees what is used beside it, or after it.
constexpr bool kWatched = true;
#else
constexpr bool kWatched = false;
#endif
constexpr size_t kSmall = kWatched ? 0 : size_t{256} << 10;
constexpr size_t kAbsurd = size_t{1} << 47;

/// Few sizes, so that blocks serve again: eighths of powers of two.
size_t capacity_for(size_t bytes) {
  if (kWatched) return std::max<size_t>(bytes, 1);
  size_t step = kGrain;
  while (step * 16 < bytes) step *= 2;
  return std::max((bytes + step - 1) / step * step, kGrain);
}

}  // namespace

Pool::Pool(ContextHandle context, size_t device_bytes, void (*poll)(), void (*wait_for_all)())
    : context_(context), poll_(poll), wait_for_all_(wait_for_all) {
  limits_[soft] = limits_[hard] = device_bytes - device_bytes / 20;
  limits_[cache] = kWatched ? 0 : limits_[soft];
}

bool Pool::find_cached(size_t capacity, Block& found) {
  std::lock_guard lock(mutex_);
  auto it = cache_.lower_bound(capacity);
  if (it == cache_.end() || it->first > capacity + capacity / 4 + kGrain) return false;
  found = it->second;
  cached_ -= found.capacity;
  if (found.slab) found.slab->idle -= found.capacity;
  cache_.erase(it);
  return true;
}

bool Pool::allocate(size_t capacity, Block& found) {
  std::lock_guard lock(mutex_);
  const bool small = capacity <= kSmall;
  if (small && !slabs_.empty() && slabs_.back().given + capacity <= kSlab) {
    Slab& slab = slabs_.back();
    found = {slab.address + slab.given, 0, capacity, &slab};
    slab.given += capacity;
    return true;
  }
  Address address = 0;
  int status = kSuccess;
  auto call = [&] {
    driver().set_context(context_);
    status = driver().alloc(&address, small ? kSlab : capacity);
  };
  if (has_small_stack())
    on_own_stack(call);
  else
    call();
  if (status == kOutOfMemory) return false;
  check(status, "cuMemAlloc");
  found = {address, 0, capacity};
  if (small) found.slab = &slabs_.emplace_back(Slab{address, capacity});
  return true;
}

Block Pool::take(size_t bytes) {
  if (bytes > kAbsurd)
    fail<MemoryError>("malloc", "requested ", bytes, " bytes; the device has less");
  if (!reserve(bytes)) {
    wait_for_all_();
    if (!reserve(bytes))
      fail<MemoryError>("malloc", "requested ", bytes, " bytes; ", active(),
                        " bytes are in use and the ceiling is ", limit(hard), " bytes.");
  }
  const size_t capacity = capacity_for(bytes);
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
      // What is kept goes back, once the work that uses it is over; then once more.
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
  std::lock_guard lock(mutex_);
  active_ -= b.size;
  const size_t capacity = b.capacity;
  cached_ += capacity;
  if (b.slab) b.slab->idle += capacity;
  cache_.emplace(capacity, b);
  if (cached_ > limits_[cache]) trim(limits_[cache]);
}

/// Gives cached blocks back until no more than `most` bytes are left; the driver waits for the work
/// that uses them. Parts of slabs stay while others of them are in use. Called with the lock.
void Pool::trim(size_t most) {
  driver().set_context(context_);
  for (auto it = cache_.end(); cached_ > most && it != cache_.begin();) {
    --it;
    if (it->second.slab) continue;
    driver().free(it->second.address);
    cached_ -= it->second.capacity;
    it = cache_.erase(it);
  }
  if (cached_ > most) free_idle_slabs();
}

void Pool::free_idle_slabs() {
  auto idle = [](const Slab& s) { return s.idle == s.given; };
  for (auto it = cache_.begin(); it != cache_.end();) {
    const Slab* slab = it->second.slab;
    if (slab && idle(*slab)) {
      cached_ -= it->second.capacity;
      it = cache_.erase(it);
    } else {
      ++it;
    }
  }
  slabs_.remove_if([&](const Slab& s) {
    if (idle(s)) driver().free(s.address);
    return idle(s);
  });
}

size_t Pool::cached() const {
  std::lock_guard lock(mutex_);
  size_t bytes = cached_;
  for (const Slab& s : slabs_)
    if (s.idle != s.given) bytes -= s.idle;
  return bytes;
}

}  // namespace mlx::core::cuda
