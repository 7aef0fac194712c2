// Elements of 16 bits: the compiler's types where it has them, the bits elsewhere.
#ifndef MLX_C_HALF_H
#define MLX_C_HALF_H

#include <stdint.h>

#if defined(__ARM_FP16_FORMAT_IEEE)
typedef __fp16 float16_t;
#else
typedef uint16_t float16_t;
#endif
#if defined(__ARM_FEATURE_BF16)
typedef __bf16 bfloat16_t;
#else
typedef uint16_t bfloat16_t;
#endif

#endif  // MLX_C_HALF_H
