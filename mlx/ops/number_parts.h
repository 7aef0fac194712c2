// Parts of numbers: bits of integers, exponents and fractions of floats, as NumPy and JAX have
// them.
#pragma once

#include <optional>
#include <utility>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// The floating dtype in which an op computes elements of dtype `t`; complex ones raise an error of
/// `op`.
Dtype real_of(const char* op, Dtype t);

/// The number of ones in the binary representation of the magnitude: uint8.
MLX_API array bitwise_count(const array& a, StreamOrDevice s = {});
/// The number of ones, or of zeros before the first one, in the bits of integers; of their dtype.
MLX_API array population_count(const array& a, StreamOrDevice s = {});
MLX_API array clz(const array& a, StreamOrDevice s = {});
/// Elements that are not zero as the bits of uint8 along an axis, padded with zeros; and the bits
/// of uint8 as elements. The first bit is the highest one, or the lowest one if `little`.
MLX_API array packbits(const array& a, int axis, bool little, StreamOrDevice s = {});
MLX_API array unpackbits(const array& a, int axis, std::optional<int64_t> count, bool little,
                         StreamOrDevice s = {});

/// a 2^n for integers n.
MLX_API array ldexp(const array& a, const array& n, StreamOrDevice s = {});
/// A fraction of magnitude in [1/2, 1) and the power of two (int32) by which it is multiplied.
MLX_API std::pair<array, array> frexp(const array& a, StreamOrDevice s = {});
/// The fraction and the integer, both with the sign of `a`.
MLX_API std::pair<array, array> modf(const array& a, StreamOrDevice s = {});
/// The distance to the next number away from zero, with the sign of `a`.
MLX_API array spacing(const array& a, StreamOrDevice s = {});

}  // namespace mlx::core
