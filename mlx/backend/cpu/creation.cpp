// Ranges. Integers are exact and wrap at the width of the dtype; other dtypes are start + i * step
// in double, rounded once.
#include "mlx/ops/creation.h"

#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

void arange(const KernelArgs& k) {
  const View& out = k.out[0];
  const ArangeAttrs& a = attrs_as<ArangeAttrs>(k.attrs);
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* dst = out.as<T>();
    auto fill = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_integral_v<T>) {
          dst[i] = static_cast<T>(static_cast<uint64_t>(a.int_start) +
                                  static_cast<uint64_t>(i) * static_cast<uint64_t>(a.int_step));
        } else {
          // The first element has no step: 0 times infinity would be NaN.
          double v = i ? a.start + static_cast<double>(i) * a.step : a.start;
          if constexpr (sizeof(T) == 2) {
            dst[i] = Scalar::from(v, out.dtype()).template as<T>();
          } else {
            dst[i] = static_cast<T>(v);
          }
        }
      }
    };
    parallel_for(out.size(), 4096, fill, static_cast<double>(out.size()));
  });
}

constexpr KernelEntry kCreationKernels[] = {{.op = &op_arange, .run = arange}};

}  // namespace

const std::span<const KernelEntry> creation_kernels = kCreationKernels;

}  // namespace mlx::core::cpu
