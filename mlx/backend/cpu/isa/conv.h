// Vector helpers of convolutions, compiled once per instruction set.
#pragma once

#include <stdint.h>

namespace mlx::core::cpu {

struct ConvKernels {
  /// sum[i] += x[i] * w[i], i < n: one tap of a depthwise convolution for all channels.
  void (*tap)(float* sum, const float* x, const float* w, int64_t n);
};

namespace v2 {
extern const ConvKernels conv_kernels;
}
namespace avx2 {
extern const ConvKernels conv_kernels;
}
namespace avx512 {
extern const ConvKernels conv_kernels;
}

}  // namespace mlx::core::cpu
