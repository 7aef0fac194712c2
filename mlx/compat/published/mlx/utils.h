// Printing, streams, and the rules of dtypes and shapes, for applications.
#pragma once

#include <limits>
#include <ostream>
#include <string_view>
#include <type_traits>
#include <utility>

#include "mlx/compat/limits.h"
#include "mlx/compat/stream_context.h"
#include "mlx/core/api.h"
#include "mlx/core/device.h"
#include "mlx/core/error.h"
#include "mlx/core/print.h"
#include "mlx/core/shape.h"

namespace mlx::core {

/// The dtype that the arrays' elements promote to.
inline Dtype result_type(const std::vector<array>& arrays) {
  Dtype t = bool_;
  for (const array& a : arrays) t = promote_types(t, a.dtype());
  return t;
}
inline Dtype result_type(const array& a, const array& b) {
  return promote_types(a.dtype(), b.dtype());
}
inline Dtype result_type(const array& a, const array& b, const array& c) {
  return promote_types(result_type(a, b), c.dtype());
}

/// `axis` counted from the front. Throws IndexError, beginning with `prefix`, where it is out of
/// range.
inline int normalize_axis_index(int axis, int ndim, const std::string& prefix = "") {
  return normalize_axis(axis, ndim, prefix.c_str());
}
constexpr bool is_power_of_2(int n) { return n > 0 && (n & (n - 1)) == 0; }
/// The least power of two that is not below n, at least 1.
constexpr int next_power_of_2(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}
/// True on the thread that loaded the library.
MLX_API bool is_main_thread();
/// A variable of the environment, or the default where it is not set.
MLX_API int get_var(const char* name, int default_value);
MLX_API std::string get_var(const char* name, const char* default_value);

/// The integer as another integer type. Throws ValueError, beginning with `prefix`, where it does
/// not fit.
template <class To = ShapeElem, class T>
  requires std::is_integral_v<T> && std::is_integral_v<To>
To safe_cast(T v, std::string_view prefix = "[safe_cast]") {
  if (std::in_range<To>(v)) return static_cast<To>(v);
  throw ValueError(std::string(prefix) + " " + std::to_string(v) + " does not fit; " +
                   std::to_string(std::numeric_limits<To>::min()) + " to " +
                   std::to_string(std::numeric_limits<To>::max()) + " are accepted");
}

/// Variables of the environment that tune MLX's engine. The first two tune this one too; the others
/// are read and tune nothing here.
namespace env {
using core::get_var;
inline bool enable_tf32() { return get_var("MLX_ENABLE_TF32", 0) != 0; }
inline int nccl_timeout(int default_value) { return get_var("MLX_NCCL_TIMEOUT", default_value); }
inline int bfs_max_width() { return get_var("MLX_BFS_MAX_WIDTH", 20); }
inline int max_ops_per_buffer(int default_value) {
  return get_var("MLX_MAX_OPS_PER_BUFFER", default_value);
}
inline int max_mb_per_buffer(int default_value) {
  return get_var("MLX_MAX_MB_PER_BUFFER", default_value);
}
inline int residency_set_max_pct() { return get_var("MLX_RESIDENCY_SET_MAX_PCT", 100); }
inline bool residency_debug() { return get_var("MLX_RESIDENCY_DEBUG", 0) != 0; }
inline bool metal_fast_synch() { return get_var("MLX_METAL_FAST_SYNCH", 0) != 0; }
inline const std::string& metal_gpu_arch() {
  static const std::string arch = get_var("MLX_METAL_GPU_ARCH", "");
  return arch;
}
}  // namespace env

inline std::ostream& operator<<(std::ostream& os, Dtype::Kind kind) {
  return os << "buifcV"[int(kind)];
}
inline std::ostream& operator<<(std::ostream& os, const Device& d) { return os << to_string(d); }
inline std::ostream& operator<<(std::ostream& os, const Stream& s) { return os << to_string(s); }
/// A vector of numbers: "(1,2)".
template <class Vec>
  requires std::is_arithmetic_v<typename Vec::value_type> &&
           (std::is_same_v<Vec, std::vector<typename Vec::value_type>> ||
            std::is_same_v<Vec, Shape>)
std::ostream& operator<<(std::ostream& os, const Vec& numbers) {
  os << '(';
  for (size_t i = 0; i < numbers.size(); ++i) os << (i ? "," : "") << numbers[i];
  return os << ')';
}
inline std::ostream& operator<<(std::ostream& os, float16_t v) { return os << float(v); }
inline std::ostream& operator<<(std::ostream& os, bfloat16_t v) { return os << float(v); }
/// "1+2j".
inline std::ostream& operator<<(std::ostream& os, const complex64_t& v) {
  return os << v.real() << (v.imag() >= 0 || v.imag() != v.imag() ? "+" : "") << v.imag() << "j";
}

}  // namespace mlx::core
