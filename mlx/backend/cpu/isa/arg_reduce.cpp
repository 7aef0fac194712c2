// argmax and argmin over rows and columns: the position of the first extreme; NaN is extreme.
#include "mlx/backend/cpu/isa/reduce.h"
#include "mlx/backend/cpu/simd/lanes.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

// Whether x beats the best so far. Kinds: true for the largest, false for the smallest.
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

// Elements are compared as 32- or 64-bit numbers; positions count in integers of that width, in pieces
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

  static Pair piece(const T* p, int64_t n) {
    if constexpr (is_complex_v<A>) {
      Pair best{p[0], 0};
      for (int64_t i = 1; i < n; ++i) take(best, {p[i], i});
      return best;
    } else {
      using V = Vec<A>;
      using I = typename V::Int;
      constexpr int N = V::N, M = 2;
      Pair best{};
      bool any = false;
      int64_t i = 0;
      if (n >= M * N) {
        V value[M];
        I step = I(typename I::elem(N * M)), position[M], at[M];
        for (int k = 0; k < M; ++k) {
          value[k] = load_as<A>(p + k * N);
          typename I::elem lanes[N];
          for (int l = 0; l < N; ++l) lanes[l] = k * N + l;
          position[k] = at[k] = I::load(lanes);
        }
        for (i = M * N; i + M * N <= n; i += M * N) {
#pragma GCC unroll 2
          for (int k = 0; k < M; ++k) {
            at[k] = at[k] + step;
            V x = load_as<A>(p + i + k * N);
            auto better = beats<Largest>(x, value[k]);
            value[k] = v_select(better, x, value[k]);
            position[k] = v_select(better, at[k], position[k]);
          }
        }
        A values[M * N];
        typename I::elem positions[M * N];
        for (int k = 0; k < M; ++k) {
          value[k].store(values + k * N);
          position[k].store(positions + k * N);
        }
        best = {values[0], positions[0]};
        for (int l = 1; l < M * N; ++l) {
          bool earlier = positions[l] < best.index && !wins<Largest>(best.value, values[l]);
          if (earlier || wins<Largest>(values[l], best.value)) best = {values[l], positions[l]};
        }
        any = true;
      }
      for (; i < n; i += N) {
        int64_t left = n - i < N ? n - i : N;
        A values[N];
        V x = left == N ? load_as<A>(p + i) : load_tail<A>(p + i, left, A{});
        x.store(values);
        for (int64_t l = 0; l < left; ++l) {
          if (!any) best = {values[l], i + l};
          any = true;
          take(best, {values[l], i + l});
        }
      }
      return best;
    }
  }

  static void rows(const void* x, int64_t stride, int64_t count, int64_t n, int64_t first,
                   void* out) {
    const T* p = static_cast<const T*>(x);
    Pair* o = static_cast<Pair*>(out);
    for (int64_t r = 0; r < count; ++r, p += stride) {
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

  // Sixteen rows at a time keep the best of each column in registers.
  static void cols(const void* x, const int64_t* offsets, int n, int64_t width, int64_t first,
                   void* out) {
    const T* p = static_cast<const T*>(x);
    Pair* o = static_cast<Pair*>(out);
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
    case uint8: return Kernel<uint8_t, int32_t, Largest>::table;
    case uint16: return Kernel<uint16_t, int32_t, Largest>::table;
    case uint32: return Kernel<uint32_t, uint32_t, Largest>::table;
    case uint64: return Kernel<uint64_t, uint64_t, Largest>::table;
    case int8: return Kernel<int8_t, int32_t, Largest>::table;
    case int16: return Kernel<int16_t, int32_t, Largest>::table;
    case int32: return Kernel<int32_t, int32_t, Largest>::table;
    case int64: return Kernel<int64_t, int64_t, Largest>::table;
    case float16: return Kernel<Half, float, Largest>::table;
    case bfloat16: return Kernel<Brain, float, Largest>::table;
    case float32: return Kernel<float, float, Largest>::table;
    case float64: return Kernel<double, double, Largest>::table;
    case complex64: return Kernel<Complex<float>, Complex<float>, Largest>::table;
    case complex128: return Kernel<Complex<double>, Complex<double>, Largest>::table;
  }
  return {};
}

}  // namespace

Reducer find_arg_reducer(Reduction kind, Dtype::Val t) {
  return kind == Reduction::argmax ? find<true>(t) : find<false>(t);
}

}  // namespace mlx::core::cpu::MLX_ISA
