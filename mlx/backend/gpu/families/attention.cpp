// Attention and rotary position embedding.
#include <algorithm>
#include <cmath>

#include "mlx/backend/gpu/families/attention_few.h"
#include "mlx/backend/gpu/families/attention_tiles.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/index.h"
#include "mlx/ops/rope.h"

namespace mlx::core::gpu {

namespace {

using device::AttentionArguments;
using device::RopeArguments;

Function kernel(const std::string& text, DeviceState& device) {
  return device.kernel("attention", text, "attention_kernel");
}
Function tiles_kernel(const char* file, const std::string& text, DeviceState& device) {
  return device.kernel(file, text, "attention_kernel");
}

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

class Attention final : public OpKernel {
 public:
  Attention(const Step& step, DeviceState& device)
      : n_inputs_(step.n_inputs), workspace_(step.workspace) {
    const auto& a = attrs_as<AttentionAttrs>(step.attrs.get());
    const Layout &q = step.operands[0], &k = step.operands[1], &v = step.operands[2];
    for (const Layout& l : step.operands) offsets_.push_back(l.offset * l.dtype.size());
    AttentionArguments& p = arguments_ = attention_arguments(step, a);
    mask_ = a.has_mask ? 3 : 0;
    sinks_ = a.has_sinks ? 3 + a.has_mask : 0;
    AttentionTiles tiles = attention_tiles(step, a);
    if (tiles.blocks) {
      kernel_.function = tiles_kernel(file_ = tiles.file, tiles.text, device);
      blocks_ = std::min<int64_t>(tiles.blocks, 1 << 20);
      if (tiles.unaligned != tiles.text) unaligned_ = std::move(tiles.unaligned);
      return;
    }
    const int64_t width = p.width <= 64 ? 64 : p.width <= 128 ? 128 : 256;
    // Few rows leave the others of a block idle.
    const int64_t rows = p.heads / p.key_heads * p.queries, each = rows <= kFewRows ? 1 : 4;
    const char* type = element_type(q.dtype);
    const KeyParts parts = parts_of_keys(q, k, v);
    p.splits = parts.count;
    p.split = parts.length;
    if (p.splits > 1)
      parts_.function =
          kernel(cat("MLX_KERNEL(attention_kernel, AttentionArguments, p) { attention_parts<", type,
                     ">(p); }\n"),
                 device);
    kernel_.function =
        kernel(cat("MLX_IN_STEP_KERNEL(attention_kernel, AttentionArguments, p) { attention<", type,
                   ", ", mask_ ? element_type(step.operands[3].dtype) : type, ", ", each, ", ",
                   width, ">(p); }\n"),
               device);
    if (num_elements(step.operands[n_inputs_].shape) == 0) return;
    const int64_t of_block = 16 * each;
    blocks_ = std::min<int64_t>(p.batches * p.key_heads * ((rows + of_block - 1) / of_block) *
                                    ((p.width + width - 1) / width) * p.splits,
                                1 << 20);
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (blocks_ == 0) return;
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    ArgumentBlock<AttentionArguments> block{.p = arguments_};
    block.p.q = address(0);
    block.p.k = address(1);
    block.p.v = address(2);
    if (mask_) block.p.mask = address(mask_);
    if (sinks_) block.p.sinks = address(sinks_);
    block.p.out = address(n_inputs_);
    if (parts_.function) block.p.partials = static_cast<int64_t>(operands[workspace_]);
    const AttentionArguments& p = block.p;
    Kernel chosen = kernel_;
    // Arrays of other libraries begin where they like.
    if (!unaligned_.empty() && ((p.q | p.k | p.v) % 16 != 0 || p.out % 4 != 0))
      chosen.function = to.keep(tiles_kernel(file_, unaligned_, to.device()));
    chosen.launch(to, blocks_, block.all());
    if (parts_.function)
      parts_.launch(to, blocks_for(p.batches * p.heads * p.queries * p.width), block.all());
  }

 private:
  AttentionArguments arguments_ = {};
  Kernel kernel_, parts_;
  const char* file_ = "";
  std::string unaligned_;  ///< the text of a kernel for addresses that no vector has; or empty
  SmallVector<int64_t, 8> offsets_;
  int n_inputs_, workspace_, mask_ = 0, sinks_ = 0;
  int64_t blocks_ = 0;
};

class Rope final : public OpKernel {
 public:
  Rope(const Step& step, DeviceState& device) : n_inputs_(step.n_inputs) {
    const auto& a = attrs_as<RopeAttrs>(step.attrs.get());
    const Layout& x = step.operands[0];
    for (const Layout& l : step.operands) offsets_.push_back(l.offset * l.dtype.size());
    RopeArguments& p = arguments_;
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
    freqs_ = a.has_freqs ? 2 : 0;
    p.double_freqs = freqs_ && step.operands[2].dtype == float64;
    kernel_.function = kernel(cat("MLX_KERNEL(attention_kernel, RopeArguments, p) { rope<",
                                  element_type(x.dtype), ">(p); }\n"),
                              device);
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    const int64_t count = arguments_.rows * (arguments_.width - arguments_.half);
    if (count == 0) return;
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    ArgumentBlock<RopeArguments> block{.p = arguments_};
    block.p.in = address(0);
    block.p.offset = address(1);
    if (freqs_) block.p.freqs = address(freqs_);
    block.p.out = address(n_inputs_);
    kernel_.launch(to, blocks_for(count), block.all());
  }

 private:
  RopeArguments arguments_ = {};
  Kernel kernel_;
  SmallVector<int64_t, 8> offsets_;
  int n_inputs_, freqs_ = 0;
};

bool narrow_or_float32(Dtype t) { return t == float16 || t == bfloat16 || t == float32; }

bool find_attention(const Attrs*, std::span<const Layout> operands, int n_inputs,
                    const DeviceState&, Requirements& needs) {
  for (int k = 0; k < n_inputs; ++k)
    if (!narrow_or_float32(operands[k].dtype) && !(k == 3 && operands[k].dtype == bool_))
      return false;
  const Layout& out = operands[n_inputs];
  const Layout &q = operands[0], &k = operands[1], &v = operands[2];
  needs.workspace =
      has_few_queries(q, k, v) ? few_queries_workspace(q, k, v) : parts_of_keys(q, k, v).bytes;
  return is_row_contiguous(out.shape, out.strides);
}
bool find_rope(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
               Requirements& needs) {
  const Layout& out = operands[n_inputs];
  for (int k = 0; k < n_inputs; ++k) needs.inputs.push_back(Accepts::rows);
  needs.in_place = 1;
  return operands[1].dtype == int32 && is_row_contiguous(out.shape, out.strides);
}
std::unique_ptr<const OpKernel> prepare_attention(const Step& step, DeviceState& device) {
  const Layout &q = step.operands[0], &k = step.operands[1], &v = step.operands[2];
  if (has_few_queries(q, k, v)) return prepare_few_queries(step, device);
  return std::make_unique<const Attention>(step, device);
}
std::unique_ptr<const OpKernel> prepare_rope(const Step& step, DeviceState& device) {
  return std::make_unique<const Rope>(step, device);
}

constexpr KernelEntry kEntries[] = {
    {"scaled_dot_product_attention", find_attention, prepare_attention},
    {"rope", find_rope, prepare_rope}};

}  // namespace

const std::span<const KernelEntry> attention_kernels = kEntries;

}  // namespace mlx::core::gpu
