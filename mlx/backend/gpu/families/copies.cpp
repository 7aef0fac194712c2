// Programs of copies, compiled and enqueued.
#include "mlx/backend/gpu/families/copies.h"

namespace mlx::core::gpu {

Dtype bits_of(Dtype t) {
  switch (t.size()) {
    case 1:
      return uint8;
    case 2:
      return uint16;
    case 4:
      return uint32;
    case 8:
      return uint64;
    default:
      return complex128;
  }
}

void Copies::add(int from, const Layout& in, int to, const Layout& out, DeviceState& device) {
  if (num_elements(in.shape) == 0) return;
  const Dtype type = bits_of(in.dtype);
  Step step;
  step.program.inputs = {type.val()};
  step.program.code = {{OpId::copy, type.val(), type.val(), 0, 0, 0}};
  step.program.outputs = {1};
  step.operands = {in, out};
  for (Layout& l : step.operands) l.dtype = type;
  step.n_inputs = 1;
  const int64_t size = type.size();
  copies_.push_back({from, to, in.offset * size, out.offset * size, in.strides == out.strides,
                     std::make_unique<const FusedKernel>(step, device)});
}

void Copies::launch(const Enqueue& to, std::span<const uint64_t> operands) const {
  for (const Copy& c : copies_) {
    const uint64_t both[] = {operands[c.from], operands[c.to]};
    if (c.alike && both[0] + c.from_offset == both[1] + c.to_offset) continue;
    c.kernel->launch(to, both, nullptr);
  }
}

}  // namespace mlx::core::gpu
