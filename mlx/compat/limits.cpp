// Ranges of dtypes, from std::numeric_limits.
#include "mlx/compat/limits.h"

#include <limits>

#include "mlx/core/error.h"
#include "mlx/types/limits.h"

namespace mlx::core {

finfo::finfo(Dtype t) : dtype(t) {
  dispatch(real_dtype(t), [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>) {
      fail<ValueError>("finfo", "dtype ", dtype_name(t),
                       "; floating and complex dtypes are accepted, and iinfo for integers");
    } else if constexpr (!requires { T().imag(); }) {
      using Limits = std::numeric_limits<T>;
      min = static_cast<double>(Limits::lowest());
      max = static_cast<double>(Limits::max());
      eps = static_cast<double>(Limits::epsilon());
    }
  });
}

iinfo::iinfo(Dtype t) : dtype(t) {
  dispatch(t, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      min = static_cast<int64_t>(std::numeric_limits<T>::min());
      max = static_cast<uint64_t>(std::numeric_limits<T>::max());
    } else {
      fail<ValueError>("iinfo", "dtype ", dtype_name(t),
                       "; integer dtypes are accepted, and finfo for floating ones");
    }
  });
}

}  // namespace mlx::core
