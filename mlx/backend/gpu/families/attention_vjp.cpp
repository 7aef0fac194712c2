// The derivative of attention: in 16 bits by products of fragments or of warpgroups, else by lanes.
#include <algorithm>
#include <limits>
#include <optional>

#include "mlx/backend/gpu/families/attention_groups.h"
#include "mlx/backend/gpu/families/attention_lanes_vjp.h"
#include "mlx/backend/gpu/families/fused.h"

namespace mlx::core::gpu {

namespace {

using device::AttentionVjpArguments;

constexpr int64_t kMostVjpFeatures = 128;

Function vjp_kernel(const std::string& call, DeviceState& device) {
  return device.kernel(
      "attention_vjp",
      cat("MLX_IN_STEP_KERNEL(attention_kernel, AttentionVjpArguments, p) { ", call, "(p); }\n"),
      "attention_kernel");
}

class AttentionVjp final : public OpKernel {
 public:
  AttentionVjp(const Step& step, DeviceState& device)
      : n_inputs_(step.n_inputs), workspace_(step.workspace) {
    const auto& a = attrs_as<AttentionAttrs>(step.attrs.get());
    const Layout &q = step.operands[0], &k = step.operands[1], &v = step.operands[2];
    for (const Layout& l : step.operands) offsets_.push_back(l.offset * l.dtype.size());
    arguments_.forward = attention_arguments(step, a);
    mask_ = a.has_mask ? 3 : 0;
    sinks_ = a.has_sinks ? 3 + a.has_mask : 0;
    const bool vectors = has_aligned_rows(q) && has_aligned_rows(k) && has_aligned_rows(v) &&
                         has_aligned_rows(step.operands[n_inputs_ - 1]);
    const char* type = element_type(q.dtype);
    const int64_t f = ceil_div(q.shape[3], 16) * 16, w = ceil_div(v.shape[3], 16) * 16;
    const std::string types =
        cat("<", type, ", ", mask_ ? element_type(step.operands[3].dtype) : "void", ", ", f, ", ",
            w, ", ", std::max(f, w) <= 64 ? 64 : 32, ", ");
    if (has_groups_vjp(q, k, v, device)) groups_.emplace(step, a, device);
    queries_ = {types, "attention_vjp_queries", vectors, !groups_, device};
    keys_ = {types, "attention_vjp_keys", vectors, !groups_, device};
    const device::AttentionArguments& p = arguments_.forward;
    const int64_t groups = p.batches * p.key_heads;
    query_blocks_ =
        groups * ceil_div(p.key_heads ? p.heads / p.key_heads * p.queries : 0, kRowsOfBlock);
    key_blocks_ = groups * ceil_div(p.keys, kRowsOfBlock);
  }

  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    ArgumentBlock<AttentionVjpArguments> block{.p = arguments_};
    device::AttentionArguments& p = block.p.forward;
    p.q = address(0);
    p.k = address(1);
    p.v = address(2);
    if (mask_) p.mask = address(mask_);
    if (sinks_) p.sinks = address(sinks_);
    p.out = address(n_inputs_);
    block.p.given = address(n_inputs_ - 1);
    block.p.keys = address(n_inputs_ + 1);
    block.p.values = address(n_inputs_ + 2);
    block.p.rows = static_cast<int64_t>(operands[workspace_]);
    const bool aligned = has_tile_addresses({p.q, p.k, p.v, block.p.given});
    if (groups_ && aligned && has_tile_addresses({p.out, block.p.keys, block.p.values}))
      return groups_->launch(to, block.p);
    if (query_blocks_) queries_.launch(to, query_blocks_, block.all(), aligned);
    if (key_blocks_) keys_.launch(to, key_blocks_, block.all(), aligned);
  }

 private:
  /// A kernel, and the text of one for arrays that begin anywhere.
  struct Either {
    Kernel kernel;
    std::string other;
    Either() = default;
    /// `now`: whether one for aligned arrays is needed at all.
    Either(const std::string& types, const char* name, bool vectors, bool now, DeviceState& device)
        : other(cat(name, types, "false>")) {
      if (!now) return;
      kernel.function = gpu::vjp_kernel(vectors ? cat(name, types, "true>") : other, device);
      if (!vectors) other.clear();
    }
    void launch(const Enqueue& to, int64_t blocks, std::span<const int64_t> arguments,
                bool aligned) const {
      Kernel chosen = kernel;
      if (!kernel.function || (!aligned && !other.empty()))
        chosen.function = to.keep(gpu::vjp_kernel(other, to.device()));
      chosen.launch(to, std::min<int64_t>(blocks, 1 << 20), arguments);
    }
  };

  AttentionVjpArguments arguments_ = {};
  std::optional<AttentionGroupsVjp> groups_;
  Either queries_, keys_;
  SmallVector<int64_t, 8> offsets_;
  int n_inputs_, workspace_, mask_ = 0, sinks_ = 0;
  int64_t query_blocks_ = 0, key_blocks_ = 0;
};

/// Whether kernels by fragments serve operands.
bool has_fragments_vjp(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                       const DeviceState& device) {
  const Layout &q = operands[0], &k = operands[1], &v = operands[2];
  if (!device.hardware->fragments) return false;
  if (q.dtype != float16 && q.dtype != bfloat16) return false;
  if (std::max(q.shape[3], v.shape[3]) > kMostVjpFeatures || q.shape[3] == 0 || v.shape[3] == 0 ||
      k.shape[2] == 0 || k.shape[2] > std::numeric_limits<int>::max())
    return false;
  const auto& a = attrs_as<AttentionAttrs>(attrs);
  if (a.has_mask && operands[3].dtype != bool_ && operands[3].dtype != q.dtype) return false;
  for (size_t i = n_inputs; i < operands.size(); ++i)
    if (!is_row_contiguous(operands[i].shape, operands[i].strides)) return false;
  return true;
}
bool find_attention_vjp(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                        const DeviceState& device, Requirements& needs) {
  if (!has_fragments_vjp(attrs, operands, n_inputs, device))
    return find_lanes_vjp(operands, n_inputs, needs);
  const Layout &q = operands[0], &k = operands[1], &v = operands[2];
  const int64_t heads = q.shape[0] * q.shape[1];
  needs.workspace = static_cast<size_t>(heads * q.shape[2]) * 4 * sizeof(float);
  needs.inputs.resize(n_inputs, Accepts::any);
  if (has_groups_vjp(q, k, v, device)) {
    ask_for_tiles(operands, n_inputs, needs);
    needs.workspace = AttentionGroupsVjp::workspace(heads, q.shape[2]);
  }
  needs.inputs[n_inputs - 1] = Accepts::rows;
  return true;
}
std::unique_ptr<const OpKernel> prepare_attention_vjp(const Step& step, DeviceState& device) {
  if (!has_fragments_vjp(step.attrs.get(), found_operands(step), step.n_inputs, device))
    return prepare_lanes_vjp(step, device);
  return std::make_unique<const AttentionVjp>(step, device);
}

constexpr KernelEntry kAttentionVjpKernels[] = {
    {"scaled_dot_product_attention_vjp", find_attention_vjp, prepare_attention_vjp}};

}  // namespace

const std::span<const KernelEntry> attention_vjp_kernels = kAttentionVjpKernels;

}  // namespace mlx::core::gpu
