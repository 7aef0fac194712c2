// Kernels that programs bring as source: their arguments are buffers.
#include "mlx/backend/metal/custom.h"

#include <cstring>

#include "mlx/backend/gpu/families/fill.h"
#include "mlx/backend/metal/hardware.h"
#include "mlx/core/error.h"
#include "mlx/ops/custom_kernel.h"

namespace mlx::core::metal {

namespace {

using gpu::Enqueue, gpu::Fill;

class CustomKernel final : public gpu::OpKernel {
 public:
  CustomKernel(const Step& step, gpu::DeviceState& device) {
    const auto& a = attrs_as<KernelAttrs>(step.attrs.get());
    function_ = device.kernels->find(a.code, a.entry.c_str());
    for (int d = 0; d < 3; ++d) {
      grid_.threads[d] = static_cast<unsigned long>(a.grid[d]);
      grid_.group[d] = static_cast<unsigned long>(a.group[d]);
    }
    const unsigned long threads = grid_.group[0] * grid_.group[1] * grid_.group[2],
                        most = MetalHardware::most_threads(function_.handle);
    if (threads > most)
      fail<ValueError>("metal_kernel", "the kernel '", a.name, "' with a threadgroup ",
                       to_string(a.group), "; at most ", most, " threads are accepted");
    for (int k = 0; k < step.outputs_end(); ++k) {
      const Layout& l = step.operands[k];
      arguments_.push_back({k, l.offset * l.dtype.size(), num_elements(l.shape) == 0, {}});
      if (k < step.n_inputs)
        add_layout(l, a.follows[k]);
      else if (!a.fill.empty())
        fills_.emplace_back(l, k, a.fill[0], device);
    }
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    for (const Fill& f : fills_) f.launch(to, operands);
    static constexpr std::byte kNothing[16] = {};
    std::vector<MetalHardware::Argument> arguments;
    for (const Argument& a : arguments_) {
      if (a.operand < 0)
        arguments.push_back({0, a.bytes});
      else if (a.empty)  // an array without elements may have no memory
        arguments.push_back({0, kNothing});
      else
        arguments.push_back({operands[a.operand] + static_cast<uint64_t>(a.offset), {}});
    }
    static_cast<MetalHardware&>(*to.device().hardware)
        .run(function_.handle, grid_, arguments, to.stream());
  }

 private:
  /// An operand of the step, or the bytes of a shape, of strides, of a number of axes.
  struct Argument {
    int operand;
    int64_t offset;
    bool empty;
    std::vector<std::byte> bytes;
  };

  template <class T>
  void add_bytes(std::span<const T> values) {
    std::vector<std::byte> bytes(values.size_bytes());
    std::memcpy(bytes.data(), values.data(), bytes.size());
    arguments_.push_back({-1, 0, false, std::move(bytes)});
  }
  void add_layout(const Layout& l, int64_t follows) {
    const auto rank = static_cast<int>(l.shape.size());
    std::vector<int> shape(l.shape.begin(), l.shape.end());
    std::vector<int64_t> strides(l.strides.begin(), l.strides.end());
    if (rank == 0) {  // a buffer has at least one element
      shape.push_back(1);
      strides.push_back(0);
    }
    if (follows & 1) add_bytes(std::span<const int>(shape));
    if (follows & 2) add_bytes(std::span<const int64_t>(strides));
    if (follows & 4) add_bytes(std::span<const int>(&rank, 1));
  }

  gpu::Function function_;
  MetalHardware::Grid grid_ = {};
  std::vector<Argument> arguments_;
  std::vector<Fill> fills_;
};

}  // namespace

void ask_for_custom(const Attrs* attrs, int n_inputs, Requirements& needs) {
  if (attrs_as<KernelAttrs>(attrs).rows)
    for (int k = 0; k < n_inputs; ++k) needs.inputs.push_back(Accepts::rows);
}
std::unique_ptr<const gpu::OpKernel> prepare_custom(const Step& step, gpu::DeviceState& device) {
  return std::make_unique<const CustomKernel>(step, device);
}

}  // namespace mlx::core::metal
