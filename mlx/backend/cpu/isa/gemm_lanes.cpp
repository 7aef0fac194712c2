// Many small products at once, a lane each: operands are transposed on the way, so that a register
// holds one element of every product. Compiled once per instruction set.
#include "mlx/backend/cpu/isa/gemm_kernels.h"
#include "mlx/backend/cpu/isa/gemm_sources.h"
#include "mlx/backend/cpu/simd/short_rows.h"

namespace mlx::core::cpu::MLX_ISA {

namespace {

/// Where the operands of some neighbouring products start.
struct Starts {
  const int64_t* at;
  int64_t first, step;
  bool adjacent;  // elements of neighbours are neighbours

  Starts(const GemmStarts& all, int64_t item, int64_t count)
      : at(all.at == nullptr ? nullptr : all.at + item),
        first(all[item]),
        step(all.step),
        adjacent(at == nullptr ? step == 1 : true) {
    for (int64_t i = 1; at != nullptr && i < count; ++i) adjacent &= at[i] == first + i;
  }
  MLX_INLINE int64_t of(const Starts& s, int64_t i) {
    return s.at == nullptr ? s.first + i * s.step : s.at[i];
  }
};

template <class S>
MLX_INLINE U32 load_units(const typename S::W* p, int64_t elements) {
  return (U32)(elements == S::per * kLanes ? S::weights(p) : S::weights_n(p, elements));
}

/// Copies `count` elements that are `step` apart.
template <class T>
MLX_INLINE void pick(const T* from, int64_t step, int64_t count, T* to) {
  for (int64_t e = 0; e < count; ++e) to[e] = from[e * step];
}

/// The elements [first, end) of the lines of some products, as units: unit u of line l is
/// to[l * units + u], with a product in each lane.
template <class S>
void load_lines(const typename S::W* p, const Starts& at, int64_t count, const GemmLines& x,
                int64_t first, int64_t end, U32* to) {
  using T = typename S::W;
  constexpr int64_t kStep = S::per * kLanes;
  if (S::per == 1 && at.adjacent) {
    for (int64_t l = 0; l < x.lines; ++l)
      for (int64_t e = first; e < end; ++e)
        *to++ = load_units<S>(p + at.first + l * x.line + e * x.step, count);
    return;
  }
  U32 square[kLanes];
  for (int64_t i = count; i < kLanes; ++i) square[i] = U32{};
  for (int64_t l = 0; l < x.lines; ++l) {
    for (int64_t e = first; e < end; e += kStep) {
      const int64_t some = smaller(kStep, end - e), units = (some + S::per - 1) / S::per;
      for (int64_t i = 0; i < count; ++i) {
        const T* from = p + Starts::of(at, i) + l * x.line + e * x.step;
        T picked[kStep];
        if (x.step != 1) {
          pick(from, x.step, some, picked);
          from = picked;
        }
        square[i] = load_units<S>(from, some);
      }
      for_few<kLanes>(units, [&]<int Few>() { to_lanes<kLanes, Few>(square); });
      for (int64_t u = 0; u < units; ++u) *to++ = square[u];
      for (int64_t i = count; i < kLanes; ++i) square[i] = U32{};
    }
  }
}

/// How results are stored.
template <class Number, auto kNarrow>
struct Output {
  using T = Number;
  MLX_INLINE void write(T* p, F32 x, int64_t n) {
    const auto y = kNarrow(x);
    if (n == kLanes)
      store(p, y);
    else
      store_n(p, y, n);
  }
};
MLX_INLINE F32 unchanged(F32 x) { return x; }
template <GemmSource>
struct OutputOf {
  using type = Output<uint16_t, to_bf16>;
};
template <>
struct OutputOf<GemmSource::f32> {
  using type = Output<float, unchanged>;
};
template <>
struct OutputOf<GemmSource::f16> {
  using type = Output<uint16_t, to_f16>;
};

/// Stores the results: element e of line l is from[l * length + e].
template <class O>
void store_lines(const F32* from, typename O::T* p, const Starts& at, int64_t count,
                 const GemmLines& x) {
  if (at.adjacent) {
    for (int64_t l = 0; l < x.lines; ++l)
      for (int64_t e = 0; e < x.length; ++e)
        O::write(p + at.first + l * x.line + e * x.step, *from++, count);
    return;
  }
  for (int64_t l = 0; l < x.lines; ++l) {
    for (int64_t e = 0; e < x.length; e += kLanes) {
      const int64_t some = smaller(kLanes, x.length - e);
      U32 square[kLanes];
      for (int64_t u = 0; u < kLanes; ++u) square[u] = u < some ? (U32)*from++ : U32{};
      for_few<kLanes>(some, [&]<int Few>() { from_lanes<kLanes, Few>(square); });
      for (int64_t i = 0; i < count; ++i) {
        auto* to = p + Starts::of(at, i) + l * x.line + e * x.step;
        if (x.step == 1) {
          O::write(to, (F32)square[i], some);
          continue;
        }
        typename O::T row[kLanes];
        O::write(row, (F32)square[i], kLanes);
        for (int64_t u = 0; u < some; ++u) to[u * x.step] = row[u];
      }
    }
  }
}

/// Where element (i, l) of a factor is among its units.
struct Place {
  int64_t across, along;
};

template <class S>
class SmallProducts {
 public:
  SmallProducts(const GemmSmall& p, int64_t units)
      : p_(p),
        a_(p.a_along ? Place{units, 1} : Place{1, p.m}),
        b_(p.b_along ? Place{units, 1} : Place{1, p.n}) {}

  /// sums[i, j] += the products over some units.
  void add(const U32* a, const U32* b, int64_t units, F32* sums) const {
    for (int64_t i = 0; i < p_.m; ++i) {
      for (int64_t j = 0; j < p_.n; ++j) {
        F32& sum = sums[p_.out_along ? i * p_.n + j : j * p_.m + i];
        const U32 *x = a + i * a_.across, *w = b + j * b_.across;
        F32 s = sum;
        for (int64_t l = 0; l < units; ++l) s = product(x[l * a_.along], w[l * b_.along], s);
        sum = s;
      }
    }
  }

  /// sums[i, j] = the products over all units, in the order of the lanes of a register.
  void dot(const U32* a, const U32* b, int64_t units, F32* sums) const {
    for (int64_t i = 0; i < p_.m; ++i) {
      for (int64_t j = 0; j < p_.n; ++j) {
        F32 t[kLanes];
        start(t, units);
        add_lanes(a + i * a_.across, b + j * b_.across, units, t);
        sums[p_.out_along ? i * p_.n + j : j * p_.m + i] = sum_halves<kLanes>(t, units);
      }
    }
  }

  static void start(F32* t, int64_t units) {
    for (int64_t u = 0; u < kLanes && u < units; ++u) t[u] = F32{};
  }
  void add_lanes(const U32* x, const U32* w, int64_t units, F32* t) const {
    for (int64_t l = 0; l < units; l += kLanes)
      for (int64_t u = 0; u < kLanes && l + u < units; ++u)
        t[u] = product(x[(l + u) * a_.along], w[(l + u) * b_.along], t[u]);
  }

 private:
  MLX_INLINE F32 product(U32 x, U32 w, F32 sum) {
    using V = decltype(S::weights(nullptr));
    return S::multiply((V)x, (V)w, sum);
  }

  const GemmSmall& p_;
  Place a_, b_;
};

}  // namespace

template <GemmSource kSource>
void small_products(const GemmSmall& p, const void* a, const GemmStarts& a_at, const void* b,
                    const GemmStarts& b_at, void* out, const GemmStarts& out_at, int64_t begin,
                    int64_t end) {
  using S = typename SourceOf<kSource>::type;
  using O = typename OutputOf<kSource>::type;
  const auto *x = static_cast<const typename S::W*>(a), *w = static_cast<const typename S::W*>(b);
  U32 left[kSmallUnits], right[kSmallUnits];
  F32 sums[kSmallUnits], lanes[kLanes];
  const int64_t all = (p.k + S::per - 1) / S::per;
  const bool one = p.m * p.n == 1;
  const int64_t most = one ? kSmallUnits * S::per : p.k;
  const SmallProducts<S> products(p, smaller(all, kSmallUnits));
  for (int64_t item = begin; item < end; item += kLanes) {
    const int64_t count = smaller(kLanes, end - item);
    const Starts of_a(a_at, item, count), of_b(b_at, item, count);
    for (int64_t r = 0; r < p.m * p.n; ++r) sums[r] = F32{};
    SmallProducts<S>::start(lanes, all);
    for (int64_t from = 0; from < p.k; from += most) {
      const int64_t to = smaller(from + most, p.k), units = (to - from + S::per - 1) / S::per;
      load_lines<S>(x, of_a, count, p.a, from, one ? to : p.a.length, left);
      load_lines<S>(w, of_b, count, p.b, from, one ? to : p.b.length, right);
      if (!p.dots)
        products.add(left, right, units, sums);
      else if (one)
        products.add_lanes(left, right, units, lanes);
      else
        products.dot(left, right, units, sums);
    }
    if (p.dots && one) sums[0] = sum_halves<kLanes>(lanes, all);
    store_lines<O>(sums, static_cast<typename O::T*>(out), Starts(out_at, item, count), count,
                   p.out);
  }
}

#define MLX_INSTANTIATE(source)                                                                \
  template void small_products<GemmSource::source>(                                            \
      const GemmSmall&, const void*, const GemmStarts&, const void*, const GemmStarts&, void*, \
      const GemmStarts&, int64_t, int64_t);
MLX_INSTANTIATE(f32)
MLX_INSTANTIATE(f16)
MLX_INSTANTIATE(bf16)
#if defined(__AVX512BF16__)
MLX_INSTANTIATE(bf16_pair)
#endif
#undef MLX_INSTANTIATE

}  // namespace mlx::core::cpu::MLX_ISA
