// The derivative of attention. A thread takes the queries that share a head of the keys, some rows
// at a time: it computes their weights again, and adds what they give the keys and values. Results
// depend on shapes and memory orders alone.
#include <algorithm>
#include <cstring>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/attention_rows.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

class AttentionVjp final : AttentionRows {
 public:
  explicit AttentionVjp(const KernelArgs& args)
      : AttentionRows(args),
        cotangent_(args.in.back()),
        dq_(args.out[0]),
        dk_(args.out[1]),
        dv_(args.out[2]),
        rows_at_once_(std::clamp<int64_t>(kScores / keys_, 8, kMostRows)) {}

  void run() {
    const int64_t groups = batches_ * key_heads_;
    const double ns = static_cast<double>(batches_ * heads_ * queries_ * keys_) *
                      (static_cast<double>(3 * features_ + 2 * width_) / 40 + 2);
    if (groups < num_threads()) {  // threads share the products
      all(0, groups);
    } else {
      parallel_for(groups, 1, [&](int64_t begin, int64_t end) { all(begin, end); }, ns);
    }
  }

 private:
  static constexpr int64_t kScores = 1 << 18;  // at once, so that they stay in a thread's cache
  static constexpr int64_t kMostRows = 128;

  static size_t floats(int64_t n) { return static_cast<size_t>(n) * sizeof(float); }

  /// Memory for the rows at once and for the sums of a head.
  struct Workspace {
    explicit Workspace(const AttentionVjp& a)
        : weights(floats(a.rows_at_once_ * a.keys_)),
          slopes(floats(a.rows_at_once_ * a.keys_)),
          rounded(a.type_ == GemmOutput::f32 ? 0 : floats(a.rows_at_once_ * a.keys_)),
          keys(floats(a.keys_ * a.features_)),
          values(floats(a.keys_ * a.width_)),
          mask(static_cast<size_t>(a.mask_ ? a.keys_ * a.mask_->item : 0)) {}
    Scratch weights, slopes, rounded, keys, values, mask;
  };

  void all(int64_t begin, int64_t end) const {
    const Workspace workspace(*this);
    const int64_t shared = heads_ / key_heads_;
    for (int64_t group = begin; group < end; ++group) {
      const int64_t b = group / key_heads_, key_head = group % key_heads_;
      std::fill_n(workspace.keys.get<float>(), keys_ * features_, 0.0f);
      std::fill_n(workspace.values.get<float>(), keys_ * width_, 0.0f);
      for (int64_t head = key_head * shared; head < (key_head + 1) * shared; ++head)
        for (int64_t query = 0; query < queries_; query += rows_at_once_)
          block(b, head, query, std::min(rows_at_once_, queries_ - query), workspace);
      store(workspace.keys.get<float>(), features_, dk_, b, key_head);
      store(workspace.values.get<float>(), width_, dv_, b, key_head);
    }
  }

  /// The weights of rows from the products of their features.
  void normalise(float* s, int64_t rows, int64_t keys, int64_t b, int64_t head, int64_t query,
                 const RowStates& states, char* mask) const {
    float factors[kMostRows];
    begin(states, rows, head);
    for (int64_t r = 0; r < rows && has_scores(); ++r)
      scored(s + r * keys_, keys, b, head, query + r, 0, mask);
    to_weights({.s = s,
                .ld = keys_,
                .rows = rows,
                .n = keys,
                .factors = factors,
                .to = {.data = s},
                .to_row = keys_},
               states, keys);
    for (int64_t r = 0; r < rows; ++r) rows_.scale(s + r * keys_, keys, 1 / states.sums[r]);
  }

  /// True if the weights of a row depend on its scores.
  bool depends(float largest, int64_t query) const {
    const bool sees_none = attrs_.causal && query + 1 + keys_ <= queries_;
    return !sees_none && !(kind_ == MaskKind::boolean && largest == kLowest);
  }

  void block(int64_t b, int64_t head, int64_t query, int64_t rows,
             const Workspace& workspace) const {
    const int64_t key_head = head / (heads_ / key_heads_);
    int64_t keys = 0;  // that any of the rows sees
    for (int64_t r = 0; r < rows; ++r) keys = std::max(keys, visible_keys(query + r));
    float *weights = workspace.weights.get<float>(), *slopes = workspace.slopes.get<float>();
    const GemmOperand q = operand(q_, b, head, query), given = operand(cotangent_, b, head, query);
    const GemmOperand k = operand(k_, b, key_head, 0), v = operand(v_, b, key_head, 0);
    multiply(rows, keys, features_, q, transposed(k), GemmOutput::f32, {weights, keys_, 1});
    multiply(rows, keys, width_, given, transposed(v), GemmOutput::f32, {slopes, keys_, 1});
    float largest[kMostRows], sums[kMostRows];
    normalise(weights, rows, keys, b, head, query, {largest, sums}, workspace.mask.get<char>());
    for (int64_t r = 0; r < rows; ++r) {
      float* x = slopes + r * keys_;
      rows_.to_scores(weights + r * keys_, keys, x);
      if (!depends(largest[r], query + r)) std::fill_n(x, keys, 0.0f);
    }
    const auto scale = static_cast<float>(attrs_.scale);
    void* rounded = workspace.rounded.get();
    const GemmOperand p = narrowed(weights, rows, keys, rounded);
    accumulate(keys, width_, rows, transposed(p), given, workspace.values.get<float>(), 1);
    const GemmOperand x = narrowed(slopes, rows, keys, rounded);
    char* to = const_cast<char*>(dq_.at(b, head, query));
    multiply(rows, features_, keys, x, k, type_, {to, dq_.row, dq_.col}, {scale, 0, {}});
    accumulate(keys, features_, rows, transposed(x), q, workspace.keys.get<float>(), scale);
  }

  static GemmOperand operand(const Heads& x, int64_t b, int64_t head, int64_t row) {
    return {x.at(b, head, row), x.row, x.col};
  }
  static GemmOperand transposed(const GemmOperand& x) { return {x.data, x.col, x.row}; }

  /// Rows of float32 in the dtype of the operands.
  GemmOperand narrowed(const float* x, int64_t rows, int64_t keys, void* to) const {
    if (type_ == GemmOutput::f32) return {x, keys_, 1};
    gemm_.store[static_cast<int>(type_)](x, keys_, rows, keys, {to, keys_, 1}, {});
    return {to, keys_, 1};
  }
  void multiply(int64_t m, int64_t n, int64_t k, const GemmOperand& a, const GemmOperand& b,
                GemmOutput to_type, const GemmTarget& to, const GemmEpilogue& epilogue = {}) const {
    gemm({.m = m,
          .n = n,
          .k = k,
          .type = type_,
          .out_type = to_type,
          .a = a,
          .b = b,
          .out = to,
          .epilogue = epilogue});
  }
  void accumulate(int64_t m, int64_t n, int64_t k, const GemmOperand& a, const GemmOperand& b,
                  float* to, float alpha) const {
    multiply(m, n, k, a, b, GemmOutput::f32, {to, n, 1}, {alpha, 1, {to, n, 1}});
  }
  /// Writes the sums of a head of the keys.
  void store(const float* sums, int64_t columns, const Heads& to, int64_t b, int64_t head) const {
    GemmTarget target{const_cast<char*>(to.at(b, head, 0)), to.row, to.col};
    gemm_.store[static_cast<int>(type_)](sums, columns, keys_, columns, target, {});
  }

  Heads cotangent_, dq_, dk_, dv_;
  int64_t rows_at_once_;
};

void run_attention_vjp(const KernelArgs& args) {
  auto clear = [](const View& x) {
    std::memset(x.data, 0, static_cast<size_t>(x.size()) * x.dtype().size());
  };
  if (args.in.back().size() == 0 || args.in[1].shape()[2] == 0) {
    for (const View& x : args.out) clear(x);
    return;
  }
  AttentionVjp(args).run();
}

const KernelEntry kAttentionVjpKernels[] = {{.op = &op_attention_vjp, .run = run_attention_vjp}};

}  // namespace

const std::span<const KernelEntry> attention_vjp_kernels = kAttentionVjpKernels;

}  // namespace mlx::core::cpu
