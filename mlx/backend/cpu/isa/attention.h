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

struct AttentionKernels {
  /// The largest s[i] * scale of n >= 1, without regard to NaNs.
  float (*largest)(const float* s, int64_t n, float scale);
  /// s[i] = s[i] * scale + mask[i], or the lowest float32 where a bool mask is false; returns the
  /// largest of n >= 1, without regard to NaNs.
  float (*scores)(float* s, int64_t n, float scale, const void* mask, MaskKind kind);
  /// p[i] = exp(s[i] * scale - shift); returns the sum before rounding to the target's type, in an
  /// order that depends on n alone.
  float (*weights)(const float* s, int64_t n, float scale, float shift, const WeightTarget& p);
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
