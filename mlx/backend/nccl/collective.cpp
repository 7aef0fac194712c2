// Collectives on arrays of the GPU: requests go to the group's channel with addresses and a stream.
#include "mlx/ops/collective.h"

#include "mlx/backend/cuda/hardware.h"
#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/nccl/nccl.h"
#include "mlx/core/lines.h"

namespace mlx::core::cuda {

namespace {

const CollectiveAttrs& request_of(const Attrs* a) {
  return static_cast<const CollectiveAttrs&>(*a);
}

bool is_on_device(const CollectiveAttrs& a, Dtype dtype) {
  return a.channel && a.channel->runs_on_device(a.kind, dtype);
}

class CollectiveKernel final : public gpu::OpKernel {
 public:
  explicit CollectiveKernel(const Step& step)
      : kept_(step.attrs), attrs_(request_of(step.attrs.get())) {
    const Layout &in = step.operands[0], &out = step.operands[step.n_inputs];
    dtype_ = in.dtype;
    count_ = num_elements(in.shape);
    in_ = in.offset * dtype_.size();
    out_at_ = step.n_inputs;
    out_ = out.offset * dtype_.size();
  }
  void launch(const gpu::Enqueue& to, std::span<const uint64_t> operands) const override {
    const Ticket ticket{to.constants->as<uint64_t>()};
    const std::string& line = text_of_line(ticket.line());
    attrs_.channel->start(
        {.kind = attrs_.kind,
         .dtype = dtype_,
         .count = count_,
         .peer = attrs_.peer,
         .index = ticket.index(),
         .line = line},
        {operands[0] + static_cast<uint64_t>(in_),
         operands[static_cast<size_t>(out_at_)] + static_cast<uint64_t>(out_), to.stream()});
    // The end of the launch is asked for an error.
    reinterpret_cast<device::ErrorRecord*>(to.record())->set = 1;
  }
  bool checks() const override { return true; }
  void raise(const device::ErrorRecord&) const override { attrs_.channel->check_started(); }
  bool communicates() const override { return true; }
  void ended(bool well) const noexcept override { attrs_.channel->end(well); }

 private:
  const Ref<const Attrs> kept_;
  const CollectiveAttrs& attrs_;
  Dtype dtype_ = float32;
  int64_t count_, in_, out_;
  int out_at_;
};

bool find_collective(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                     const DeviceState&, Requirements& needs) {
  const auto& a = request_of(attrs);
  if (!is_on_device(a, operands[static_cast<size_t>(n_inputs)].dtype)) return false;
  needs.inputs = {Accepts::rows, Accepts::any};
  // Of equal sizes.
  const bool same = a.kind != Collective::all_gather && a.kind != Collective::sum_scatter &&
                    a.kind != Collective::all_to_all;
  needs.in_place = same ? 1 : 0;
  return true;
}
std::unique_ptr<const gpu::OpKernel> prepare_collective(const Step& step, DeviceState&) {
  const auto& a = request_of(step.attrs.get());
  if (!is_on_device(a, step.operands[static_cast<size_t>(step.n_inputs)].dtype)) return nullptr;
  return std::make_unique<const CollectiveKernel>(step);
}

constexpr gpu::KernelEntry entry(const char* op) {
  return {op, find_collective, prepare_collective};
}
constexpr gpu::KernelEntry kCollectiveKernels[] = {
    entry("all_sum"),     entry("all_max"),   entry("all_min"),   entry("all_gather"),
    entry("sum_scatter"), entry("broadcast"), entry("all_to_all")};

}  // namespace

const std::span<const gpu::KernelEntry> collective_kernels = kCollectiveKernels;

}  // namespace mlx::core::cuda
