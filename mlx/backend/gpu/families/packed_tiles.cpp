// Which products with packed matrices go by fragments, and with which kernels.
#include "mlx/backend/gpu/families/packed_tiles.h"

#include <algorithm>

#include "mlx/backend/gpu/kernels/group_arguments.h"

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
/// Results of a block by warpgroups. It is faster from so many rows of x on: half as many where the
/// blocks use most processors. More than the most are faster by a library.
constexpr int kGroupRows = 128, kGroupColumns = 128, kFewestGroupRows = 65, kMostGroupRows = 256;

bool has_warpgroups(const Packing& packing, Dtype x, Dtype scale, int64_t inner,
                    const DeviceState& device) {
  return has_fragments(packing, x, inner) && packing.affine() && scale == x &&
         packing.group >= 32 && device.hardware->warpgroups();
}
/// Scales of 64 elements of a row, at most.
int units_of(const Packing& packing) { return packing.group < 64 ? 2 : 1; }
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

/// Rows of x that packed_stages serves, and of a packed matrix in a block.
constexpr int64_t kStageRows = 8, kStageColumns = 16, kStageInner = 64;

/// The kernel whose blocks have 8 to 64 rows of x.
struct FewRows {
  int64_t rows, columns;  ///< in eights and sixteens
  explicit FewRows(int64_t m) {
    rows = m <= 8 ? 1 : m <= 16 ? 2 : m <= 32 ? 4 : 8;
    columns = rows <= 2 ? 1 : 2;
  }
  std::string text(const Packing& packing, Dtype x, Dtype scale, const char* aligned) const {
    return text_of("PackedProductArguments",
                   cat("packed_few<", form(packing, x, scale), aligned, ", ", columns, ", ", rows,
                       ", ", columns == 1 ? 4 : 2, ">"));
  }
};

}  // namespace

PackedTiles packed_tiles(const Packing& packing, Dtype x, Dtype scale,
                         const device::PackedProductArguments& p) {
  if (!has_fragments(packing, x, p.k) || p.m < 1 || p.m > kMostRows || p.n == 0 || p.count == 0)
    return {};
  const FewRows few(p.m);
  const int64_t blocks = p.count * parts(p.n, 16 * few.columns) * parts(p.m, 8 * few.rows);
  return {.blocks = std::min<int64_t>(blocks, 1 << 30),
          .text = few.text(packing, x, scale, "true"),
          .unaligned = few.text(packing, x, scale, "false")};
}

PackedTiles packed_stages(const Packing& packing, Dtype x, Dtype scale,
                          const device::PackedProductArguments& p) {
  const int64_t group = packing.group;
  if (!has_fragments(packing, x, p.k) || !packing.affine() || scale != x || group < 32 ||
      group > 128 || p.k % kStageInner != 0 || p.k % (2 * group) != 0 || p.m < 1 ||
      p.m > kStageRows || p.n == 0 || p.count == 0)
    return {};
  const FewRows few(p.m);
  return {.blocks = std::min<int64_t>(p.count * parts(p.n, kStageColumns), 1 << 30),
          .text = cat("MLX_EARLY_KERNEL(packed_tiles_kernel, PackedProductArguments, p, 4) { "
                      "packed_stages<",
                      packing.bits, ", ", element_type(x), ", ", group, ">(p); }\n"),
          .unaligned = few.text(packing, x, scale, "false")};
}

PackedWarpgroups packed_warpgroups(const Packing& packing, Dtype x, Dtype scale,
                                   const device::PackedProductArguments& p,
                                   const DeviceState& device) {
  const bool most = p.count * parts(p.n, kGroupColumns) >= device.processors * 3 / 4;
  if (!has_warpgroups(packing, x, scale, p.k, device) || p.m < kFewestGroupRows / (most ? 2 : 1) ||
      p.m > kMostGroupRows || p.n == 0 || p.count == 0)
    return {};
  // The largest blocks of which each processor gets two, or else one: with few of them, warpgroups
  // divide the inner axis before more blocks unpack the same rows of the matrix.
  const auto blocks = [&](int64_t rows, int64_t columns) {
    return p.count * parts(p.n, columns) * parts(p.m, rows);
  };
  constexpr int64_t kLong = kGroupRows, kShort = kGroupRows / 2;
  constexpr int64_t kWhole = kGroupColumns, kHalf = kGroupColumns / 2;
  PackedWarpgroups w = {.rows = kLong, .units = units_of(packing)};
  if (blocks(kLong, kWhole) < 2 * device.processors) {
    w.split = blocks(kShort, kWhole) < device.processors;
    const bool few = blocks(kLong, kHalf) < device.processors * 3 / 4;
    if (!w.split || few || p.m <= kShort) w.rows = kShort;
  }
  w.blocks = blocks(w.rows, w.split ? kHalf : kWhole);
  w.blocks = std::min<int64_t>(w.blocks, 1 << 30);
  w.unaligned = FewRows(p.m).text(packing, x, scale, "false");
  return w;
}

Function packed_tiles_kernel(const std::string& text, DeviceState& device) {
  return device.kernel("packed_stages", text, "packed_tiles_kernel");
}

PackedGroups::PackedGroups(const Packing& packing, Dtype scale, const GroupedProblem& problem,
                           const DeviceState& device) {
  GroupedProblem q = problem;
  q.rows_in_place = true;
  if (!device.hardware->fragments || !q.transposed || !has_fragments(packing, q.dtype, q.k) ||
      !q.served(device))
    return;
  warpgroups_ = has_warpgroups(packing, q.dtype, scale, q.k, device) &&
                q.positions * q.m >= kFewestGroupRows / 2 * q.matrices;
  q.long_tiles = warpgroups_ && q.positions * q.m > kGroupRows / 2 * q.matrices;
  products_.emplace(q, device);
  const Shares& block =
      parts(q.positions * q.m, kBlockRows) * parts(q.n, kWide.columns) < device.processors * 3 / 4
          ? kNarrow
          : kWide;
  packing_ = packing;
  dtype_ = q.dtype;
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
  if (warpgroups_)
    group_kernel_ = {
        kernels::gathered_warpgroups(device, packing_.bits, dtype_, units_of(packing_)),
        device::packed_bytes(packing_.bits, kGroupRows, false), device};
  else
    kernel_.function = packed_tiles_kernel(text_, device);
}

void PackedGroups::launch(const Enqueue& to, const GroupedProducts::Operands& operands,
                          const device::PackedArguments& w, const device::Positions& at) const {
  const ArgumentBlock<device::GroupedPackedArguments> block{
      .p = {.w = w, .groups = products_->begin(to, operands, at)}};
  const device::GroupedArguments& g = block.p.groups;
  const auto blocks = [&](int64_t rows, int64_t columns) {
    return std::min<int64_t>(g.tiles * parts(g.each * g.m, rows) * parts(g.n, columns), 1 << 30);
  };
  const bool aligned = (operands.x | w.words) % 16 == 0;
  if (aligned && warpgroups_)
    return group_kernel_.launch(to, blocks(kGroupRows, kGroupColumns), block.p);
  Kernel chosen = kernel_;
  if (!aligned) chosen.function = to.keep(packed_tiles_kernel(unaligned_, to.device()));
  chosen.launch(to, blocks(kBlockRows, columns_), block.all());
}

}  // namespace mlx::core::gpu
