// What a family of ops brings: which steps it has kernels for, and the kernels.
#pragma once

#include <memory>
#include <span>

#include "mlx/backend/backend.h"
#include "mlx/backend/cuda/device.h"
#include "mlx/backend/cuda/device/arguments.h"

namespace mlx::core::cuda {

/// Where a step goes, and where its kernels say what they cannot use.
struct Enqueue {
  Queue& queue;
  uint64_t record = 0;                ///< address of an ErrorRecord, for a step that has one
  const Scalar* constants = nullptr;  ///< of the step's program
  StreamHandle stream() const { return queue.stream(); }
};

/// A compiled step of an op.
struct OpKernel {
  virtual ~OpKernel() = default;
  /// Enqueues it. `operands`: addresses that the layouts' offsets count from, in the step's order.
  virtual void launch(const Enqueue& to, std::span<const uint64_t> operands) const = 0;
  /// Whether its kernels may write an error record.
  virtual bool checks() const { return false; }
  /// Throws the error that a record says.
  virtual void raise(const device::ErrorRecord&) const {}
};

struct KernelEntry {
  const char* op;  ///< its name
  /// Whether there is a kernel for operands (inputs, then outputs), and its wishes in `needs`.
  bool (*find)(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
               const DeviceState& device, Requirements& needs);
  /// Compiles; the step was found, and lies as it wished.
  std::unique_ptr<const OpKernel> (*prepare)(const Step& step, DeviceState& device);
};

/// The kernel of an op for operands, or null where there is none.
const KernelEntry* find_kernel(const OpDef& op, const Attrs* attrs,
                               std::span<const Layout> operands, int n_inputs,
                               const DeviceState& device, Requirements& needs);

extern const std::span<const KernelEntry> attention_kernels, compact_kernels, conv_kernels,
    counting_kernels, creation_kernels, custom_kernels, delta_kernels, gather_product_kernels,
    hadamard_kernels, index_kernels, matmul_kernels, packed_kernels, reduce_kernels, rows_kernels,
    scan_kernels, scatter_kernels, slice_kernels, sort_kernels;

/// Whether a step, an op with a program, runs as one kernel.
bool computes_input(const Step& step, const DeviceState& device);
/// The result of a step's program, as an op would read it from memory.
Layout computed_input(const Step& step);

/// The axes, merged where each operand walks them as one. False where more are left than kernels
/// take.
bool set_axes(std::span<device::Axes* const> to, Shape shape, std::vector<Strides> strides);

/// The name of a dtype's elements in the source of kernels.
const char* element_type(Dtype t);

/// The accumulator of an element type, as it is written in a kernel, and its size: of sums and
/// products, and of extremes.
struct Accumulator {
  const char* type;
  int64_t size;
};
Accumulator sum_of(Dtype t);
Accumulator value_of(Dtype t);

}  // namespace mlx::core::cuda
