// log |gamma(x)| of the C library, without the sign that its other function keeps in a variable.
#pragma once

#include <cmath>

#if defined(__APPLE__)
// Its header hides the function from programs without _REENTRANT.
extern "C" double lgamma_r(double, int*);
#endif

namespace mlx::core::cpu {

inline double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

}  // namespace mlx::core::cpu
