// Rows of attention on the CPU: operands by head, and how the scores of a query become weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "mlx/backend/common/round_up.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/isa/attention.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/panels.h"
#include "mlx/ops/attention.h"

namespace mlx::core::cpu {

inline constexpr float kLowest = std::numeric_limits<float>::lowest();
inline constexpr int64_t kFewRows = 16;  // maximum queries per key head that read keys in place

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

/// Largest scores and sums of weights of rows so far; a sum is relative to its largest score.
struct RowStates {
  float *largest, *sums;
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
    return sinks_ ? sink_of(*sinks_, head) : -std::numeric_limits<float>::infinity();
  }
  void begin(const RowStates& states, int64_t rows, int64_t head) const {
    std::fill_n(states.largest, rows, initial_max(head));
    std::fill_n(states.sums, rows, sinks_ ? 1.0f : 0.0f);
  }

  /// The number of keys that a query attends to; all keys (with the lowest scores) if it attends to
  /// none.
  int64_t visible_keys(int64_t query) const {
    if (!attrs_.causal) return keys_;
    int64_t n = query + 1 + keys_ - queries_;
    return n <= 0 ? keys_ : std::min(n, keys_);
  }

  /// True where `scored` makes scores of products; elsewhere a score is a product times the scale.
  bool has_scores() const { return mask_ || attrs_.causal || !(attrs_.scale > 0); }
  /// The scale of the scores of `scored`.
  float score_scale() const {
    return mask_ || !(attrs_.scale > 0) ? 1.0f : static_cast<float>(attrs_.scale);
  }

  /// Replaces the products s of a query with keys [from, from + n) by scores; unseen keys get -inf.
  void scored(float* s, int64_t n, int64_t b, int64_t head, int64_t query, int64_t from,
              char* workspace) const {
    const int64_t some = std::clamp<int64_t>(visible_keys(query) - from, 0, n);
    if (attrs_.causal && query + 1 + keys_ <= queries_) {
      // Half of the lowest score: the scale cannot round it to -inf.
      std::fill(s, s + some, kLowest / (2 * std::max(1.0f, score_scale())));
    } else if (some > 0 && mask_) {
      rows_.scores(s, some, static_cast<float>(attrs_.scale),
                   mask_row(b, head, query, from, some, workspace), kind_);
    } else if (!(attrs_.scale > 0)) {
      rows_.scores(s, some, static_cast<float>(attrs_.scale), nullptr, MaskKind::none);
    }
    std::fill(s + some, s + n, -std::numeric_limits<float>::infinity());
  }

  /// Converts scores to weights relative to the new largest scores, followed by zeros up to `end`.
  void to_weights(WeightRows w, const RowStates& states, int64_t end) const {
    w.scale = score_scale();
    w.largest = states.largest;
    w.sums = states.sums;
    rows_.weights(w);
    if (w.n == end) return;
    for (int64_t r = 0; r < w.rows; ++r) {
      WeightTarget to = w.to;
      to.data = static_cast<char*>(to.data) + r * w.to_row * (to.bf16 ? 2 : 4);
      clear(to, w.n, end);
    }
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

  /// Writes a row of sums divided by the sum of its weights.
  void finish(float* sums, int64_t ld, float weights, int64_t b, int64_t head,
              int64_t query) const {
    rows_.scale(sums, width_, 1 / weights);
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
