// The traces of compiled functions: found by key, with one size limit for all functions.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "mlx/core/api.h"

namespace mlx::core {

struct CacheEntry {
  virtual ~CacheEntry() = default;
};

/// The traces of one function, dropped with it.
class MLX_API TraceCache {
 public:
  TraceCache();
  ~TraceCache();
  TraceCache(const TraceCache&) = delete;
  /// The trace with that key, or null.
  std::shared_ptr<CacheEntry> find(const std::string& key);
  /// Adds a trace; beyond the limit, the least recently used trace of any function is dropped.
  void insert(const std::string& key, std::shared_ptr<CacheEntry> entry);
  /// Calls `visit` on each trace once; it must not use the cache.
  void each(const std::function<void(CacheEntry&)>& visit) const;
  void clear();

 private:
  friend struct CompileCacheState;
  struct Place;
  std::unordered_map<std::string, std::list<Place>::iterator> places_;
};

struct CompileCacheInfo {
  uint64_t hits, misses;
  size_t size, max_size;
};
MLX_API CompileCacheInfo compile_cache_info();
/// Counts a call of a compiled function, which has found its trace or makes it.
MLX_API void count_trace_lookup(bool found);
/// Sets the maximum number of traces; returns the previous one. The default is 1024.
MLX_API size_t set_compile_cache_size(size_t n);
/// Drops all traces.
MLX_API void clear_compile_cache();

}  // namespace mlx::core
