// The bound part of the extensions of this directory: functions that take and return arrays.
#pragma once

#include <vector>

#include "mlx/mlx.h"

namespace mx = mlx::core;

inline mx::array kept{0};
inline mx::array doubled(const mx::array& x) { return mx::add(x, x); }
inline mx::array same(mx::array x) { return x; }
inline mx::array converted(const mx::array& x, mx::Dtype t, mx::StreamOrDevice s) {
  return mx::astype(x, t, s);
}
inline mx::Dtype dtype_of(const mx::array& x) { return x.dtype(); }
inline void keep(mx::array x) { kept = x; }
inline mx::array give() { return kept; }
inline std::vector<mx::array> negatives(const std::vector<mx::array>& xs) {
  std::vector<mx::array> out;
  for (const mx::array& x : xs) out.push_back(mx::negative(x));
  return out;
}
inline double total(const mx::array& x) {
  mx::array s = mx::sum(mx::astype(x, mx::float32));
  mx::eval(s);
  return s.item<float>();
}
inline mx::array null_handle() { return mx::array(); }
inline mx::array failing(const mx::array& x) { return mx::reshape(x, {-5, 7}); }

/// Binds those without particular arguments.
template <class Module>
void bind(Module& m) {
  mx::python::require();
  m.def("doubled", &doubled);
  m.def("same", &same);
  m.def("dtype_of", &dtype_of);
  m.def("keep", &keep);
  m.def("give", &give);
  m.def("negatives", &negatives);
  m.def("total", &total);
  m.def("null_handle", &null_handle);
  m.def("failing", &failing);
}
