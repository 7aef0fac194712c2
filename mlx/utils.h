// Printing, streams, and the rules of dtypes and shapes, for applications.
#pragma once

#include <ostream>

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

inline std::ostream& operator<<(std::ostream& os, const Device& d) { return os << to_string(d); }
inline std::ostream& operator<<(std::ostream& os, const Stream& s) { return os << to_string(s); }
inline std::ostream& operator<<(std::ostream& os, const Shape& s) { return os << to_string(s); }

}  // namespace mlx::core
