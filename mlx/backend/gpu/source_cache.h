// Compiled kernels: in memory, and as files that serve later processes.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "mlx/backend/gpu/device.h"

namespace mlx::core::gpu {

/// The kernels of one device.
class KernelCache {
 public:
  explicit KernelCache(Hardware& hardware) : hardware_(hardware) {}
  /// The kernel `name` of a source, compiled at most once.
  FunctionHandle find(const std::string& source, const char* name);
  /// The kernel `name` of PTX or machine code, loaded at most once.
  FunctionHandle load(const std::string& code, const char* name);

 private:
  FunctionHandle find(const std::string& text, const char* name, bool compiled);
  std::string code_of(const std::string& source);

  struct Entry {
    bool ready = false;
    void* module = nullptr;
    std::exception_ptr error = {};
  };
  Hardware& hardware_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> modules_;  // by source, or code
};

/// Machine code kept in files: a folder of MLX_CUDA_CACHE_DIR, or of the user's cache, else none.
/// A file that cannot be read counts as missing; one that cannot be written is not kept.
bool read_cached(const std::string& key, std::string& code);
void write_cached(const std::string& key, const std::string& code);

}  // namespace mlx::core::gpu
