// Tiles of rows that share a matrix: their sizes, their memory, and the launches.
#include "mlx/backend/gpu/families/grouped.h"

#include <algorithm>

#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/libraries.h"

namespace mlx::core::gpu {

namespace {

constexpr int64_t kGroupedAlign = 256;  // bytes
/// Fewer rows than this are bound by reading the matrices, which other kernels do.
constexpr int64_t kLeastRows = 64, kLeastRowsOfMatrix = 4;
/// Narrower products fill no tile of the library.
constexpr int64_t kLeastGroupedSide = 16;
/// Rows of a tile: more waste fewer reads of a matrix, fewer waste less of a matrix's last tile.
constexpr int64_t kShortTile = 64, kLongTile = 128;

int64_t rows_of_tile(const GroupedProblem& q) {
  if (q.rows_in_place) return q.long_tiles ? kLongTile : kShortTile;
  return q.positions * q.m / q.matrices < 2 * kLongTile ? kShortTile : kLongTile;
}
RadixProblem order_of(const GroupedProblem& q, const DeviceState& device) {
  int64_t bytes = 1;
  while (bytes < 4 && (q.matrices - 1) >> (8 * bytes)) ++bytes;
  return {uint32, true, 1, q.positions, 1, bytes, device.hardware.get()};
}

}  // namespace

bool GroupedProblem::served(const DeviceState& device) const {
  const auto whole = [&](int64_t n) {
    return n >= kLeastGroupedSide && n * dtype.size() % 16 == 0;
  };
  return whole(n) && whole(k) && m > 0 && matrices > 0 && matrices < INT32_MAX &&
         positions * m >= std::max(kLeastRows, kLeastRowsOfMatrix * matrices) &&
         order_of(*this, device).fits() && (rows_in_place || has_products(*device.hardware, dtype));
}

GroupedProducts::GroupedProducts(const GroupedProblem& problem, const DeviceState& device)
    : problem_(problem), order_(order_of(problem, device)) {
  const GroupedProblem& q = problem_;
  device::GroupedArguments& p = arguments_;
  p.positions = q.positions;
  p.matrices = q.matrices;
  p.each = std::max<int64_t>(rows_of_tile(q) / q.m, 1);
  p.tiles = q.positions / p.each + q.matrices;
  p.m = q.m;
  p.k = q.k;
  p.x_matrix = q.x_matrix;
  p.x_row = q.x_row;
  p.x_column = q.x_column;
  p.out_row = q.n;
  p.bytes = q.dtype.size();
  const int64_t columns = q.columns ? q.columns : q.n, rows = p.each * p.m;
  p.count =
      std::clamp<int64_t>(device.hardware->cache / (rows * (p.k + columns) * p.bytes), 1, p.tiles);
  int64_t end = 0;
  auto take = [&](int64_t bytes) {
    const int64_t at = end;
    end += (bytes + kGroupedAlign - 1) / kGroupedAlign * kGroupedAlign;
    return at;
  };
  p.keys = take(p.positions * 4);
  p.sorted = take(p.positions * 4);
  p.places = take(p.positions * 4);
  p.starts = take((p.matrices + 1) * 8);
  p.slots = take(p.tiles * p.each * 8);
  if (!q.rows_in_place) {
    p.pointers = take(3 * p.count * 8);
    p.rows = take(p.count * rows * p.k * p.bytes);
    p.products = take(p.count * rows * columns * p.bytes);
  }
  sort_at_ = take(static_cast<int64_t>(order_.workspace()));
  workspace_ = static_cast<size_t>(end);
}

void GroupedProducts::prepare(DeviceState& device) {
  sort_.emplace(order_, device);
  const Dtype bits = bits_of(problem_.dtype);
  keys_ = kernels::group_keys(device);
  starts_ = kernels::group_starts(device);
  slots_ = kernels::group_slots(device);
  if (problem_.rows_in_place) return;
  pointers_ = kernels::group_pointers(device);
  rows_ = kernels::group_rows(device, bits);
  results_ = kernels::group_results(device, bits);
}

device::GroupedArguments GroupedProducts::begin(const Enqueue& to, const Operands& operands,
                                                const device::Positions& at) const {
  device::GroupedArguments p = arguments_;
  p.n = problem_.n;
  for (int64_t* address :
       {&p.keys, &p.sorted, &p.places, &p.starts, &p.slots, &p.pointers, &p.rows, &p.products})
    *address += operands.workspace;
  p.x = operands.x;
  p.out = operands.out;
  p.at = at;
  for (device::IndexArgument* index : {&p.at.index[0], &p.at.index[1]}) index->stride = 1;
  keys_.launch(to, blocks_for(p.positions), p);
  sort_->launch(to, {.in = p.keys,
                     .keys = p.sorted,
                     .places = p.places,
                     .workspace = operands.workspace + sort_at_});
  starts_.launch(to, blocks_for(p.matrices + 1), p);
  slots_.launch(to, blocks_for(p.tiles * p.each), p);
  return p;
}

void GroupedProducts::multiply(const Enqueue& to, device::GroupedArguments p, int64_t weights,
                               int64_t row, int64_t step, int64_t column, int64_t columns) const {
  p.weights = weights;
  p.weight_bytes = step * p.bytes;
  p.column = column;
  p.n = columns;
  const int64_t most = p.count, rows = p.each * p.m;
  Gemm g = {.a = {0, p.k, 0, false},
            .b = {0, row, 0, problem_.transposed},
            .out = {0, p.n, 0, false},
            .m = rows,
            .n = p.n,
            .k = p.k,
            .count = 0,
            .type = problem_.dtype,
            .scattered = true,
            .alpha = 1,
            .beta = 0};
  for (p.first = 0; p.first < p.tiles; p.first += most) {
    p.count = std::min(most, p.tiles - p.first);
    const int64_t blocks = blocks_of(p.count * rows, 8);
    pointers_.launch(to, blocks_for(p.count), p);
    rows_.launch(to, blocks, p);
    g.count = p.count;
    g.a.address = static_cast<uint64_t>(p.pointers);
    g.b.address = g.a.address + static_cast<uint64_t>(8 * p.count);
    g.out.address = g.b.address + static_cast<uint64_t>(8 * p.count);
    to.device().hardware->products()->run(to.queue, g);
    results_.launch(to, blocks, p);
  }
}

}  // namespace mlx::core::gpu
