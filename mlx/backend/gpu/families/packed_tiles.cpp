// Which products with packed matrices go by fragments, and with which kernels.
#include "mlx/backend/gpu/families/packed_tiles.h"

#include <algorithm>

namespace mlx::core::gpu {

namespace {

/// Columns and rows of a block's results, as text and numbers.
struct Shares {
  const char* text;
  int64_t columns;
};
constexpr Shares kWide = {"PackedBlock<4, 1, 2>", 128}, kNarrow = {"PackedBlock<2, 2, 2>", 64};
constexpr int64_t kBlockRows = 64;
/// More rows are faster by a library, behind a kernel that unpacks the matrix.
constexpr int64_t kMostRows = 128;
/// Offsets within the rows of a block are counted in 32 bits.
constexpr int64_t kMostInner = int64_t{1} << 22;

bool has_fragments(const Packing& packing, Dtype x, int64_t inner) {
  return (x == float16 || x == bfloat16) && (packing.bits == 4 || packing.bits == 8) && inner > 0 &&
         inner <= kMostInner;
}
/// The first arguments of each kernel's template.
std::string form(const Packing& packing, Dtype x, Dtype scale) {
  constexpr const char* names[] = {"affine", "mxfp4", "mxfp8", "nvfp4"};
  return cat("Packed::", names[static_cast<int>(packing.mode)], ", ", packing.bits, ", ",
             element_type(scale), ", ", element_type(x), ", ");
}
std::string text_of(const char* arguments, const std::string& call) {
  return cat("MLX_IN_STEP_KERNEL(packed_tiles_kernel, ", arguments, ", p) { ", call, "(p); }\n");
}
int64_t parts(int64_t n, int64_t each) { return (n + each - 1) / each; }

}  // namespace

PackedTiles packed_tiles(const Packing& packing, Dtype x, Dtype scale,
                         const device::PackedProductArguments& p) {
  if (!has_fragments(packing, x, p.k) || p.m < 2 || p.m > kMostRows || p.n == 0 || p.count == 0)
    return {};
  const int64_t rows = p.m <= 8 ? 1 : p.m <= 16 ? 2 : p.m <= 32 ? 4 : 8;
  const int64_t columns = rows <= 2 ? 1 : 2;
  PackedTiles tiles;
  tiles.blocks = p.count * parts(p.n, 16 * columns) * parts(p.m, 8 * rows);
  tiles.blocks = std::min<int64_t>(tiles.blocks, 1 << 30);
  const auto text = [&](const char* aligned) {
    return text_of("PackedProductArguments",
                   cat("packed_few<", form(packing, x, scale), aligned, ", ", columns, ", ", rows,
                       ", ", columns == 1 ? 4 : 2, ">"));
  };
  tiles.text = text("true");
  tiles.unaligned = text("false");
  return tiles;
}

Function packed_tiles_kernel(const std::string& text, DeviceState& device) {
  return device.kernel("packed_tiles", text, "packed_tiles_kernel");
}

PackedGroups::PackedGroups(const Packing& packing, Dtype scale, const GroupedProblem& problem,
                           const DeviceState& device) {
  GroupedProblem q = problem;
  q.rows_in_place = true;
  if (!q.transposed || !has_fragments(packing, q.dtype, q.k) || !q.served(device)) return;
  products_.emplace(q, device);
  const Shares& block =
      parts(q.positions * q.m, kBlockRows) * parts(q.n, kWide.columns) < device.processors * 3 / 4
          ? kNarrow
          : kWide;
  columns_ = block.columns;
  const auto text = [&](const char* aligned) {
    return text_of("GroupedPackedArguments", cat("packed_groups<", form(packing, q.dtype, scale),
                                                 aligned, ", ", block.text, ">"));
  };
  text_ = text("true");
  unaligned_ = text("false");
}

void PackedGroups::prepare(DeviceState& device) {
  products_->prepare(device);
  kernel_.function = packed_tiles_kernel(text_, device);
}

void PackedGroups::launch(const Enqueue& to, const GroupedProducts::Operands& operands,
                          const device::PackedArguments& w, const device::Positions& at) const {
  const ArgumentBlock<device::GroupedPackedArguments> block{
      .p = {.w = w, .groups = products_->begin(to, operands, at)}};
  const device::GroupedArguments& g = block.p.groups;
  Kernel chosen = kernel_;
  if ((operands.x | w.words) % 16 != 0)
    chosen.function = to.keep(packed_tiles_kernel(unaligned_, to.device()));
  const int64_t blocks = g.tiles * parts(g.each * g.m, kBlockRows) * parts(g.n, columns_);
  chosen.launch(to, std::min<int64_t>(blocks, 1 << 30), block.all());
}

}  // namespace mlx::core::gpu
