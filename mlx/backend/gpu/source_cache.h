// Compiled kernels: in memory, and as files that serve later processes.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "mlx/backend/gpu/device.h"

namespace mlx::core::gpu {

/// The kernels of one device. As many modules stay loaded as MLX_CUDA_MODULES says; of modules that
/// no prepared step holds, the least recently used are unloaded beyond that number.
class KernelCache {
 public:
  explicit KernelCache(Hardware& hardware);
  /// The kernel `name` of a source, compiled at most once while it is loaded.
  Function find(const std::string& source, const char* name);
  /// The same; `brief` stands for the source, which is written where it is not known.
  Function find(const std::string& brief, const std::function<std::string()>& source,
                const char* name);
  /// The kernel `name` of PTX or machine code, loaded at most once at a time.
  Function load(const std::string& code, const char* name);

 private:
  Function find(const std::string& text, const char* name, bool compiled);
  std::string code_of(const std::string& source);
  /// Unloads what is too much. The caller holds the lock, and has entered the device.
  void trim();

  struct Entry {
    bool ready = false;
    void* module = nullptr;
    std::exception_ptr error = {};
    mutable uint64_t used = 0;  ///< the number of the last use
    std::string name = {};      ///< of the kernel that was asked for first
    FunctionHandle function = nullptr;
  };
  using Modules = std::unordered_map<std::string, std::shared_ptr<Entry>>;
  Hardware& hardware_;
  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Modules modules_;  // by source, or code
  std::unordered_map<std::string, std::weak_ptr<const Entry>> briefs_;
  uint64_t uses_ = 0;
};

/// Machine code kept in files: a folder of MLX_CUDA_CACHE_DIR, or of the user's cache, else none.
/// A file that cannot be read counts as missing; one that cannot be written is not kept.
bool read_cached(const std::string& key, std::string& code);
void write_cached(const std::string& key, const std::string& code);

}  // namespace mlx::core::gpu
