// Products with packed matrices by products of fragments, in 16 bits. Rows of the packed matrix are
// those of the fragments, rows of x the columns. A lane unpacks its part of them in registers:
// elements in memory are read once for all rows of x that a block has. The inner axis passes in
// chunks of 64, of which a lane has 16 neighbours, of both factors.
#pragma once

#include "mlx/backend/gpu/kernels/fragments.cuh"
#include "mlx/backend/gpu/kernels/grouped.cuh"
#include "mlx/backend/gpu/kernels/packed.cuh"

namespace mlx::core::device {

inline constexpr int kChunk = 64, kLaneRun = 16, kWarps = kThreads / 32;

//--- two elements in a register

/// x * scale + bias, each rounded once.
template <class T>
MLX_FN uint32_t scaled_pair(uint32_t x, uint32_t scale, uint32_t bias) {
#ifdef __CUDACC_RTC__
  uint32_t r;
  if constexpr (std::is_same_v<T, bfloat16_t>) {
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(scale), "r"(bias));
  } else {
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(scale), "r"(bias));
  }
  return r;
#else
  const auto part = [&](int k) {
    return narrowed<T>(::fmaf(element<T>(x, k), element<T>(scale, k), element<T>(bias, k)));
  };
  return pair(part(0), part(1));
#endif
}
/// The low halves of two registers, and their high halves.
MLX_FN uint32_t low_halves(uint32_t a, uint32_t b) {
#ifdef __CUDACC_RTC__
  return __byte_perm(a, b, 0x5410);
#else
  return (a & 0xffffu) | b << 16;
#endif
}
MLX_FN uint32_t high_halves(uint32_t a, uint32_t b) {
#ifdef __CUDACC_RTC__
  return __byte_perm(a, b, 0x7632);
#else
  return a >> 16 | (b & 0xffff0000u);
#endif
}
/// (x & mask) | base, in one instruction.
MLX_FN uint32_t with_base(uint32_t x, uint32_t mask, uint32_t base) {
#ifdef __CUDACC_RTC__
  uint32_t r;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(x), "r"(mask), "r"(base));
  return r;
#else
  return (x & mask) | base;
#endif
}

/// The codes i and i + 4 of eight, exactly.
template <int Bits, class T>
MLX_FN uint32_t code_pair(const uint32_t* words, int i) {
  if constexpr (Bits == 4) {
    // The last bits of 128 or 1024, which is subtracted.
    constexpr bool kBrain = std::is_same_v<T, bfloat16_t>;
    constexpr uint32_t kBase = kBrain ? 0x43004300u : 0x64006400u;
    constexpr uint32_t kOne = kBrain ? 0x3f803f80u : 0x3c003c00u;
    return scaled_pair<T>(with_base(words[0] >> 4 * i, 0x000f000fu, kBase), kOne,
                          kBase | 0x80008000u);
  } else {
    const auto code = [&](int k) {
      return code_value<Packed::affine, Bits>(words[k] >> 8 * i & 0xffu);
    };
    return pair_of<T>(code(0), code(1));
  }
}
/// Eight neighbours of a group, as pairs of the elements i and i + 4.
template <Packed Mode, int Bits, class S, class T>
MLX_FN void unpack_pairs(const uint32_t* words, S scale, S bias, uint32_t (&to)[4]) {
  if constexpr (Mode == Packed::affine && std::is_same_v<S, T>) {
    const uint32_t s = pair(scale, scale), b = pair(bias, bias);
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = scaled_pair<T>(code_pair<Bits, T>(words, i), s, b);
  } else {
    const float s = unit_of<Mode>(scale);
    const auto one = [&](int i) {
      float x = code_value<Mode, Bits>(code_at<Bits>(words, i)) * s;
      if constexpr (Mode == Packed::affine) x = x + unit_of<Mode>(bias);
      return x;
    };
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = pair_of<T>(one(i), one(i + 4));
  }
}

//--- factors

/// N words, which lie at a multiple of their size where they are `Aligned`.
template <int N>
struct alignas(4 * N) WordsAtOnce {
  uint32_t w[N];
};
template <bool Aligned, int N>
MLX_FN void load_words(const void* from, uint32_t (&to)[N]) {
  if constexpr (Aligned) {
    const auto some = *static_cast<const WordsAtOnce<N>*>(from);
#pragma unroll
    for (int j = 0; j < N; ++j) to[j] = some.w[j];
  } else {
    const auto* halves = static_cast<const uint16_t*>(from);
#pragma unroll
    for (int j = 0; j < N; ++j) to[j] = halves[2 * j] | uint32_t{halves[2 * j + 1]} << 16;
  }
}

/// A lane's part of a chunk of 16 rows: the rows lane / 4 and lane / 4 + 8.
template <int Bits, class S>
struct PackedPart {
  static constexpr int kWords = kLaneRun * Bits / 32;
  uint32_t words[2][kWords];
  S scale[2], bias[2];
};
/// The rows of a packed matrix that a warp has, 16 M of them. Rows that do not exist are like the
/// last one.
template <Packed Mode, int Bits, class S, bool Aligned, int M>
struct PackedRows {
  using Part = PackedPart<Bits, S>;
  const uint8_t *words, *scales, *biases;  ///< of the lane's part of the warp's first row
  int rows[2 * M];                         ///< numbers from there on
  int word_row, unit_row;                  ///< bytes
  int shift, left;                         ///< of a group; elements from the lane's first one on

  /// `first`: the matrix's first element; `row`: the first of the warp's.
  MLX_FN PackedRows(const PackedArguments& p, int64_t first, int64_t n, int64_t k, int64_t row)
      : word_row(static_cast<int>(k) * Bits / 8),
        shift(group_shift(p)),
        left(static_cast<int>(k) - lane_start()) {
    unit_row = (static_cast<int>(k) >> shift) * static_cast<int>(sizeof(S));
    const int64_t start = row < n ? row : n - 1, last = n - 1 - start, own = first + start * k;
#pragma unroll
    for (int i = 0; i < 2 * M; ++i) {
      const int r = 8 * i + static_cast<int>(threadIdx.x) % 32 / 4;
      rows[i] = r < last ? r : static_cast<int>(last);
    }
    words = reinterpret_cast<const uint8_t*>(p.words) + (own + lane_start()) * Bits / 8;
    scales = reinterpret_cast<const uint8_t*>(p.scales) + (own >> shift) * int64_t{sizeof(S)};
    biases = reinterpret_cast<const uint8_t*>(p.biases) + (own >> shift) * int64_t{sizeof(S)};
  }
  /// The first element of a chunk that a lane has.
  static MLX_FN int lane_start() { return static_cast<int>(threadIdx.x) % 4 * kLaneRun; }
  MLX_FN void load(Part (&to)[M], int chunk) const {
    const bool some = chunk * kChunk < left;
    const int unit = (chunk * kChunk + lane_start() >> shift) * static_cast<int>(sizeof(S));
#pragma unroll
    for (int i = 0; i < 2 * M; ++i) {
      Part& part = to[i / 2];
      const int half = i % 2, at = rows[i] * unit_row + unit;
#pragma unroll
      for (int w = 0; w < Part::kWords; ++w) part.words[half][w] = 0;
      part.scale[half] = part.bias[half] = S{};
      if (some) {
        load_words<Aligned>(words + (rows[i] * word_row + chunk * (kChunk * Bits / 8)),
                            part.words[half]);
        part.scale[half] = *reinterpret_cast<const S*>(scales + at);
        if constexpr (Mode == Packed::affine)
          part.bias[half] = *reinterpret_cast<const S*>(biases + at);
      }
    }
  }
};

/// Adds the products of a chunk. `x(to, j, half)` gives eight elements of the lane's row of the
/// tile j of columns.
template <Packed Mode, int Bits, class S, class T, int M, int N, class X>
MLX_FN void multiply_packed(Sums (&sums)[M][N], const PackedPart<Bits, S> (&w)[M], X x) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    FactorA a[M][2];
#pragma unroll
    for (int i = 0; i < M; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        uint32_t row[4];
        unpack_pairs<Mode, Bits, S, T>(w[i].words[r] + half * (Bits / 4), w[i].scale[r],
                                       w[i].bias[r], row);
#pragma unroll
        for (int c = 0; c < 4; ++c) a[i][c / 2][r + c % 2 * 2] = row[c];
      }
    }
#pragma unroll
    for (int j = 0; j < N; ++j) {
      uint32_t some[4];
      x(some, j, half);
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const uint32_t low = low_halves(some[s], some[s + 2]);
        const uint32_t high = high_halves(some[s], some[s + 2]);
#pragma unroll
        for (int i = 0; i < M; ++i) multiply_add<T>(sums[i][j], a[i][s], low, high);
      }
    }
  }
}

/// Adds the sums of `parts` warps that share results, whose numbers are `step` apart, in shared
/// memory; the first one gets them. All threads of the block take part.
template <int M, int N>
MLX_FN void add_warps(Sums (&sums)[M][N], float* shared, int parts, int step) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int part = warp / step;
  for (int half = parts / 2; half > 0; half /= 2) {
    float* own = shared + (part % half * step + warp % step) * (M * N * 128) + lane;
    __syncthreads();
    if (part >= half && part < 2 * half) {
#pragma unroll
      for (int e = 0; e < M * N * 4; ++e) own[32 * e] = sums[e / 4 / N][e / 4 % N][e % 4];
    }
    __syncthreads();
    if (part < half) {
#pragma unroll
      for (int e = 0; e < M * N * 4; ++e) sums[e / 4 / N][e / 4 % N][e % 4] += own[32 * e];
    }
  }
}
/// Writes a warp's results. `out(r)`: the row of results of row r of x, or null; `columns`: of the
/// results from the warp's first one on.
template <class T, int M, int N, class F>
MLX_FN void store_packed(const Sums (&sums)[M][N], int64_t columns, F out) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int j = 0; j < N; ++j) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      T* row = out(8 * j + lane % 4 * 2 + c);
      if (!row) continue;
#pragma unroll
      for (int i = 0; i < 2 * M; ++i) {
        const int column = 8 * i + lane / 4;
        if (column < columns) row[column] = narrowed<T>(sums[i / 2][j][i % 2 * 2 + c]);
      }
    }
  }
}

//--- few rows of x: the warps of a block divide the inner axis

/// x · w^T, 8 N rows of x and 16 M of w in a block; a lane has `Ahead` chunks of w in registers.
template <Packed Mode, int Bits, class S, class T, bool Aligned, int M, int N, int Ahead>
MLX_FN void packed_few(const PackedProductArguments& p) {
  MLX_SHARED float shared[kWarps / 2 * M * N * 128];
  using Rows = PackedRows<Mode, Bits, S, Aligned, M>;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t tiles = (p.n + 16 * M - 1) / (16 * M), parts = (p.m + 8 * N - 1) / (8 * N);
  const int k = static_cast<int>(p.k), chunks = (k + kChunk - 1) / kChunk;
  for (int64_t unit = blockIdx.x; unit < p.count * tiles * parts; unit += gridDim.x) {
    const int64_t product = unit / (tiles * parts), row = unit % parts * (8 * N);
    const int64_t column = unit / parts % tiles * (16 * M), rows = p.m - row;
    int64_t x_at, w_at;
    if (!operands_of(p, product, x_at, w_at)) continue;
    const Rows w(p.w, w_at, p.n, p.k, column);
    const T* x = reinterpret_cast<const T*>(p.x) + x_at + row * p.k + Rows::lane_start();
    int own[N];  // first elements of the lane's rows of x; rows past the last are the last
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const int r = 8 * j + lane / 4;
      own[j] = (r < rows ? r : static_cast<int>(rows) - 1) * k;
    }
    Sums sums[M][N] = {};
    PackedPart<Bits, S> ahead[Ahead][M];
#pragma unroll
    for (int d = 0; d < Ahead; ++d) w.load(ahead[d], warp + d * kWarps);
    for (int first = warp; first < chunks; first += Ahead * kWarps) {
#pragma unroll
      for (int d = 0; d < Ahead; ++d) {
        const int chunk = first + d * kWarps;
        if (chunk >= chunks) break;
        multiply_packed<Mode, Bits, S, T>(sums, ahead[d], [&](auto& to, int j, int half) {
#pragma unroll
          for (int c = 0; c < 4; ++c) to[c] = 0;
          if (chunk * kChunk < w.left)
            load_words<Aligned>(x + (own[j] + chunk * kChunk + 8 * half), to);
        });
        w.load(ahead[d], chunk + Ahead * kWarps);
      }
    }
    add_warps(sums, shared, kWarps, 1);
    T* out = reinterpret_cast<T*>(p.out) + (product * p.m + row) * p.n + column;
    if (warp == 0)
      store_packed<T>(sums, p.n - column,
                      [&](int r) { return r < rows ? out + r * p.n : nullptr; });
  }
}

//--- more rows of x: they pass through shared memory

/// How the warps of a block divide its work: columns of the results in 32s, 64 rows, chunks.
template <int Columns, int Rows, int Chunks>
struct PackedBlock {
  static_assert(Columns * Rows * Chunks == kWarps);
  static constexpr int kColumns = 32 * Columns, kRows = 64, kTiles = 8 / Rows, kDepth = Chunks;
  static constexpr int kPieces = 8 * Chunks;  ///< of 16 bytes in a row of shared memory
  static constexpr int kStep = kThreads / kPieces, kOwn = kRows / kStep;
  static constexpr int kStageBytes = kRows * kPieces * 16;
  int columns, rows, chunk;  ///< the warp's
  MLX_FN PackedBlock() {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    columns = warp % Columns * 32;
    rows = warp / Columns % Rows * (8 * kTiles);
    chunk = warp / (Columns * Rows);
  }
  /// Where the piece of a row is. The lanes of a fragment read without conflicts of banks.
  static MLX_FN int place(int row, int piece) {
    const int spread = (piece % 2 * 4 + piece % 8 / 2) ^ row % 2 * 4;
    return 16 * (row * kPieces + piece / 8 * 8 + spread);
  }
};

/// Results of a block. `x(r)`, `out(r)`: row r of x and of the results, from the block's first
/// column on, or null.
template <Packed Mode, int Bits, class S, class T, bool Aligned, class Block, class X, class F>
MLX_FN void packed_tile(const PackedArguments& p, int64_t w_at, int64_t n, int64_t inner,
                        int64_t column, X x, F out) {
  alignas(16) MLX_SHARED uint8_t shared[2 * Block::kStageBytes];
  using Rows = PackedRows<Mode, Bits, S, Aligned, 2>;
  const Block own;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int k = static_cast<int>(inner), chunks = (k + kChunk - 1) / kChunk;
  const Rows w(p, w_at, n, inner, column + own.columns);
  const int piece = static_cast<int>(threadIdx.x) % Block::kPieces;
  const int row = static_cast<int>(threadIdx.x) / Block::kPieces;
  const T* rows[Block::kOwn];
#pragma unroll
  for (int i = 0; i < Block::kOwn; ++i) {
    rows[i] = x(row + i * Block::kStep);
    if (rows[i]) rows[i] += piece * 8;
  }
  const auto stage = [&](int first, int to) {
#pragma unroll
    for (int i = 0; i < Block::kOwn; ++i) {
      uint8_t* place =
          shared + (to * Block::kStageBytes + Block::place(row + i * Block::kStep, piece));
      const bool some = rows[i] && first * kChunk + piece * 8 < k;
      const void* from = some ? rows[i] + first * kChunk : reinterpret_cast<const T*>(p.words);
      if constexpr (Aligned) {
        copy_16(place, from, some);
      } else {
        uint32_t words[4] = {};
        if (some) load_words<false>(from, words);
#pragma unroll
        for (int c = 0; c < 4; ++c) reinterpret_cast<uint32_t*>(place)[c] = words[c];
      }
    }
  };
  const int first_row = own.rows + lane / 4;
  const uint8_t* read[2];  // of the lane's first row, by halves
#pragma unroll
  for (int half = 0; half < 2; ++half)
    read[half] = shared + Block::place(first_row, own.chunk * 8 + lane % 4 * 2 + half);
  Sums sums[2][Block::kTiles] = {};
  PackedPart<Bits, S> now[2], next[2];
  __syncthreads();  // shared memory is free
  stage(0, 0);
  w.load(next, own.chunk);
  int at = 0;
  for (int first = 0; first < chunks; first += Block::kDepth, at ^= Block::kStageBytes) {
    wait_for_copies();
    __syncthreads();
    if (first + Block::kDepth < chunks) stage(first + Block::kDepth, at == 0);
#pragma unroll
    for (int i = 0; i < 2; ++i) now[i] = next[i];
    w.load(next, first + Block::kDepth + own.chunk);
    multiply_packed<Mode, Bits, S, T>(sums, now, [&](auto& to, int j, int half) {
      load_words<true>(read[half] + at + Block::place(8 * j, 0), to);
    });
  }
  add_warps(sums, reinterpret_cast<float*>(shared), Block::kDepth, kWarps / Block::kDepth);
  if (own.chunk == 0)
    store_packed<T>(sums, n - column - own.columns, [&](int r) {
      T* to = out(own.rows + r);
      return to ? to + own.columns : nullptr;
    });
}

/// Products grouped by their packed matrices; a tile's rows are read and written where they lie.
template <Packed Mode, int Bits, class S, class T, bool Aligned, class Block>
MLX_FN void packed_groups(const GroupedPackedArguments& p) {
  const GroupedArguments& g = p.groups;
  const int64_t tiles = (g.n + Block::kColumns - 1) / Block::kColumns, all = g.each * g.m;
  const int64_t parts = (all + Block::kRows - 1) / Block::kRows;
  const auto* slots = reinterpret_cast<const int64_t*>(g.slots);
  for (int64_t unit = blockIdx.x; unit < g.tiles * tiles * parts; unit += gridDim.x) {
    const int64_t tile = unit / (tiles * parts), row = unit % parts * Block::kRows;
    const int64_t column = unit / parts % tiles * Block::kColumns, rows = all - row;
    if (slots[tile * g.each + row / g.m] < 0) continue;  // the following slots are empty too
    const auto slot = [&](int r) {
      return r < rows ? slots[tile * g.each + (row + r) / g.m] : int64_t{-1};
    };
    packed_tile<Mode, Bits, S, T, Aligned, Block>(
        p.w, matrix_of(g, tile) * g.n * g.k, g.n, g.k, column,
        [&](int r) -> const T* {
          const int64_t position = slot(r);
          const int64_t matrix = position < 0 ? kNowhere : one_offset(g.at, 0, position);
          if (matrix == kNowhere) return nullptr;
          return reinterpret_cast<const T*>(g.x) + matrix * g.x_matrix + (row + r) % g.m * g.x_row;
        },
        [&](int r) -> T* {
          const int64_t position = slot(r);
          if (position < 0) return nullptr;
          return reinterpret_cast<T*>(g.out) + (position * g.m + (row + r) % g.m) * g.n + column;
        });
  }
}

}  // namespace mlx::core::device
