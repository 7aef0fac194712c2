// Fourier transforms of lines through cuFFT, where that library is found.
#pragma once

#include <compare>
#include <memory>

#include "mlx/backend/cuda/device.h"
#include "mlx/ops/fft.h"

namespace mlx::core::cuda {

/// `count` transforms of n elements, without a factor. `stride`: elements from one to the next of a
/// line, `step`: from one line to the next.
struct FftLines {
  struct Side {
    int64_t stride, step;
    auto operator<=>(const Side&) const = default;
  };
  FftKind kind;
  bool wide;  ///< in double precision
  int64_t n, count;
  Side in, out;
  auto operator<=>(const FftLines&) const = default;
};

/// The library's plan of transforms on one device.
class FftPlan {
 public:
  FftPlan(const FftLines& lines, const DeviceState& device);
  ~FftPlan();
  FftPlan(const FftPlan&) = delete;
  /// What `run` needs of memory for itself.
  size_t work_bytes() const { return work_bytes_; }
  /// Enqueues it. The input is kept, unless the kind is hermitian. Addresses are multiples of the
  /// size of a complex number.
  void run(Queue& queue, uint64_t in, uint64_t out, uint64_t work) const;

 private:
  const DeviceState& device_;
  const FftLines lines_;
  mutable std::mutex mutex_;  // the stream and the memory belong to the plan
  int handle_ = 0;
  size_t work_bytes_ = 0;
};

/// Whether the library is there; opens it on first use.
bool has_fft();
/// A plan, which is kept for those who ask again; null where the library cannot make it.
std::shared_ptr<const FftPlan> fft_plan(const FftLines& lines, const DeviceState& device);

}  // namespace mlx::core::cuda
