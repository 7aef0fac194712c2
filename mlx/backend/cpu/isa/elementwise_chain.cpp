// Superinstructions of float32: several micro-ops in one pass over the tiles, each rounded on its
// own. What a tile op costs is mostly its store, so a pass saved is time saved.
#include "mlx/backend/cpu/isa/elementwise_tiles.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

//--- chains: ((a op1 b) op2 c) op3 d ..., ops among add, subtract, multiply
//--------------------------

constexpr int kChainOps = 3, kLongest = 4;

template <int Op>
MLX_FN VF step(VF r, VF x) {
  if constexpr (Op == 0) return bodies::add{}(r, x);
  if constexpr (Op == 1) return bodies::subtract{}(r, x);
  return bodies::multiply{}(r, x);
}

/// The ops of a chain as digits of `Code`, the first one lowest.
template <int Length, int Code, bool Nt>
void chain(const void* const* in, void* out, int64_t n) {
  const float* p[Length + 1];
  for (int k = 0; k <= Length; ++k) p[k] = static_cast<const float*>(in[k]);
  float* o = static_cast<float*>(out);
  auto run = [&](auto load, auto store) MLX_INLINED {
    VF r = step<Code % 3>(load(p[0]), load(p[1]));
    r = step<Code / 3 % 3>(r, load(p[2]));
    if constexpr (Length > 2) r = step<Code / 9 % 3>(r, load(p[3]));
    if constexpr (Length > 3) r = step<Code / 27 % 3>(r, load(p[4]));
    store(r);
  };
  bool aligned = Nt && is_aligned(out);
  int64_t i = 0;
  for (; i + VF::N <= n; i += VF::N)
    run([&](const float* q) MLX_INLINED { return Float32::load(q + i); },
        [&](VF r) MLX_INLINED { aligned ? r.stream(o + i) : Float32::store(o + i, r); });
  if (i < n)
    run([&](const float* q) MLX_INLINED { return load_some<Float32>(q + i, n - i); },
        [&](VF r) MLX_INLINED { store_some<Float32>(o + i, r, n - i); });
}

template <int... I>
struct IntPack {};
template <int N, int... I>
struct MakeInts : MakeInts<N - 1, N - 1, I...> {};
template <int... I>
struct MakeInts<0, I...> {
  using type = IntPack<I...>;
};
template <int N>
using Ints = typename MakeInts<N>::type;

constexpr int codes(int length) { return length == 0 ? 1 : kChainOps * codes(length - 1); }

template <int Length, bool Nt, class Codes>
struct Chains;
template <int Length, bool Nt, int... Code>
struct Chains<Length, Nt, IntPack<Code...>> {
  static constexpr TileFn table[] = {&chain<Length, Code, Nt>...};
};

int chain_digit(OpId op) {
  switch (static_cast<Row>(op)) {
    case Row::add:
      return 0;
    case Row::subtract:
      return 1;
    case Row::multiply:
      return 2;
    default:
      return -1;
  }
}

//--- a function with a factor before it and a term or a factor after it
//------------------------------

enum Before { kNone, kScaled };
enum After { kPlain, kPlus, kTimes };

template <class F, Before before, After after>
__attribute__((noinline)) void wrapped(const void* const* in, void* out, int64_t n) {
  const float* a = static_cast<const float*>(in[0]);
  const float* b = static_cast<const float*>(in[1]);
  const float* c = static_cast<const float*>(in[before == kScaled ? 2 : 1]);
  float* o = static_cast<float*>(out);
  for (int64_t i = 0; i < n; i += VF::N) {
    int64_t left = n - i < VF::N ? n - i : VF::N;
    VF x = load_some<Float32>(a + i, left);
    if constexpr (before == kScaled) x = bodies::multiply{}(x, load_some<Float32>(b + i, left));
    VF r = F{}(x);
    if constexpr (after == kPlus) r = bodies::add{}(r, load_some<Float32>(c + i, left));
    if constexpr (after == kTimes) r = bodies::multiply{}(r, load_some<Float32>(c + i, left));
    store_some<Float32>(o + i, r, left);
  }
}

#define MLX_WRAPPED(X) \
  X(exp) X(erf) X(tanh) X(sigmoid) X(sin) X(cos) X(log) X(sqrt) X(rsqrt) X(reciprocal)

template <class F>
TileFn wrapped_of(bool scaled, int after) {
  static constexpr TileFn table[2][3] = {
      {nullptr, &wrapped<F, kNone, kPlus>, &wrapped<F, kNone, kTimes>},
      {&wrapped<F, kScaled, kPlain>, &wrapped<F, kScaled, kPlus>, &wrapped<F, kScaled, kTimes>}};
  return table[scaled][after];
}

}  // namespace

TileFn find_chain(const OpId* ops, int length, bool nt) {
  if (length < 2 || length > kLongest) return nullptr;
  int code = 0;
  for (int k = length; k-- > 0;) {
    int digit = chain_digit(ops[k]);
    if (digit < 0) return nullptr;
    code = code * kChainOps + digit;
  }
  switch (length) {
    case 2:
      return (nt ? Chains<2, true, Ints<codes(2)>>::table
                 : Chains<2, false, Ints<codes(2)>>::table)[code];
    case 3:
      return (nt ? Chains<3, true, Ints<codes(3)>>::table
                 : Chains<3, false, Ints<codes(3)>>::table)[code];
    default:
      return (nt ? Chains<4, true, Ints<codes(4)>>::table
                 : Chains<4, false, Ints<codes(4)>>::table)[code];
  }
}

TileFn find_wrapped(OpId op, bool scaled, OpId after) {
  int tail = static_cast<Row>(after) == Row::add        ? 1
             : static_cast<Row>(after) == Row::multiply ? 2
                                                        : 0;
  switch (static_cast<Row>(op)) {
#define X(name)   \
  case Row::name: \
    return wrapped_of<bodies::name>(scaled, tail);
    MLX_WRAPPED(X)
#undef X
    default:
      return nullptr;
  }
}

}  // namespace mlx::core::cpu::MLX_ISA
