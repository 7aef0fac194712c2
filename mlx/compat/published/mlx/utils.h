// Printing, streams, and the rules of dtypes and shapes, for applications.
#pragma once

#include <ostream>

#include "mlx/compat/limits.h"
#include "mlx/compat/stream_context.h"
#include "mlx/core/api.h"
#include "mlx/core/device.h"
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

inline std::ostream& operator<<(std::ostream& os, Dtype::Kind kind) {
  return os << "buifcV"[int(kind)];
}
inline std::ostream& operator<<(std::ostream& os, const Device& d) { return os << to_string(d); }
inline std::ostream& operator<<(std::ostream& os, const Stream& s) { return os << to_string(s); }
inline std::ostream& operator<<(std::ostream& os, const Shape& s) { return os << to_string(s); }
inline std::ostream& operator<<(std::ostream& os, float16_t v) { return os << float(v); }
inline std::ostream& operator<<(std::ostream& os, bfloat16_t v) { return os << float(v); }
/// "1+2j".
inline std::ostream& operator<<(std::ostream& os, const complex64_t& v) {
  return os << v.real() << (v.imag() >= 0 || v.imag() != v.imag() ? "+" : "") << v.imag() << "j";
}

}  // namespace mlx::core
