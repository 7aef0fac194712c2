// Attention and rotary position embedding.
#include <algorithm>
#include <cmath>
#include <optional>

#include "mlx/backend/gpu/families/attention_few.h"
#include "mlx/backend/gpu/families/attention_groups.h"
#include "mlx/ops/rope.h"

namespace mlx::core::gpu {

namespace {

using device::AttentionArguments;
using device::RopeArguments;

/// Parts of the keys, by shapes alone: a few queries of a head leave a device idle.
struct KeyParts {
  int64_t count = 1, length;
  size_t bytes = 0;  ///< of what they give
};
KeyParts parts_of_keys(const Layout& q, const Layout& k, const Layout& v) {
  constexpr int64_t kLength = 256;
  const int64_t keys = k.shape[2], rows = k.shape[1] ? q.shape[1] / k.shape[1] * q.shape[2] : 0;
  if (rows > kFewRows || keys <= kLength) return {.length = std::max<int64_t>(keys, 1)};
  KeyParts parts{.count = (keys + kLength - 1) / kLength, .length = kLength};
  const int64_t floats = num_elements(q.shape) / std::max<int64_t>(q.shape[3], 1) * parts.count;
  parts.bytes = static_cast<size_t>(floats * (v.shape[3] + 2)) * sizeof(float);
  return parts;
}

class Attention final : public AttentionStep {
 public:
  Attention(const Step& step, DeviceState& device)
      : AttentionStep(step, attrs_as<AttentionAttrs>(step.attrs.get())) {
    const auto& a = attrs_as<AttentionAttrs>(step.attrs.get());
    const Layout &q = step.operands[0], &k = step.operands[1], &v = step.operands[2];
    AttentionTiles tiles = device.hardware->fragments ? attention_tiles(step, a) : AttentionTiles{};
    if (tiles.blocks && has_groups(q, k, v, device)) {
      groups_.emplace(step, a, device);
      file_ = tiles.file;
      unaligned_ = std::move(tiles.unaligned);
      blocks = blocks_of(tiles.blocks);
      return;
    }
    if (tiles.blocks) {
      kernel = KernelOn<AttentionArguments>(device.kernel(file_ = tiles.file, tiles.text, kName));
      blocks = blocks_of(tiles.blocks);
      if (tiles.unaligned != tiles.text) unaligned_ = std::move(tiles.unaligned);
      return;
    }
    const int64_t width = p.width <= 64 ? 64 : p.width <= 128 ? 128 : 256;
    const int64_t rows = p.heads / p.key_heads * p.queries, each = rows_of_lanes(rows, device);
    const KeyParts parts = parts_of_keys(q, k, v);
    p.splits = parts.count;
    p.split = parts.length;
    if (p.splits > 1) {
      bind(p.partials, step.workspace);
      parts_ = kernels::attention_parts(device, q.dtype);
    }
    kernel =
        kernels::attention(device, q.dtype, step.operands[a.has_mask ? 3 : 0].dtype, each, width);
    if (num_elements(step.operands[step.n_inputs].shape) > 0)
      blocks = blocks_of(p.batches * p.key_heads * ceil_div(rows, 16 * each) *
                         ceil_div(p.width, width) * p.splits);
  }

 private:
  static constexpr const char* kName = "attention_kernel";
  void run(const Enqueue& to, AttentionArguments& bound, std::span<const uint64_t>) const override {
    if (groups_ && has_tile_addresses({bound.q, bound.k, bound.v, bound.out}))
      return groups_->launch(to, bound);
    KernelOn<AttentionArguments> chosen = kernel;
    // Arrays of other libraries begin where they like.
    if (!unaligned_.empty() &&
        (groups_ || !has_tile_addresses({bound.q, bound.k, bound.v}) || bound.out % 4 != 0))
      chosen = KernelOn<AttentionArguments>(to.keep(to.device().kernel(file_, unaligned_, kName)));
    chosen.launch(to, blocks, bound);
    if (blocks && parts_)
      parts_.launch(to, blocks_for(p.batches * p.heads * p.queries * p.width), bound);
  }

  std::optional<AttentionGroups> groups_;
  KernelOn<AttentionArguments> parts_;
  const char* file_ = "";
  std::string unaligned_;  ///< the text of a kernel for addresses that no vector has; or empty
};

std::unique_ptr<const OpKernel> prepare_rope(const Step& step, DeviceState& device) {
  const auto& a = attrs_as<RopeAttrs>(step.attrs.get());
  const Layout& x = step.operands[0];
  auto rope = std::make_unique<StepKernel<RopeArguments>>(step);
  RopeArguments& p = rope->p;
  p.width = x.shape.back();
  p.rows = p.width ? num_elements(x.shape) / p.width : 0;
  p.half = a.dims / 2;
  p.positions = x.shape[x.shape.size() - 2];
  p.per_batch = x.shape[0] ? p.rows / x.shape[0] : 0;
  p.batches = num_elements(step.operands[1].shape);
  p.traditional = a.traditional;
  p.log_base = a.has_freqs ? 0 : std::log(a.base);
  p.scale = a.scale;
  p.sign = a.inverse ? -1 : 1;
  p.double_freqs = a.has_freqs && step.operands[2].dtype == float64;
  rope->bind(p.in, 0);
  rope->bind(p.offset, 1);
  rope->bind(p.freqs, a.has_freqs ? 2 : -1);
  rope->bind(p.out, step.n_inputs);
  rope->kernel = kernels::rope(device, x.dtype);
  rope->blocks = blocks_for(p.rows * (p.width - p.half));
  return rope;
}

bool find_attention(const Attrs*, std::span<const Layout> operands, int n_inputs,
                    const DeviceState& device, Requirements& needs) {
  for (int k = 0; k < n_inputs; ++k)
    if (!narrow_or_float32(operands[k].dtype) && !(k == 3 && operands[k].dtype == bool_))
      return false;
  const Layout &q = operands[0], &k = operands[1], &v = operands[2];
  const bool few = device.hardware->fragments && has_few_queries(q, k, v);
  needs.workspace = few ? few_queries_workspace(q, k, v) : parts_of_keys(q, k, v).bytes;
  if (!few && has_groups(q, k, v, device)) ask_for_tiles(operands, n_inputs, needs);
  return is_rows(operands[n_inputs]);
}
bool find_rope(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
               Requirements& needs) {
  needs.in_place = 1;
  return all_in_rows(operands, n_inputs, needs) && operands[1].dtype == int32;
}
std::unique_ptr<const OpKernel> prepare_attention(const Step& step, DeviceState& device) {
  const Layout &q = step.operands[0], &k = step.operands[1], &v = step.operands[2];
  if (device.hardware->fragments && has_few_queries(q, k, v))
    return prepare_few_queries(step, device);
  return prepare_as<Attention>(step, device);
}

constexpr KernelEntry kAttentionKernels[] = {
    {"scaled_dot_product_attention", find_attention, prepare_attention},
    {"rope", find_rope, prepare_rope}};

}  // namespace

const std::span<const KernelEntry> attention_kernels = kAttentionKernels;

}  // namespace mlx::core::gpu
