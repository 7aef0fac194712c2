// Ranges and random bits.
#include "mlx/ops/creation.h"

#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/ops/random.h"

namespace mlx::core::gpu {

namespace {

using device::RandomArguments;

/// A range is a program that reads where an element is.
class Arange final : public OpKernel {
 public:
  Arange(const Step& step, DeviceState& device) : kernel_(program(step), device) {}
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    kernel_.launch(to, operands, nullptr);
  }

 private:
  static Step program(const Step& step) {
    const auto& a = attrs_as<ArangeAttrs>(step.attrs.get());
    const Layout& out = step.operands[0];
    const Dtype::Val computed = is_inexact(out.dtype) ? Dtype::Val::float64 : Dtype::Val::int64;
    Step s;
    s.program.numberings.push_back({{1}, a.size, a.start, a.step, a.int_start, a.int_step});
    s.program.code = {{OpId::position, computed, out.dtype.val(), 0, 0, 0}};
    s.program.outputs = {0};
    s.operands = {out};
    return s;
  }
  FusedKernel kernel_;
};

std::unique_ptr<const OpKernel> prepare_random(const Step& step, DeviceState& device) {
  const auto& a = attrs_as<RandomBitsAttrs>(step.attrs.get());
  auto random = std::make_unique<StepKernel<RandomArguments>>(step);
  RandomArguments& p = random->p;
  p.count = num_elements(step.operands[0].shape) / 2;
  p.bytes = num_elements(a.shape) * a.width;
  random->bind(p.keys, 0);
  random->bind(p.out, 1);
  random->kernel = kernels::random_bytes(device);
  random->blocks = blocks_for(p.count * ((p.bytes + 3) / 4));
  return random;
}

bool find_arange(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
                 Requirements&) {
  return n_inputs == 0 && is_rows(operands[0]);
}
bool find_random(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
                 Requirements& needs) {
  return all_in_rows(operands, n_inputs, needs);
}

constexpr KernelEntry kCreationKernels[] = {{"arange", find_arange, prepare_as<Arange>},
                                            {"random_bits", find_random, prepare_random}};

}  // namespace

const std::span<const KernelEntry> creation_kernels = kCreationKernels;

}  // namespace mlx::core::gpu
