// Complex functions in double precision through the C library. Part of math_complex.h.
#pragma once

namespace mlx::core::m {

#define MLX_COMPLEX_FUNCTION(name, c_name) \
  MLX_FN Cx<double> name(Cx<double> z) {   \
    __complex__ double r;                  \
    __real__ r = z.re;                     \
    __imag__ r = z.im;                     \
    r = __builtin_##c_name(r);             \
    return {__real__ r, __imag__ r};       \
  }
MLX_COMPLEX_FUNCTION(exp, cexp)
MLX_COMPLEX_FUNCTION(log, clog)
MLX_COMPLEX_FUNCTION(sin, csin)
MLX_COMPLEX_FUNCTION(cos, ccos)
MLX_COMPLEX_FUNCTION(tan, ctan)
MLX_COMPLEX_FUNCTION(sinh, csinh)
MLX_COMPLEX_FUNCTION(cosh, ccosh)
MLX_COMPLEX_FUNCTION(tanh, ctanh)
MLX_COMPLEX_FUNCTION(arcsin, casin)
MLX_COMPLEX_FUNCTION(arccos, cacos)
MLX_COMPLEX_FUNCTION(arctan, catan)
MLX_COMPLEX_FUNCTION(arcsinh, casinh)
MLX_COMPLEX_FUNCTION(arccosh, cacosh)
MLX_COMPLEX_FUNCTION(arctanh, catanh)
MLX_COMPLEX_FUNCTION(sqrt, csqrt)
#undef MLX_COMPLEX_FUNCTION

}  // namespace mlx::core::m
