// Rows of attention on the CPU: operands by head, and how the scores of a query become weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/isa/attention.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/panels.h"
#include "mlx/ops/attention.h"

namespace mlx::core::cpu {

inline constexpr float kLowest = std::numeric_limits<float>::lowest();
inline constexpr int64_t kFewRows = 16;  // maximum queries per key head that read keys in place

inline constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

inline const AttentionKernels& row_kernels() {
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

inline MaskKind mask_kind(Dtype t) {
  return t == bool_      ? MaskKind::boolean
         : t == float16  ? MaskKind::f16
         : t == bfloat16 ? MaskKind::bf16
                         : MaskKind::f32;
}

inline GemmOutput output_of(Dtype t) {
  return t == float16 ? GemmOutput::f16 : t == bfloat16 ? GemmOutput::bf16 : GemmOutput::f32;
}

inline float sink_of(const View& sinks, int64_t head) {
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

  /// Converts the products s of a query with keys [from, from + n) to weights relative to the row's
  /// new maximum, followed by zeros up to `end`. Returns the factor by which the previous sums must
  /// be multiplied.
  float weights_of(float* s, int64_t n, int64_t b, int64_t head, int64_t query, int64_t from,
                   RowState& state, const WeightTarget& p, int64_t end, char* workspace) const {
    const int64_t some = std::min(n, visible_keys(query) - from);
    if (some <= 0) {
      clear(p, 0, end);
      return 1;
    }
    float max_score, scale = 1;  // of what is in s
    if (attrs_.causal && query + 1 + keys_ <= queries_) {
      std::fill(s, s + some, kLowest);
      max_score = kLowest;
    } else if (mask_) {
      max_score = rows_.scores(s, some, static_cast<float>(attrs_.scale),
                               mask_row(b, head, query, from, some, workspace), kind_);
    } else {
      scale = static_cast<float>(attrs_.scale);
      max_score = rows_.largest(s, some, scale);
    }
    max_score = std::max(state.max_score, max_score);
    if (max_score == RowState{}.max_score) {
      if (std::any_of(s, s + some, [](float x) { return x != x; })) {
        state.sum = std::numeric_limits<float>::quiet_NaN();
      }
      clear(p, 0, end);  // only -inf and NaN so far
      return 1;
    }
    const float factor = std::exp(state.max_score - max_score);
    state.max_score = max_score;
    state.sum = state.sum * factor + rows_.weights(s, some, scale, max_score, p);
    clear(p, some, end);
    return factor;
  }

  /// Zeros in the place of the weights [first, end).
  static void clear(const WeightTarget& p, int64_t first, int64_t end) {
    constexpr int64_t kGroup = WeightTarget::kGroup;
    const int64_t size = p.bf16 ? 2 : 4;
    while (first < end) {
      const int64_t in = first % kGroup, count = std::min(kGroup - in, end - first);
      std::memset(static_cast<char*>(p.data) + (first / kGroup * p.step + in) * size, 0,
                  static_cast<size_t>(count * size));
      first += count;
    }
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

}  // namespace mlx::core::cpu
