// Integer and boolean products: blocked, exact modulo the width of the type. Compiled once per
// instruction set.
#include "mlx/backend/cpu/isa/gemm_kernels.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

// Widths below 32 bits are promoted to unsigned first: signed overflow is undefined.
template <class Element>
struct Modular {
  using T = Element;
  using Wide = decltype(T{} + 0u);
  MLX_INLINE T read(T x) { return x; }
  MLX_INLINE T combine(T sum, T a, T b) { return static_cast<T>(sum + Wide{a} * Wide{b}); }
};

struct Logical {
  using T = uint8_t;
  MLX_INLINE T read(T x) { return x != 0; }
  MLX_INLINE T combine(T sum, T a, T b) { return sum | (a & b); }
};

template <GemmInt>
struct RuleOf {
  using type = Modular<uint8_t>;
};
template <>
struct RuleOf<GemmInt::i16> {
  using type = Modular<uint16_t>;
};
template <>
struct RuleOf<GemmInt::i32> {
  using type = Modular<uint32_t>;
};
template <>
struct RuleOf<GemmInt::i64> {
  using type = Modular<uint64_t>;
};
template <>
struct RuleOf<GemmInt::boolean> {
  using type = Logical;
};

}  // namespace

template <GemmInt kType>
void integer_product(const GemmOperand& a, const GemmOperand& b, const GemmTarget& out, int64_t m,
                     int64_t n, int64_t k, void* b_block) {
  using R = typename RuleOf<kType>::type;
  using T = typename R::T;
  const auto* left = static_cast<const T*>(a.data);
  const auto* right = static_cast<const T*>(b.data);
  auto* target = static_cast<T*>(out.data);
  auto* block = static_cast<T*>(b_block);
  T sum[kIntBlock];
  for (int64_t j0 = 0; j0 < n; j0 += kIntBlock) {
    const int64_t columns = smaller(kIntBlock, n - j0);
    for (int64_t k0 = 0; k0 == 0 || k0 < k; k0 += kIntBlock) {
      const int64_t depth = smaller(kIntBlock, k - k0);
      for (int64_t r = 0; r < depth; ++r) {
        for (int64_t j = 0; j < columns; ++j) {
          block[r * kIntBlock + j] = R::read(right[(k0 + r) * b.row + (j0 + j) * b.col]);
        }
      }
      for (int64_t i = 0; i < m; ++i) {
        T* to = target + i * out.row + j0 * out.col;
        for (int64_t j = 0; j < columns; ++j) {
          sum[j] = k0 == 0 ? T{0} : to[j * out.col];
        }
        for (int64_t r = 0; r < depth; ++r) {
          const T x = R::read(left[i * a.row + (k0 + r) * a.col]);
          const T* row = block + r * kIntBlock;
          for (int64_t j = 0; j < columns; ++j) {
            sum[j] = R::combine(sum[j], x, row[j]);
          }
        }
        for (int64_t j = 0; j < columns; ++j) {
          to[j * out.col] = sum[j];
        }
      }
    }
  }
}

#define MLX_INSTANTIATE(type)                                                                \
  template void integer_product<GemmInt::type>(const GemmOperand&, const GemmOperand&,       \
                                               const GemmTarget&, int64_t, int64_t, int64_t, \
                                               void*);
MLX_INSTANTIATE(i8)
MLX_INSTANTIATE(i16)
MLX_INSTANTIATE(i32)
MLX_INSTANTIATE(i64)
MLX_INSTANTIATE(boolean)
#undef MLX_INSTANTIATE

}  // namespace mlx::core::cpu::MLX_ISA
