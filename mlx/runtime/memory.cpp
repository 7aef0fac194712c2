// Memory figures and limits, of the default device.
#include "mlx/runtime/memory.h"

#include <atomic>
#include <unordered_set>

#include "mlx/backend/backend.h"

namespace mlx::core {

namespace {
MemoryControl& memory() {
  Device d = default_device();
  return backend_of(d).memory(d.index);
}
}  // namespace

size_t get_active_memory() { return memory().active(); }
size_t get_peak_memory() { return memory().peak(); }
void reset_peak_memory() { memory().reset_peak(); }
size_t get_cache_memory() { return memory().cached(); }
size_t set_memory_limit(size_t n) { return memory().limit(MemoryControl::soft, n); }
size_t get_memory_limit() { return memory().limit(MemoryControl::soft); }
size_t set_cache_limit(size_t n) { return memory().limit(MemoryControl::cache, n); }
size_t set_memory_ceiling(size_t n) { return memory().limit(MemoryControl::hard, n); }
size_t get_memory_ceiling() { return memory().limit(MemoryControl::hard); }
void clear_cache() { memory().clear_cache(); }

size_t set_wired_limit(size_t limit) {
  static std::atomic<size_t> wired{0};
  return wired.exchange(limit);
}

size_t get_array_buffer_size(const std::vector<array>& arrays) {
  std::unordered_set<const Storage*> seen;
  size_t bytes = 0;
  for (const array& a : arrays) {
    const Storage* s = a.node()->value.storage.get();
    if (s && seen.insert(s).second) bytes += s->bytes();
  }
  return bytes;
}

}  // namespace mlx::core
