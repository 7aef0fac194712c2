// Products of many rows with packed matrices by products of warpgroups (warpgroups.cuh), in 16
// bits. Rows of the packed matrix are those of the first factor, which a lane unpacks in registers;
// rows of x are the second one, in shared memory. The inner axis passes in chunks of 64: the copies
// of a chunk run during the products of the one before, and the blocks of a processor hide each
// other's unpacking.
#pragma once

#include "mlx/backend/gpu/kernels/packed_tiles.cuh"
#include "mlx/backend/gpu/kernels/warpgroups.cuh"

namespace mlx::core::device {

/// Stages of copies; a block asks for one while it computes another, with one between them.
inline constexpr int kPackedStages = 4;

/// How a block divides its work: `Rows` rows of x; its two warpgroups have 64 columns of results
/// each, or, where `Split`, the same 64 and every second chunk of the inner axis.
template <int Bits, int Rows, bool Split>
struct PackedMemory {
  static constexpr int kDepth = Split ? 2 : 1, kColumns = 128 / kDepth;  // chunks of a stage
  static constexpr int kRowBytes = kChunk * Bits / 8, kPieces = kRowBytes / 16;
  static constexpr int kXBytes = Rows * kTileRowBytes, kPackedBytes = kColumns * kRowBytes;
  static constexpr int kPacked = kDepth * kXBytes;  // where packed rows begin
  static constexpr int kStage = kPacked + kDepth * kPackedBytes;
  static constexpr int kResultRow = kColumns * 2 + 16;  // rows begin at other banks
  static_assert(kStage % kTileAlignment == 0 && Rows * kResultRow <= kStage * kPackedStages);
  static_assert(kPackedStages * kStage + kTileAlignment == packed_bytes(Bits, Rows, Split));
  /// Where a piece of a packed row is: rows that are read at once lie in other banks.
  static MLX_FN int place(int row, int piece) {
    constexpr int kRowsOfLine = 8 / kPieces;
    return row * kRowBytes + (piece ^ row / kRowsOfLine % kPieces) * 16;
  }
};
/// The first multiple of `kTileAlignment` in a block's shared memory.
MLX_FN unsigned char* aligned_tiles(unsigned char* start) {
  const uint32_t past = shared_address(start) % kTileAlignment;
  return start + (past ? kTileAlignment - past : 0);
}

/// The words of half a packed row's chunk that a lane of four has codes in, of each eight elements.
/// The row is `further` bytes, those of eight rows, behind `row`.
template <int Bits, class Memory>
MLX_FN void load_codes(const unsigned char* packed, int row, int half, int lane, uint32_t (&to)[4],
                       int further) {
  if constexpr (Bits == 4) {
    load_words<true>(packed + (Memory::place(row, half) + further), to);
  } else {
#pragma unroll
    for (int eight = 0; eight < 4; ++eight)
      to[eight] =
          *reinterpret_cast<const uint32_t*>(packed + (Memory::place(row, 2 * half + eight / 2) +
                                                       lane / 2 * 4 + eight % 2 * 8 + further));
  }
}
/// Elements 2 lane, 2 lane + 1 of eight neighbours, for a lane of four, as codes.
template <int Bits, class T>
MLX_FN uint32_t code_pair_of_lane(uint32_t word, int lane) {
  if constexpr (Bits == 4) {
    constexpr bool kBrain = std::is_same_v<T, bfloat16_t>;
    constexpr uint32_t kBase = kBrain ? 0x43004300u : 0x64006400u;
    constexpr uint32_t kOne = kBrain ? 0x3f803f80u : 0x3c003c00u;
    const uint32_t byte = static_cast<uint32_t>(lane);
    const uint32_t both = __byte_perm(word, word >> 4, byte * 0x1111u + 0x4400u);
    return scaled_pair<T>(with_base(both, 0x000f000fu, kBase), kOne, kBase | 0x80008000u);
  } else {
    const uint32_t two = word >> 16 * (lane % 2);
    if constexpr (std::is_same_v<T, float16_t>) {
      return scaled_pair<T>(__byte_perm(two, 0x64646464u, 0x4140u), 0x3c003c00u, 0xe400e400u);
    } else {
      const auto code = [&](uint32_t selector) {  // the last bits of 2^23, which is subtracted
        return __builtin_bit_cast(float, __byte_perm(two, 0x4b000000u, selector)) - 0x1p23f;
      };
      return pair_of<T>(code(0x7440u), code(0x7441u));
    }
  }
}

/// Copies 16 bytes to shared memory, or clears them where `bytes` is 0.
MLX_FN void copy_piece(uint32_t to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

/// Asks for copies of the stages of a block, one after the other, of pieces of 16 bytes.
template <int Bits, class T, class Memory>
struct PackedCopies {
  static constexpr int kStep = kThreads / 8, kOwn = Memory::kXBytes / kTileRowBytes / kStep;
  static constexpr int kOwnPieces = 128 * Memory::kPieces / kThreads;
  uint32_t x_to, words_to;         ///< in the first stage
  const unsigned char *x, *words;  ///< of the next stage: a piece of rows, the first packed row
  int x_left, words_left;          ///< bytes of rows from the thread's pieces on
  int pieces[kOwn];                ///< where rows of x begin, in pieces
  uint32_t there = 0;              ///< which of them exist
  int begins[kOwnPieces];          ///< where packed rows begin
  int stage = 0;

  /// Rows of x begin at `all_rows`, packed rows, of which `last` is the last one, at `packed`.
  template <class X>
  MLX_FN PackedCopies(uint32_t shared, const T* all_rows, X row_of, const void* packed, int k,
                      int last) {
    const int thread = static_cast<int>(threadIdx.x), piece = thread % 8, row = thread / 8;
    const int part = thread % Memory::kPieces;
    x = reinterpret_cast<const unsigned char*>(all_rows) + piece * 16;
    words = static_cast<const unsigned char*>(packed) + part * 16;
    x_left = k * 2 - piece * 16;
    words_left = k * Bits / 8 - part * 16;
    x_to = shared + row * kTileRowBytes + (piece ^ row % 8) * 16;
    words_to = shared + Memory::kPacked;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const T* const own = row_of(row + i * kStep);
      pieces[i] = own ? static_cast<int>((own - all_rows) / 8) : 0;
      there |= static_cast<uint32_t>(own != nullptr) << i;
    }
#pragma unroll
    for (int i = 0; i < kOwnPieces; ++i) {
      const int r = packed_row(i);
      begins[i] = (r < last ? r : last) * (k * Bits / 8);
    }
  }
  static MLX_FN int number(int i) {
    return (static_cast<int>(threadIdx.x) + i * kThreads) / Memory::kPieces;
  }
  static MLX_FN int packed_row(int i) { return number(i) % Memory::kColumns; }
  MLX_FN void ask() {
    const uint32_t offset = stage * Memory::kStage;
    const int part = static_cast<int>(threadIdx.x) % Memory::kPieces;
#pragma unroll
    for (int d = 0; d < Memory::kDepth; ++d) {
      const bool some = d * kTileRowBytes < x_left;
#pragma unroll
      for (int i = 0; i < kOwn; ++i)
        copy_piece(x_to + offset + (d * Memory::kXBytes + i * kStep * kTileRowBytes),
                   x + d * kTileRowBytes + int64_t{pieces[i]} * 16,
                   some && there >> i & 1 ? 16 : 0);
    }
#pragma unroll
    for (int i = 0; i < kOwnPieces; ++i) {
      const int d = number(i) / Memory::kColumns;
      const uint32_t to = d * Memory::kPackedBytes + Memory::place(packed_row(i), part);
      copy_piece(words_to + offset + to, words + (begins[i] + d * Memory::kRowBytes),
                 d * Memory::kRowBytes < words_left ? 16 : 0);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    x += Memory::kDepth * kTileRowBytes;
    x_left -= Memory::kDepth * kTileRowBytes;
    words += Memory::kDepth * Memory::kRowBytes;
    words_left -= Memory::kDepth * Memory::kRowBytes;
    stage = stage + 1 == kPackedStages ? 0 : stage + 1;
  }
};

/// The scales and biases of a lane's two rows, for `Units` parts of a chunk.
template <int Units>
struct PackedScales {
  const unsigned char *scales, *biases;  ///< of the block's first packed row
  uint32_t rows[2];                      ///< bytes from there on
  int shift, k;                          ///< of a group; the inner axis
  uint32_t scale[Units][2], bias[Units][2];

  template <int U>
  MLX_FN void load(int chunk) {
    const int first = chunk * kChunk + U * (kChunk / Units);
    const bool some = first < k;
    const uint32_t at = static_cast<uint32_t>(first >> shift) * 2;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      scale[U][r] = bias[U][r] = 0;
      if (some) {
        scale[U][r] = *reinterpret_cast<const uint16_t*>(scales + (rows[r] + at));
        bias[U][r] = *reinterpret_cast<const uint16_t*>(biases + (rows[r] + at));
      }
    }
  }
};

/// Unpacks half a chunk of a lane's two rows, `own` and the eighth from there.
template <int Bits, class T, class Memory, int Units>
MLX_FN void unpack_half(FactorA (&to)[2], const unsigned char* packed, int own, int half,
                        const PackedScales<Units>& units) {
  const int quarter = static_cast<int>(threadIdx.x) % 4, u = Units == 1 ? 0 : half;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    uint32_t code[4];
    load_codes<Bits, Memory>(packed, own, half, quarter, code, 8 * r * Memory::kRowBytes);
    const uint32_t scale = low_halves(units.scale[u][r], units.scale[u][r]);
    const uint32_t bias = low_halves(units.bias[u][r], units.bias[u][r]);
#pragma unroll
    for (int eight = 0; eight < 4; ++eight)
      to[eight / 2][eight % 2 * 2 + r] =
          scaled_pair<T>(code_pair_of_lane<Bits, T>(code[eight], quarter), scale, bias);
  }
}

/// Adds the second warpgroup's sums to the first one's.
template <int Rows>
MLX_FN void add_halves(Sums (&sums)[Rows / 8], float* shared) {
  const int thread = static_cast<int>(threadIdx.x), group = thread / 128;
  float* const others = shared + thread % 128;
  if (group == 1) {
#pragma unroll
    for (int e = 0; e < Rows / 2; ++e) others[128 * e] = sums[e / 4][e % 4];
  }
  __syncthreads();
  if (group == 0) {
#pragma unroll
    for (int e = 0; e < Rows / 2; ++e) sums[e / 4][e % 4] += others[128 * e];
  }
  __syncthreads();
}

/// Writes a block's results: to shared memory, and from there in the order of rows of x.
template <class T, int Rows, class Memory, class F>
MLX_FN void store_group(const Sums (&sums)[Rows / 8], unsigned char* shared, bool own, int first,
                        int last, F out) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (own) {
#pragma unroll
    for (int j = 0; j < Rows / 8; j += 2) {
      uint32_t results[4];
#pragma unroll
      for (int c = 0; c < 4; ++c)
        results[c] = pair_of<T>(sums[j + c / 2][c % 2 * 2], sums[j + c / 2][c % 2 * 2 + 1]);
      const int row = 8 * (j + lane / 16) + lane % 8, column = first + lane / 8 % 2 * 8;
      const uint32_t to = shared_address(shared + row * Memory::kResultRow + column * 2);
      asm volatile(
          "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
          "r"(results[0]), "r"(results[1]), "r"(results[2]), "r"(results[3])
          : "memory");
    }
  }
  __syncthreads();
  constexpr int kPieces = Memory::kColumns / 8;
  for (int i = static_cast<int>(threadIdx.x); i < Rows * kPieces; i += kThreads) {
    T* const to = out(i / kPieces);
    const int at = i % kPieces * 8;
    if (!to || at > last) continue;
    const auto* from = shared + i / kPieces * Memory::kResultRow + at * 2;
    if (at + 7 <= last && reinterpret_cast<uint64_t>(to + at) % 16 == 0) {
      *reinterpret_cast<WordsAtOnce<4>*>(to + at) = *reinterpret_cast<const WordsAtOnce<4>*>(from);
    } else {
      for (int c = 0; c < 8 && at + c <= last; ++c)
        to[at + c] = reinterpret_cast<const T*>(from)[c];
    }
  }
}

/// Results of a block, from row `column` of a packed matrix on, which begins at element `w_at` and
/// has n rows. `x(r)`, `out(r)`: row r of x and of the results, from that column on, or null;
/// `all_rows`: where distances of rows of x are counted from.
template <int Bits, class T, int Units, int Rows, bool Split, class X, class F>
MLX_FN void packed_group_tile(const PackedArguments& p, int64_t w_at, int64_t n, int64_t inner,
                              int64_t column, unsigned char* shared, const T* all_rows, X x,
                              F out) {
  using Memory = PackedMemory<Bits, Rows, Split>;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, group = thread / 128;
  const int k = static_cast<int>(inner);
  const int steps = (k + kChunk * Memory::kDepth - 1) / (kChunk * Memory::kDepth);
  const int64_t left = n - column - 1;
  const int last = left < Memory::kColumns ? static_cast<int>(left) : Memory::kColumns - 1;
  const uint32_t base = shared_address(shared);
  PackedCopies<Bits, T, Memory> copies(
      base, all_rows, x,
      reinterpret_cast<const unsigned char*>(p.words) + (w_at + column * k) * Bits / 8, k, last);

  const int first = (Split ? thread % 128 : thread) / 32 * 16;  // the warp's packed row
  const int own = first + lane / 4, shift = group_shift(p);
  const int64_t unit = w_at + column * k >> shift;
  PackedScales<Units> units;
  units.scales = reinterpret_cast<const unsigned char*>(p.scales) + unit * 2;
  units.biases = reinterpret_cast<const unsigned char*>(p.biases) + unit * 2;
  units.shift = shift;
  units.k = k;
#pragma unroll
  for (int r = 0; r < 2; ++r)
    units.rows[r] =
        static_cast<uint32_t>((own + 8 * r < last ? own + 8 * r : last) * (k >> shift)) * 2;

  Sums sums[Rows / 8] = {};
  FactorA held[2][2];
  const int d = Split ? __shfl_sync(~0u, group, 0) : 0;  // the group's chunk of a stage
  const int codes = Memory::kPacked + d * Memory::kPackedBytes;
  __syncthreads();  // shared memory is free
  copies.ask();
  copies.ask();
  units.template load<0>(d);
  units.template load<Units - 1>(d);
  for (int step = 0, stage = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    // Products read shared memory another way than copies wrote it.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    copies.ask();  // products of that stage's last chunks have ended before the barrier
    const int next = (step + 1) * Memory::kDepth + d;
    const unsigned char* const packed = shared + stage * Memory::kStage + codes;
    const uint64_t operand = tile_operand(base + stage * Memory::kStage + d * Memory::kXBytes, 0);
    stage = stage + 1 == kPackedStages ? 0 : stage + 1;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      wait_for_products<1>();  // others read this half's registers
      pin(held[half]);
      unpack_half<Bits, T, Memory>(held[half], packed, own, half, units);
      if (half == 1) units.template load<Units - 1>(next);
      if (half == 0 && Units == 2) units.template load<0>(next);
      pin(held[half]);
      begin_products();
#pragma unroll
      for (int s = 0; s < 2; ++s)
        multiply_held_async<T>(sums, held[half][s], operand_at(operand, (2 * half + s) * 32));
      commit_products();
    }
  }
  wait_for_products<0>();
  pin(sums);
  pin(held[0]);
  pin(held[1]);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  if constexpr (Split) add_halves<Rows>(sums, reinterpret_cast<float*>(shared));
  store_group<T, Rows, Memory>(sums, shared, !Split || group == 0, first, last, out);
}

template <int Bits, class T, int Units, int Rows, bool Split>
inline constexpr int packed_warpgroups_threads = kThreads;
/// x · w^T, with `Units` scales for a packed row's chunk.
template <int Bits, class T, int Units, int Rows, bool Split>
MLX_FN void packed_warpgroups(const PackedProductArguments& p) {
  constexpr int kColumns = PackedMemory<Bits, Rows, Split>::kColumns;
  extern __shared__ unsigned char shared_memory[];
  unsigned char* const shared = aligned_tiles(shared_memory);
  const int64_t tiles = (p.n + kColumns - 1) / kColumns;
  const int64_t parts = (p.m + Rows - 1) / Rows;
  for (int64_t unit = blockIdx.x; unit < p.count * tiles * parts; unit += gridDim.x) {
    const int64_t product = unit / (tiles * parts), row = unit % parts * Rows;
    const int64_t column = unit / parts % tiles * kColumns, rows = p.m - row;
    int64_t x_at, w_at;
    if (!operands_of(p, product, x_at, w_at)) continue;
    const T* x = reinterpret_cast<const T*>(p.x) + x_at + row * p.k;
    T* out = reinterpret_cast<T*>(p.out) + (product * p.m + row) * p.n + column;
    packed_group_tile<Bits, T, Units, Rows, Split>(
        p.w, w_at, p.n, p.k, column, shared, x,
        [&](int r) { return r < rows ? x + r * p.k : nullptr; },
        [&](int r) { return r < rows ? out + r * p.n : nullptr; });
  }
}

template <int Bits, class T, int Units>
inline constexpr int gathered_warpgroups_threads = kThreads;
/// Products grouped by their packed matrices; a tile's rows are read and written where they lie.
template <int Bits, class T, int Units>
MLX_FN void gathered_warpgroups(const GroupedPackedArguments& p) {
  constexpr int kRows = 128, kColumns = PackedMemory<Bits, kRows, false>::kColumns;
  extern __shared__ unsigned char shared_memory[];
  unsigned char* const shared = aligned_tiles(shared_memory);
  const GroupedArguments& g = p.groups;
  const int64_t tiles = (g.n + kColumns - 1) / kColumns, all = g.each * g.m;
  const int64_t parts = (all + kRows - 1) / kRows;
  const auto* slots = reinterpret_cast<const int64_t*>(g.slots);
  for (int64_t unit = blockIdx.x; unit < g.tiles * tiles * parts; unit += gridDim.x) {
    const int64_t tile = unit / (tiles * parts), row = unit % parts * kRows;
    const int64_t column = unit / parts % tiles * kColumns, rows = all - row;
    const auto slot = [&](int64_t r) {
      return r < rows ? slots[tile * g.each + (row + r) / g.m] : int64_t{-1};
    };
    if (slot(0) < 0) continue;  // the following slots are empty too
    const int64_t w_at = matrix_of(g, tile) * g.n * g.k;
    const T* const all_rows = reinterpret_cast<const T*>(g.x);
    const auto x = [&](int r) -> const T* {
      const int64_t position = slot(r);
      const int64_t matrix = position < 0 ? kNowhere : one_offset(g.at, 0, position);
      if (matrix == kNowhere) return nullptr;
      return all_rows + matrix * g.x_matrix + (row + r) % g.m * g.x_row;
    };
    const auto out = [&](int r) -> T* {
      const int64_t position = slot(r);
      if (position < 0) return nullptr;
      return reinterpret_cast<T*>(g.out) + (position * g.m + (row + r) % g.m) * g.n + column;
    };
    if (slot(kRows / 2) < 0) {
      packed_group_tile<Bits, T, Units, kRows / 2, false>(p.w, w_at, g.n, g.k, column, shared,
                                                          all_rows, x, out);
    } else {
      packed_group_tile<Bits, T, Units, kRows, false>(p.w, w_at, g.n, g.k, column, shared, all_rows,
                                                      x, out);
    }
  }
}

}  // namespace mlx::core::device
