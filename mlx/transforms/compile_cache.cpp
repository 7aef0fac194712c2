// The cache of traces: least recently used entries are dropped.
#include "mlx/transforms/compile_cache.h"

#include <atomic>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mlx::core {

struct TraceCache::Place {
  TraceCache* owner;
  std::string key;
  std::shared_ptr<CacheEntry> entry;
};

using Entries = std::vector<std::shared_ptr<CacheEntry>>;

/// All traces, most recently used first. Entries are destroyed outside the lock, since they may own
/// anything.
struct CompileCacheState {
  std::mutex mutex;
  std::list<TraceCache::Place> places;
  std::atomic<uint64_t> hits = 0, misses = 0;
  size_t max = 1024;

  void drop_oldest(Entries& dead) {
    TraceCache::Place& last = places.back();
    dead.push_back(std::move(last.entry));
    last.owner->places_.erase(last.key);
    places.pop_back();
  }
  void shrink(size_t n, Entries& dead) {
    while (places.size() > n) drop_oldest(dead);
  }
};

namespace {
CompileCacheState& state() {
  static auto& s = *new CompileCacheState;
  return s;
}
}  // namespace

TraceCache::TraceCache() = default;

TraceCache::~TraceCache() { clear(); }

void TraceCache::clear() {
  Entries dead;
  std::lock_guard lock(state().mutex);
  for (auto& [key, place] : places_) {
    dead.push_back(std::move(place->entry));
    state().places.erase(place);
  }
  places_.clear();
}

void TraceCache::each(const std::function<void(CacheEntry&)>& visit) const {
  std::lock_guard lock(state().mutex);
  std::unordered_set<CacheEntry*> visited;  // an entry may have several keys
  for (const auto& [key, place] : places_)
    if (visited.insert(place->entry.get()).second) visit(*place->entry);
}

std::shared_ptr<CacheEntry> TraceCache::find(const std::string& key) {
  CompileCacheState& s = state();
  std::lock_guard lock(s.mutex);
  auto it = places_.find(key);
  if (it == places_.end()) return nullptr;
  s.places.splice(s.places.begin(), s.places, it->second);
  return it->second->entry;
}

void TraceCache::insert(const std::string& key, std::shared_ptr<CacheEntry> entry) {
  CompileCacheState& s = state();
  Entries dead;
  std::lock_guard lock(s.mutex);
  if (s.max == 0) return;
  if (auto it = places_.find(key); it != places_.end()) {
    dead.push_back(std::exchange(it->second->entry, std::move(entry)));
    return;
  }
  s.shrink(s.max - 1, dead);
  s.places.push_front({this, key, std::move(entry)});
  places_[key] = s.places.begin();
}

void count_trace_lookup(bool found) {
  (found ? state().hits : state().misses).fetch_add(1, std::memory_order_relaxed);
}

CompileCacheInfo compile_cache_info() {
  CompileCacheState& s = state();
  std::lock_guard lock(s.mutex);
  return {s.hits, s.misses, s.places.size(), s.max};
}

size_t set_compile_cache_size(size_t n) {
  CompileCacheState& s = state();
  Entries dead;
  std::lock_guard lock(s.mutex);
  s.shrink(n, dead);
  return std::exchange(s.max, n);
}

void clear_compile_cache() {
  CompileCacheState& s = state();
  Entries dead;
  std::lock_guard lock(s.mutex);
  s.shrink(0, dead);
}

}  // namespace mlx::core
