// Arithmetic of polynomials as NumPy has it: vectors of coefficients, the highest power first. The
// lengths of results depend on those of the operands alone; leading zeros stay.
#pragma once

#include <utility>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

MLX_API array polyadd(const array& a, const array& b, StreamOrDevice s = {});
MLX_API array polysub(const array& a, const array& b, StreamOrDevice s = {});
MLX_API array polymul(const array& a, const array& b, StreamOrDevice s = {});
/// Quotient and remainder; the remainder has one coefficient less than the divisor, at least one.
MLX_API std::pair<array, array> polydiv(const array& u, const array& v, StreamOrDevice s = {});
/// The derivative of order m; the integral of order m with constants `k`, the first one first.
MLX_API array polyder(const array& p, int m = 1, StreamOrDevice s = {});
MLX_API array polyint(const array& p, int m, const array& k, StreamOrDevice s = {});
/// The polynomial with the given roots, or the characteristic polynomial of a square matrix.
MLX_API array poly(const array& roots, StreamOrDevice s = {});
/// The complex roots, of which the first coefficient is not 0.
MLX_API array roots(const array& p, StreamOrDevice s = {});

}  // namespace mlx::core
