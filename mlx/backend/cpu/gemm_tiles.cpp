// Products by tiles. A task computes a range of rows and columns: for one range of K after the
// other it multiplies the strips of A with its panels of B, which stay in the second-level cache.
// The panels are packed by the task, or once for all tasks where several would pack the same ones.
#include "mlx/backend/cpu/gemm_tiles.h"

#include <algorithm>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/gemm_operands.h"
#include "mlx/backend/cpu/panels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kDepth = 2048;     // elements along K that a task packs at a time
constexpr int64_t kColumns = 256;    // columns of B that a task packs
constexpr int64_t kFlatDepth = 128;  // the same of B for one strip of A, in long rows of B
constexpr int64_t kFlatColumns = 2048;
constexpr int64_t kFlat = 1 << 20;    // minimum elements of such a B
constexpr int64_t kShared = 1 << 22;  // maximum elements of B that are packed once for all tasks
constexpr int64_t kEqualCores = 4;    // so many threads end equal tasks at about the same time
constexpr double kStepNs = 24;        // one step of a block, from the second-level cache
constexpr double kPackNs = 0.1;       // an element of B, to the second-level cache
constexpr double kSharedNs = 0.2;     // the same to memory that all tasks read
constexpr double kFetchNs = 0.1;      // an element of B that another core has packed
constexpr double kReadNs = 0.06;      // an element of A from the last-level cache
constexpr double kTaskNs = 300;
constexpr double kJoinNs = 200;  // a thread more that ends a loop before the next one starts
constexpr double kBlockNs = 30;  // sums of a block to the output

/// Rows in memory.
class MatrixRows final : public TileRows {
 public:
  explicit MatrixRows(const GemmOperand& x)
      : data_(static_cast<const uint16_t*>(x.data)), row_(x.row), col_(x.col) {
    aligned_ = row_ % kTileDepth == 0 && reinterpret_cast<uintptr_t>(data_) % 64 == 0;
  }

  TileStrip strip(int64_t row, int64_t count, int64_t from, int64_t k, int64_t uses,
                  uint16_t* scratch) const override {
    const uint16_t* at = data_ + row * row_ + from * col_;
    const bool whole = count == kTileBlock || count == kTileSide;
    // Tile loads across lines of the cache are slower than a copy of rows that are read often.
    if (col_ == 1 && whole && (aligned_ || uses <= 2)) {
      const int64_t steps = k / kTileDepth, rest = k % kTileDepth;
      if (rest != 0) pack(at + steps * kTileDepth, count, rest, scratch);
      return {at, 2 * row_, 2 * kTileDepth, steps, rest != 0 ? scratch : nullptr};
    }
    pack(at, count, k, scratch);
    return {scratch, 2 * kTileDepth, 2 * kTileStrip, ceil_div(k, kTileDepth), nullptr};
  }
  double cost() const override { return col_ == 1 ? aligned_ ? 0 : 0.04 : 0.15; }

 private:
  void pack(const uint16_t* from, int64_t count, int64_t k, uint16_t* to) const {
    GemmPanels(GemmSource::bf16_tile)
        .pack_a(from, row_, col_, count, k, reinterpret_cast<uint32_t*>(to));
  }
  const uint16_t* data_;
  int64_t row_, col_;
  bool aligned_;
};

/// Rows and columns of a task, and whether all tasks share the packed B.
struct Grid {
  int64_t rows, columns;
  bool shared;
};

class Tasks {
 public:
  explicit Tasks(const TileProduct& p)
      : p_(p),
        unit_(*tile_unit()),
        panels_(GemmSource::bf16_tile),
        flat_(p.m <= kTileBlock && p.b.col == 1 && p.n * p.k >= kFlat),
        depth_(std::min(p.k, flat_ ? kFlatDepth : kDepth)),
        threads_(in_parallel() ? 1 : num_threads()),
        plain_(p.epilogue.alpha == 1 && p.epilogue.addend.data == nullptr),
        grid_(flat_ ? flat_grid() : choose_grid()) {
    choose_store();
  }

  void run() {
    const int64_t down = ceil_div(p_.m, grid_.rows), across = ceil_div(p_.n, grid_.columns);
    const int64_t all_units = panels_.units(p_.k), units = panels_.units(depth_);
    const Scratch all(grid_.shared ? bytes(round_up(p_.n, kTileBlock) * all_units) : 0);
    shared_ = grid_.shared ? all.get<uint32_t>() : nullptr;
    if (grid_.shared) pack_shared(all_units);
    parallel_for(
        down * across, 1,
        [&](int64_t begin, int64_t end) {
          const GemmPanels::Scope scope(panels_);
          const Scratch own(grid_.shared ? 0 : bytes(grid_.columns * units));
          const Scratch strip(bytes(kTileBlock * units));
          const Scratch sums(depth_ < p_.k ? bytes(grid_.rows * grid_.columns) : 0);
          Task t{.panels = own.get<uint32_t>(),
                 .strip = strip.get<uint16_t>(),
                 .sums = sums.get<float>()};
          for (int64_t i = begin; i < end; ++i) {
            t.row = i % down * grid_.rows;
            t.column = i / down * grid_.columns;
            t.rows = std::min(grid_.rows, p_.m - t.row);
            t.columns = std::min(grid_.columns, p_.n - t.column);
            run_task(t);
          }
        },
        cost(grid_) * static_cast<double>(down * across));
  }

 private:
  struct Task {
    uint32_t* panels;
    uint16_t* strip;
    float* sums;  // of all blocks, one after the other, if K is divided
    int64_t row = 0, column = 0, rows = 0, columns = 0;
  };

  static size_t bytes(int64_t cells) { return static_cast<size_t>(cells) * sizeof(uint32_t); }

  void choose_store() {
    if (!plain_) return;
    if (p_.out_type == GemmOutput::f32 && p_.out.col == 1) {
      direct_ = true;
    } else if (p_.out_type == GemmOutput::bf16 && (p_.out.col == 1 || p_.out.row == 1)) {
      direct_ = true;
      store_ = p_.out.col == 1 ? TileStore::rows : TileStore::columns;
    }
  }

  void pack_shared(int64_t units) const {
    parallel_for(
        p_.n, kTileBlock,
        [&](int64_t begin, int64_t end) { pack(begin, end, 0, p_.k, shared_ + begin * units); },
        kSharedNs * static_cast<double>(p_.n * p_.k));
  }

  void pack(int64_t begin, int64_t end, int64_t from, int64_t k, uint32_t* to) const {
    const auto* b = static_cast<const uint16_t*>(p_.b.data);
    panels_.pack_b(b + from * p_.b.row + begin * p_.b.col, p_.b.col, p_.b.row, end - begin, k, to);
  }

  /// Estimated nanoseconds of a whole task.
  double cost(const Grid& grid) const {
    const auto rows = static_cast<double>(grid.rows), columns = static_cast<double>(grid.columns);
    const auto k = static_cast<double>(p_.k);
    const double blocks = static_cast<double>(ceil_div(grid.rows, kTileBlock)) *
                          static_cast<double>(ceil_div(grid.columns, kTileBlock));
    const double steps = static_cast<double>(ceil_div(p_.k, kTileDepth));
    const double fetched = 1 - 1 / static_cast<double>(threads_);
    return kTaskNs + blocks * (steps * kStepNs + kBlockNs) +
           columns * k * (grid.shared ? fetched * kFetchNs : kPackNs) +
           rows * k * (kReadNs + p_.rows->cost());
  }

  /// One strip of A: the time is that of reading B, whose rows are read in long ranges by equal
  /// tasks. The sums of a range stay in the second-level cache.
  Grid flat_grid() const {
    const int64_t tasks = threads_ * ceil_div(p_.n, threads_ * kFlatColumns);
    return {kTileBlock, round_up(ceil_div(p_.n, tasks), kTileBlock), false};
  }

  /// The division into tasks that should end first: few tasks pack and read less, many are spread
  /// more evenly. Of many cores some are slower, and the others wait for about one of their tasks.
  Grid choose_grid() const {
    const auto threads = static_cast<double>(threads_);
    const int64_t strips = ceil_div(p_.m, kTileBlock);
    Grid best{p_.m, std::min(kColumns, round_up(p_.n, kTileBlock)), false};
    double least = -1;
    const double pack = static_cast<double>(p_.n * p_.k) * kSharedNs / threads;
    const auto consider = [&](const Grid& grid) {
      const int64_t tasks = ceil_div(p_.m, grid.rows) * ceil_div(p_.n, grid.columns);
      const int64_t each = ceil_div(tasks, threads_) + (threads_ > kEqualCores ? 1 : 0);
      const double time =
          cost(grid) * static_cast<double>(each) + (grid.shared ? pack + kJoinNs * threads : 0);
      if (least >= 0 && time >= least) return;
      least = time;
      best = grid;
    };
    for (int64_t columns = kColumns; columns >= kTileBlock; columns -= kTileBlock) {
      const int64_t even = round_up(ceil_div(p_.n, ceil_div(p_.n, columns)), kTileBlock);
      if (columns > even) continue;
      for (int64_t down = 1; down <= std::min(strips, 4 * threads_ + 8); ++down) {
        const int64_t rows = ceil_div(strips, down) * kTileBlock;
        consider({rows, columns, false});
        if (p_.n * p_.k <= kShared && down > 1) consider({rows, columns, true});
      }
    }
    return best;
  }

  void run_task(const Task& t) const {
    for (int64_t from = 0; from < p_.k; from += depth_) {
      const int64_t k = std::min(depth_, p_.k - from), units = panels_.units(k);
      const int64_t stride = grid_.shared ? panels_.units(p_.k) : units;
      const uint32_t* panels = t.panels;
      if (grid_.shared) {
        panels = shared_ + t.column * stride + from / 2 * kTileBlock;
      } else {
        pack(t.column, t.column + t.columns, from, k, t.panels);
      }
      float* sums = t.sums;
      for (int64_t i = 0; i < t.rows; i += kTileBlock) {
        const int64_t rows = std::min(kTileBlock, t.rows - i);
        const TileStrip a =
            p_.rows->strip(t.row + i, rows, from, k, ceil_div(t.columns, kTileBlock), t.strip);
        TileBlock block{.a = a.data, .a_row = a.row, .a_step = a.step, .tail = a.tail};
        block.steps = a.steps;
        block.rows = rows;
        block.first = from == 0;
        for (int64_t j = 0; j < t.columns; j += kTileBlock, sums += kTileBlock * kTileBlock) {
          block.b = panels + j * stride;
          block.columns = std::min(kTileBlock, t.columns - j);
          block.start = sums;
          block.start_ld = kTileBlock;
          if (from + k < p_.k) {
            block.out = sums;
            block.ld = kTileBlock;
            block.store = TileStore::sums;
            unit_.block(block);
          } else {
            finish(block, t.row + i, t.column + j);
          }
        }
      }
    }
  }

  /// Computes a block and writes it to the output.
  void finish(TileBlock& block, int64_t i, int64_t j) const {
    const int64_t size = p_.out_type == GemmOutput::f32 ? 4 : 2;
    GemmTarget out = p_.out;
    out.data = static_cast<char*>(out.data) + (i * out.row + j * out.col) * size;
    if (direct_) {
      block.out = out.data;
      block.ld = store_ == TileStore::columns ? out.col : out.row;
      block.store = store_;
      return unit_.block(block);
    }
    alignas(64) float sums[kTileBlock * kTileBlock];
    block.out = sums;
    block.ld = kTileBlock;
    block.store = TileStore::sums;
    unit_.block(block);
    GemmEpilogue epilogue = p_.epilogue;
    auto& add = epilogue.addend;
    if (add.data != nullptr) {
      add.data = static_cast<const char*>(add.data) + (i * add.row + j * add.col) * size;
    }
    gemm_kernels().store[static_cast<int>(p_.out_type)](sums, kTileBlock, block.rows, block.columns,
                                                        out, epilogue);
  }

  const TileProduct& p_;
  const TileUnit& unit_;
  GemmPanels panels_;
  bool flat_;        // one strip of A and a large B
  int64_t depth_;    // elements along K that are multiplied at a time
  int64_t threads_;  // that may take tasks
  bool plain_, direct_ = false;
  Grid grid_;
  uint32_t* shared_ = nullptr;  // all of B, packed
  TileStore store_ = TileStore::sums;
};

GemmOperand flipped(const GemmOperand& x) { return {x.data, x.col, x.row}; }

}  // namespace

void tile_product(const TileProduct& product) { Tasks(product).run(); }

void gemm_tiles(const Gemm& g) {
  // The product of the transposed factors has the same bits. The factor with contiguous rows along
  // K is read in place, and of two such factors the longer one.
  const MatrixRows a(g.a), b(flipped(g.b));
  const auto m = static_cast<double>(g.m), n = static_cast<double>(g.n);
  const auto k = static_cast<double>(g.k);
  const double straight = m * k * a.cost() + n * k * kPackNs;
  const double swapped = n * k * b.cost() + m * k * kPackNs + m * n * kPackNs;
  TileProduct p;
  p.k = g.k;
  p.out_type = g.out_type;
  p.epilogue = g.epilogue;
  if (straight <= swapped) {
    p.m = g.m;
    p.n = g.n;
    p.rows = &a;
    p.b = g.b;
    p.out = g.out;
  } else {
    p.m = g.n;
    p.n = g.m;
    p.rows = &b;
    p.b = flipped(g.a);
    p.out = {g.out.data, g.out.col, g.out.row};
    p.epilogue.addend = flipped(g.epilogue.addend);
  }
  tile_product(p);
}

}  // namespace mlx::core::cpu
