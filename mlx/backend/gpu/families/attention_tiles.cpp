// Kernels of attention of many queries by matrix units: which steps they serve, and their texts.
#include "mlx/backend/gpu/families/attention_tiles.h"

#include <algorithm>
#include <limits>

namespace mlx::core::gpu {

namespace {

constexpr int64_t kMostTileFeatures = 256, kMostFloats = 128;

/// The kernel of float32 that is used as it is. It reads any layout.
AttentionTiles by_fma(const Step& step, bool has_mask, int64_t blocks) {
  const int64_t width = step.operands[2].shape[3];
  const char* mask = has_mask ? element_type(step.operands[3].dtype) : "float";
  const std::string text =
      cat("MLX_RESIDENT_KERNEL(attention_kernel, AttentionArguments, p, ", width <= 64 ? 2 : 1,
          ") { attention_floats<", mask, ", ", width <= 64 ? 64 : 128, ">(p); }\n");
  return {.blocks = blocks, .file = "attention_floats", .text = text, .unaligned = text};
}

}  // namespace

bool has_aligned_rows(const Layout& l) {
  const int64_t vector = 16 / l.dtype.size();  // elements
  bool aligned =
      l.shape[3] % vector == 0 && (l.strides[3] == 1 || l.shape[3] <= 1) && l.offset % vector == 0;
  for (int axis = 0; axis < 3; ++axis)
    aligned = aligned && (l.shape[axis] <= 1 || l.strides[axis] % vector == 0);
  return aligned;
}

int64_t rows_of_lanes(int64_t rows, const DeviceState& device) {
  constexpr int64_t kMemoryOfFour = 43 << 10;  // bytes that a block shares where lanes have four
  if (rows <= kFewRows) return 1;
  return device.hardware->kernel_memory < kMemoryOfFour ? 2 : 4;
}

device::AttentionArguments attention_arguments(const Step& step, const AttentionAttrs& attrs) {
  const Layout &q = step.operands[0], &k = step.operands[1], &v = step.operands[2];
  device::AttentionArguments p = {};
  p.batches = q.shape[0];
  p.heads = q.shape[1];
  p.key_heads = k.shape[1];
  p.queries = q.shape[2];
  p.keys = k.shape[2];
  p.features = q.shape[3];
  p.width = v.shape[3];
  p.causal = attrs.causal;
  p.scale = attrs.scale;
  std::ranges::copy(q.strides, p.q_stride);
  std::ranges::copy(k.strides, p.k_stride);
  std::ranges::copy(v.strides, p.v_stride);
  if (attrs.has_mask) std::ranges::copy(step.operands[3].strides, p.mask_stride);
  if (attrs.has_sinks) p.sink_stride = step.operands[3 + attrs.has_mask].strides[0];
  return p;
}

AttentionStep::AttentionStep(const Step& step, const AttentionAttrs& attrs) : StepKernel(step) {
  bind_attention(*this, p, step, attrs);
}

AttentionTiles attention_tiles(const Step& step, const AttentionAttrs& attrs) {
  const Layout &q = step.operands[0], &k = step.operands[1], &v = step.operands[2];
  const int64_t heads = k.shape[1], rows = heads ? q.shape[1] / heads * q.shape[2] : 0;
  const int64_t features = q.shape[3], width = v.shape[3];
  const bool floats = q.dtype == float32;
  if (rows <= kFewRows || features == 0 || width == 0 ||
      k.shape[2] > std::numeric_limits<int>::max())
    return {};
  const int64_t blocks = q.shape[0] * heads * ceil_div(rows, kRowsOfBlock);
  if (floats && attrs.precision == Precision::highest)
    return width <= kMostFloats ? by_fma(step, attrs.has_mask, blocks) : AttentionTiles();
  if (std::max(features, width) > (floats ? kMostFloats : kMostTileFeatures)) return {};
  const int64_t f = ceil_div(features, 16) * 16, w = ceil_div(width, 16) * 16;
  const int64_t most = std::max(f, w);
  // Keys at once, which shared memory bounds.
  const int at_once = most <= (floats ? 64 : 128) ? 64 : 32, resident = most <= 64 ? 2 : 1;
  const char* mask = attrs.has_mask ? element_type(step.operands[3].dtype) : "void";
  const std::string call =
      floats ? "attention_tf32<" : cat("attention_tiles<", element_type(q.dtype), ", ");
  auto text = [&](const char* vectors) {
    return cat("MLX_RESIDENT_KERNEL(attention_kernel, AttentionArguments, p, ", resident, ") { ",
               call, mask, ", ", f, ", ", w, ", ", at_once, ", ", vectors, ">(p); }\n");
  };
  AttentionTiles tiles;
  tiles.blocks = blocks;
  tiles.file = floats ? "attention_tf32" : "attention_tiles";
  tiles.unaligned = text("false");
  tiles.text = has_aligned_rows(q) && has_aligned_rows(k) && has_aligned_rows(v) ? text("true")
                                                                                 : tiles.unaligned;
  return tiles;
}

}  // namespace mlx::core::gpu
