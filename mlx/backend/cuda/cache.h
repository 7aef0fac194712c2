// Compiled kernels: in memory, and as files that serve later processes.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "mlx/backend/cuda/driver.h"

namespace mlx::core::cuda {

/// The kernels of one device.
class KernelCache {
 public:
  KernelCache(std::string architecture, ContextHandle context)
      : architecture_(std::move(architecture)), context_(context) {}
  /// The kernel `name` of a source, compiled at most once.
  FunctionHandle find(const std::string& source, const char* name);
  /// The kernel `name` of PTX or machine code, loaded at most once.
  FunctionHandle load(const std::string& code, const char* name);

 private:
  FunctionHandle find(const std::string& text, const char* name, bool compiled);
  std::string code_of(const std::string& source);

  struct Entry {
    bool ready = false;
    ModuleHandle module = nullptr;
    std::exception_ptr error = {};
  };
  const std::string architecture_;
  const ContextHandle context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> modules_;  // by source, or code
};

/// Machine code kept in files: a folder of MLX_CUDA_CACHE_DIR, or of the user's cache, else none.
/// What cannot be read is as if it were not there, and what cannot be written is not kept.
bool read_cached(const std::string& key, std::string& code);
void write_cached(const std::string& key, const std::string& code);

}  // namespace mlx::core::cuda
