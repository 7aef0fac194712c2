// Ranges and random bits.
#include "mlx/ops/creation.h"

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/index.h"
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

class RandomBits final : public OpKernel {
 public:
  RandomBits(const Step& step, DeviceState& device) {
    const auto& a = attrs_as<RandomBitsAttrs>(step.attrs.get());
    const Layout &keys = step.operands[0], &out = step.operands[1];
    arguments_.count = num_elements(keys.shape) / 2;
    arguments_.bytes = num_elements(a.shape) * a.width;
    keys_offset_ = keys.offset * keys.dtype.size();
    out_offset_ = out.offset * out.dtype.size();
    kernel_.function = device.kernel(
        "random", "MLX_KERNEL(random_kernel, RandomArguments, p) { random_bytes(p); }\n",
        "random_kernel");
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    const int64_t words = arguments_.count * ((arguments_.bytes + 3) / 4);
    if (words == 0) return;
    ArgumentBlock<RandomArguments> block{.p = arguments_};
    block.p.keys = static_cast<int64_t>(operands[0]) + keys_offset_;
    block.p.out = static_cast<int64_t>(operands[1]) + out_offset_;
    kernel_.launch(to, blocks_for(words), block.all());
  }

 private:
  RandomArguments arguments_ = {};
  Kernel kernel_;
  int64_t keys_offset_, out_offset_;
};

bool find_arange(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
                 Requirements&) {
  return n_inputs == 0 && is_row_contiguous(operands[0].shape, operands[0].strides);
}
bool find_random(const Attrs*, std::span<const Layout> operands, int, const DeviceState&,
                 Requirements& needs) {
  needs.inputs = {Accepts::rows};
  return is_row_contiguous(operands[1].shape, operands[1].strides);
}
std::unique_ptr<const OpKernel> prepare_arange(const Step& step, DeviceState& device) {
  return std::make_unique<const Arange>(step, device);
}
std::unique_ptr<const OpKernel> prepare_random(const Step& step, DeviceState& device) {
  return std::make_unique<const RandomBits>(step, device);
}

constexpr KernelEntry kEntries[] = {{"arange", find_arange, prepare_arange},
                                    {"random_bits", find_random, prepare_random}};

}  // namespace

const std::span<const KernelEntry> creation_kernels = kEntries;

}  // namespace mlx::core::gpu
