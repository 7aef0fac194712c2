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
  std::span<const uint64_t> records = {};  ///< addresses of the step's error records
  const Scalar* constants = nullptr;       ///< of the step's program; of a collective: the ticket
  std::vector<std::shared_ptr<const void>>* kept = nullptr;  ///< until the device is past the step
  uint64_t given = 0;  ///< a bit for each of the first operands that no kernel of the launch writes
  /// Address of the error record of a step that has one, or 0.
  uint64_t record() const { return records.empty() ? 0 : records[0]; }
  /// The same for a step inside of a step, whose operands may all be written.
  Enqueue with(std::span<const uint64_t> own_records, const Scalar* own_constants) const {
    return {queue, own_records, own_constants, kept};
  }
  StreamHandle stream() const { return queue.stream(); }
  DeviceState& device() const { return queue.device(); }
  /// The address of temporary memory, kept until the device is past the step.
  uint64_t take(size_t bytes) const;
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
  /// How many records it has: more than one where it runs other steps.
  virtual size_t records() const { return checks() ? 1 : 0; }
  /// Throws the error that record k of them says.
  virtual void raise_record(size_t, const device::ErrorRecord& r) const { raise(r); }
  /// How often it gives the device something to run; about.
  virtual size_t launches() const { return 1; }
  /// Whether `ended` wants to know of each launch that set its record.
  virtual bool communicates() const { return false; }
  /// The device is past such a launch, in the order of launches; false: its results are no good.
  virtual void ended(bool) const noexcept {}
};

}  // namespace mlx::core::gpu
