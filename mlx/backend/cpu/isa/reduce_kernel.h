// The kernels of one reduction of one element type; see reduce.h for the order. The kinds are in
// separate files, since each is instantiated for every dtype.
#pragma once

#include <stddef.h>

#include "mlx/backend/cpu/isa/reduce.h"
#include "mlx/backend/cpu/simd/limits.h"

namespace mlx::core::cpu::MLX_ISA {

Reducer find_sum(Dtype::Val t);
Reducer find_mean(Dtype::Val t);
Reducer find_product(Dtype::Val t);
Reducer find_max(Dtype::Val t);
Reducer find_min(Dtype::Val t);
Reducer find_truth(Dtype::Val t, bool all);

namespace {

// Not inlined recursively, and not compiled once more for each constant argument.
#ifdef __clang__
#define MLX_SINGLE_COPY __attribute__((noinline))
#else
#define MLX_SINGLE_COPY __attribute__((noinline, noclone))
#endif

constexpr int kLanes = kReduceLanes, kDepth = kReduceDepth, kBlock = kReduceBlock;

// A reduction defines the element type T, the accumulator A, the neutral element and the
// combination.
template <class T_, class A_>
struct Sum {
  using T = T_;
  using A = A_;
  using R = Reg<A>;
  static MLX_FN A neutral() { return A{}; }
  static MLX_FN R combine(R a, R b) { return a + b; }
  static MLX_FN R map(R x) { return x; }
};

// For narrow accumulators, `Wide` is the same reduction with 32-bit accumulators: folding a
// register of bytes takes longer than reading a short row in several registers.

// If a reduction has a cheaper combination for numbers without NaN, blocks use that one, check for
// NaN separately, and are repeated if there is one.
template <class O>
concept Ordered = requires(typename O::R x) { O::ordered(x, x); };

// Registers and blocks of elements: how they are read, combined and folded.
template <class O>
struct ReduceBlocks {
  using T = typename O::T;
  using A = typename O::A;
  using R = Reg<A>;
  static constexpr int N = R::N, M = kLanes / N;

  struct Block {
    R v[M];
  };
  static MLX_FN R load(const T* p) { return O::map(load_as<A>(p)); }

  template <int H>
  static MLX_FN R fold(R x) {
    if constexpr (H > 0)
      return fold<H / 2>(O::combine(x, rotate_lanes<H>(x)));
    else
      return x;
  }
  static MLX_FN A tree(Block& b) {
    if constexpr (M > 1) {
      for (int h = M / 2; h > 0; h /= 2) {
        for (int i = 0; i < h; ++i) b.v[i] = O::combine(b.v[i], b.v[i + h]);
      }
    }
    R x = fold<N / 2>(b.v[0]);
    A lanes[N];
    x.store(lanes);
    return lanes[0];
  }
  template <class F>
  static MLX_FN void each(F f) {
    if constexpr (M == 1) {
      f(0);
    } else {
#pragma GCC unroll 8
      for (int i = 0; i < M; ++i) f(i);
    }
  }
  static MLX_FN void first(Block& b, const T* p) {
    each([&](int i) { b.v[i] = load(p + i * N); });
  }
  static MLX_FN void add(Block& b, const T* p) {
    each([&](int i) { b.v[i] = O::combine(b.v[i], load(p + i * N)); });
  }
  /// read(0) .. read(depth - 1), combined from first to last.
  template <class F>
  static MLX_FN R chain(F read, int depth) {
    R a = read(0);
    if constexpr (Ordered<O>) {
      R first = a;
      auto bad = v_unordered(a, a);
      int d = 1;
      for (; d + 2 <= depth; d += 2) {
        R x = read(d), y = read(d + 1);
        bad = bad | v_unordered(x, y);
        a = O::ordered(O::ordered(a, x), y);
      }
      if (d < depth) {
        R x = read(d);
        bad = bad | v_unordered(x, x);
        a = O::ordered(a, x);
      }
      if (!v_any(bad)) return a;
      a = first;
      // Rarely needed; unrolled it would be most of what the file takes to compile.
#pragma GCC unroll 1
      for (d = 1; d < depth; ++d) a = O::combine(a, read(d));
      return a;
    }
    for (int d = 1; d < depth; ++d) a = O::combine(a, read(d));
    return a;
  }
  /// Where lanes have NaN.
  static MLX_FN auto unordered(const Block& x) {
    auto bad = v_unordered(x.v[0], x.v[M > 1 ? 1 : 0]);
    for (int i = 2; i < M; i += 2) bad = bad | v_unordered(x.v[i], x.v[i + 1]);
    return bad;
  }
  /// The kBlock elements from p on.
  static MLX_FN Block whole_block(const T* p) {
    Block b;
    first(b, p);
    if constexpr (Ordered<O>) {
      if (ordered_block(b, p)) return b;
      first(b, p);
    }
    // Rolled up: compilers would read columns of an unrolled block of integers one after the other.
#pragma GCC unroll 1
    for (int d = 1; d < kDepth; ++d) add(b, p + d * kLanes);
    return b;
  }
  /// False if there is a NaN.
  static MLX_FN bool ordered_block(Block& b, const T* p) {
    auto bad = unordered(b);
    // Rolled up: unrolled it takes minutes to compile.
#pragma GCC unroll 1
    for (int d = 1; d < kDepth; ++d) {
      Block x;
      each([&](int i) { x.v[i] = load(p + d * kLanes + i * N); });
      bad = bad | unordered(x);
      each([&](int i) { b.v[i] = O::ordered(b.v[i], x.v[i]); });
    }
    return !v_any(bad);
  }
  // The i-th register of the first n elements, padded with the neutral element.
  static __attribute__((noinline)) R load_some(const T* p, int64_t n, int i) {
    const int64_t left = n - i * N;
    if (left >= N) return load(p + i * N);
    if (left <= 0) return R(O::neutral());
    return load_few(p + i * N, left);
  }
  static MLX_FN R load_few(const T* p, int64_t n) {
    if constexpr (N == 1)
      return load(p);
    else if constexpr (requires { O::filler(); })
      return O::map(load_tail<A>(p, n, O::filler()));
    else
      return O::map(load_tail<A>(p, n, O::neutral()));
  }
  // Up to one block.
  static __attribute__((noinline)) A short_block(const T* p, int64_t n) {
    Block b;
    if (n >= kLanes) {
      first(b, p);
      for (p += kLanes, n -= kLanes; n >= kLanes; p += kLanes, n -= kLanes) add(b, p);
      for (int i = 0; i < M && n > i * N; ++i) b.v[i] = O::combine(b.v[i], load_some(p, n, i));
    } else {
      for (int i = 0; i < M; ++i) b.v[i] = load_some(p, n, i);
    }
    return tree(b);
  }
  static MLX_FN void store_few(R x, A* out, int64_t n) {
    if constexpr (requires { x.store_partial(out, n); }) {
      x.store_partial(out, n);
    } else {
      A lanes[N];
      x.store(lanes);
      __builtin_memcpy(out, lanes, static_cast<size_t>(n) * sizeof(A));
    }
  }
};

template <class O>
struct Kernel : ReduceBlocks<O> {
  using Blocks = ReduceBlocks<O>;
  using Blocks::chain, Blocks::load, Blocks::load_few, Blocks::N, Blocks::short_block,
      Blocks::store_few, Blocks::tree, Blocks::whole_block;
  using typename Blocks::A, typename Blocks::Block, typename Blocks::R, typename Blocks::T;
  static constexpr int kColumns = kReduceRowBytes / sizeof(A), kStreams = 4;

  static MLX_FN A combine1(A a, A b) {
    A lanes[N];
    O::combine(R(a), R(b)).store(lanes);
    return lanes[0];
  }
  // Partial results, combined like the carries of a binary counter.
  struct Counter {
    A parts[kReduceLevels];
    int top = 0;
    uint64_t blocks = 0;
    MLX_FN void push(A x) {
      for (uint64_t t = blocks++; t & 1; t >>= 1) x = combine1(parts[--top], x);
      parts[top++] = x;
    }
    MLX_FN A result() {
      A x = parts[--top];
      while (top) x = combine1(parts[--top], x);
      return x;
    }
  };

  // One block after the other: the hardware follows one stream in a page, and loses it where two
  // blocks are read in turns.
  static A long_row(const T* p, int64_t n) {
    Counter counter;
    for (; n >= kBlock; p += kBlock, n -= kBlock) {
      Block b = whole_block(p);
      counter.push(tree(b));
    }
    if (n > 0) counter.push(short_block(p, n));
    return counter.result();
  }

  // Dense rows of `Length`, as many as fill registers, are transposed to columns. Returns how many.
  template <int Length>
  static int64_t tiny_rows(const T* p, int64_t count, A* out) {
    int64_t i = 0;
    for (; i + N <= count; i += N, p += N * Length) {
      alignas(64) T columns[Length][N];
      for (int k = 0; k < N; ++k)
        for (int j = 0; j < Length; ++j) columns[j][k] = p[k * Length + j];
      R a = load(columns[0]);
      for (int j = 1; j < Length; ++j) a = O::combine(a, load(columns[j]));
      a.store(out + i);
    }
    return i;
  }
  static constexpr int64_t kShort = 256;
  template <class W>
  static void short_rows(const T* p, int64_t stride, int64_t count, int64_t n, A* out) {
    constexpr int64_t kRows = 64;
    typename W::A wide[kRows];
    for (int64_t i = 0; i < count; i += kRows) {
      const int64_t some = count - i < kRows ? count - i : kRows;
      Kernel<W>::rows(p + i * stride, stride, some, n, 0, wide);
      for (int64_t k = 0; k < some; ++k) out[i + k] = static_cast<A>(wide[k]);
    }
  }
  static void rows(const void* x, int64_t stride, int64_t count, int64_t n, int64_t, void* out) {
    const T* p = static_cast<const T*>(x);
    A* o = static_cast<A*>(out);
    if constexpr (sizeof(A) < 4) {
      if (stride == n && n > 1 && n <= 4) {
        const int64_t done = n == 2   ? tiny_rows<2>(p, count, o)
                             : n == 3 ? tiny_rows<3>(p, count, o)
                                      : tiny_rows<4>(p, count, o);
        p += done * n;
        o += done;
        count -= done;
      }
      if (n <= kShort) return short_rows<typename O::Wide>(p, stride, count, n, o);
    }
    if (n <= N) {
      for (int64_t i = 0; i < count; ++i, p += stride) {
        A lanes[N];
        Blocks::template fold<N / 2>(n < N ? load_few(p, n) : load(p)).store(lanes);
        o[i] = lanes[0];
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i, p += stride)
      o[i] = n <= kBlock ? short_block(p, n) : long_row(p, n);
  }

  // One lane of a block over all columns: rows lane, lane + 32, …
  static void lane(const T* x, const int64_t* offsets, int n, int lane, int64_t width, A* out,
                   bool far) {
    const T* row[kDepth];
    int depth = 0;
    for (int r = lane; r < n; r += kLanes) row[depth++] = x + offsets[r];
    columns_of(row, depth, width, out, far);
  }
  // Rows combined from first to last, a few at a time: too many concurrent streams defeat the
  // caches. `far`: they are in main memory, on pages that the hardware does not foresee, and are
  // fetched while the rows before them are combined.
  static void columns_of(const T* const* row, int depth, int64_t width, A* out, bool far) {
    for (int d0 = 0; d0 < depth; d0 += kStreams) {
      const int some = depth - d0 < kStreams ? depth - d0 : kStreams;
      // The first register is the previous result.
      auto combined = [&](auto read, auto so_far) {
        if (d0 == 0) return chain([&](int d) { return read(row[d]); }, some);
        return chain([&](int d) { return d ? read(row[d0 + d - 1]) : so_far(); }, some + 1);
      };
      int64_t c = 0;
      const T* const* ahead = far && d0 + 2 * kStreams <= depth ? row + d0 + kStreams : nullptr;
      auto fetch = [&](int64_t c) MLX_INLINED {
        for (int d = 0; ahead && d < kStreams; ++d) __builtin_prefetch(ahead[d] + c, 0, 2);
      };
      if (d0 == 0 && some == kStreams) {
        for (; c + N <= width; c += N) {
          fetch(c);
          chain([&](int d) { return load(row[d] + c); }, kStreams).store(out + c);
        }
      } else if (some == kStreams) {
        const T* const* next = row + d0 - 1;
        for (; c + N <= width; c += N) {
          fetch(c);
          chain([&](int d) { return d ? load(next[d] + c) : raw_load<R>(out + c); }, kStreams + 1)
              .store(out + c);
        }
      }
      for (; c + N <= width; c += N)
        combined([&](const T* p) { return load(p + c); }, [&] { return raw_load<R>(out + c); })
            .store(out + c);
      if (c < width)
        store_few(combined([&](const T* p) { return load_few(p + c, width - c); },
                           [&] { return load_tail<A>(out + c, width - c, O::neutral()); }),
                  out + c, width - c);
    }
  }
  // Up to four lanes of one row each: (a + b) + (c + d), in the order of the tree.
  static void few_rows(const T* x, const int64_t* offsets, int n, int level, int l, int64_t width,
                       A* out) {
    const int step = 1 << level;
    auto row = [&](int k) { return l + k * step < n ? x + offsets[l + k * step] : nullptr; };
    const T *a = row(0), *b = row(2), *c = row(1), *d = row(3);
    auto combined = [&](auto read, int64_t i) {
      R y = read(a + i);
      if (b) y = O::combine(y, read(b + i));
      if (!c) return y;
      return O::combine(y, d ? O::combine(read(c + i), read(d + i)) : read(c + i));
    };
    int64_t i = 0;
    for (; i + N <= width; i += N) combined([](const T* p) { return load(p); }, i).store(out + i);
    if (i < width)
      store_few(combined([&](const T* p) { return load_few(p, width - i); }, i), out + i,
                width - i);
  }
  using Buffers = A (*)[kColumns];
  // Lanes congruent to `l` modulo 2^level, of those that have elements.
  static MLX_SINGLE_COPY void lanes(const T* x, const int64_t* offsets, int n, int level, int l,
                                    int64_t width, A* out, Buffers spare, bool far) {
    if (level == 5) return lane(x, offsets, n, l, width, out, far);
    if (n <= l + (4 << level) && n <= kLanes) return few_rows(x, offsets, n, level, l, width, out);
    lanes(x, offsets, n, level + 1, l, width, out, spare, far);
    const int other = l + (1 << level);
    if (other < n) {
      lanes(x, offsets, n, level + 1, other, width, spare[level], spare, far);
      merge(out, spare[level], width);
    }
  }
  // Dense rows so short that those of all lanes form one row of columns.
  static void narrow(const T* x, int n, int64_t width, A* out) {
    alignas(64) A all[kColumns];
    const T* row[kDepth];
    const int whole = n / kLanes;
    for (int d = 0; d < whole; ++d) row[d] = x + d * kLanes * width;
    if (whole) columns_of(row, whole, kLanes * width, all, false);
    if (const int64_t rest = n % kLanes * width) {
      const T* last = x + whole * kLanes * width;
      alignas(64) A tail[kColumns];
      columns_of(&last, 1, rest, whole ? tail : all, false);
      if (whole) merge(all, tail, rest);
    }
    int64_t valid = (n < kLanes ? n : kLanes) * width;
    for (int h = kLanes / 2; h > 0; h /= 2) {
      const int64_t half = h * width;
      if (valid <= half) continue;
      merge(all, all + half, valid - half);
      valid = half;
    }
    __builtin_memcpy(out, all, static_cast<size_t>(width) * sizeof(A));
  }
  static void cols(const void* x, const int64_t* offsets, int n, int64_t width, int64_t, void* out,
                   bool far) {
    if (!offsets) return narrow(static_cast<const T*>(x), n, width, static_cast<A*>(out));
    alignas(64) A spare[5][kColumns];
    lanes(static_cast<const T*>(x), offsets, n, 0, 0, width, static_cast<A*>(out), spare, far);
  }

  static void merge(void* into, const void* from, int64_t n) {
    A* a = static_cast<A*>(into);
    const A* b = static_cast<const A*>(from);
    int64_t i = 0;
    for (; i + N <= n; i += N) O::combine(raw_load<R>(a + i), raw_load<R>(b + i)).store(a + i);
    if constexpr (N > 1) {
      if (i < n)
        store_few(O::combine(load_tail<A>(a + i, n - i, A{}), load_tail<A>(b + i, n - i, A{})),
                  a + i, n - i);
    }
  }
  static void fill(void* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<A*>(out)[i] = O::neutral();
  }
  static constexpr Reducer table{sizeof(A), kColumns, rows, cols, merge, fill};
};

/// Of floats, and of complex numbers C<float> and C<double>.
template <template <class, class> class O, template <class> class C>
Reducer inexact(Dtype::Val t) {
  using enum Dtype::Val;
  switch (t) {
    case float16:
      return Kernel<O<Half, float>>::table;
    case bfloat16:
      return Kernel<O<Brain, float>>::table;
    case float32:
      return Kernel<O<float, float>>::table;
    case float64:
      return Kernel<O<double, double>>::table;
    case complex64:
      return Kernel<O<C<float>, C<float>>>::table;
    case complex128:
      return Kernel<O<C<double>, C<double>>>::table;
    default:
      return {};
  }
}

template <template <class, class> class O>
Reducer numeric(Dtype::Val t) {
  using enum Dtype::Val;
  switch (t) {
    case bool_:
    case uint8:
      return Kernel<O<uint8_t, uint32_t>>::table;
    case uint16:
      return Kernel<O<uint16_t, uint32_t>>::table;
    case int8:
      return Kernel<O<int8_t, uint32_t>>::table;
    case int16:
      return Kernel<O<int16_t, uint32_t>>::table;
    case uint32:
    case int32:
      return Kernel<O<uint32_t, uint32_t>>::table;
    case uint64:
    case int64:
      return Kernel<O<uint64_t, uint64_t>>::table;
    default:
      return inexact<O, Packed>(t);
  }
}

template <template <class, class> class O>
Reducer extreme(Dtype::Val t) {
  using enum Dtype::Val;
  switch (t) {
    case bool_:
    case uint8:
      return Kernel<O<uint8_t, uint8_t>>::table;
    case uint16:
      return Kernel<O<uint16_t, uint16_t>>::table;
    case uint32:
      return Kernel<O<uint32_t, uint32_t>>::table;
    case uint64:
      return Kernel<O<uint64_t, uint64_t>>::table;
    case int8:
      return Kernel<O<int8_t, int8_t>>::table;
    case int16:
      return Kernel<O<int16_t, int16_t>>::table;
    case int32:
      return Kernel<O<int32_t, int32_t>>::table;
    case int64:
      return Kernel<O<int64_t, int64_t>>::table;
    default:
      return inexact<O, Complex>(t);
  }
}

}  // namespace

}  // namespace mlx::core::cpu::MLX_ISA
