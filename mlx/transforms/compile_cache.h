// The traces of compiled functions: found by key, bounded over all functions together.
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

/// The traces of one function. They go when it goes.
class MLX_API TraceCache {
 public:
  TraceCache();
  ~TraceCache();
  TraceCache(const TraceCache&) = delete;
  /// The trace of that key, or null.
  std::shared_ptr<CacheEntry> find(const std::string& key);
  /// Keeps a trace; the one used longest ago, of any function, goes where there are too many.
  void insert(const std::string& key, std::shared_ptr<CacheEntry> entry);
  /// Calls `visit` on each trace once; it must not come back to the cache.
  void each(const std::function<void(CacheEntry&)>& visit) const;
  void clear();
  /// Traces made for this function so far, also those that are gone.
  uint64_t traces() const { return traces_; }

 private:
  friend struct CompileCacheState;
  struct Place;
  std::unordered_map<std::string, std::list<Place>::iterator> places_;
  uint64_t traces_ = 0;
};

struct CompileCacheInfo {
  uint64_t hits, misses;
  size_t size, max_size;
};
MLX_API CompileCacheInfo compile_cache_info();
/// Sets how many traces are kept; returns the former number. The default is 1024.
MLX_API size_t set_compile_cache_size(size_t n);
/// Forgets all traces.
MLX_API void clear_compile_cache();

}  // namespace mlx::core
