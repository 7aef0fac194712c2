// Attention in blocks of queries and keys: the scores of a block are computed, converted to weights
// and multiplied with the values while they are in the cache; sums are rescaled when a larger score
// is found (Milakov and Gimelshein 2018, Dao et al. 2022). If there are few queries, keys and
// values are read in place. The result of a row depends on shapes and memory orders alone, not on
// the number of threads.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/attention_rows.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kQueryRows = 192;    // per block, which reads all keys and values
constexpr int64_t kLeastRows = 96;     // where larger blocks are too few for the threads
constexpr int64_t kThreadBlocks = 4;   // for each thread, to be enough
constexpr int64_t kKeys = 256;         // per block
constexpr int64_t kStripRows = 24;     // of scores at once: they stay in the first-level cache
constexpr int64_t kScoreRow = 272;     // floats from row to row, so that rows are in several sets
constexpr int64_t kFewKeys = 512;      // keys per task for few queries
constexpr int64_t kPacked = 32 << 20;  // maximum bytes of packed keys and values

/// The state of one row.
struct RowState {
  float largest = -std::numeric_limits<float>::infinity(), sum = 0;
};

/// All queries of a key head at once, over ranges of its keys as they lie.
class FewQueries final : AttentionRows {
 public:
  explicit FewQueries(const AttentionRows& rows) : AttentionRows(rows) {}

  void run() {
    const int64_t shared = heads_ / key_heads_, rows = shared * queries_;
    const int64_t pieces = ceil_div(keys_, kFewKeys), tasks = batches_ * key_heads_ * pieces;
    const Scratch sums(static_cast<size_t>(tasks * rows * width_) * sizeof(float));
    const Scratch states(static_cast<size_t>(tasks * rows * 2) * sizeof(float));
    auto sum_of = [&](int64_t task) { return sums.get<float>() + task * rows * width_; };
    auto states_of = [&](int64_t task) {
      float* largest = states.get<float>() + task * rows * 2;
      return RowStates{largest, largest + rows};
    };
    const double ns = static_cast<double>(batches_ * key_heads_ * keys_ * (features_ + width_)) *
                      (0.05 * static_cast<double>(k_.item) + 0.03 * static_cast<double>(rows));
    parallel_for(
        tasks, 1,
        [&](int64_t begin, int64_t end) {
          const Scratch x(static_cast<size_t>(rows * features_) * sizeof(float));
          const Scratch s(static_cast<size_t>(rows * kFewKeys) * sizeof(float));
          const Scratch workspace(static_cast<size_t>(mask_ ? kFewKeys * mask_->item : 0));
          for (int64_t task = begin; task < end; ++task)
            run_few_task(task / pieces / key_heads_, task / pieces % key_heads_, task % pieces,
                         x.get(), s.get<float>(), workspace.get<char>(), sum_of(task),
                         states_of(task));
        },
        ns);
    parallel_for(
        batches_ * key_heads_ * rows, 1,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t group = i / rows, r = i % rows;
            const int64_t b = group / key_heads_, head = group % key_heads_ * shared + r / queries_;
            join_pieces(
                pieces, [&](int64_t p) { return sum_of(group * pieces + p) + r * width_; },
                [&](int64_t p) {
                  const RowStates states = states_of(group * pieces + p);
                  return RowState{states.largest[r], states.sums[r]};
                },
                b, head, r % queries_);
          }
        },
        static_cast<double>(tasks * rows * width_) * 0.2);
  }

 private:
  /// Weighted sums over one range of keys for all queries of a key head.
  void run_few_task(int64_t b, int64_t key_head, int64_t piece, void* x, float* s, char* workspace,
                    float* sums, const RowStates& states) const {
    const int64_t shared = heads_ / key_heads_, rows = shared * queries_;
    const int64_t from = piece * kFewKeys, n = std::min(kFewKeys, keys_ - from);
    const GemmSource source = row_source(type_);
    const bool pairs = source == GemmSource::bf16_pair;
    for (int64_t r = 0; r < rows; ++r) {
      const char* row = q_.at(b, key_head * shared + r / queries_, r % queries_);
      if (pairs) {
        for (int64_t i = 0; i < features_; ++i)
          std::memcpy(static_cast<uint16_t*>(x) + r * features_ + i, row + i * q_.col * 2, 2);
      } else {
        gemm_.widen[static_cast<int>(source)](row, q_.col, features_,
                                              static_cast<float*>(x) + r * features_);
      }
    }
    gemm_.dot[static_cast<int>(source)](x, features_, k_.at(b, key_head, from), k_.row, rows, n,
                                        features_, s, kFewKeys);
    for (int64_t r = 0; r < rows && has_scores(); ++r)
      scored(s + r * kFewKeys, n, b, key_head * shared + r / queries_, r % queries_, from,
             workspace);
    std::fill_n(states.largest, rows, RowState{}.largest);
    std::fill_n(states.sums, rows, 0.0f);
    float factors[kFewRows];
    to_weights({.s = s,
                .ld = kFewKeys,
                .rows = rows,
                .n = n,
                .factors = factors,
                .to = {.data = s},
                .to_row = kFewKeys},
               states, n);
    const auto plain = pairs ? GemmSource::bf16 : source;
    gemm_.axpy[static_cast<int>(plain)](s, kFewKeys, v_.at(b, key_head, from), v_.row, rows, width_,
                                        n, sums, width_, prefetches_within_pages());
  }

  template <class Sums, class State>
  void join_pieces(int64_t pieces, Sums sums, State state, int64_t b, int64_t head,
                   int64_t query) const {
    RowState all{initial_max(head), 0};
    for (int64_t p = 0; p < pieces; ++p) {
      const float largest = state(p).largest;
      all.largest = largest > all.largest || largest != largest ? largest : all.largest;
    }
    auto factor_of = [&](float largest) {
      return largest == RowState{}.largest && all.largest == largest
                 ? 0.0f
                 : std::exp(largest - all.largest);
    };
    if (sinks_) all.sum = factor_of(initial_max(head));
    float* first = sums(0);
    for (int64_t p = 0; p < pieces; ++p) {
      const float factor = factor_of(state(p).largest);
      all.sum += factor * state(p).sum;
      if (p == 0)
        rows_.scale(first, width_, factor);
      else
        rows_.add(sums(p), width_, factor, first);
    }
    finish(first, width_, all.sum, b, head, query);
  }
};

/// Blocks of queries over packed keys and values.
class QueryBlocks final : AttentionRows {
 public:
  explicit QueryBlocks(const AttentionRows& rows) : AttentionRows(rows) {}

  void run() {
    const int64_t key_cells = round_up(keys_, panels_.columns()) * key_units_;
    const int64_t cells = key_cells + round_up(width_, panels_.columns()) * value_units_;
    const int64_t all = batches_ * key_heads_;
    const int64_t group = std::clamp<int64_t>(kPacked / (4 * std::max<int64_t>(cells, 1)), 1, all);
    const int64_t shared = heads_ / key_heads_, block_rows = query_rows();
    const int64_t blocks = ceil_div(queries_, block_rows);
    const Scratch packed(static_cast<size_t>(group * cells) * sizeof(uint32_t));
    const double pair_ns = 2.0 * static_cast<double>(features_ + width_) / 80 + 1;
    for (int64_t first = 0; first < all; first += group) {
      const int64_t count = std::min(group, all - first);
      parallel_for(
          count * 2, 1,
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t b = (first + i / 2) / key_heads_, h = (first + i / 2) % key_heads_;
              uint32_t* to = packed.get<uint32_t>() + i / 2 * cells;
              if (i % 2 == 0)
                panels_.pack_b(k_.at(b, h, 0), k_.row, k_.col, keys_, features_, to);
              else
                panels_.pack_b(v_.at(b, h, 0), v_.col, v_.row, width_, keys_, to + key_cells);
            }
          },
          0.4 * static_cast<double>(count * cells));
      parallel_for(
          count * shared * blocks, 1,
          [&](int64_t begin, int64_t end) {
            const GemmPanels::Scope scope(panels_);
            const Workspace workspace(*this);
            for (int64_t i = begin; i < end; ++i) {
              const int64_t key_head = first + i / (shared * blocks);
              const uint32_t* keys = packed.get<uint32_t>() + (key_head - first) * cells;
              block(key_head / key_heads_, key_head % key_heads_ * shared + i / blocks % shared,
                    i % blocks * block_rows, block_rows, keys, keys + key_cells, workspace);
            }
          },
          pair_ns * static_cast<double>(count * shared * queries_ * keys_));
    }
  }

 private:
  /// Scratch memory of one thread.
  struct Workspace {
    explicit Workspace(const QueryBlocks& a)
        : ld(round_up(a.width_, a.panels_.columns())),
          queries(cells(round_up(kQueryRows, a.panels_.rows()) * a.key_units_)),
          scores(cells(a.strip_rows_ * kScoreRow)),
          weights(a.tiles_ ? cells(kTileBlock * kKeys / 2) : 0),
          sums(cells(kQueryRows * ld)),
          mask(static_cast<size_t>(a.mask_ ? kKeys * a.mask_->item : 0)) {}
    static size_t cells(int64_t n) { return static_cast<size_t>(n) * sizeof(float); }
    int64_t ld;  // row stride of the sums
    Scratch queries, scores, weights, sums, mask;
  };

  /// Queries of a block.
  int64_t query_rows() const {
    const int64_t blocks = batches_ * heads_ * ceil_div(queries_, kQueryRows);
    return blocks >= kThreadBlocks * num_threads() ? kQueryRows : kLeastRows;
  }

  void block(int64_t b, int64_t head, int64_t first, int64_t most, const uint32_t* keys,
             const uint32_t* values, const Workspace& workspace) const {
    const int64_t rows = std::min(most, queries_ - first);
    panels_.pack_a(q_.at(b, head, first), q_.row, q_.col, rows, features_,
                   workspace.queries.get<uint32_t>());
    float largest[kQueryRows], totals[kQueryRows];
    begin({largest, totals}, rows, head);
    int64_t last = 0;
    for (int64_t r = 0; r < rows; ++r) last = std::max(last, visible_keys(first + r));
    const int64_t step = kKeys / panels_.columns() * panels_.columns();  // whole panels
    for (int64_t from = 0; from < last; from += step) {
      for (int64_t r = 0; r < rows; r += strip_rows_) {
        const Strip strip{b, head, first, r, std::min(strip_rows_, rows - r)};
        int64_t end = 0;
        for (int64_t i = r; i < r + strip.rows; ++i) end = std::max(end, visible_keys(first + i));
        if (from < end)
          run_strip(strip, from, std::min(step, end - from), keys, values,
                    {largest + r, totals + r}, workspace);
      }
    }
    float* sums = workspace.sums.get<float>();
    for (int64_t r = 0; r < rows; ++r)
      finish(sums + r * workspace.ld, workspace.ld, totals[r], b, head, first + r);
  }

  /// Rows of a block of queries.
  struct Strip {
    int64_t b, head, block, first, rows;
  };

  /// Adds the values of keys [from, from + n), weighted, to the sums of a strip.
  void run_strip(const Strip& strip, int64_t from, int64_t n, const uint32_t* keys,
                 const uint32_t* values, const RowStates& states,
                 const Workspace& workspace) const {
    float* s = workspace.scores.get<float>();
    float* sums = workspace.sums.get<float>() + strip.first * workspace.ld;
    const int64_t units = panels_.units(n);
    panels_.multiply(workspace.queries.get<uint32_t>() + strip.first * key_units_, key_units_,
                     keys + from * key_units_, key_units_, strip.rows, n, 0, key_units_, s,
                     kScoreRow, true);
    for (int64_t r = 0; r < strip.rows && has_scores(); ++r)
      scored(s + r * kScoreRow, n, strip.b, strip.head, strip.block + strip.first + r, from,
             workspace.mask.get<char>());
    // Weights replace the scores, or fill rows of a strip of tiles.
    float factors[kQueryRows];
    WeightRows rows{.s = s,
                    .ld = kScoreRow,
                    .rows = strip.rows,
                    .n = n,
                    .factors = factors,
                    .to = {s, panels_.per() == 2}};
    rows.to_row = kScoreRow * panels_.per();
    if (tiles_) {
      rows.to.data = workspace.weights.get();
      rows.to.step = kTileStrip;
      rows.to_row = kTileDepth;
    }
    to_weights(rows, states, units * panels_.per());
    for (int64_t r = 0; r < strip.rows && from > 0; ++r)
      if (factors[r] != 1) rows_.scale(sums + r * workspace.ld, width_, factors[r]);
    const uint32_t* panels = values + from / panels_.per() * panels_.columns();
    if (tiles_)
      panels_.multiply(workspace.weights.get<uint32_t>(), units, panels, value_units_, strip.rows,
                       width_, 0, units, sums, workspace.ld, from == 0);
    else
      panels_.multiply_rows(reinterpret_cast<const uint32_t*>(s), kScoreRow, panels, value_units_,
                            strip.rows, width_, units, sums, workspace.ld, from == 0);
  }

  const bool tiles_ = panels_.source() == GemmSource::bf16_tile;
  const int64_t strip_rows_ = tiles_ ? kTileBlock : round_up(kStripRows, panels_.rows());
  const int64_t key_units_ = panels_.units(features_), value_units_ = panels_.units(keys_);
};

void run_attention(const KernelArgs& args) {
  const View& out = args.out[0];
  if (out.size() == 0) return;
  if (args.in[1].shape()[2] == 0) {
    std::memset(out.data, 0, static_cast<size_t>(out.size()) * out.dtype().size());
    return;
  }
  const AttentionRows rows(args);
  if (rows.has_few_queries())
    FewQueries(rows).run();
  else
    QueryBlocks(rows).run();
}

const KernelEntry kAttentionKernels[] = {{.op = &op_attention, .run = run_attention}};

}  // namespace

const std::span<const KernelEntry> attention_kernels = kAttentionKernels;

}  // namespace mlx::core::cpu
