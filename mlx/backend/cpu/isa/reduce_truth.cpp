// The reductions any and all.
#include "mlx/backend/cpu/isa/reduce_kernel.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

// Truth values: ones for nonzero elements, zeros otherwise; "all" looks for zeros. The mask clears
// the sign of zero.
template <class A_, uint64_t Mask, class T_ = A_>
struct Any : Sum<T_, A_> {
  using typename Sum<T_, A_>::R;
  using Wide = Any<uint32_t, Mask, T_>;
  static MLX_FN R combine(R a, R b) { return a | b; }
  static MLX_FN R map(R x) { return masked(x); }
  static MLX_FN R masked(R x) {
    if constexpr (sizeof(A_) < 4)
      return R((Raw<A_, sizeof(x.v)>)(x.v & static_cast<A_>(Mask)));
    else
      return x & R(static_cast<A_>(Mask));
  }
};
template <class A_, uint64_t Mask, class T_ = A_>
struct All : Any<A_, Mask, T_> {
  using typename Any<A_, Mask, T_>::R;
  using Wide = All<uint32_t, Mask, T_>;
  static MLX_FN A_ filler() { return static_cast<A_>(~A_(0)); }
  static MLX_FN R map(R x) {
    R bits = Any<A_, Mask, T_>::masked(x);
    if constexpr (sizeof(A_) < 4)
      return R((Raw<A_, sizeof(x.v)>)(bits.v == static_cast<A_>(0)));
    else
      return v_select(bits == R(A_(0)), R(A_(1)), R(A_(0)));
  }
};
template <class C, uint64_t CountsZero>
struct TruthOfPairs : Sum<C, C> {
  using typename Sum<C, C>::R;
  static MLX_FN R map(R x) { return C{((x.v.re == 0 && x.v.im == 0) == CountsZero) * 1.0, 0}; }
};

template <template <class, uint64_t, class> class O, bool CountsZero>
Reducer truth(Dtype::Val t) {
  using enum Dtype::Val;
  constexpr uint64_t kBits = ~uint64_t(0);
  switch (t) {
    case bool_:
    case uint8:
    case int8:
      return Kernel<O<uint8_t, kBits, uint8_t>>::table;
    case uint16:
    case int16:
      return Kernel<O<uint16_t, kBits, uint16_t>>::table;
    case uint32:
    case int32:
      return Kernel<O<uint32_t, kBits, uint32_t>>::table;
    case uint64:
    case int64:
      return Kernel<O<uint64_t, kBits, uint64_t>>::table;
    case float16:
    case bfloat16:
      return Kernel<O<uint16_t, 0x7fff, uint16_t>>::table;
    case float32:
      return Kernel<O<uint32_t, 0x7fffffff, uint32_t>>::table;
    case float64:
      return Kernel<O<uint64_t, kBits / 2, uint64_t>>::table;
    case complex64:
      return Kernel<O<uint64_t, 0x7fffffff7fffffff, uint64_t>>::table;
    case complex128:
      return Kernel<TruthOfPairs<Complex<double>, CountsZero>>::table;
  }
  return {};
}

}  // namespace

Reducer find_truth(Dtype::Val t, bool all) {
  return all ? truth<All, true>(t) : truth<Any, false>(t);
}

}  // namespace mlx::core::cpu::MLX_ISA
