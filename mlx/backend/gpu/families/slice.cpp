// Concatenation and writes to slices: copies to parts of the result.
#include "mlx/ops/slice.h"

#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/ops/concat.h"

namespace mlx::core::gpu {

namespace {

class Concatenate final : public OpKernel {
 public:
  Concatenate(const Step& step, DeviceState& device) {
    const int axis = attrs_as<ConcatenateAttrs>(step.attrs.get()).axis;
    Layout part = step.operands[step.n_inputs];
    for (int k = 0; k < step.n_inputs; ++k) {
      const Layout& in = step.operands[k];
      part.shape = in.shape;
      copies_.add(k, in, step.n_inputs, part, device);
      part.offset += in.shape[axis] * part.strides[axis];
    }
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    copies_.launch(to, operands);
  }

 private:
  Copies copies_;
};

bool find_concatenate(const Attrs*, std::span<const Layout>, int, const DeviceState&,
                      Requirements&) {
  return true;
}
/// The whole, unless the result is in its memory; then the part.
class SliceUpdate final : public OpKernel {
 public:
  SliceUpdate(const Step& step, DeviceState& device) {
    const Layout &whole = step.operands[0], &update = step.operands[1], &out = step.operands[2];
    const auto& a = attrs_as<SliceAttrs>(step.attrs.get());
    const SliceRange range = slice_range("slice_update", out.shape, a);
    Layout part = out;
    part.shape = range.length;
    for (size_t d = 0; d < part.shape.size(); ++d) {
      if (num_elements(part.shape) > 0) part.offset += range.start[d] * out.strides[d];
      part.strides[d] *= a.strides[d];
    }
    copies_.add(0, whole, 2, out, device);
    copies_.add(1, update, 2, part, device);
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    copies_.launch(to, operands);
  }

 private:
  Copies copies_;
};

bool find_update(const Attrs*, std::span<const Layout> operands, int, const DeviceState&,
                 Requirements& needs) {
  needs.in_place = 1;
  return true;
}
constexpr KernelEntry kSliceKernels[] = {{"concatenate", find_concatenate, prepare_as<Concatenate>},
                                         {"slice_update", find_update, prepare_as<SliceUpdate>}};

}  // namespace

const std::span<const KernelEntry> slice_kernels = kSliceKernels;

}  // namespace mlx::core::gpu
