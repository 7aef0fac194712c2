// The allocator. Blocks below 1 MiB have size classes (four per power of two) with a free list
// each; larger blocks are ordered by capacity and reused if at most a third is wasted. One spin
// lock protects lists and counters; system calls are made outside of it.
#include "mlx/backend/cpu/allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/core/error.h"

namespace mlx::core::cpu {

namespace {

constexpr size_t kAlign = 64;
constexpr size_t kHuge = size_t{2} << 20;
constexpr size_t kLargest = size_t{1} << 47;
constexpr size_t kClassLimit = size_t{1} << 20;
constexpr size_t kLargeStep = size_t{64} << 10;
constexpr size_t kAskSystem = size_t{64} << 20;  // from this size on, check the available memory

struct SizeClass {
  size_t index;
  size_t bytes;
};

// 64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, ...: at most 25 % above `size`
// once past 256 bytes.
constexpr SizeClass size_class(size_t size) {
  if (size <= 4 * kAlign) {
    const size_t lines = (size + kAlign - 1) / kAlign;
    return {lines - 1, lines * kAlign};
  }
  const size_t shift = std::bit_width(size - 1) - 3;  // step: an eighth of the next power of two
  const size_t steps = ((size - 1) >> shift) + 1;     // 5, 6, 7 or 8
  return {4 + (shift - 6) * 4 + (steps - 5), steps << shift};
}
constexpr size_t kClasses = size_class(kClassLimit).index + 1;
static_assert(size_class(64).index == 0 && size_class(256).index == 3);
static_assert(size_class(257).index == 4 && size_class(257).bytes == 320);
static_assert(size_class(513).index == 8 && size_class(513).bytes == 640);
static_assert(size_class(kClassLimit).bytes == kClassLimit);

struct FreeBlock {
  FreeBlock* next;
};

struct Cached {
  void* ptr;
  uint64_t age;  // clock of the release: the oldest is evicted first
};

struct State {
  std::atomic<bool> lock{false};
  size_t active = 0, peak = 0, cached = 0;
  size_t memory_limit = 0, cache_limit = 0, ceiling = 0;
  uint64_t clock = 0;
  std::array<FreeBlock*, kClasses> lists{};
  using Large = std::multimap<size_t, Cached>;
  Large large;                               // by capacity, then by age
  std::map<uint64_t, Large::iterator> ages;  // of large blocks
};

void remove(State& s, State::Large::iterator block) {
  s.cached -= block->first;
  s.ages.erase(block->second.age);
  s.large.erase(block);
}

alignas(State) unsigned char storage[sizeof(State)];

void acquire(State& s) {
  for (int spins = 0; s.lock.exchange(true, std::memory_order_acquire); ++spins) {
    if (spins > 100) {
      std::this_thread::yield();
    }
  }
}

void release(State& s) { s.lock.store(false, std::memory_order_release); }

// Never destroyed: blocks are freed until the process ends.
State& state() {
  static State* const instance = [] {
    auto* s = new (storage) State();
    s->memory_limit = total_memory() * 8 / 10;
    s->cache_limit = total_memory() / 4;
    s->ceiling = total_memory() / 100 * 95;
    pthread_atfork([] { acquire(*reinterpret_cast<State*>(storage)); },
                   [] { release(*reinterpret_cast<State*>(storage)); },
                   [] { release(*reinterpret_cast<State*>(storage)); });
    return s;
  }();
  return *instance;
}

class Locked {
 public:
  explicit Locked(State& s) : state_(s) { acquire(s); }
  ~Locked() { release(state_); }
  Locked(const Locked&) = delete;

 private:
  State& state_;
};

size_t round_up(size_t size, size_t step) { return (size + step - 1) / step * step; }

size_t capacity_for(size_t size) {
  return size <= kClassLimit ? size_class(size).bytes : round_up(size, kLargeStep);
}

void* system_allocate(size_t capacity) {
  if (capacity < kHuge) {
    return std::aligned_alloc(kAlign, capacity);
  }
  // More than is needed is mapped, and the part that is not aligned is unmapped.
  const size_t mapped = capacity + kHuge;
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    return nullptr;
  }
  auto* start = static_cast<char*>(base);
  auto* aligned = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(start), kHuge));
  const auto head = static_cast<size_t>(aligned - start);
  if (head > 0) {
    munmap(start, head);
  }
  munmap(aligned + capacity, mapped - head - capacity);
#if defined(MADV_HUGEPAGE)
  madvise(aligned, capacity, MADV_HUGEPAGE);
#endif
  return aligned;
}

void system_free(void* ptr, size_t capacity) {
  if (capacity < kHuge) {
    std::free(ptr);
  } else {
    munmap(ptr, capacity);
  }
}

// A cached block for `size`, or nullptr. The caller holds the lock.
void* take_cached(State& s, size_t size, size_t& capacity) {
  if (size <= kClassLimit) {
    auto& head = s.lists[size_class(size).index];
    auto* block = head;
    if (block != nullptr) {
      head = block->next;
      s.cached -= capacity;
    }
    return block;
  }
  const auto smallest = s.large.lower_bound(capacity);
  if (smallest == s.large.end() || smallest->first > capacity + capacity / 3) {
    return nullptr;
  }
  capacity = smallest->first;
  // Of blocks of one size the last one is the most recently used, and likely in the caches.
  const auto found = std::prev(s.large.upper_bound(capacity));
  void* ptr = found->second.ptr;
  remove(s, found);
  return ptr;
}

struct Evicted {
  void* ptr;
  size_t capacity;
};

// Removes blocks from the cache until it holds at most `target` bytes: the oldest large ones first,
// then small ones from the largest class down. The caller holds the lock and frees the blocks.
std::vector<Evicted> evict(State& s, size_t target) {
  std::vector<Evicted> out;
  while (s.cached > target && !s.large.empty()) {
    const auto oldest = s.ages.begin()->second;
    out.push_back({oldest->second.ptr, oldest->first});
    remove(s, oldest);
  }
  for (size_t i = kClasses; i-- > 0 && s.cached > target;) {
    const size_t bytes = i < 4 ? (i + 1) * kAlign : (5 + (i - 4) % 4) << (6 + (i - 4) / 4);
    while (s.cached > target && s.lists[i] != nullptr) {
      auto* block = s.lists[i];
      s.lists[i] = block->next;
      out.push_back({block, bytes});
      s.cached -= bytes;
    }
  }
  return out;
}

void give_back(const std::vector<Evicted>& blocks) {
  for (const auto& block : blocks) {
    system_free(block.ptr, block.capacity);
  }
}

void trim_cache(State& s, size_t target) {
  std::vector<Evicted> out;
  {
    Locked lock(s);
    out = evict(s, target);
  }
  give_back(out);
}

void count_active(State& s, size_t size) {
  s.active += size;
  s.peak = std::max(s.peak, s.active);
}

[[noreturn]] void refuse(size_t size, const char* why, size_t amount) {
  fail<MemoryError>("malloc", "requested ", size, " bytes; ", why, " ", amount, " bytes.");
}

// New memory from the system. Called without the lock; `size` is already counted as active.
void* fresh(State& s, size_t size, size_t capacity) {
  size_t spare;  // capacity that the cache may keep besides this block
  {
    Locked lock(s);
    const size_t wanted = s.active + (capacity - size);
    spare = s.memory_limit > wanted ? s.memory_limit - wanted : 0;
    if (s.cached <= spare) {
      spare = SIZE_MAX;
    }
  }
  if (spare != SIZE_MAX) {
    trim_cache(s, spare);
  }
  if (capacity >= kAskSystem && capacity > available_memory()) {
    trim_cache(s, 0);
    const size_t available = available_memory();
    if (capacity > available) {
      refuse(size, "the machine has left", available);
    }
  }
  void* ptr = system_allocate(capacity);
  if (ptr == nullptr) {
    trim_cache(s, 0);
    ptr = system_allocate(capacity);
  }
  if (ptr == nullptr) {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
      refuse(size, "ulimit -v allows the process", limit.rlim_cur);
    }
    refuse(size, "the system refuses; it has left", available_memory());
  }
  return ptr;
}

// Stack memory shared by the Scratch objects of a thread, freed in reverse order.
struct ScratchStack {
  char* base = nullptr;
  size_t used = 0;
  size_t live = 0;
  ~ScratchStack() { std::free(base); }
};
constexpr size_t kStackSize = size_t{256} << 10;
thread_local ScratchStack scratch_stack;

size_t read(size_t State::* field) {
  auto& s = state();
  Locked lock(s);
  return s.*field;
}

size_t replace(size_t State::* field, size_t value) {
  auto& s = state();
  Locked lock(s);
  return std::exchange(s.*field, value);
}

}  // namespace

HostBlock allocate(size_t size) {
  alignas(kAlign) static char nothing[kAlign];
  if (size == 0) {
    return {nothing, 0, 0};
  }
  if (size > kLargest) {
    refuse(size, "at most can be addressed", kLargest);
  }
  auto& s = state();
  size_t capacity = capacity_for(size);
  {
    Locked lock(s);
    if (size <= s.ceiling && s.active <= s.ceiling - size) {
      count_active(s, size);
      if (void* ptr = take_cached(s, size, capacity)) {
        return {ptr, size, capacity};
      }
    } else {
      capacity = 0;
    }
  }
  if (capacity == 0) {
    const size_t ceiling = memory_ceiling();
    const size_t used = active_memory();
    fail<MemoryError>("malloc", "requested ", size, " bytes; ", used,
                      " bytes are in use and the ceiling is ", ceiling, " bytes.");
  }
  try {
    return {fresh(s, size, capacity), size, capacity};
  } catch (...) {
    Locked lock(s);
    s.active -= size;
    throw;
  }
}

void free_block(const HostBlock& buffer) noexcept {
  if (buffer.capacity == 0) {
    return;
  }
  auto& s = state();
  std::vector<Evicted> out;
  {
    Locked lock(s);
    s.active -= buffer.size;
    s.cached += buffer.capacity;
    if (buffer.capacity <= kClassLimit) {
      auto*& head = s.lists[size_class(buffer.capacity).index];
      head = new (buffer.ptr) FreeBlock{head};
    } else {
      const uint64_t age = s.clock++;
      s.ages.emplace(age, s.large.emplace(buffer.capacity, Cached{buffer.ptr, age}));
    }
    if (s.cached > s.cache_limit) [[unlikely]] {
      out = evict(s, s.cache_limit);
    }
  }
  give_back(out);
}

size_t active_memory() { return read(&State::active); }

size_t peak_memory() { return read(&State::peak); }

size_t cache_memory() { return read(&State::cached); }

void reset_peak_memory() { replace(&State::peak, 0); }

void clear_cache() { trim_cache(state(), 0); }

size_t memory_limit() { return read(&State::memory_limit); }

size_t set_memory_limit(size_t bytes) { return replace(&State::memory_limit, bytes); }

size_t cache_limit() { return read(&State::cache_limit); }

size_t set_cache_limit(size_t bytes) {
  const size_t before = replace(&State::cache_limit, bytes);
  trim_cache(state(), bytes);
  return before;
}

size_t memory_ceiling() { return read(&State::ceiling); }

size_t set_memory_ceiling(size_t bytes) { return replace(&State::ceiling, bytes); }

Scratch::Scratch(size_t size) {
  auto& stack = scratch_stack;
  const size_t bytes = round_up(size, kAlign);
  if (size == 0 || size > kStackSize - stack.used) {
    block_ = allocate(size);
    return;
  }
  if (stack.base == nullptr) {
    stack.base = static_cast<char*>(std::aligned_alloc(kAlign, kStackSize));
    if (stack.base == nullptr) {
      refuse(size, "no working memory is left; a thread needs", kStackSize);
    }
  }
  block_.ptr = stack.base + stack.used;
  stack.used += bytes;
  ++stack.live;
  on_stack_ = bytes;
}

Scratch::~Scratch() {
  if (on_stack_ == 0) {
    free_block(block_);
    return;
  }
  auto& stack = scratch_stack;
  const auto begin = static_cast<size_t>(static_cast<char*>(block_.ptr) - stack.base);
  if (--stack.live == 0) {
    stack.used = 0;
  } else if (begin + on_stack_ == stack.used) {
    stack.used = begin;
  }
}

}  // namespace mlx::core::cpu
