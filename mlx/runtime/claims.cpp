// The contexts at work, and who waits for whom: older ones for younger ones, never the other way
// round, so that no circle of waits arises.
#include "mlx/runtime/claims.h"

#include <array>
#include <mutex>

#include "mlx/core/blocking.h"

namespace mlx::core {

namespace {

constexpr uint32_t kSlots = 64;  // a power of two; contexts beyond wait

/// A place for a context: its id while it works, 0 between contexts.
struct Place {
  std::atomic<uint32_t> id{0};
  std::atomic<uint64_t> age{0};  // above a bit that is set while the slot is taken
};
constinit std::array<Place, kSlots> slots;
constinit std::atomic<uint64_t> ages{0};

Place& slot_of(uint32_t id) { return slots[id % kSlots]; }

/// The lowest bit of an age says that the slot is taken: it is there before the id is seen.
bool try_take(Place& s, uint32_t id, uint64_t age) {
  uint64_t idle = 0;
  if (!s.age.compare_exchange_strong(idle, age << 1 | 1, std::memory_order_acq_rel)) return false;
  s.id.store(id, std::memory_order_release);
  return true;
}

}  // namespace

uint64_t Claims::next_age() { return ages.fetch_add(1, std::memory_order_relaxed); }

// Ages and ids come from one counter: on its first try a context uses its age for both.
Claims::Claims(uint64_t age, bool again) : age_(age) {
  for (uint64_t id = again ? next_age() : age;; id = next_age()) {
    id_ = static_cast<uint32_t>(id) + 1;
    if (id_ != 0 && try_take(slot_of(id_), id_, age)) return;
  }
}

Claims::~Claims() {
  Place& s = slot_of(id_);
  s.id.exchange(0);  // not a store: notify_all could then read the number of waiters before it
  s.id.notify_all();
  s.age.store(0, std::memory_order_release);
}

void Claims::wait_for(const Conflict& conflict) {
  BlockingRegion region;
  slot_of(conflict.owner).id.wait(conflict.owner, std::memory_order_acquire);
}

void Claims::take(Node* n, uint64_t mark) {
  for (;;) {
    uint32_t owner = static_cast<uint32_t>(mark >> 32);
    Place& s = slot_of(owner);
    if (owner != 0 && s.id.load(std::memory_order_acquire) == owner) {
      // An age that is read too late belongs to a later context, which is younger: then the owner
      // is gone, and the wait below ends at once.
      if (!patient_ || s.age.load(std::memory_order_acquire) >> 1 < age_) throw Conflict{owner};
      wait_for({owner});
    }
    uint64_t mine = uint64_t{id_} << 32 | 0xffffffffu;
    if (n->mark.compare_exchange_weak(mark, mine, std::memory_order_acq_rel)) return;
  }
}

}  // namespace mlx::core
