// The slots of handles: in chunks of one size at multiples of it, which stay until the end of the
// process, so that a handle is checked without a lock.
#include "mlx/c/src/handles.h"

#include <sys/mman.h>

#include <array>
#include <deque>
#include <mutex>

#include "mlx/core/error.h"

namespace mlx::c {

namespace {

/// Where the count of uses, in the lowest bits of an address, begins again.
constexpr uintptr_t kUses = 16;
struct alignas(kUses) Slot {
  std::atomic<uint32_t> state{0};  // kind * kUses + uses
  void* object = nullptr;
};
constexpr size_t kChunk = size_t{1} << 16;
constexpr size_t kSlots = kChunk / sizeof(Slot);
constexpr size_t kTable = 1 << 14;

constexpr uint32_t state_of(Kind kind, uintptr_t uses) {
  return static_cast<uint32_t>(kind) * kUses + static_cast<uint32_t>(uses);
}

class Slots {
 public:
  /// The slot at that address if there is one.
  Slot* find(uintptr_t handle) const {
    const uintptr_t chunk = handle & ~(kChunk - 1);
    if (!chunk) return nullptr;
    for (size_t at = place(chunk);; at = (at + 1) % kTable) {
      const uintptr_t known = chunks_[at].load(std::memory_order_acquire);
      if (known == chunk) return reinterpret_cast<Slot*>(handle & ~(kUses - 1));
      if (!known) return nullptr;
    }
  }
  void* take(Kind kind, void* object) {
    std::lock_guard lock(mutex_);
    if (free_.empty()) add_chunk();
    Slot* slot = free_.front();
    free_.pop_front();
    const uintptr_t uses = slot->state.load(std::memory_order_relaxed) % kUses;
    slot->object = object;
    slot->state.store(state_of(kind, uses), std::memory_order_release);
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) | uses);
  }
  void give_back(Slot* slot) {
    std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }

 private:
  static size_t place(uintptr_t chunk) { return (chunk / kChunk * 0x9e3779b1u) % kTable; }
  void add_chunk() {
    if (count_ >= kTable / 2)
      core::fail<core::MemoryError>("mlx_c", "more than ", count_ * kSlots, " handles in use");
    // Not by `new`: tools that look for leaks do not look for references in these pages.
    const size_t bytes = 2 * kChunk;
    void* pages =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    const uintptr_t begin = reinterpret_cast<uintptr_t>(pages);
    const uintptr_t chunk = (begin + kChunk - 1) & ~(kChunk - 1);
    if (chunk > begin) ::munmap(pages, chunk - begin);
    if (begin + bytes > chunk + kChunk)
      ::munmap(reinterpret_cast<void*>(chunk + kChunk), begin + bytes - chunk - kChunk);
    auto* slots = reinterpret_cast<Slot*>(chunk);
    for (size_t i = 0; i < kSlots; ++i) free_.push_back(new (&slots[i]) Slot);
    size_t at = place(chunk);
    while (chunks_[at].load(std::memory_order_relaxed)) at = (at + 1) % kTable;
    chunks_[at].store(chunk, std::memory_order_release);
    ++count_;
  }

  std::array<std::atomic<uintptr_t>, kTable> chunks_{};
  std::mutex mutex_;
  std::deque<Slot*> free_;  // the longest unused first: a stale handle is then known for longest
  size_t count_ = 0;
};

Slots& slots() {
  static auto& all = *new Slots;
  return all;
}

[[noreturn]] void refuse(const char* name, const char* given) {
  core::fail<core::ValueError>(name, given, "; one that a function made is accepted");
}

Slot& slot_of(const void* handle, Kind kind, const char* name) {
  if (!handle) refuse(name, "a null handle");
  const auto bits = reinterpret_cast<uintptr_t>(handle);
  Slot* slot = slots().find(bits);
  if (!slot) refuse(name, "no handle");
  const uint32_t state = slot->state.load(std::memory_order_acquire);
  if (state == state_of(kind, bits % kUses)) return *slot;
  if (state / kUses == 0 || state % kUses != bits % kUses) refuse(name, "a handle that was freed");
  refuse(name, "a handle of another kind");
}

}  // namespace

void* hold(Kind kind, void* object) { return slots().take(kind, object); }

void* held(const void* handle, Kind kind, const char* name) {
  return slot_of(handle, kind, name).object;
}

void* let_go(const void* handle, Kind kind, const char* name) {
  Slot& slot = slot_of(handle, kind, name);
  const uintptr_t uses = reinterpret_cast<uintptr_t>(handle) % kUses;
  void* object = slot.object;
  uint32_t state = state_of(kind, uses);
  if (!slot.state.compare_exchange_strong(state, state_of(Kind::none, (uses + 1) % kUses)))
    refuse(name, "a handle that another thread frees");
  slots().give_back(&slot);
  return object;
}

}  // namespace mlx::c
