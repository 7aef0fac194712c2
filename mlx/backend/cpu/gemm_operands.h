// Sizes and positions in the operands of a product, and how long it takes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "mlx/backend/common/round_up.h"
#include "mlx/backend/cpu/gemm.h"

namespace mlx::core::cpu {

/// Bytes of an element.
constexpr int64_t element_size(GemmOutput type) { return type == GemmOutput::f32 ? 4 : 2; }

constexpr int64_t element_size(GemmInt type) {
  switch (type) {
    case GemmInt::i16:
      return 2;
    case GemmInt::i32:
      return 4;
    case GemmInt::i64:
      return 8;
    default:
      return 1;
  }
}

/// A pointer that many bytes further, or null.
template <class P>
P* advance(P* data, int64_t bytes) {
  using Byte = std::conditional_t<std::is_const_v<P>, const char, char>;
  return data == nullptr ? nullptr : static_cast<P*>(static_cast<Byte*>(data) + bytes);
}

/// Element (i, j) of a factor.
inline const void* operand_at(const Gemm& g, const GemmOperand& x, int64_t i, int64_t j) {
  return advance(x.data, (i * x.row + j * x.col) * element_size(g.type));
}

/// Writes the block of results from (i, j) on: the sums `acc` after the epilogue.
void finish(const Gemm& g, const float* acc, int64_t ld, int64_t i, int64_t j, int64_t rows,
            int64_t columns);

/// True if gemm() computes the transposed product.
bool swaps(const Gemm& g);
Gemm transposed(const Gemm& g);

/// The kernels of a product that is not empty, after swaps().
enum class GemmRoute : uint8_t { dot, axpy, tiles, panels };
GemmRoute route(const Gemm& g);

/// Estimated nanoseconds on one thread, used to decide on threads.
double estimate(const Gemm& g);

}  // namespace mlx::core::cpu
