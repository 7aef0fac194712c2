// Concatenation: copies to the parts of the result, each an elementwise program.
#include "mlx/ops/concat.h"

#include "mlx/backend/cuda/fused.h"
#include "mlx/backend/cuda/kernel.h"

namespace mlx::core::cuda {

namespace {

/// The unsigned integer, or the complex dtype, of as many bytes: one kernel serves all of a size.
Dtype::Val bits_of(Dtype t) {
  switch (t.size()) {
    case 1:
      return Dtype::Val::uint8;
    case 2:
      return Dtype::Val::uint16;
    case 4:
      return Dtype::Val::uint32;
    case 8:
      return Dtype::Val::uint64;
    default:
      return Dtype::Val::complex128;
  }
}

/// Copies between operands of a step, in order.
class Copies final : public OpKernel {
 public:
  void add(int from, const Layout& in, int to, const Layout& out, DeviceState& device) {
    if (num_elements(in.shape) == 0) return;
    const Dtype::Val type = bits_of(in.dtype);
    Step step;
    step.program.inputs = {type};
    step.program.code = {{OpId::copy, type, type, 0, 0, 0}};
    step.program.outputs = {1};
    step.operands = {in, out};
    for (Layout& l : step.operands) l.dtype = Dtype(type);
    step.n_inputs = 1;
    copies_.push_back({from, to, std::make_unique<const FusedKernel>(step, device)});
  }
  void launch(StreamHandle stream, std::span<const uint64_t> operands) const override {
    for (const Copy& c : copies_) {
      const uint64_t both[] = {operands[c.from], operands[c.to]};
      c.kernel->launch(stream, both, nullptr);
    }
  }

 private:
  struct Copy {
    int from, to;
    std::unique_ptr<const FusedKernel> kernel;
  };
  std::vector<Copy> copies_;
};

bool find(const Attrs*, std::span<const Layout>, int, const DeviceState&, Requirements&) {
  return true;
}

std::unique_ptr<const OpKernel> prepare_concatenate(const Step& step, DeviceState& device) {
  auto copies = std::make_unique<Copies>();
  const int axis = attrs_as<ConcatenateAttrs>(step.attrs.get()).axis;
  Layout part = step.operands[step.n_inputs];
  for (int k = 0; k < step.n_inputs; ++k) {
    const Layout& in = step.operands[k];
    part.shape = in.shape;
    copies->add(k, in, step.n_inputs, part, device);
    part.offset += in.shape[axis] * part.strides[axis];
  }
  return copies;
}

constexpr KernelEntry kEntries[] = {{"concatenate", find, prepare_concatenate}};

}  // namespace

const std::span<const KernelEntry> concat_kernels = kEntries;

}  // namespace mlx::core::cuda
