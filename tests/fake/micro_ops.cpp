// Tables of the elementwise micro-ops by op and dtype.

#include "micro_ops.h"

#include <array>

#include "mlx/backend/math/cast.h"

namespace mlx::core::fake {

namespace {

using Val = Dtype::Val;

struct Item16 {
  uint64_t low, high;
};

template <class T>
void choose(const void* const* in, void* out, int64_t n) {
  const uint8_t* c = static_cast<const uint8_t*>(in[0]);
  const T *a = static_cast<const T*>(in[1]), *b = static_cast<const T*>(in[2]);
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = c[i] ? a[i] : b[i];
}
template <class T>
void copy(const void* const* in, void* out, int64_t n) {
  std::memcpy(out, in[0], n * sizeof(T));
}
MicroOp for_item(int bytes, const std::array<MicroOp, 5>& by_size) {
  return by_size[std::countr_zero(static_cast<unsigned>(bytes))];
}

// From what a dtype's elements are read as, and to what they become.
template <class T>
MLX_FN auto as_read(T x) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>) {
    return static_cast<float>(x);
  } else if constexpr (std::is_same_v<T, bool>) {
    return static_cast<uint8_t>(x);
  } else if constexpr (std::is_same_v<T, complex64_t>) {
    return m::Cx<float>{x.real(), x.imag()};
  } else if constexpr (std::is_same_v<T, complex128_t>) {
    return m::Cx<double>{x.real(), x.imag()};
  } else {
    return x;
  }
}
template <class To, class From>
MLX_FN To converted(From x) {
  if constexpr (std::is_same_v<To, float16_t> || std::is_same_v<To, bfloat16_t>) {
    return To(m::to_narrow_float(x));
  } else if constexpr (std::is_same_v<To, complex64_t>) {
    auto z = m::convert<m::Cx<float>>(x);
    return {z.re, z.im};
  } else if constexpr (std::is_same_v<To, complex128_t>) {
    auto z = m::convert<m::Cx<double>>(x);
    return {z.re, z.im};
  } else {
    return m::convert<To>(x);
  }
}
template <class From, class To>
void cast(const void* const* in, void* out, int64_t n) {
  const From* a = static_cast<const From*>(in[0]);
  for (int64_t i = 0; i < n; ++i) static_cast<To*>(out)[i] = converted<To>(as_read(a[i]));
}

}  // namespace

int arity_of(OpId op) {
  static constexpr uint8_t arity[] = {
#define E(name, n, ...) n,
#include "mlx/ops/elementwise.def"
#undef E
      1, 1};
  return arity[static_cast<int>(op)];
}

MicroOp find_micro_op(OpId op, Val type) {
  const int bytes = Dtype(type).size();
  if (op == OpId::copy)
    return for_item(bytes,
                    {copy<uint8_t>, copy<uint16_t>, copy<uint32_t>, copy<uint64_t>, copy<Item16>});
  if (arity_of(op) == 3)
    return for_item(bytes, {choose<uint8_t>, choose<uint16_t>, choose<uint32_t>, choose<uint64_t>,
                            choose<Item16>});
  static const MicroOp* const rows[kNumDtypes] = {
      bool_rows,    uint8_rows,   uint16_rows, uint32_rows,    uint64_rows,
      int8_rows,    int16_rows,   int32_rows,  int64_rows,     nullptr,
      float32_rows, float64_rows, nullptr,     complex64_rows, complex128_rows};
  const MicroOp* table = rows[static_cast<int>(type)];
  return table ? table[static_cast<int>(op)] : nullptr;
}

MicroOp find_cast(Val from, Val to) {
  if (from == to) return find_micro_op(OpId::copy, from);
  return dispatch(from, [&]<class From>(TypeTag<From>) {
    return dispatch(to, []<class To>(TypeTag<To>) -> MicroOp { return &cast<From, To>; });
  });
}

}  // namespace mlx::core::fake
