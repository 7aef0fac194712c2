// Blocking, threading and memory of the matrix products; the arithmetic is in isa/gemm*.cpp.
//
// Products with few rows go to gemm_rows.h, and bfloat16 to gemm_tiles.h where a unit for tiles is
// in use. The others are computed by register tiles, whose factors are packed or, in float32, in
// place where they stay in a cache. With a moderate number of rows, or enough columns for each
// thread (has_own_columns), a task packs its part of B block by block, so that no thread reads
// lines that another has just written; otherwise B is packed once for all tasks. In all of them a
// sum runs along K in the same order for any division into tasks, so tasks may depend on the number
// of threads.
#include "mlx/backend/cpu/gemm.h"

#include <algorithm>
#include <utility>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/gemm_operands.h"
#include "mlx/backend/cpu/gemm_rows.h"
#include "mlx/backend/cpu/gemm_tiles.h"
#include "mlx/backend/cpu/panels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kAxpyRowsPairs = 8;  // in place of kAxpyRows with kernels that are twice as fast
constexpr int64_t kAxpyRowsTiles = 4;  // or faster once packed
constexpr int64_t kDotRowsTiles = 1;
constexpr int64_t kTinyWeights = 4096;  // B is not packed below this size
constexpr int64_t kSwapColumns = 8;     // maximum columns for computing the transposed product
constexpr int64_t kOwnBRows = 192;      // up to this many rows each task packs its own part of B,
constexpr int64_t kOwnBColumns = 64;    // or with this many columns for each thread,
constexpr int64_t kOwnBCache = 512 << 10;  // where second caches have at most so many bytes
constexpr int64_t kBlockUnits = 384;       // units along K per block, sized for the caches
constexpr int64_t kUnitBytes = 4;
constexpr int64_t kTaskRows = 144;
constexpr int64_t kTaskColumns = 256;
constexpr int64_t kTaskGroup = 4;  // tasks side by side that follow each other
constexpr int64_t kPageSize = 4096, kLine = 64;
constexpr int64_t kInPlaceBytes = 768 * 1024;
constexpr int64_t kInPlaceBytesIntel = 320 * 1024;  // pages for a buffer of 64 translations
constexpr int64_t kInPlaceRowBytes = 4 << 20;       // of A, which tasks read from the third cache
constexpr int64_t kFewColumns = 128;                // of which A is not packed, whatever its stride
constexpr int64_t kSuperSide = 4096;                // bounds the packed copies to 64 MiB each
constexpr int64_t kSuperUnits = 4096;
constexpr double kTileRate = 1500;  // GFLOP/s of a core with a unit for tiles

int64_t axpy_rows(GemmSource source) {
  return source == GemmSource::bf16_tile   ? kAxpyRowsTiles
         : source == GemmSource::bf16_pair ? kAxpyRowsPairs
                                           : kAxpyRows;
}

// out and the epilogue's addend, offset by (i, j).
GemmTarget shifted(const Gemm& g, int64_t i, int64_t j) {
  auto out = g.out;
  out.data = advance(out.data, (i * out.row + j * out.col) * element_size(g.out_type));
  return out;
}

GemmEpilogue shifted_epilogue(const Gemm& g, int64_t i, int64_t j) {
  auto e = g.epilogue;
  e.addend.data =
      advance(e.addend.data, (i * e.addend.row + j * e.addend.col) * element_size(g.out_type));
  return e;
}

void fill_without_product(const Gemm& g) {
  constexpr int64_t kColumns = 128;
  const float zeros[kColumns] = {};
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; j += kColumns) {
      finish(g, zeros, 0, i, j, 1, std::min(kColumns, g.n - j));
    }
  }
}

// ---- blocked products --------------------------------------------------------------------------

// True if each task packs its part of B. Inside a parallel loop there is one task. All rows of A
// pass by each part, so with large second caches, where B stays for several tasks, a block of A
// must stay too.
bool has_own_columns(const Gemm& g, int64_t columns) {
  const int64_t threads = in_parallel() ? 1 : num_threads();
  const bool wide = columns >= kOwnBColumns * threads;
  const auto cache = static_cast<int64_t>(l2_size());
  const bool stays = 2 * g.m * kBlockUnits * kUnitBytes <= cache;
  return g.m <= kOwnBRows || (wide && (stays || cache <= kOwnBCache));
}

// True if tiles read A in place: rows that do not all fall into the same sets of the caches, unless
// they are read once or twice, or columns of a small matrix. Pairs are read along rows alone.
bool rows_in_place(const Gemm& g, GemmSource source) {
  const int64_t size = element_size(g.type);
  if (source == GemmSource::bf16_pair) {
    const bool whole = g.a.row % 2 == 0 && g.k % 2 == 0;  // units
    if (g.a.col != 1 || !whole || reinterpret_cast<uintptr_t>(g.a.data) % 4 != 0) return false;
    if (g.m > kOwnBRows) return false;
  } else if (source != GemmSource::f32) {
    return false;
  }
  const int64_t pitch = (g.a.col == 1 ? g.a.row : g.a.col) * size;
  if (pitch % kPageSize == 0 && g.n > (g.a.col == 1 ? kFewColumns : kFewColumns / 2)) return false;
  if (g.m * g.k * size > kInPlaceRowBytes && g.n > kFewColumns) return false;
  return g.a.col == 1 || (g.a.row == 1 && g.m * g.k * size <= static_cast<int64_t>(l2_size()));
}

// The same of B, whose columns stay near from one row of tiles to the next: in the second cache,
// and on not many more pages than the first buffer of translations has. The first cache keeps a
// panel of `width` columns only if its rows have several lines, in other sets than the next row's.
bool columns_in_place(const Gemm& g, int64_t width) {
  const int64_t size = element_size(g.type);
  const bool many_pages = prefetches_within_pages() || g.n <= kFewColumns;
  const int64_t most = many_pages ? kInPlaceBytes : kInPlaceBytesIntel;
  if (g.b.col != 1 || g.n * g.k * size > std::min(static_cast<int64_t>(l2_size()), most))
    return false;
  return g.n <= kFewColumns || (width * size > kLine && g.b.row * size % kPageSize != 0);
}

// A part of the product whose rows and columns are packed together. Positions are relative to the
// part unless they start with `g`.
class GemmPart {
 public:
  GemmPart(const Gemm& g, int64_t row, int64_t column, int64_t rows, int64_t columns)
      : g_(g),
        row_(row),
        column_(column),
        rows_(rows),
        columns_(columns),
        panels_(g.type),
        own_b_(has_own_columns(g, columns)),
        b_in_place_(panels_.source() == GemmSource::f32 && columns_in_place(g, panels_.columns())),
        a_in_place_(!packs_b() && rows_in_place(g, panels_.source())),
        in_place_(g.out_type == GemmOutput::f32 && g.out.col == 1 && g.epilogue.alpha == 1 &&
                  g.epilogue.addend.data == nullptr) {}

  void run() {
    const int64_t units = panels_.units(g_.k);
    const int64_t longest = std::min(units, kSuperUnits);
    const bool several = units > kSuperUnits;
    const int64_t width = round_up(columns_, panels_.columns());
    const Scratch a(bytes(a_in_place_ ? 0 : round_up(rows_, panels_.rows()) * longest));
    const Scratch b(bytes(packs_b() ? width * longest : 0));
    const Scratch sums(bytes(several && !in_place_ ? rows_ * width : 0));
    a_ = a.get<uint32_t>();
    b_ = b.get<uint32_t>();
    height_ = round_up(rows_, panels_.rows());
    width_ = width;
    sums_ = several && !in_place_ ? sums.get<float>() : nullptr;
    sums_ld_ = width;
    for (int64_t begin = 0; begin < units; begin += kSuperUnits) {
      begin_ = begin;
      units_ = std::min(kSuperUnits, units - begin);
      last_ = begin + units_ == units;
      pack_operands();
      run_tasks();
    }
  }

 private:
  /// True if the panels of B are packed once for all tasks.
  bool packs_b() const { return !own_b_ && !b_in_place_; }

  static size_t bytes(int64_t cells) { return static_cast<size_t>(cells) * sizeof(float); }

  // Elements along K from unit `u`, at most `units` units.
  int64_t depth(int64_t u, int64_t units) const {
    return std::min(units * panels_.per(), g_.k - (begin_ + u) * panels_.per());
  }

  // Packed factors lie block by block along K, and in a block panel by panel: all that a task
  // multiplies at a time is contiguous, so it does not compete for the same sets of the caches.
  uint32_t* packed_a(int64_t i, int64_t u, int64_t block) const {
    return a_ == nullptr ? nullptr : a_ + u * height_ + i * block;
  }

  uint32_t* packed_b(int64_t j, int64_t u, int64_t block) const {
    return b_ == nullptr ? nullptr : b_ + u * width_ + j * block;
  }

  int64_t block_at(int64_t u) const { return std::min(kBlockUnits, units_ - u); }

  void pack_a(int64_t begin, int64_t end) const {
    for (int64_t u = 0; u < units_; u += kBlockUnits) {
      const int64_t block = block_at(u);
      panels_.pack_a(operand_at(g_, g_.a, row_ + begin, (begin_ + u) * panels_.per()), g_.a.row,
                     g_.a.col, end - begin, depth(u, block), packed_a(begin, u, block));
    }
  }

  void pack_b(int64_t begin, int64_t end, int64_t u, int64_t block, uint32_t* to) const {
    panels_.pack_b(operand_at(g_, g_.b, (begin_ + u) * panels_.per(), column_ + begin), g_.b.col,
                   g_.b.row, end - begin, depth(u, block), to);
  }

  /// Panels of A, then those of B unless the tasks pack them, in one loop.
  void pack_operands() const {
    constexpr double ns_per_unit = 0.3;
    const int64_t mr = panels_.rows(), nr = panels_.columns();
    const int64_t of_a = a_in_place_ ? 0 : ceil_div(rows_, mr);
    const int64_t of_b = packs_b() ? ceil_div(columns_, nr) : 0;
    const auto pack = [&](int64_t begin, int64_t end) {
      if (begin < of_a) pack_a(begin * mr, std::min(rows_, end * mr));
      if (end <= of_a) return;
      const int64_t column = std::max<int64_t>(0, begin - of_a) * nr;
      for (int64_t u = 0; u < units_; u += kBlockUnits) {
        const int64_t block = block_at(u);
        pack_b(column, std::min(columns_, (end - of_a) * nr), u, block, packed_b(column, u, block));
      }
    };
    const int64_t lines = (of_a > 0 ? rows_ : 0) + (of_b > 0 ? columns_ : 0);
    parallel_for(of_a + of_b, 1, pack,
                 ns_per_unit * static_cast<double>(units_) * static_cast<double>(lines));
  }

  /// Rows and columns of a task: even parts, and enough of them for all threads.
  std::pair<int64_t, int64_t> task_size() const {
    const int64_t mr = panels_.rows(), nr = panels_.columns();
    const auto even = [](int64_t all, int64_t most, int64_t panel) {
      return round_up(ceil_div(all, ceil_div(all, most)), panel);
    };
    const bool whole = own_b_ && !b_in_place_;  // each task of a column packs the same part of B
    int64_t rows = whole ? rows_ : even(rows_, kTaskRows, mr);
    int64_t columns = even(columns_, kTaskColumns, nr);
    const auto tasks = [&] { return ceil_div(rows_, rows) * ceil_div(columns_, columns); };
    const int64_t enough = in_parallel() || num_threads() == 1 ? 1 : 4 * num_threads();
    while (tasks() < enough && columns > nr) columns = round_up(columns / 2, nr);
    while (!whole && tasks() < enough && rows > 2 * mr) rows = round_up(rows / 2, mr);
    return {rows, columns};
  }

  void run_tasks() const {
    const auto [rows, columns] = task_size();
    const int64_t down = ceil_div(rows_, rows), across = ceil_div(columns_, columns);
    // A thread's tasks follow each other: side by side and one below the other they read the
    // fewest panels, many of which another core has packed.
    const auto place = [&, rows = rows, columns = columns](int64_t t) {
      const int64_t group = t / (down * kTaskGroup) * kTaskGroup;
      const int64_t wide = std::min(kTaskGroup, across - group), at = t - down * group;
      return std::pair<int64_t, int64_t>{at / wide * rows, (group + at % wide) * columns};
    };
    const double share = static_cast<double>(rows_) * static_cast<double>(columns_) /
                         (static_cast<double>(g_.m) * static_cast<double>(g_.n));
    parallel_for(
        down * across, 1,
        [&, rows = rows, columns = columns](int64_t begin, int64_t end) {
          const Scratch own(bytes(packs_b() ? 0 : columns * kBlockUnits));
          const Scratch acc(bytes(in_place_ || sums_ ? 0 : rows * columns));
          for (int64_t t = begin; t < end; ++t) {
            const auto [i, j] = place(t);
            const auto [below, right] = place(std::min(t + 1, end - 1));
            const GemmAhead next = {packed_a(below, 0, block_at(0)),
                                    packed_b(right, 0, block_at(0))};
            task(i, j, std::min(rows, rows_ - i), std::min(columns, columns_ - j),
                 own.get<uint32_t>(), acc.get<float>(), columns, next);
          }
        },
        estimate(g_) * share);
  }

  /// The block of the output from (i, j) on; `next` starts the task that follows.
  void task(int64_t i, int64_t j, int64_t rows, int64_t columns, uint32_t* own_b, float* acc,
            int64_t ld, const GemmAhead& next) const {
    if (in_place_) {
      acc = static_cast<float*>(g_.out.data) + (row_ + i) * g_.out.row + column_ + j;
      ld = g_.out.row;
    } else if (sums_ != nullptr) {
      acc = sums_ + i * sums_ld_ + j;
      ld = sums_ld_;
    }
    for (int64_t u = 0; u < units_; u += kBlockUnits) {
      const int64_t block = block_at(u), after = u + kBlockUnits;
      const GemmAhead ahead = after < units_ ? GemmAhead{packed_a(i, after, block_at(after)),
                                                         packed_b(j, after, block_at(after))}
                                             : next;
      if (own_b_ && !b_in_place_) pack_b(j, j + columns, u, block, own_b);
      for (int64_t r = 0; r < rows; r += kTaskRows) {
        multiply(i + r, j, std::min(kTaskRows, rows - r), columns, u, block, own_b, acc + r * ld,
                 ld, ahead);
      }
    }
    if (last_ && !in_place_) {
      finish(g_, acc, ld, row_ + i, column_ + j, rows, columns);
    }
  }

  /// acc (+)= the rows from `i` on by the columns from `j` on, over a block of units.
  void multiply(int64_t i, int64_t j, int64_t rows, int64_t columns, int64_t u, int64_t block,
                uint32_t* own, float* acc, int64_t ld, const GemmAhead& ahead) const {
    const int64_t mr = panels_.rows(), nr = panels_.columns();
    const bool own_b = own_b_ && !b_in_place_, first = begin_ + u == 0;
    const uint32_t* a = packed_a(i, u, block);
    const uint32_t* b = own_b ? own : packed_b(j, u, block);
    if (!a_in_place_ && !b_in_place_) {
      return panels_.multiply(a, block, b, block, rows, columns, 0, block, acc, ld, first,
                              own_b ? nullptr : &ahead);
    }
    const auto at = [](const void* p) { return static_cast<const uint32_t*>(p); };
    GemmFactor left = {a, mr * block, 1, mr};
    if (a_in_place_) {
      const int64_t line = g_.a.row / panels_.per();
      left = {at(operand_at(g_, g_.a, row_ + i, (begin_ + u) * panels_.per())), mr * line, line,
              g_.a.col};
    }
    GemmFactor right = {b, nr * block, 1, nr};
    if (b_in_place_) right = {at(operand_at(g_, g_.b, begin_ + u, column_ + j)), nr, 1, g_.b.row};
    gemm_kernels().strided_tile[panels_.per() - 1](left, right, rows, columns, block, acc, ld,
                                                   first, b_in_place_ ? own : nullptr);
  }

  const Gemm& g_;
  int64_t row_, column_, rows_, columns_;
  GemmPanels panels_;
  bool own_b_, b_in_place_, a_in_place_, in_place_;
  uint32_t *a_ = nullptr, *b_ = nullptr;
  int64_t height_ = 0, width_ = 0;  // rows and columns of whole panels
  float* sums_ = nullptr;
  int64_t sums_ld_ = 0;
  int64_t begin_ = 0, units_ = 0;  // the range along K that is packed now
  bool last_ = false;
};

}  // namespace

double estimate(const Gemm& g) {
  const double rate = gemm_source(g.type) == GemmSource::bf16_tile ? kTileRate : isa_rate();
  const double m = static_cast<double>(g.m), n = static_cast<double>(g.n);
  const double k = static_cast<double>(g.k);
  return 2 * m * n * k / rate +
         (m * k + k * n + m * n) * static_cast<double>(element_size(g.type)) / 20;
}

void finish(const Gemm& g, const float* acc, int64_t ld, int64_t i, int64_t j, int64_t rows,
            int64_t columns) {
  gemm_kernels().store[static_cast<int>(g.out_type)](acc, ld, rows, columns, shifted(g, i, j),
                                                     shifted_epilogue(g, i, j));
}

const GemmKernels& gemm_kernels() {
  static const GemmKernels& chosen = MLX_FOR_ISA(gemm_kernels);
  return chosen;
}

bool swaps(const Gemm& g) { return g.n < g.m && g.n <= kSwapColumns; }

Gemm transposed(const Gemm& g) {
  const auto flip = [](auto x) {
    std::swap(x.row, x.col);
    return x;
  };
  auto t = g;
  std::swap(t.m, t.n);
  t.a = flip(g.b);
  t.b = flip(g.a);
  t.out = flip(g.out);
  t.epilogue.addend = flip(g.epilogue.addend);
  return t;
}

GemmRoute route(const Gemm& g) {
  const GemmSource source = gemm_source(g.type);
  const bool tiles = source == GemmSource::bf16_tile;
  if (g.m <= (tiles ? kDotRowsTiles : kDotRows) && g.b.row == 1) return GemmRoute::dot;
  const bool tiny = source != GemmSource::f32 && g.n * g.k <= kTinyWeights;
  if (g.m <= (tiny ? kDotRows : axpy_rows(source)) && g.b.col == 1) return GemmRoute::axpy;
  return tiles ? GemmRoute::tiles : GemmRoute::panels;
}

void gemm(const Gemm& product) {
  if (product.m <= 0 || product.n <= 0) {
    return;
  }
  if (product.k <= 0) {
    return fill_without_product(product);
  }
  const Gemm g = swaps(product) ? transposed(product) : product;
  switch (route(g)) {
    case GemmRoute::dot:
      return dot_product(g);
    case GemmRoute::axpy:
      return axpy_product(g);
    case GemmRoute::tiles:
      return gemm_tiles(g);
    case GemmRoute::panels:
      break;
  }
  for (int64_t j = 0; j < g.n; j += kSuperSide) {
    for (int64_t i = 0; i < g.m; i += kSuperSide) {
      GemmPart(g, i, j, std::min(kSuperSide, g.m - i), std::min(kSuperSide, g.n - j)).run();
    }
  }
}

void gemm_int(GemmInt type, int64_t m, int64_t n, int64_t k, const GemmOperand& a,
              const GemmOperand& b, const GemmTarget& out) {
  if (m <= 0 || n <= 0) {
    return;
  }
  const int64_t size = element_size(type);
  const double ns =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k + 1) / 8;
  parallel_for(
      m, std::max<int64_t>(8, m / 64),
      [&](int64_t begin, int64_t end) {
        const Scratch block(static_cast<size_t>(kIntBlock * kIntBlock * size));
        auto rows = a;
        rows.data = advance(a.data, begin * a.row * size);
        auto target = out;
        target.data = advance(out.data, begin * out.row * size);
        gemm_kernels().integer[static_cast<int>(type)](rows, b, target, end - begin, n, k,
                                                       block.get());
      },
      ns);
}

}  // namespace mlx::core::cpu
