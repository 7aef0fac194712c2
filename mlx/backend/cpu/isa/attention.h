// Conversion of rows of attention scores to weights, compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"

namespace mlx::core::cpu {

/// How a row of a mask is stored.
enum class MaskKind : uint8_t { none, boolean, f32, f16, bf16 };

/// Where the weights of a row go: float32 (which may replace the scores) or bfloat16.
struct WeightTarget {
  static constexpr int64_t kGroup = 32;  ///< elements that lie side by side
  void* data = nullptr;
  bool bf16 = false;
  int64_t step = kGroup;  ///< elements from one group to the next
};

/// Rows of products that become weights, and the state of each row: its largest score so far and
/// the sum of its weights relative to that.
struct WeightRows {
  const float* s = nullptr;
  int64_t ld = 0;  ///< floats from row to row
  int64_t rows = 0, n = 0;
  float scale = 1;  ///< positive
  float *largest = nullptr, *sums = nullptr;
  float* factors = nullptr;  ///< set: of sums that are relative to the former largest scores
  WeightTarget to;           ///< of the first row
  int64_t to_row = 0;        ///< elements from row to row
};

struct AttentionKernels {
  /// s[i] = s[i] * scale + mask[i], or the lowest float32 where a bool mask is false.
  void (*scores)(float* s, int64_t n, float scale, const void* mask, MaskKind kind);
  /// p[i] = exp(s[i] * scale - the largest score of the row), where NaNs are not the largest, and
  /// -inf has the weight 0. Sums are of the weights before these are rounded to the target's type.
  /// The bits of a row depend on its numbers alone; -inf at its end change nothing.
  void (*weights)(const WeightRows& rows);
  /// x[i] *= factor.
  void (*scale)(float* x, int64_t n, float factor);
  /// sum[i] += factor * x[i].
  void (*add)(const float* x, int64_t n, float factor, float* sum);
  /// x[i] = p[i] * (x[i] - the sum of p[j] * x[j]), in an order that depends on n alone: cotangents
  /// of scores from those of weights p.
  void (*to_scores)(const float* p, int64_t n, float* x);
};

#define MLX_ATTENTION_TABLE(isa, ...)              \
  namespace isa {                                  \
  extern const AttentionKernels attention_kernels; \
  }
MLX_EACH_ISA(MLX_ATTENTION_TABLE)
#undef MLX_ATTENTION_TABLE

}  // namespace mlx::core::cpu
