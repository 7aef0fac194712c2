#include "mlx/backend/gpu/families/attention_tiles.h"

#include <algorithm>
#include <limits>

namespace mlx::core::gpu {

namespace {

constexpr int64_t kFewRows = 16;  // which other kernels serve, with the keys split
constexpr int64_t kMostFeatures = 256;
constexpr int64_t kRowsOfBlock = 128;  // where a warp has one fragment of rows

/// Whether rows of features begin at multiples of 16 bytes, seen from the operand's start.
bool has_aligned_rows(const Layout& l) {
  constexpr int64_t kVector = 8;  // elements
  bool aligned = l.shape[3] % kVector == 0 && (l.strides[3] == 1 || l.shape[3] <= 1) &&
                 l.offset % kVector == 0;
  for (int axis = 0; axis < 3; ++axis)
    aligned = aligned && (l.shape[axis] <= 1 || l.strides[axis] % kVector == 0);
  return aligned;
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

AttentionTiles attention_tiles(const Step& step, bool has_mask, int processors) {
  const Layout &q = step.operands[0], &k = step.operands[1], &v = step.operands[2];
  const int64_t heads = k.shape[1], rows = heads ? q.shape[1] / heads * q.shape[2] : 0;
  const int64_t features = q.shape[3], width = v.shape[3];
  if (q.dtype == float32 || rows <= kFewRows || features == 0 || width == 0 ||
      std::max(features, width) > kMostFeatures || k.shape[2] > std::numeric_limits<int>::max())
    return {};
  const int64_t f = ceil_div(features, 16) * 16, w = ceil_div(width, 16) * 16;
  // Two fragments a warp need half the reads of shared memory, where registers and rows allow it.
  const int64_t groups = q.shape[0] * heads;
  const bool two = std::max(f, w) <= 64 && groups * ceil_div(rows, 2 * kRowsOfBlock) >= processors;
  const int at_once = std::max(f, w) <= 128 ? 64 : 32;
  const char* type = element_type(q.dtype);
  const char* mask = has_mask ? element_type(step.operands[3].dtype) : "void";
  auto text = [&](const char* vectors) {
    return cat("MLX_IN_STEP_KERNEL(attention_kernel, AttentionArguments, p) { attention_tiles<",
               type, ", ", mask, ", ", f, ", ", w, ", ", two ? 2 : 1, ", ", at_once, ", ", vectors,
               ">(p); }\n");
  };
  AttentionTiles tiles;
  tiles.blocks = groups * ceil_div(rows, two ? 2 * kRowsOfBlock : kRowsOfBlock);
  tiles.unaligned = text("false");
  tiles.text = has_aligned_rows(q) && has_aligned_rows(k) && has_aligned_rows(v) ? text("true")
                                                                                 : tiles.unaligned;
  return tiles;
}

}  // namespace mlx::core::gpu
