// The tile kernel of a row of ops/elementwise.def for a dtype. Floating dtypes use vectors, the
// last one padded so that every element is computed by the same instructions; integers and complex
// numbers are plain loops that the compiler vectorises.
#pragma once

#include "mlx/backend/common/domain.h"
#include "mlx/backend/cpu/isa/elementwise.h"
#include "mlx/backend/cpu/simd/convert.h"
#include "mlx/backend/math/bodies.h"

// A loop that writes nothing of what it reads later. Clang finds that out when the loop runs.
#if defined(__clang__)
#define MLX_INDEPENDENT
#else
#define MLX_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace mlx::core::cpu::MLX_ISA {

using Val = Dtype::Val;

enum class Row : int {
#define E(name, ...) name,
#include "mlx/ops/elementwise.def"
#undef E
  count,
};
inline constexpr int kRows = static_cast<int>(Row::count);

/// Rows with a long body: compiled once per dtype, neither unrolled nor duplicated for 16-bit
/// floats.
constexpr bool is_heavy(Row row, Domain domain) {
  switch (row) {
    case Row::divide:
    case Row::reciprocal:
    case Row::sqrt:
    case Row::rsqrt:
      return false;
    case Row::power:
    case Row::remainder:
    case Row::floor_divide:
      return true;
    default:
      return domain == Domain::inexact || domain == Domain::floating;
  }
}

constexpr int64_t kTile = 512;  // 16-bit floats are widened by that many elements at a time

MLX_FN bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % kVectorBytes == 0; }

// The storage type of a result: elements of A, or bytes for a predicate.
template <class A, class R>
struct Result {
  using S = typename A::S;
  template <bool Nt>
  MLX_FN static void put(S* p, R x) {
    if constexpr (Nt) {
      x.stream(p);
    } else {
      A::store(p, x);
    }
  }
  MLX_FN static void put_some(S* p, R x, int64_t n) { store_some<A>(p, x, n); }
};
template <class A, int Bytes>
struct Result<A, Mask<Bytes>> {
  using S = uint8_t;
  template <bool>
  MLX_FN static void put(S* p, Mask<Bytes> x) {
    v_store_bools(p, x);
  }
  MLX_FN static void put_some(S* p, Mask<Bytes> x, int64_t n) { store_bools_some(p, x, n); }
};

/// f over vectors of A, four at a time: out[i] = f(in[0][i], ..., in[Arity - 1][i]).
template <int Arity, class A, bool Nt, class F>
MLX_FN void vector_loop(const void* const* in, void* out, int64_t n, F f) {
  using V = typename A::V;
  using S = typename A::S;
  constexpr int N = V::N, U = 4;
  const S* a = static_cast<const S*>(in[0]);
  const S* b = static_cast<const S*>(in[Arity > 1 ? 1 : 0]);
  const S* c = static_cast<const S*>(in[Arity > 2 ? 2 : 0]);
  auto at = [&](V x, V y, V z) MLX_INLINED {
    if constexpr (Arity == 1) {
      return f(x);
    } else if constexpr (Arity == 2) {
      return f(x, y);
    } else {
      return f(x, y, z);
    }
  };
  using Out = Result<A, decltype(at(V(), V(), V()))>;
  auto* o = static_cast<typename Out::S*>(out);
  int64_t i = 0;
  for (; i + U * N <= n; i += U * N) {
    V x[U], y[U], z[U];
#pragma GCC unroll 4
    for (int u = 0; u < U; ++u) {
      x[u] = A::load(a + i + u * N);
      y[u] = Arity > 1 ? A::load(b + i + u * N) : x[u];
      z[u] = Arity > 2 ? A::load(c + i + u * N) : x[u];
    }
#pragma GCC unroll 4
    for (int u = 0; u < U; ++u) Out::template put<Nt>(o + i + u * N, at(x[u], y[u], z[u]));
  }
  for (; i < n; i += N) {
    int64_t left = n - i < N ? n - i : N;
    V x = load_some<A>(a + i, left);
    V y = Arity > 1 ? load_some<A>(b + i, left) : x;
    V z = Arity > 2 ? load_some<A>(c + i, left) : x;
    Out::put_some(o + i, at(x, y, z), left);
  }
}

template <class F, int Arity, class A, bool Nt>
void light(const void* const* in, void* out, int64_t n) {
  if constexpr (Nt) {
    if (!is_aligned(out)) return light<F, Arity, A, false>(in, out, n);
  }
  vector_loop<Arity, A, Nt>(in, out, n, F{});
}

/// One copy of a long body, for whole and partial vectors and for both kinds of stores.
template <class F, int Arity, class A>
__attribute__((noinline)) void heavy_loop(const void* const* in, void* out, int64_t n, bool nt) {
  using V = typename A::V;
  using S = typename A::S;
  const S* a = static_cast<const S*>(in[0]);
  const S* b = static_cast<const S*>(in[Arity - 1]);
  S* o = static_cast<S*>(out);
  for (int64_t i = 0; i < n; i += V::N) {
    int64_t left = n - i < V::N ? n - i : V::N;
    V x = load_some<A>(a + i, left), r;
    if constexpr (Arity == 1) {
      r = F{}(x);
    } else {
      r = F{}(x, load_some<A>(b + i, left));
    }
    if (nt && left == V::N) {
      r.stream(o + i);
    } else {
      store_some<A>(o + i, r, left);
    }
  }
}
template <class F, int Arity, class A, bool Nt>
void heavy(const void* const* in, void* out, int64_t n) {
  heavy_loop<F, Arity, A>(in, out, n, Nt && is_aligned(out));
}

// The tables of the dtypes, each defined in the file that compiles its kernels; indexed by row.
extern const TileFn* const bool_tiles;
extern const TileFn* const uint8_tiles;
extern const TileFn* const uint16_tiles;
extern const TileFn* const uint32_tiles;
extern const TileFn* const uint64_tiles;
extern const TileFn* const int8_tiles;
extern const TileFn* const int16_tiles;
extern const TileFn* const int32_tiles;
extern const TileFn* const int64_tiles;
extern const TileFn* const float16_tiles;
extern const TileFn* const bfloat16_tiles;
extern const TileFn* const float32_tiles;
extern const TileFn* const float64_tiles;
extern const TileFn* const complex64_tiles;
extern const TileFn* const complex128_tiles;
extern const TileFn* const float32_nt_tiles;

/// The float32 kernel of a row, for a 16-bit dtype.
template <Row R, int Arity, class A>
void widened(const void* const* in, void* out, int64_t n) {
  constexpr int N = VF::N;
  using S = uint16_t;
  float operands[Arity][kTile];
  const void* wide[Arity];
  for (int k = 0; k < Arity; ++k) wide[k] = operands[k];
  for (int64_t start = 0; start < n; start += kTile) {
    int64_t count = n - start < kTile ? n - start : kTile;
    for (int k = 0; k < Arity; ++k) {
      const S* p = static_cast<const S*>(in[k]) + start;
      for (int64_t i = 0; i < count; i += N) {
        load_some<A>(p + i, count - i < N ? count - i : N).store(operands[k] + i);
      }
    }
    float32_tiles[static_cast<int>(R)](wide, operands[0], count);
    S* o = static_cast<S*>(out) + start;
    for (int64_t i = 0; i < count; i += N) {
      store_some<A>(o + i, VF::load(operands[0] + i), count - i < N ? count - i : N);
    }
  }
}

/// A function of a truth value is the value or its complement, masked: GCC has no vectors of `!`.
template <class F>
MLX_FN void bool_loop(const void* in, void* out, int64_t n) {
  const auto* a = static_cast<const uint8_t*>(in);
  auto* o = static_cast<uint8_t*>(out);
  const uint8_t of_false = F{}(false), change = of_false ^ F{}(true);
  MLX_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) o[i] = (a[i] & change) ^ of_false;
}

/// Plain loops. The operands may be identical to the output, but must not overlap it partially.
template <class F, int Arity, class T>
void scalar(const void* const* in, void* out, int64_t n) {
  const T* a = static_cast<const T*>(in[0]);
  if constexpr (Arity == 1 && __is_same(T, bool)) {
    static_assert(__is_same(decltype(F{}(false)), bool));
    bool_loop<F>(in[0], out, n);
  } else if constexpr (Arity == 1) {
    auto* o = static_cast<decltype(F{}(T()))*>(out);
    MLX_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = F{}(a[i]);
  } else {
    const T* b = static_cast<const T*>(in[1]);
    auto* o = static_cast<decltype(F{}(T(), T()))*>(out);
    MLX_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = F{}(a[i], b[i]);
  }
}

struct Item16 {
  uint64_t low, high;
};
template <int Bytes>
struct ItemOf;
template <>
struct ItemOf<1> {
  using type = uint8_t;
};
template <>
struct ItemOf<2> {
  using type = uint16_t;
};
template <>
struct ItemOf<4> {
  using type = uint32_t;
};
template <>
struct ItemOf<8> {
  using type = uint64_t;
};
template <>
struct ItemOf<16> {
  using type = Item16;
};

/// where(condition, a, b) as a copy of items of any dtype.
template <class T>
void choose(const void* const* in, void* out, int64_t n) {
  const uint8_t* c = static_cast<const uint8_t*>(in[0]);
  const T* a = static_cast<const T*>(in[1]);
  const T* b = static_cast<const T*>(in[2]);
  T* o = static_cast<T*>(out);
  MLX_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    T x = a[i], y = b[i];
    o[i] = c[i] ? x : y;
  }
}
// Compiled once, in elementwise_int.cpp: other files are compiled at a level that leaves plain
// loops scalar, and the linker would keep one of all copies.
extern template void choose<uint8_t>(const void* const*, void*, int64_t);
extern template void choose<uint16_t>(const void* const*, void*, int64_t);
extern template void choose<uint32_t>(const void* const*, void*, int64_t);
extern template void choose<uint64_t>(const void* const*, void*, int64_t);

// A: how a dtype is stored and computed (Float32 ... Bfloat16), or a plain type.
template <class A>
concept OnVectors = requires { typename A::V; };

/// The kernel of a row for dtype v; null if the row does not accept it.
template <Row R, class F, int Arity, Domain D, Val v, class A, bool Nt>
constexpr TileFn tile() {
  if constexpr (Arity == 3) {
    return &choose<typename ItemOf<detail::kItemSizes[static_cast<int>(v)]>::type>;
  } else if constexpr (!takes(D, v)) {
    return nullptr;
  } else if constexpr (!OnVectors<A>) {
    return &scalar<F, Arity, A>;
  } else if constexpr (!is_heavy(R, D)) {
    return &light<F, Arity, A, Nt>;
  } else if constexpr (sizeof(typename A::S) == 2) {
    return &widened<R, Arity, A>;
  } else {
    return &heavy<F, Arity, A, Nt>;
  }
}

/// The kernels of all rows for dtype v.
template <Val v, class A, bool Nt = false>
struct Tiles {
  static constexpr TileFn table[kRows] = {
#define E(name, arity, domain, ...) \
  tile<Row::name, bodies::name, arity, Domain::domain, v, A, Nt>(),
#include "mlx/ops/elementwise.def"
#undef E
  };
};

}  // namespace mlx::core::cpu::MLX_ISA
