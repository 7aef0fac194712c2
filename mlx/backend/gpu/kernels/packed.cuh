// Arrays of few bits an element, and products with matrices of them.
#pragma once

#include "mlx/backend/gpu/kernels/index.cuh"
#include "mlx/backend/gpu/kernels/matmul.cuh"

namespace mlx::core::device {

enum class Packed { affine, mxfp4, mxfp8, nvfp4 };

//--- codes and scales

MLX_FN float from_e2m1(uint32_t code) {
  const float magnitude = __builtin_bit_cast(float, (code & 7) << 22) * 0x1p126f;
  return code & 8 ? -magnitude : magnitude;
}
MLX_FN float from_e4m3(uint32_t code) {
  if ((code & 0x7f) == 0x7f) return __builtin_nanf("");
  const float magnitude = __builtin_bit_cast(float, (code & 0x7f) << 20) * 0x1p120f;
  return code & 0x80 ? -magnitude : magnitude;
}
MLX_FN float from_e8m0(uint32_t code) {
  if (code == 255) return __builtin_nanf("");
  return __builtin_bit_cast(float, code ? code << 23 : 0x400000u);
}
MLX_FN uint32_t to_e2m1(float x) {
  const float a = ::fabsf(x);
  const uint32_t code =
      (a > .25f) + (a > .75f) + (a > 1.25f) + (a > 1.75f) + (a > 2.5f) + (a > 3.5f) + (a > 5.f);
  return code && x < 0 ? code | 8 : code;
}
MLX_FN uint32_t to_e4m3(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x), sign = bits >> 31 << 7;
  const float a = ::fabsf(x);
  if (a != a) return sign | 127;
  if (a >= 448) return sign | 126;
  if (a < 0x1p-6f) return sign | static_cast<uint32_t>(::rintf(a * 512));
  const int exponent = static_cast<int>((bits >> 23) & 255) - 127;
  const float unit = __builtin_bit_cast(float, static_cast<uint32_t>(127 + 3 - exponent) << 23);
  const int code = (exponent + 7) * 8 + static_cast<int>(::rintf(a * unit)) - 8;
  return sign | static_cast<uint32_t>(code < 126 ? code : 126);
}

/// The value of a scale or a bias.
template <Packed Mode, class S>
MLX_FN float unit_of(S x) {
  if constexpr (Mode == Packed::affine) {
    return loaded<float>(x);
  } else if constexpr (Mode == Packed::nvfp4) {
    return from_e4m3(x);
  } else {
    return from_e8m0(x);
  }
}
/// The code of an element, which may lie in two words.
template <int Bits>
MLX_FN uint32_t code_at(DevicePointer<const uint32_t> words, int64_t i) {
  const int64_t bit = i * Bits;
  const int shift = static_cast<int>(bit & 31);
  uint32_t x = words[bit >> 5] >> shift;
  if constexpr (32 % Bits != 0)
    if (shift + Bits > 32) x |= words[(bit >> 5) + 1] << (32 - shift);
  return x & ((1u << Bits) - 1);
}
template <Packed Mode, int Bits>
MLX_FN float code_value(uint32_t code) {
  if constexpr (Mode == Packed::affine) {
    return __builtin_bit_cast(float, code | 0x4b000000u) - 0x1p23f;  // exact, faster than a cast
  } else if constexpr (Bits == 4) {
    return from_e2m1(code);
  } else {
    return from_e4m3(code);
  }
}
/// An element of all the matrices; rows are whole words.
template <Packed Mode, int Bits, class S>
MLX_FN float unpacked(const PackedArguments& p, int64_t i) {
  const auto* words = memory<const uint32_t>(p.words);
  const float scale = unit_of<Mode>(memory<const S>(p.scales)[i / p.group]);
  float x = code_value<Mode, Bits>(code_at<Bits>(words, i)) * scale;
  if constexpr (Mode == Packed::affine)
    x = x + unit_of<Mode>(memory<const S>(p.biases)[i / p.group]);
  return x;
}

/// The unit of nvfp4's scales.
MLX_FN float global_unit(const PackedArguments& p) {
  return p.global ? *memory<const float>(p.global) / 2688.f : 1.f;
}

//--- runs of elements that a thread reads and writes at once

/// Whether addresses allow accesses of 16 bytes.
template <class T>
MLX_FN bool in_sixteens(DevicePointer<const T> address) {
  return (reinterpret_cast<uint64_t>(address) & 15) == 0;
}
template <class T>
struct alignas(16) Sixteen {
  static constexpr int kCount = 16 / sizeof(T);
  T x[kCount];
};
/// N elements from memory.
template <int N, class T>
MLX_FN void load_run(DevicePointer<const T> from, bool sixteens, T (&to)[N]) {
  constexpr int kCount = Sixteen<T>::kCount;
  if constexpr (N % kCount == 0) {
    if (sixteens) {
#pragma unroll
      for (int j = 0; j < N / kCount; ++j) {
        const Sixteen<T> some = reinterpret_cast<DevicePointer<const Sixteen<T>>>(from)[j];
#pragma unroll
        for (int c = 0; c < kCount; ++c) to[j * kCount + c] = some.x[c];
      }
      return;
    }
  }
#pragma unroll
  for (int j = 0; j < N; ++j) to[j] = from[j];
}
/// The binary logarithm of the length of groups, which is a power of 2.
MLX_FN int group_shift(const PackedArguments& p) {
  int shift = 4;
  while ((int64_t{1} << shift) < p.group) ++shift;
  return shift;
}
/// Code `j` of words that begin with code 0.
template <int Bits>
MLX_FN uint32_t code_of_run(const uint32_t* words, int j) {
  const int bit = j * Bits, shift = bit % 32;
  uint32_t x = words[bit / 32] >> shift;
  if (shift + Bits > 32) x |= words[bit / 32 + 1] << (32 - shift);
  return x & ((1u << Bits) - 1);
}
/// N elements of a group, from element i on; their codes fill words.
template <Packed Mode, int Bits, class S, int N>
MLX_FN void unpack_run(const PackedArguments& p, int shift, int64_t i, bool sixteens,
                       float (&to)[N]) {
  static_assert(N * Bits % 32 == 0);
  constexpr int kWords = N * Bits / 32;
  uint32_t words[kWords];
  load_run<kWords>(memory<const uint32_t>(p.words) + i * Bits / 32, sixteens, words);
  const float scale = unit_of<Mode>(memory<const S>(p.scales)[i >> shift]);
  float bias = 0;
  if constexpr (Mode == Packed::affine) bias = unit_of<Mode>(memory<const S>(p.biases)[i >> shift]);
#pragma unroll
  for (int j = 0; j < N; ++j) {
    to[j] = code_value<Mode, Bits>(code_of_run<Bits>(words, j)) * scale;
    if constexpr (Mode == Packed::affine) to[j] = to[j] + bias;
  }
}

/// A thread has as many elements as fill words, at least eight.
template <Packed Mode, int Bits, class S, class T>
MLX_FN void dequantize(const PackedArguments& p) {
  constexpr int kRun = Bits == 2 ? 16 : Bits == 4 || Bits == 8 ? 8 : 32;
  constexpr int kCount = Sixteen<T>::kCount;
  auto* out = memory<T>(p.out);
  const float unit = global_unit(p);
  const int shift = group_shift(p);
  const bool sixteens = in_sixteens<T>(out);
  for (int64_t i = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kRun; i < p.count;
       i += static_cast<int64_t>(gridDim.x) * kThreads * kRun) {
    float run[kRun];
    unpack_run<Mode, Bits, S>(p, shift, i, false, run);
#pragma unroll
    for (int j = 0; j < kRun; j += kCount) {
      Sixteen<T> some;
#pragma unroll
      for (int c = 0; c < kCount; ++c) some.x[c] = in_memory<T>(run[j + c] * unit);
      if (sixteens) {
        *reinterpret_cast<DevicePointer<Sixteen<T>>>(out + i + j) = some;
      } else {
#pragma unroll
        for (int c = 0; c < kCount; ++c) out[i + j + c] = some.x[c];
      }
    }
  }
}

//--- packing: a thread has a group

/// Codes of a group, and what they count: scale, and start for affine.
template <Packed Mode, int Bits, class T>
struct Group {
  float step, start;
  uint32_t scale;  ///< its code

  MLX_FN Group(DevicePointer<const T> w, int64_t n, float unit) : step(0), start(0), scale(0) {
    if constexpr (Mode == Packed::affine) {
      affine(w, n);
    } else {
      floating(w, n, unit);
    }
  }
  MLX_FN uint32_t code(T w) const {
    const float x = loaded<float>(w);
    if constexpr (Mode == Packed::affine) {
      const float most = static_cast<float>((1 << Bits) - 1), q = ::rintf((x - start) / step);
      return static_cast<uint32_t>(q > 0 ? (q < most ? q : most) : 0);
    } else {
      const float y = step != 0 ? x / step : 0.f;
      return Bits == 4 ? to_e2m1(y) : to_e4m3(y);
    }
  }

 private:
  MLX_FN void affine(DevicePointer<const T> w, int64_t n) {
    const float most = static_cast<float>((1 << Bits) - 1);
    float high = -__builtin_inff(), low = __builtin_inff();
    for (int64_t i = 0; i < n; ++i) {
      const float x = loaded<float>(w[i]);
      high = high < x ? x : high;
      low = x < low ? x : low;
    }
    step = (high - low) / most;
    step = step < 1e-7f ? 1e-7f : step;
    start = low;
    if constexpr (Bits > 1) {
      const bool negative = ::fabsf(low) > ::fabsf(high);
      if (!negative) step = -step;
      const float edge = negative ? low : high, at = ::rintf(edge / step);
      start = at != 0 ? edge : 0.f;
      if (at != 0) step = edge / at;
    }
  }
  MLX_FN void floating(DevicePointer<const T> w, int64_t n, float unit) {
    float most = 0;
    for (int64_t i = 0; i < n; ++i) {
      const float x = ::fabsf(loaded<float>(w[i]));
      most = most < x ? x : most;
    }
    if constexpr (Mode == Packed::nvfp4) {
      scale = to_e4m3(most / 6 / unit);
      step = from_e4m3(scale) * unit;
    } else {
      // Rounded to the dtype of the matrix, as the scale would be in that.
      const float ratio = loaded<float>(in_memory<T>(most / (Bits == 4 ? 6.f : 448.f)));
      int exponent = 0;
      if (ratio > 0 && ratio <= 3e38f) {
        // ratio = f * 2^exponent, f from above 0.5 to 1
        const bool tiny = ratio < 0x1p-126f;
        const uint32_t bits = __builtin_bit_cast(uint32_t, tiny ? ratio * 0x1p64f : ratio);
        exponent = static_cast<int>(bits >> 23) - 126 - (tiny ? 64 : 0);
        if ((bits & 0x7fffffu) == 0) --exponent;
      }
      const int code = exponent + 127;
      scale = static_cast<uint32_t>(code < 0 ? 0 : code > 254 ? 254 : code);
      step = from_e8m0(scale);
    }
  }
};

/// `words`, `scales` and `biases` are written.
template <Packed Mode, int Bits, class T>
MLX_FN void quantize(const PackedArguments& p) {
  const auto* w = memory<const T>(p.in);
  const float unit = global_unit(p);
  for (int64_t g = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; g < p.count / p.group;
       g += static_cast<int64_t>(gridDim.x) * kThreads) {
    const auto* from = w + g * p.group;
    const Group<Mode, Bits, T> group(from, p.group, unit);
    if constexpr (Mode == Packed::affine) {
      memory<T>(p.scales)[g] = in_memory<T>(group.step);
      memory<T>(p.biases)[g] = in_memory<T>(group.start);
    } else {
      memory<uint8_t>(p.scales)[g] = static_cast<uint8_t>(group.scale);
    }
    auto* words = memory<uint32_t>(p.words) + g * p.group * Bits / 32;
    uint64_t packed = 0;
    int filled = 0;
    for (int64_t i = 0; i < p.group; ++i) {
      packed |= static_cast<uint64_t>(group.code(from[i])) << filled;
      filled += Bits;
      if (filled >= 32) {
        *words++ = static_cast<uint32_t>(packed);
        packed >>= 32;
        filled -= 32;
      }
    }
  }
}

/// Packs and unpacks.
template <Packed Mode, int Bits, class T>
MLX_FN void quantize_round(const PackedArguments& p) {
  const float unit = global_unit(p);
  for (int64_t g = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; g < p.count / p.group;
       g += static_cast<int64_t>(gridDim.x) * kThreads) {
    const auto* from = memory<const T>(p.in) + g * p.group;
    auto* to = memory<T>(p.out) + g * p.group;
    const Group<Mode, Bits, T> group(from, p.group, unit);
    for (int64_t i = 0; i < p.group; ++i)
      to[i] = in_memory<T>(code_value<Mode, Bits>(group.code(from[i])) * group.step);
  }
}

//--- products

/// The matrices of a product: offsets in x and in the packed ones; false where an index is wrong.
MLX_FN bool operands_of(const PackedProductArguments& p, int64_t product, int64_t& x, int64_t& w) {
  if (p.at.indices) {
    x = one_offset(p.at, 0, product);
    w = one_offset(p.at, 1, product);
    if (x == kNowhere || w == kNowhere) return false;
  } else {
    x = offset_of(p.x_batch, product);
    w = offset_of(p.w_batch, product);
  }
  x *= p.m * p.k;
  w *= p.rows * p.w.columns;
  return true;
}

/// x · w^T of a few rows: a warp has a row of w, a lane a run of codes at a time.
template <Packed Mode, int Bits, class S, class T, int Rows>
MLX_FN void packed_rows(const PackedProductArguments& p) {
  constexpr int kRun = Mode == Packed::nvfp4 ? 16 : 32;  // within a group
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int shift = group_shift(p.w);
  const int64_t step = static_cast<int64_t>(gridDim.x) * (kThreads / 32);
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
       at < p.count * p.n; at += step) {
    const int64_t product = at / p.n, column = at % p.n;
    int64_t x_at, w_at;
    if (!operands_of(p, product, x_at, w_at)) continue;
    const auto* x = memory<const T>(p.x) + x_at;
    const int64_t first = w_at + column * p.k;
    const bool words_in_sixteens =
        in_sixteens(memory<const uint32_t>(p.w.words) + first * Bits / 32) &&
        kRun * Bits % 128 == 0;
    const bool x_in_sixteens = in_sixteens(x);
    float sum[Rows] = {};
    for (int64_t k = lane * kRun; k < p.k; k += 32 * kRun) {
      float w[kRun];
      unpack_run<Mode, Bits, S>(p.w, shift, first + k, words_in_sixteens, w);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (r >= p.m) break;
        T of_x[kRun];
        load_run(x + r * p.k + k, x_in_sixteens, of_x);
#pragma unroll
        for (int j = 0; j < kRun; ++j) sum[r] = ::fmaf(loaded<float>(of_x[j]), w[j], sum[r]);
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
      for (int h = 16; h > 0; h /= 2) sum[r] += __shfl_xor_sync(~0u, sum[r], h);
      if (lane == 0 && r < p.m)
        memory<T>(p.out)[(product * p.m + r) * p.n + column] = in_memory<T>(sum[r]);
    }
  }
}

template <Packed Mode, int Bits, class S, class T, bool Transpose>
MLX_FN void packed_product(const PackedProductArguments& p) {
  each_tile(p.count, p.m, p.n, [&](int64_t product, int64_t row, int64_t column) {
    int64_t x_at, w_at;
    if (!operands_of(p, product, x_at, w_at)) return;
    const auto* x = memory<const T>(p.x) + x_at;
    auto* out = memory<T>(p.out) + product * p.m * p.n;
    product_tile<float>(
        p.m, p.n, 0, p.k, row, column, true, Transpose,
        [&](int64_t r, int64_t k) { return loaded<float>(x[r * p.k + k]); },
        [&](int64_t k, int64_t s) {
          return unpacked<Mode, Bits, S>(p.w, w_at + (Transpose ? s * p.k + k : k * p.n + s));
        },
        [&](int64_t r, int64_t s, float y) { out[r * p.n + s] = in_memory<T>(y); });
  });
}

/// Products of matrices that indices say.
template <class T, class A>
MLX_FN void gather_product(const GatherProductArguments& g) {
  const auto& p = g.product;
  each_tile(p.batch_count, p.m, p.n, [&](int64_t product, int64_t row, int64_t column) {
    const int64_t i = one_offset(g.at, 0, product), j = one_offset(g.at, 1, product);
    if (i == kNowhere || j == kNowhere) return;
    const auto *a = memory<const T>(p.a) + i, *b = memory<const T>(p.b) + j;
    auto* out = memory<T>(p.out) + product * p.m * p.n;
    product_tile<A>(
        p.m, p.n, 0, p.k, row, column, p.a_column == 1, p.b_row == 1,
        [&](int64_t r, int64_t k) { return loaded<A>(a[r * p.a_row + k * p.a_column]); },
        [&](int64_t k, int64_t s) { return loaded<A>(b[k * p.b_row + s * p.b_column]); },
        [&](int64_t r, int64_t s, A x) { out[r * p.n + s] = in_memory<T>(x); });
  });
}

/// Products over ranges of the inner axis.
template <class T, class A>
MLX_FN void segment_product(const GatherProductArguments& g) {
  const auto& p = g.product;
  each_tile(p.batch_count, p.m, p.n, [&](int64_t product, int64_t row, int64_t column) {
    int64_t ends[2];
    for (int e = 0; e < 2; ++e)
      ends[e] = checked_index(load_index(g.segments, g.type, 2 * product + e), g.type, p.k + 1, 1,
                              g.record, 0);
    if (ends[0] < 0 || ends[1] < 0) return;
    const auto *a = memory<const T>(p.a), *b = memory<const T>(p.b);
    auto* out = memory<T>(p.out) + product * p.m * p.n;
    product_tile<A>(
        p.m, p.n, ends[0], ends[1], row, column, p.a_column == 1, p.b_row == 1,
        [&](int64_t r, int64_t k) { return loaded<A>(a[r * p.a_row + k * p.a_column]); },
        [&](int64_t k, int64_t s) { return loaded<A>(b[k * p.b_row + s * p.b_column]); },
        [&](int64_t r, int64_t s, A x) { out[r * p.n + s] = in_memory<T>(x); });
  });
}

}  // namespace mlx::core::device
