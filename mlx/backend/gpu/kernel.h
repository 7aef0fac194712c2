// A step of an op, ready for a device.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mlx/backend/backend.h"
#include "mlx/backend/gpu/devices.h"

namespace mlx::core::gpu {

/// Where a step goes, and where its kernels say what they cannot use.
struct Enqueue {
  Queue& queue;
  uint64_t record = 0;                ///< address of an ErrorRecord, for a step that has one
  const Scalar* constants = nullptr;  ///< of the step's program; of a collective: the ticket
  std::vector<std::shared_ptr<const void>>* kept = nullptr;  ///< until the device is past the step
  StreamHandle stream() const { return queue.stream(); }
  DeviceState& device() const { return queue.device(); }
  /// A kernel that was found for this launch alone.
  Function keep(Function function) const {
    kept->push_back(function.module);
    return function;
  }
};

/// A step as its device runs it.
struct OpKernel {
  virtual ~OpKernel() = default;
  /// Enqueues it. `operands`: addresses that the layouts' offsets count from, in the step's order.
  virtual void launch(const Enqueue& to, std::span<const uint64_t> operands) const = 0;
  /// Whether its kernels may write an error record.
  virtual bool checks() const { return false; }
  /// Throws the error that a record says.
  virtual void raise(const device::ErrorRecord&) const {}
  /// Whether `ended` wants to know of each launch that set its record.
  virtual bool communicates() const { return false; }
  /// The device is past such a launch, in the order of launches; false: its results are no good.
  virtual void ended(bool) const noexcept {}
};

}  // namespace mlx::core::gpu
