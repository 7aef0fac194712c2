// Op -> kernel. A family adds its entries here.
#include <algorithm>

#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

KernelTable::KernelTable(std::initializer_list<std::span<const KernelEntry>> families) {
  for (std::span<const KernelEntry> family : families)
    for (const KernelEntry& k : family) entries_.emplace(k.op, &k);
}
const KernelEntry* KernelTable::find(const OpDef& op) const {
  const auto found = entries_.find(op.name);
  return found == entries_.end() ? nullptr : found->second;
}

const KernelEntry* find_kernel(const OpDef& op, const Attrs* attrs,
                               std::span<const Layout> operands, int n_inputs,
                               const DeviceState& device, Requirements& needs) {
  static const KernelTable table({
#define X(name) name##_kernels,
#include "mlx/backend/gpu/families/table.def"
#undef X
  });
  const KernelEntry* const k = table.find(op);
  return k && k->find(attrs, operands, n_inputs, device, needs) ? k : nullptr;
}

namespace {

/// The kernel of a step that is an op of the table, or null.
const KernelEntry* entry_of(const Step& s, const DeviceState& device) {
  Requirements needs;
  if (!s.program.code.empty()) {
    const Layout operands[] = {computed_input(s), s.operands[s.n_inputs]};
    return find_kernel(*s.op, s.attrs.get(), operands, 1, device, needs);
  }
  const std::span<const Layout> operands(s.operands.data(), s.outputs_end());
  return find_kernel(*s.op, s.attrs.get(), operands, s.n_inputs, device, needs);
}

}  // namespace

bool has_kernel(const Step& s, const DeviceState& device) { return !s.op || entry_of(s, device); }

std::unique_ptr<const OpKernel> prepare_family(const Step& s, DeviceState& device) {
  if (s.unit) return prepare_row_unit(s, device);
  if (!s.op) return std::make_unique<const FusedStep>(s, device);
  const KernelEntry* k = entry_of(s, device);
  return k ? k->prepare(s, device) : nullptr;
}

Lines lines_along(const Shape& shape, int axis) {
  const int64_t n = shape[axis];
  return {n ? num_elements(shape) / n : 0, n,
          num_elements(Shape(shape.begin() + axis + 1, shape.end()))};
}

bool set_axes(std::span<device::Axes* const> to, Shape shape, std::vector<Strides> strides) {
  collapse_axes(shape, strides);
  if (shape.size() > device::kMostAxes) return false;
  for (size_t k = 0; k < to.size(); ++k) {
    to[k]->rank = static_cast<int64_t>(shape.size());
    std::ranges::copy(shape, to[k]->shape);
    std::ranges::copy(strides[k], to[k]->strides);
  }
  return true;
}

bool are_multiples(const device::Axes& axes, int64_t n, int64_t without) {
  for (int64_t d = 0; d < axes.rank - without; ++d)
    if (axes.shape[d] > 1 && axes.strides[d] % n != 0) return false;
  return true;
}

}  // namespace mlx::core::gpu
