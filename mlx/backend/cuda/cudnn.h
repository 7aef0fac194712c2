// The functions of cuDNN's graph interface, and its descriptors.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "mlx/backend/cuda/driver.h"

namespace mlx::core::cuda {

using CudnnHandle = struct OpaqueCudnnHandle*;

// Declared here, so that no header of the library's package is needed: its functions, and values of
// its enumerations.
struct Cudnn {
  using Descriptor = void*;
  int (*create)(CudnnHandle*) = nullptr;
  int (*destroy)(CudnnHandle) = nullptr;
  int (*set_stream)(CudnnHandle, StreamHandle) = nullptr;
  int (*create_part)(int, Descriptor*) = nullptr;
  int (*destroy_part)(Descriptor) = nullptr;
  int (*set)(Descriptor, int, int, int64_t, const void*) = nullptr;
  int (*get)(Descriptor, int, int, int64_t, int64_t*, void*) = nullptr;
  int (*finish)(Descriptor) = nullptr;
  int (*execute)(CudnnHandle, Descriptor, Descriptor) = nullptr;
  bool found = false;
};
const Cudnn& cudnn();

/// Kinds of descriptors.
enum class CudnnPart : int {
  convolution = 1,
  engine = 2,
  configuration = 3,
  heuristics = 4,
  plan = 5,
  forward = 10,
  backward_filter = 11,
  backward_data = 12,
  graph = 15,
  operands = 16,
  tensor = 17,
};
/// Types of attributes.
enum class CudnnType : int {
  handle = 0,
  data_type = 1,
  number = 3,
  single = 4,
  pointer = 6,
  convolution_mode = 7,
  heuristics_mode = 8,
  numerical_note = 11,
  part = 15,
};

/// A descriptor. The first status that is not 0 stays; later calls do nothing.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(CudnnPart part);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, nullptr)), status_(other.status_) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    status_ = other.status_;
    return *this;
  }

  CudnnDescriptor& set(int attribute, CudnnType type, const void* values, int64_t count = 1);
  CudnnDescriptor& set(int attribute, std::span<const int64_t> numbers) {
    return set(attribute, CudnnType::number, numbers.data(), static_cast<int64_t>(numbers.size()));
  }
  CudnnDescriptor& set(int attribute, const CudnnDescriptor& part);
  CudnnDescriptor& finish();
  /// Reads up to so many values; the number of them, or 0 where the library refuses.
  int64_t get(int attribute, CudnnType type, int64_t most, void* values) const;

  void* descriptor() const { return descriptor_; }
  int status() const { return status_; }

 private:
  void* descriptor_ = nullptr;
  int status_ = 0;
};

}  // namespace mlx::core::cuda
