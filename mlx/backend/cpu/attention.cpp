// Attention in blocks of queries and keys: the scores of a block are computed, converted to weights
// and multiplied with the values while they are in the cache; sums are rescaled when a larger score
// is found (Milakov and Gimelshein 2018, Dao et al. 2022). If there are few queries, keys and
// values are read in place. The result of a row depends on shapes and memory orders alone, not on
// the number of threads.
#include "mlx/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/isa/attention.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/panels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kQueryRows = 96;     // per block
constexpr int64_t kKeys = 256;         // per block
constexpr int64_t kFewRows = 16;       // maximum queries per key head that read keys in place
constexpr int64_t kFewKeys = 512;      // keys per task for few queries
constexpr int64_t kPacked = 32 << 20;  // maximum bytes of packed keys and values
constexpr float kLowest = std::numeric_limits<float>::lowest();

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

const AttentionKernels& row_kernels() {
  static const AttentionKernels& chosen = MLX_FOR_ISA(attention_kernels);
  return chosen;
}

/// An operand of shape (batch, heads, positions, features) as bytes.
struct Heads {
  const char* data;
  int64_t item, batch, head, row, col;  // bytes per element; strides in elements

  explicit Heads(const View& v)
      : data(v.as<const char>()),
        item(v.dtype().size()),
        batch(v.strides()[0]),
        head(v.strides()[1]),
        row(v.strides()[2]),
        col(v.strides()[3]) {}
  const char* at(int64_t b, int64_t h, int64_t r, int64_t c = 0) const {
    return data + (b * batch + h * head + r * row + c * col) * item;
  }
};

MaskKind mask_kind(Dtype t) {
  return t == bool_      ? MaskKind::boolean
         : t == float16  ? MaskKind::f16
         : t == bfloat16 ? MaskKind::bf16
                         : MaskKind::f32;
}

GemmOutput output_of(Dtype t) {
  return t == float16 ? GemmOutput::f16 : t == bfloat16 ? GemmOutput::bf16 : GemmOutput::f32;
}

float sink_of(const View& sinks, int64_t head) {
  return dispatch(sinks.dtype(), [&](auto tag) -> float {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_convertible_v<T, float>)
      return static_cast<float>(sinks.as<const T>()[head * sinks.strides()[0]]);
    return 0;
  });
}

/// Largest score and sum of weights of a row so far; `sum` is relative to `max_score`.
struct RowState {
  float max_score = -std::numeric_limits<float>::infinity(), sum = 0;
};

class AttentionRows {
 public:
  explicit AttentionRows(const KernelArgs& args)
      : attrs_(attrs_as<AttentionAttrs>(args.attrs)),
        q_(args.in[0]),
        k_(args.in[1]),
        v_(args.in[2]),
        out_(args.out[0]),
        batches_(args.in[0].shape()[0]),
        heads_(args.in[0].shape()[1]),
        key_heads_(args.in[1].shape()[1]),
        queries_(args.in[0].shape()[2]),
        keys_(args.in[1].shape()[2]),
        features_(args.in[0].shape()[3]),
        width_(args.in[2].shape()[3]),
        type_(output_of(args.in[0].dtype())),
        panels_(type_) {
    if (attrs_.has_mask) {
      mask_.emplace(args.in[3]);
      kind_ = mask_kind(args.in[3].dtype());
    }
    if (attrs_.has_sinks) sinks_ = &args.in[3 + attrs_.has_mask];
  }

  /// True where each key is read for few queries: packing the keys would take longer.
  bool has_few_queries() const {
    return heads_ / key_heads_ * queries_ <= kFewRows && k_.col == 1 && v_.col == 1;
  }

 protected:
  float initial_max(int64_t head) const {
    return sinks_ ? sink_of(*sinks_, head) : RowState{}.max_score;
  }
  RowState initial(int64_t head) const { return {initial_max(head), sinks_ ? 1.0f : 0.0f}; }

  /// The number of keys that a query attends to; all keys (with the lowest scores) if it attends to
  /// none.
  int64_t visible_keys(int64_t query) const {
    if (!attrs_.causal) return keys_;
    int64_t n = query + 1 + keys_ - queries_;
    return n <= 0 ? keys_ : std::min(n, keys_);
  }

  /// Converts the products s of a query with keys [from, from + n) to weights p relative to the
  /// row's new maximum. Returns the factor by which the previous sums must be multiplied.
  float weights_of(float* s, int64_t n, int64_t b, int64_t head, int64_t query, int64_t from,
                   RowState& state, void* p, bool bf16, char* workspace) const {
    const int64_t some = std::min(n, visible_keys(query) - from), size = bf16 ? 2 : 4;
    auto clear = [&](int64_t first) {
      std::memset(static_cast<char*>(p) + first * size, 0, static_cast<size_t>((n - first) * size));
    };
    if (some <= 0) {
      clear(0);
      return 1;
    }
    float max_score;
    if (attrs_.causal && query + 1 + keys_ <= queries_) {
      std::fill(s, s + some, kLowest);
      max_score = kLowest;
    } else {
      max_score = rows_.scores(s, some, static_cast<float>(attrs_.scale),
                               mask_row(b, head, query, from, some, workspace), kind_);
    }
    max_score = max_score > state.max_score || max_score != max_score ? max_score : state.max_score;
    if (max_score == RowState{}.max_score) {  // only -inf so far
      clear(0);
      return 1;
    }
    const float factor = std::exp(state.max_score - max_score);
    state.max_score = max_score;
    state.sum = state.sum * factor + rows_.weights(s, some, max_score, p, bf16);
    if (some < n) clear(some);
    return factor;
  }

  /// A row of the mask, made contiguous.
  const void* mask_row(int64_t b, int64_t head, int64_t query, int64_t from, int64_t n,
                       char* workspace) const {
    if (!mask_) return nullptr;
    const char* p = mask_->at(b, head, query, from);
    if (mask_->col == 1) return p;
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(workspace + i * mask_->item, p + i * mask_->col * mask_->item,
                  static_cast<size_t>(mask_->item));
    return workspace;
  }

  /// Writes rows of sums divided by the sums of their weights.
  void finish(float* sums, int64_t ld, const RowState& state, int64_t b, int64_t head,
              int64_t query) const {
    rows_.scale(sums, width_, 1 / state.sum);
    GemmTarget target{const_cast<char*>(out_.at(b, head, query)), width_, 1};
    gemm_.store[static_cast<int>(type_)](sums, ld, 1, width_, target, {});
  }

  const AttentionAttrs& attrs_;
  const GemmKernels& gemm_ = gemm_kernels();
  const AttentionKernels& rows_ = row_kernels();
  Heads q_, k_, v_, out_;
  int64_t batches_, heads_, key_heads_, queries_, keys_, features_, width_;
  std::optional<Heads> mask_;
  MaskKind kind_ = MaskKind::none;
  const View* sinks_ = nullptr;
  GemmOutput type_;
  GemmPanels panels_;
};

/// All queries of a key head at once, over ranges of its keys as they lie.
class FewQueries final : AttentionRows {
 public:
  explicit FewQueries(const AttentionRows& rows) : AttentionRows(rows) {}

  void run() {
    const int64_t shared = heads_ / key_heads_, rows = shared * queries_;
    const int64_t pieces = ceil_div(keys_, kFewKeys), tasks = batches_ * key_heads_ * pieces;
    const Scratch sums(static_cast<size_t>(tasks * rows * width_) * sizeof(float));
    const Scratch states(static_cast<size_t>(tasks * rows) * sizeof(RowState));
    auto sum_of = [&](int64_t task) { return sums.get<float>() + task * rows * width_; };
    auto state_of = [&](int64_t task) { return states.get<RowState>() + task * rows; };
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
                         state_of(task));
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
                [&](int64_t p) { return state_of(group * pieces + p)[r]; }, b, head, r % queries_);
          }
        },
        static_cast<double>(tasks * rows * width_) * 0.2);
  }

 private:
  /// Weighted sums over one range of keys for all queries of a key head.
  void run_few_task(int64_t b, int64_t key_head, int64_t piece, void* x, float* s, char* workspace,
                    float* sums, RowState* states) const {
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
    for (int64_t r = 0; r < rows; ++r) {
      states[r] = {};
      weights_of(s + r * kFewKeys, n, b, key_head * shared + r / queries_, r % queries_, from,
                 states[r], s + r * kFewKeys, false, workspace);
    }
    const auto plain = pairs ? GemmSource::bf16 : source;
    gemm_.axpy[static_cast<int>(plain)](s, kFewKeys, v_.at(b, key_head, from), v_.row, rows, width_,
                                        n, sums, width_);
  }

  template <class Sums, class State>
  void join_pieces(int64_t pieces, Sums sums, State state, int64_t b, int64_t head,
                   int64_t query) const {
    RowState all = initial(head);
    for (int64_t p = 0; p < pieces; ++p) {
      float max_score = state(p).max_score;
      all.max_score =
          max_score > all.max_score || max_score != max_score ? max_score : all.max_score;
    }
    auto factor_of = [&](float max_score) {
      return max_score == RowState{}.max_score && all.max_score == max_score
                 ? 0.0f
                 : std::exp(max_score - all.max_score);
    };
    if (sinks_) all.sum = factor_of(initial_max(head));
    float* first = sums(0);
    for (int64_t p = 0; p < pieces; ++p) {
      const float factor = factor_of(state(p).max_score);
      all.sum += factor * state(p).sum;
      if (p == 0)
        rows_.scale(first, width_, factor);
      else
        rows_.add(sums(p), width_, factor, first);
    }
    finish(first, width_, all, b, head, query);
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
    const int64_t shared = heads_ / key_heads_, blocks = ceil_div(queries_, kQueryRows);
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
                    i % blocks * kQueryRows, keys, keys + key_cells, workspace);
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
          scores(cells(kQueryRows * kKeys)),
          weights(cells(round_up(kQueryRows, a.panels_.rows()) * kKeys)),
          sums(cells(kQueryRows * ld)),
          mask(static_cast<size_t>(a.mask_ ? kKeys * a.mask_->item : 0)) {}
    static size_t cells(int64_t n) { return static_cast<size_t>(n) * sizeof(float); }
    int64_t ld;  // row stride of the sums
    Scratch queries, scores, weights, sums, mask;
  };

  void block(int64_t b, int64_t head, int64_t first, const uint32_t* keys, const uint32_t* values,
             const Workspace& workspace) const {
    const int64_t rows = std::min(kQueryRows, queries_ - first);
    const bool halves = panels_.per() == 2;
    float *s = workspace.scores.get<float>(), *sums = workspace.sums.get<float>();
    panels_.pack_a(q_.at(b, head, first), q_.row, q_.col, rows, features_,
                   workspace.queries.get<uint32_t>());
    RowState states[kQueryRows];
    int64_t last = 0;
    for (int64_t r = 0; r < rows; ++r) {
      states[r] = initial(head);
      last = std::max(last, visible_keys(first + r));
    }
    const int64_t step = kKeys / panels_.columns() * panels_.columns();  // whole panels
    for (int64_t from = 0; from < last; from += step) {
      const int64_t n = std::min(step, last - from);
      panels_.multiply(workspace.queries.get<uint32_t>(), key_units_, keys + from * key_units_,
                       key_units_, rows, n, 0, key_units_, s, kKeys, true);
      for (int64_t r = 0; r < rows; ++r) {
        // Weights overwrite the scores; bfloat16 weights use the first half.
        float* row = s + r * kKeys;
        const float factor = weights_of(row, n, b, head, first + r, from, states[r], row, halves,
                                        workspace.mask.get<char>());
        if (from > 0 && factor != 1) rows_.scale(sums + r * workspace.ld, width_, factor);
      }
      const GemmPanels weights(halves ? panels_.source() : GemmSource::f32);
      const int64_t units = weights.units(n);
      weights.pack_a(s, kKeys * weights.per(), 1, rows, n, workspace.weights.get<uint32_t>());
      weights.multiply(workspace.weights.get<uint32_t>(), units,
                       values + from / weights.per() * panels_.columns(), value_units_, rows,
                       width_, 0, units, sums, workspace.ld, from == 0);
    }
    for (int64_t r = 0; r < rows; ++r)
      finish(sums + r * workspace.ld, workspace.ld, states[r], b, head, first + r);
  }

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

const KernelEntry rows[] = {{.op = &op_attention, .run = run_attention}};

}  // namespace

const std::span<const KernelEntry> attention_kernels = rows;

}  // namespace mlx::core::cpu
