// Links: the handlers of runs (threaded code). A value passes from one op to the next in eight
// registers, and every handler ends with a jump to the next one. The cost of a tile op is mostly
// its store, so values that only the next op reads are never stored. 16-bit floats are float32 in
// registers, rounded by another link after each op.
#include "mlx/backend/cpu/isa/elementwise_tiles.h"
#include "mlx/backend/cpu/simd/bf16.h"
#include "mlx/backend/cpu/simd/lanes.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

using R = Raw<float>;
constexpr int kRegisters = 8;
constexpr int64_t kBurst = kRegisters * VF::N;

#define MLX_REGISTERS R a, R b, R c, R d, R e, R f, R g, R h
using Handler = void (*)(MLX_REGISTERS, const Link* link, int64_t at);

struct Eight {
  R v[kRegisters];
};
#define MLX_EIGHT \
  Eight { a, b, c, d, e, f, g, h }

MLX_FN void next_link(const Eight& x, const Link* next, int64_t at) {
  const R* v = x.v;
  reinterpret_cast<Handler>(next->run)(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], next, at);
}

//--- operands: what the second operand of a link is ----------------------------------------------

template <class A>
struct TileOf {
  const typename A::S* p;
  MLX_FN TileOf(const Link* link, int64_t at)
      : p(static_cast<const typename A::S*>(link->operand) + at) {}
  MLX_FN VF operator()(int i) const { return A::load(p + i * VF::N); }
};
using Tile = TileOf<Float32>;
struct Constant {
  VF value;
  MLX_FN Constant(const Link* link, int64_t) : value(link->constant) {}
  MLX_FN VF operator()(int) const { return value; }
};

/// A tile times a constant: a product that has no other use.
struct Scaled {
  const float* p;
  VF factor;
  MLX_FN Scaled(const Link* link, int64_t at)
      : p(static_cast<const float*>(link->operand) + at), factor(link->constant) {}
  MLX_FN VF operator()(int i) const { return VF::load(p + i * VF::N) * factor; }
};

template <class F, class Operand, bool First>
MLX_FN void apply(Eight& x, const Operand& y) {
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i)
    x.v[i] = First ? F{}(y(i), VF(x.v[i])).v : F{}(VF(x.v[i]), y(i)).v;
}

template <class F, class Operand, bool First>
void binary(MLX_REGISTERS, const Link* link, int64_t at) {
  Eight x = MLX_EIGHT;
  apply<F, Operand, First>(x, Operand(link, at));
  next_link(x, link + 1, at);
}
/// Two links in one handler: additions and products use different execution ports.
template <class F, class A, class G, class B>
void joint(MLX_REGISTERS, const Link* link, int64_t at) {
  Eight x = MLX_EIGHT;
  A y(link, at);
  B z(link + 1, at);
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) x.v[i] = G{}(F{}(VF(x.v[i]), y(i)), z(i)).v;
  next_link(x, link + 2, at);
}
template <class F>
void both(MLX_REGISTERS, const Link* link, int64_t at) {
  Eight x = MLX_EIGHT;
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) x.v[i] = F{}(VF(x.v[i]), VF(x.v[i])).v;
  next_link(x, link + 1, at);
}
template <class F>
void unary(MLX_REGISTERS, const Link* link, int64_t at) {
  Eight x = MLX_EIGHT;
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) x.v[i] = F{}(VF(x.v[i])).v;
  next_link(x, link + 1, at);
}

/// Any tile kernel, through memory.
template <bool Operand, bool First>
void call(MLX_REGISTERS, const Link* link, int64_t at) {
  alignas(64) float memory[kBurst];
  Eight x = MLX_EIGHT;
  __builtin_memcpy(memory, x.v, sizeof(memory));
  const void* in[2] = {memory, memory};
  if constexpr (Operand) in[!First] = static_cast<const float*>(link->operand) + at;
  link->tile(in, memory, kBurst);
  __builtin_memcpy(x.v, memory, sizeof(memory));
  next_link(x, link + 1, at);
}

/// erf, in two halves of the registers (math_special.h).
void erf_link(MLX_REGISTERS, const Link* link, int64_t at) {
  VF x[kRegisters] = {VF(a), VF(b), VF(c), VF(d), VF(e), VF(f), VF(g), VF(h)};
  m::erf_each<kRegisters / 2>(x);
  m::erf_each<kRegisters / 2>(x + kRegisters / 2);
  Eight y;
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) y.v[i] = x[i].v;
  next_link(y, link + 1, at);
}

/// x / constant as a product with both parts of its reciprocal, which rounds like the division for
/// this constant and numbers of usual size (cpu/divisors.h); other numbers are divided. The product
/// is one of the two floats next to the quotient for every constant of usual size: one step of
/// Markstein's correction, "Computation of elementary functions on the IBM RISC System/6000
/// processor" (1990), makes it the rounded quotient.
template <bool kCorrects>
void quotient(MLX_REGISTERS, const Link* link, int64_t at) {
  Eight x = MLX_EIGHT;
  VF divisor(link->constant), high(link->high), low(link->low), smallest(1.0f), largest(1.0f);
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) {  // NaN leaves them unchanged
    VF size = v_abs(VF(x.v[i]));
    smallest = v_min(size, smallest);
    largest = v_max(size, largest);
  }
  if (v_any((smallest < VF(0x1p-60f)) | (largest > VF(0x1p60f)))) [[unlikely]] {
#pragma GCC unroll 8
    for (int i = 0; i < kRegisters; ++i) x.v[i] = (VF(x.v[i]) / divisor).v;
  } else {
#pragma GCC unroll 8
    for (int i = 0; i < kRegisters; ++i) {
      VF v(x.v[i]);
      const VF product = v_fma(v, high, v * low);
      x.v[i] = kCorrects ? v_fma(v_fma(-product, divisor, v), high, product).v : product.v;
    }
  }
  next_link(x, link + 1, at);
}

//--- transfers and rounding ----------------------------------------------------------------------

/// True if a register has a NaN.
MLX_FN bool any_nan(const Eight& x) {
  auto found = v_unordered(VF(x.v[0]), VF(x.v[1]));
#pragma GCC unroll 8
  for (int i = 2; i < kRegisters; i += 2) found = found | v_unordered(VF(x.v[i]), VF(x.v[i + 1]));
  return v_any(found);
}
/// Gives eight registers the precision of A.
template <class A>
MLX_FN void round_eight(Eight& x) {
  const bool some = __is_same(A, Bfloat16) && any_nan(x);
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) {
    if constexpr (__is_same(A, Bfloat16)) {
      const VI bits = v_bits(VF(x.v[i])), odd = v_shift_right_logical(bits, 16) & VI(1);
      VI rounded = bits + (odd + VI(0x7fff));
      if (some) [[unlikely]]
        rounded = v_select(VF(x.v[i]) == VF(x.v[i]), rounded, bits | VI(1 << 22));
      x.v[i] = v_from_bits<VF>(rounded & VI(-1 << 16)).v;
    } else {
      typename A::S memory[VF::N];
      A::store(memory, VF(x.v[i]));
      x.v[i] = A::load(memory).v;
    }
  }
}
/// Eight registers of the precision of A to memory.
template <class A>
MLX_FN void put(typename A::S* to, const Eight& x) {
  const auto upper = [&](int i)
                         MLX_INLINED { return v_shift_right_logical(v_bits(VF(x.v[i])), 16); };
#pragma GCC unroll 4
  for (int i = 0; i < kRegisters; i += 2) {
    if constexpr (__is_same(A, Bfloat16)) {
      v_store_words(to + i * VF::N, upper(i), upper(i + 1));
    } else {
      A::store(to + i * VF::N, VF(x.v[i]));
      A::store(to + (i + 1) * VF::N, VF(x.v[i + 1]));
    }
  }
}

#if defined(__AVX512F__)
/// True if the instructions for bfloat16 round as everywhere: they take subnormal numbers as zeros.
MLX_FN bool without_subnormals(const Eight& x) {
  constexpr int kSubnormal = 0x20;
  __mmask16 found = 0;
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) found |= _mm512_fpclass_ps_mask((__m512)x.v[i], kSubnormal);
  return found == 0;
}
/// Adds less than a half of the last place that is kept, or a half to odd numbers: in fewer
/// instructions than conversions there and back take, and subnormal numbers are no exception.
template <>
MLX_FN void round_eight<Bfloat16>(Eight& x) {
  const __m512i place = _mm512_set1_epi32(1 << 16), kept = _mm512_set1_epi32(-1 << 16);
  const __m512i half = _mm512_set1_epi32(0x8000), less = _mm512_set1_epi32(0x7fff);
  const bool some = any_nan(x);
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) {
    const auto bits = (__m512i)x.v[i];
    const __mmask16 odd = _mm512_test_epi32_mask(bits, place);
    __m512i sum = _mm512_mask_add_epi32(_mm512_add_epi32(bits, less), odd, bits, half);
    if (some) [[unlikely]] {
      const __mmask16 nan = _mm512_cmp_ps_mask((__m512)x.v[i], (__m512)x.v[i], _CMP_UNORD_Q);
      sum = _mm512_mask_or_epi32(sum, nan, bits, _mm512_set1_epi32(1 << 22));
    }
    x.v[i] = (R)_mm512_and_si512(sum, kept);
  }
}
template <>
MLX_FN void round_eight<Float16>(Eight& x) {
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i)
    x.v[i] = (R)_mm512_cvtph_ps(_mm512_cvtps_ph((__m512)x.v[i], _MM_FROUND_TO_NEAREST_INT));
}
/// The bits of two registers, rounded.
template <class A>
MLX_FN __m512i narrowed(R low, R high) {
  if constexpr (__is_same(A, Bfloat16)) {
    return (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
  } else {
    const __m256i first = _mm512_cvtps_ph((__m512)low, _MM_FROUND_TO_NEAREST_INT);
    const __m256i second = _mm512_cvtps_ph((__m512)high, _MM_FROUND_TO_NEAREST_INT);
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
  }
}
#endif

template <class A>
void load(MLX_REGISTERS, const Link* link, int64_t at) {
  Eight x;
  TileOf<A> from(link, at);
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) x.v[i] = from(i).v;
  next_link(x, link + 1, at);
}
template <class A>
void round(MLX_REGISTERS, const Link* link, int64_t at) {
  Eight x = MLX_EIGHT;
  round_eight<A>(x);
  next_link(x, link + 1, at);
}
template <class A>
void store(MLX_REGISTERS, const Link* link, int64_t at) {
  using S = typename A::S;
  const Eight x = MLX_EIGHT;
  put<A>(static_cast<S*>(const_cast<void*>(link->operand)) + at, x);
  next_link(x, link + 1, at);
}
void stream(MLX_REGISTERS, const Link* link, int64_t at) {
  float* to = static_cast<float*>(const_cast<void*>(link->operand)) + at;
  const Eight x = MLX_EIGHT;
#pragma GCC unroll 8
  for (int i = 0; i < kRegisters; ++i) VF(x.v[i]).stream(to + i * VF::N);
  next_link(x, link + 1, at);
}
/// Rounds and stores; the value in the registers is of no use any more. `kConverts`: the processor
/// has an instruction for it.
template <class A, bool kConverts, bool Nt>
void round_store(MLX_REGISTERS, const Link* link, int64_t at) {
  Eight x = MLX_EIGHT;
  auto* to = static_cast<uint16_t*>(const_cast<void*>(link->operand)) + at;
#if defined(__AVX512F__)
  if (kConverts && (!__is_same(A, Bfloat16) || without_subnormals(x))) [[likely]] {
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; i += 2) {
      const __m512i both = narrowed<A>(x.v[i], x.v[i + 1]);
      Nt ? _mm512_stream_si512((__m512i*)(to + i * VF::N), both)
         : _mm512_storeu_si512(to + i * VF::N, both);
    }
    return next_link(x, link + 1, at);
  }
#endif
  round_eight<A>(x);
  put<A>(to, x);
  next_link(x, link + 1, at);
}
/// Prefetches the data of the burst `ahead` bytes ahead: the ops of a burst take longer than its
/// loads, and hardware prefetchers stop at the end of a page.
template <int Size>
void touch(MLX_REGISTERS, const Link* link, int64_t at) {
  const char* ahead = static_cast<const char*>(link->operand) + at * Size + link->ahead;
#pragma GCC unroll 8
  for (int64_t i = 0; i < kBurst * Size; i += 64) __builtin_prefetch(ahead + i);
  next_link(MLX_EIGHT, link + 1, at);
}
void end(MLX_REGISTERS, const Link*, int64_t) {}

//--- lookup --------------------------------------------------------------------------------------

LinkFn erased(Handler f) { return reinterpret_cast<LinkFn>(f); }

#define MLX_LINK_UNARY(X) \
  X(abs)                  \
  X(negative) X(square) X(sqrt) X(rsqrt) X(reciprocal) X(exp) X(log) X(tanh) X(sigmoid)
#define MLX_LINK_BINARY(X) X(add) X(subtract) X(multiply) X(divide) X(maximum) X(minimum)

/// The second operand is a tile of 16-bit floats.
template <class F>
LinkFn narrow_of(LinkForm form, Dtype::Val tile) {
  const bool first = form == LinkForm::tile_first;
  if (form != LinkForm::tile && !first) return nullptr;
  if (tile == Dtype::Val::bfloat16)
    return first ? erased(&binary<F, TileOf<Bfloat16>, true>)
                 : erased(&binary<F, TileOf<Bfloat16>, false>);
  return first ? erased(&binary<F, TileOf<Float16>, true>)
               : erased(&binary<F, TileOf<Float16>, false>);
}
template <class F>
LinkFn binary_of(LinkForm form, Dtype::Val tile) {
  if (reads_tile(form) && tile != Dtype::Val::float32) return narrow_of<F>(form, tile);
  switch (form) {
    case LinkForm::tile:
      return erased(&binary<F, Tile, false>);
    case LinkForm::tile_first:
      return erased(&binary<F, Tile, true>);
    case LinkForm::constant:
      return erased(&binary<F, Constant, false>);
    case LinkForm::constant_first:
      return erased(&binary<F, Constant, true>);
    case LinkForm::both:
      return erased(&both<F>);
    case LinkForm::scaled:
      if constexpr (__is_same(F, bodies::add) || __is_same(F, bodies::multiply))
        return erased(&binary<F, Scaled, false>);
      return nullptr;
    default:
      return nullptr;
  }
}

LinkFn find_link(OpId op, LinkForm form, Dtype::Val tile) {
  switch (static_cast<Row>(op)) {
#define X(name)   \
  case Row::name: \
    return form == LinkForm::unary ? erased(&unary<bodies::name>) : nullptr;
    MLX_LINK_UNARY(X)
#undef X
    case Row::erf:
      return form == LinkForm::unary ? erased(&erf_link) : nullptr;
#define X(name)   \
  case Row::name: \
    return binary_of<bodies::name>(form, tile);
      MLX_LINK_BINARY(X)
#undef X
    default:
      return nullptr;
  }
}

template <class A, bool kConverts>
LinkFn narrow_move(LinkMove move) {
  switch (move) {
    case LinkMove::load:
      return erased(&load<A>);
    case LinkMove::touch:
      return erased(&touch<2>);
    case LinkMove::round:
      return erased(&round<A>);
    case LinkMove::round_store:
      return erased(&round_store<A, kConverts, false>);
    case LinkMove::round_stream:
      return erased(&round_store<A, kConverts, true>);
    default:
      return erased(&store<A>);
  }
}
LinkFn find_move(LinkMove move, Dtype::Val type) {
  if (type == Dtype::Val::bfloat16)
    return converts_to_bf16() ? narrow_move<Bfloat16, true>(move)
                              : narrow_move<Bfloat16, false>(move);
  if (type == Dtype::Val::float16) return narrow_move<Float16, true>(move);
  switch (move) {
    case LinkMove::load:
      return erased(&load<Float32>);
    case LinkMove::store:
      return erased(&store<Float32>);
    case LinkMove::stream:
      return erased(&stream);
    case LinkMove::touch:
      return erased(&touch<4>);
    default:
      return nullptr;
  }
}

LinkFn find_call(LinkForm form) {
  switch (form) {
    case LinkForm::unary:
    case LinkForm::both:
      return erased(&call<false, false>);
    case LinkForm::tile:
      return erased(&call<true, false>);
    case LinkForm::tile_first:
      return erased(&call<true, true>);
    default:
      return nullptr;
  }
}

//--- two links in one ----------------------------------------------------------------------------

/// table(body of op), for the ops that have joint handlers.
template <class Table>
LinkFn on_op(OpId op, Table table) {
  switch (static_cast<Row>(op)) {
    case Row::add:
      return table(bodies::add());
    case Row::subtract:
      return table(bodies::subtract());
    case Row::multiply:
      return table(bodies::multiply());
    default:
      return nullptr;
  }
}
template <class F, class A, class G>
LinkFn joint_of(LinkForm form2) {
  if (form2 == LinkForm::scaled) {
    if constexpr (__is_same(G, bodies::subtract))
      return nullptr;
    else
      return erased(&joint<F, A, G, Scaled>);
  }
  return form2 == LinkForm::tile ? erased(&joint<F, A, G, Tile>)
                                 : erased(&joint<F, A, G, Constant>);
}
LinkFn find_joint(OpId op1, LinkForm form1, OpId op2, LinkForm form2) {
  auto plain = [](LinkForm f) { return f == LinkForm::tile || f == LinkForm::constant; };
  if (!plain(form1) || (!plain(form2) && form2 != LinkForm::scaled)) return nullptr;
  return on_op(op1, [=](auto f) {
    return on_op(op2, [=](auto g) {
      using F = decltype(f);
      using G = decltype(g);
      return form1 == LinkForm::tile ? joint_of<F, Tile, G>(form2)
                                     : joint_of<F, Constant, G>(form2);
    });
  });
}

void run(const Link* links, int64_t bursts) {
  for (int64_t i = 0; i < bursts; ++i) next_link(Eight{}, links, i * kBurst);
  // Handlers pass vectors on, so compilers take registers to be in use when the last one returns,
  // and leave their upper halves set: code without AVX then pays for each change of state.
#if defined(__AVX__)
  _mm256_zeroupper();
#endif
}

}  // namespace

// A function rather than a static table: erasing a handler's type is not a constant expression, and
// initialisers that run when the library is loaded are compiled for processors that may differ from
// this one.
const LinkKernels& link_kernels() {
  static const LinkKernels kernels = {kBurst,
                                      find_link,
                                      find_joint,
                                      find_call,
                                      find_move,
                                      erased(&end),
                                      kHasFma ? erased(&quotient<false>) : nullptr,
                                      kHasFma ? erased(&quotient<true>) : nullptr,
                                      run};
  return kernels;
}

}  // namespace mlx::core::cpu::MLX_ISA
