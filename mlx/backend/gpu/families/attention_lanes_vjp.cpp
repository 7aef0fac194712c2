// Launches of the derivative of attention by lanes.
#include "mlx/backend/gpu/families/attention_lanes_vjp.h"

#include <algorithm>

namespace mlx::core::gpu {

namespace {

using device::AttentionVjpArguments;

class AttentionLanesVjp final : public StepKernel<AttentionVjpArguments> {
 public:
  AttentionLanesVjp(const Step& step, DeviceState& device) : StepKernel(step) {
    const auto& a = attrs_as<AttentionAttrs>(step.attrs.get());
    device::AttentionArguments& f = p.forward;
    bind_attention(*this, f, step, a);
    bind(p.given, step.n_inputs - 1);
    bind(p.keys, step.n_inputs + 1);
    bind(p.values, step.n_inputs + 2);
    bind(p.rows, step.workspace);
    const Dtype type = step.operands[0].dtype, mask = step.operands[a.has_mask ? 3 : 0].dtype;
    auto width_of = [](int64_t columns) { return int64_t{columns <= 64 ? 64 : 128}; };
    const int64_t queries = f.heads / f.key_heads * f.queries, groups = f.batches * f.key_heads;
    const int64_t query_rows = rows_of_lanes(queries, device), query_width = width_of(f.features);
    kernel = kernels::attention_lanes_queries(device, type, mask, query_rows, query_width);
    blocks =
        blocks_of(groups * ceil_div(queries, 16 * query_rows) * ceil_div(f.features, query_width));
    const int64_t key_rows = rows_of_lanes(f.keys, device),
                  key_width = width_of(std::max(f.features, f.width));
    keys_ = kernels::attention_lanes_keys(device, type, mask, key_rows, key_width);
    key_blocks_ = blocks_of(groups * ceil_div(f.keys, 16 * key_rows) *
                            (ceil_div(f.features, key_width) + ceil_div(f.width, key_width)));
  }

 private:
  void run(const Enqueue& to, AttentionVjpArguments& bound,
           std::span<const uint64_t>) const override {
    kernel.launch(to, blocks, bound);
    keys_.launch(to, key_blocks_, bound);
  }

  KernelOn<AttentionVjpArguments> keys_;
  int64_t key_blocks_ = 0;
};

}  // namespace

bool find_lanes_vjp(std::span<const Layout> operands, int n_inputs, Requirements& needs) {
  for (int k = 0; k < n_inputs; ++k)
    if (!narrow_or_float32(operands[k].dtype) && !(k == 3 && operands[k].dtype == bool_))
      return false;
  const Layout &q = operands[0], &k = operands[1], &v = operands[2];
  // Without these the cotangents are zero, or there are none.
  for (int64_t n : {q.shape[0], q.shape[1], q.shape[2], q.shape[3], k.shape[2], v.shape[3]})
    if (n == 0) return false;
  needs.workspace = static_cast<size_t>(q.shape[0] * q.shape[1] * q.shape[2]) * 4 * sizeof(float);
  needs.inputs.resize(n_inputs, Accepts::any);
  needs.inputs[n_inputs - 1] = Accepts::rows;
  return std::ranges::all_of(operands.subspan(n_inputs), is_rows);
}

std::unique_ptr<const OpKernel> prepare_lanes_vjp(const Step& step, DeviceState& device) {
  return prepare_as<AttentionLanesVjp>(step, device);
}

}  // namespace mlx::core::gpu
