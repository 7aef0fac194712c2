// argmax and argmin over rows and columns: the index of the first extremum; NaN counts as extremum.
#include "mlx/backend/cpu/isa/reduce.h"
#include "mlx/backend/cpu/simd/lanes.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

// True if x is better than the best value so far: larger for `Largest`, else smaller.
template <bool Largest, class T>
MLX_FN auto beats(Vec<T> x, Vec<T> best) {
  if constexpr (is_float_v<T>) {
    auto more = Largest ? x > best : x < best;
    return more | ((x != x) & (best == best));
  } else {
    return Largest ? x > best : x < best;
  }
}
template <bool Largest, class T>
MLX_FN bool wins(T x, T best) {
  if constexpr (is_complex_v<T>) {
    if (is_nan(best)) return false;
    return is_nan(x) || (Largest ? precedes(best, x) : precedes(x, best));
  } else {
    return (Largest ? x > best : x < best) || (x != x && best == best);
  }
}

// Elements are compared as 32- or 64-bit numbers; indices are integers of that width, in ranges
// short enough for them.
template <class T_, class A_, bool Largest>
struct Kernel {
  using T = T_;
  using A = A_;
  using Pair = Best<A>;
  static constexpr int kColumns = kReduceRowBytes / sizeof(A);
  static constexpr int64_t kPiece = 1 << 24;

  static MLX_FN void take(Pair& into, const Pair& x) {
    if (wins<Largest>(x.value, into.value)) into = x;
  }

  // Blocks are searched for their extremum first, and for its index only if it is a new best value.
  static Pair piece(const T* p, int64_t n) {
    Pair best{value_of(p), 0};
    if constexpr (is_complex_v<A>) {
      for (int64_t i = 1; i < n; ++i) take(best, {p[i], i});
    } else {
      constexpr int64_t kBlock = 1024;
      int64_t i = 0;
      for (; i + N <= n; i += kBlock) {
        const int64_t m = (n - i < kBlock ? n - i : kBlock) / N * N;
        const A value = extreme(p + i, m);
        if (wins<Largest>(value, best.value)) best = {value, i + place(p + i, m, value)};
      }
      for (i = n - n % N; i < n; ++i) take(best, {value_of(p + i), i});
    }
    return best;
  }

  static constexpr int N = Reg<A>::N;
  using R = Reg<A>;
  static MLX_FN R better(R a, R b) {
    if constexpr (is_float_v<A>)
      return Largest ? v_max(a, b) : v_min(a, b);
    else
      return Largest ? larger(a, b) : smaller(a, b);
  }
  // Extremum of n > 0 elements, a multiple of N; NaN if there is one.
  static A extreme(const T* p, int64_t n) {
    R a = load_as<A>(p), b = a;
    auto bad = a != a;
    int64_t i = N;
    for (; i + 2 * N <= n; i += 2 * N) {
      R x = load_as<A>(p + i), y = load_as<A>(p + i + N);
      a = better(a, x);
      b = better(b, y);
      if constexpr (is_float_v<A>) bad = bad | v_unordered(x, y);
    }
    if (i < n) {
      R x = load_as<A>(p + i);
      a = better(a, x);
      bad = bad | (x != x);
    }
    if (is_float_v<A> && v_any(bad)) return static_cast<A>(__builtin_nanf(""));
    A lanes[N];
    better(a, b).store(lanes);
    A best = lanes[0];
    for (int l = 1; l < N; ++l)
      if (wins<Largest>(lanes[l], best)) best = lanes[l];
    return best;
  }
  // The index of the first occurrence of the value (or of NaN).
  static int64_t place(const T* p, int64_t n, A value) {
    const bool nan = value != value;
    const R wanted = R(value);
    int64_t i = 0;
    for (; i + N < n; i += N) {
      R x = load_as<A>(p + i);
      if (v_any(nan ? x != x : x == wanted)) break;
    }
    A lanes[N];
    load_as<A>(p + i).store(lanes);
    int64_t l = 0;
    while (l + 1 < N && !(nan ? lanes[l] != lanes[l] : lanes[l] == value)) ++l;
    return i + l;
  }

  // Short rows, as many as fill a register, are transposed to columns. Returns how many.
  static constexpr int64_t kShort = 40;
  static int64_t short_rows(const T* p, int64_t stride, int64_t count, int64_t n, int64_t first,
                            Pair* out) {
    int64_t done = 0;
    if constexpr (!is_complex_v<A>) {
      using V = Vec<A>;
      using I = typename V::Int;
      constexpr int N = V::N;
      alignas(64) T columns[kShort * N];
      for (; done + N <= count; done += N, p += N * stride) {
        for (int r = 0; r < N; ++r)
          for (int64_t k = 0; k < n; ++k) columns[k * N + r] = p[r * stride + k];
        V best = load_as<A>(columns);
        I at(typename I::elem(0));
        for (int64_t k = 1; k < n; ++k) {
          const V y = load_as<A>(columns + k * N);
          const auto better = beats<Largest>(y, best);
          best = v_select(better, y, best);
          at = v_select(better, I(static_cast<typename I::elem>(k)), at);
        }
        A values[N];
        typename I::elem positions[N];
        best.store(values);
        at.store(positions);
        for (int r = 0; r < N; ++r) out[done + r] = {values[r], positions[r] + first};
      }
    }
    return done;
  }

  static void rows(const void* x, int64_t stride, int64_t count, int64_t n, int64_t first,
                   void* out) {
    const T* p = static_cast<const T*>(x);
    Pair* o = static_cast<Pair*>(out);
    int64_t r = n <= kShort ? short_rows(p, stride, count, n, first, o) : 0;
    for (p += r * stride; r < count; ++r, p += stride) {
      for (int64_t i = 0; i < n; i += kPiece) {
        Pair best = piece(p + i, n - i < kPiece ? n - i : kPiece);
        best.index += i + first;
        if (i == 0) o[r] = best;
        take(o[r], best);
      }
    }
  }

  static MLX_FN A value_of(const T* p) {
    if constexpr (is_complex_v<A>) {
      return *p;
    } else {
      A few[Vec<A>::N];
      load_tail<A>(p, 1, A{}).store(few);
      return few[0];
    }
  }

  // Sixteen rows at a time; the best value of each column stays in registers.
  static void cols(const void* x, const int64_t* offsets, int n, int64_t width, int64_t first,
                   void* out, bool) {
    const T* p = static_cast<const T*>(x);
    Pair* o = static_cast<Pair*>(out);
    int64_t dense[kReduceBlock];
    if (!offsets) {
      for (int r = 0; r < n; ++r) dense[r] = r * width;
      offsets = dense;
    }
    int64_t c = 0;
    if constexpr (!is_complex_v<A>) {
      using V = Vec<A>;
      using I = typename V::Int;
      constexpr int N = V::N;
      alignas(64) A value[kColumns];
      alignas(64) typename I::elem position[kColumns];
      const int64_t whole = width - width % N;
      for (int r0 = 0; r0 < n; r0 += kReduceDepth) {
        const int r1 = r0 + kReduceDepth < n ? r0 + kReduceDepth : n;
        for (c = 0; c < whole; c += N) {
          V best = r0 ? V::load(value + c) : load_as<A>(p + offsets[0] + c);
          I at = r0 ? I::load(position + c) : I(typename I::elem(0));
          for (int r = r0; r < r1; ++r) {
            V y = load_as<A>(p + offsets[r] + c);
            auto better = beats<Largest>(y, best);
            best = v_select(better, y, best);
            at = v_select(better, I(typename I::elem(r)), at);
          }
          best.store(value + c);
          at.store(position + c);
        }
      }
      for (int64_t i = 0; i < whole; ++i) o[i] = {value[i], position[i] + first};
      c = whole;
    }
    for (; c < width; ++c) {
      o[c] = {value_of(p + offsets[0] + c), first};
      for (int r = 1; r < n; ++r) take(o[c], {value_of(p + offsets[r] + c), first + r});
    }
  }

  static void merge(void* into, const void* from, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      take(static_cast<Pair*>(into)[i], static_cast<const Pair*>(from)[i]);
  }
  static void fill(void* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<Pair*>(out)[i] = Pair{};
  }
  static constexpr Reducer table{sizeof(Pair), kColumns, rows, cols, merge, fill};
};

template <bool Largest>
Reducer find(Dtype::Val t) {
  using enum Dtype::Val;
  switch (t) {
    case bool_:
    case uint8:
      return Kernel<uint8_t, int32_t, Largest>::table;
    case uint16:
      return Kernel<uint16_t, int32_t, Largest>::table;
    case uint32:
      return Kernel<uint32_t, uint32_t, Largest>::table;
    case uint64:
      return Kernel<uint64_t, uint64_t, Largest>::table;
    case int8:
      return Kernel<int8_t, int32_t, Largest>::table;
    case int16:
      return Kernel<int16_t, int32_t, Largest>::table;
    case int32:
      return Kernel<int32_t, int32_t, Largest>::table;
    case int64:
      return Kernel<int64_t, int64_t, Largest>::table;
    case float16:
      return Kernel<Half, float, Largest>::table;
    case bfloat16:
      return Kernel<Brain, float, Largest>::table;
    case float32:
      return Kernel<float, float, Largest>::table;
    case float64:
      return Kernel<double, double, Largest>::table;
    case complex64:
      return Kernel<Complex<float>, Complex<float>, Largest>::table;
    case complex128:
      return Kernel<Complex<double>, Complex<double>, Largest>::table;
  }
  return {};
}

}  // namespace

Reducer find_arg_reducer(Reduction kind, Dtype::Val t) {
  return kind == Reduction::argmax ? find<true>(t) : find<false>(t);
}

}  // namespace mlx::core::cpu::MLX_ISA
