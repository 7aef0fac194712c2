// How far products of float32 matrices may round their operands.
#pragma once

#include <string>

#include "mlx/core/api.h"
#include "mlx/core/attrs.h"
#include "mlx/core/dtype.h"

namespace mlx::core {

/// Operands of products of float32 and complex64 matrices are used as they are, or rounded to the
/// 11 significant bits of TF32, or to the 8 of bfloat16, where a device is faster then. Sums stay
/// in float32.
enum class Precision : int { highest, high, medium };

/// "highest", "high" or "medium".
MLX_API const char* precision_name(Precision p);
/// Throws ValueError for other names.
MLX_API Precision precision_from_name(const char* op, const std::string& name);

/// The precision of products that the calling thread builds: of its innermost PrecisionScope, else
/// what was set for all threads, at first `high` if MLX_ENABLE_TF32 is 1, else `highest`.
MLX_API Precision matmul_precision();
/// The same for products of a dtype; others than float32 and complex64 have `highest` alone.
MLX_API Precision precision_for(Dtype type);
/// Sets it for all threads; returns the previous one.
MLX_API Precision set_matmul_precision(Precision p);
/// Sets it for the calling thread alone; returns what was set there, -1 for nothing.
MLX_API int set_own_matmul_precision(int precision);

/// While it lives, products of the calling thread have a precision.
class PrecisionScope {
 public:
  explicit PrecisionScope(Precision p) : before_(set_own_matmul_precision(static_cast<int>(p))) {}
  ~PrecisionScope() { set_own_matmul_precision(before_); }
  PrecisionScope(const PrecisionScope&) = delete;

 private:
  const int before_;
};

/// Attributes of op_matmul, which has none where the precision is `highest`.
struct MatmulAttrs {
  Precision precision;
  template <class F>
  void each(F&& f) {
    f("precision", precision);
  }
};
inline Precision precision_of(const Attrs* matmul) {
  return matmul ? attrs_as<MatmulAttrs>(matmul).precision : Precision::highest;
}

}  // namespace mlx::core
