// A family of ops: the steps for which it has kernels, and the kernels.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>

#include "mlx/backend/backend.h"
#include "mlx/backend/gpu/families/kernel_table.h"
#include "mlx/backend/gpu/kernel.h"
#include "mlx/backend/gpu/kernels/arguments.h"
#include "mlx/core/error.h"

namespace mlx::core::gpu {

struct KernelEntry {
  const char* op;  ///< its name
  /// Whether there is a kernel for operands (inputs, then outputs), and its wishes in `needs`.
  bool (*find)(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
               const DeviceState& device, Requirements& needs);
  /// Compiles a step that was found, with operands in the layouts that it asked for.
  std::unique_ptr<const OpKernel> (*prepare)(const Step& step, DeviceState& device);
};

/// Entries by their ops.
class KernelTable {
 public:
  explicit KernelTable(std::initializer_list<std::span<const KernelEntry>> families);
  /// The entry of an op, or null.
  const KernelEntry* find(const OpDef& op) const;

 private:
  std::unordered_map<std::string_view, const KernelEntry*> entries_;
};

/// The kernel of an op for operands, or null where there is none.
const KernelEntry* find_kernel(const OpDef& op, const Attrs* attrs,
                               std::span<const Layout> operands, int n_inputs,
                               const DeviceState& device, Requirements& needs);

#define X(name) extern const std::span<const KernelEntry> name##_kernels;
#include "mlx/backend/gpu/families/table.def"
#undef X

/// The kernel of a step, a fused program or an op of the table, or null where there is none.
std::unique_ptr<const OpKernel> prepare_family(const Step& step, DeviceState& device);

/// Whether a step, a fused program or an op of the table, has one.
bool has_kernel(const Step& step, const DeviceState& device);

/// Whether a step, an op with a program, runs as one kernel.
bool computes_input(const Step& step, const DeviceState& device);
/// The result of a step's program, as an op would read it from memory.
Layout computed_input(const Step& step);

/// Rows of a step that a unit of rows may have, as Backend::rows_of says.
int64_t unit_rows(const Step& step);
/// Whether steps in this order run as one kernel that goes row by row.
bool is_row_unit(std::span<const Step* const> steps, int64_t rows);
/// The kernel of a unit of rows.
std::unique_ptr<const OpKernel> prepare_row_unit(const Step& step, DeviceState& device);

/// The axes, merged where each operand walks them as one. False where more are left than kernels
/// take.
bool set_axes(std::span<device::Axes* const> to, Shape shape, std::vector<Strides> strides);
/// Whether positions along axes are multiples of n elements apart. The last `without` axes do not
/// count.
bool are_multiples(const device::Axes& axes, int64_t n, int64_t without = 0);

}  // namespace mlx::core::gpu
