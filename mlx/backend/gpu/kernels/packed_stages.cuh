// Products of up to eight rows of x with packed matrices in 16 bits, as fast as these come from
// memory: a block copies 16 of their rows to shared memory, several stages ahead, in pieces of 16
// bytes that are neighbours. Its warps divide the inner axis, and unpack a chunk of each stage in
// registers (packed_tiles.cuh).
#pragma once

#include "mlx/backend/gpu/kernels/packed_tiles.cuh"

namespace mlx::core::device {

/// The shared memory of a block. Group: elements that share a scale.
template <int Bits, int Group>
struct StageMemory {
  static constexpr int kRows = 16, kElements = kWarps * kChunk, kStages = 32 / Bits;
  static constexpr int kRowBytes = kElements * Bits / 8, kPieces = kRowBytes / 16;
  /// Rows that lanes read at once lie in other banks.
  static constexpr int kPitch = kRowBytes + kChunk * Bits / 8;
  static constexpr int kUnitBytes = kElements / Group * 2, kUnitPieces = kUnitBytes / 4;
  static constexpr int kScales = kRows * kPitch, kBiases = kScales + kRows * kUnitBytes;
  static constexpr int kStage = kBiases + kRows * kUnitBytes, kBytes = kStages * kStage;
  static_assert(kWarps * 128 * static_cast<int>(sizeof(float)) <= kBytes);
};

/// Copies stages of 16 packed rows, one after the other. Rows that do not exist are like the last.
template <int Bits, int Group>
struct StageCopies {
  using Memory = StageMemory<Bits, Group>;
  static constexpr int kEach = Memory::kRows * Memory::kPieces / kThreads;
  static constexpr int kUnitCopies = 2 * Memory::kRows * Memory::kUnitPieces;
  static_assert(kUnitCopies <= kThreads && kThreads % Memory::kPieces == 0);
  const uint8_t* words[kEach];  ///< the thread's pieces of the next stage
  const uint8_t* units;         ///< its piece of scales or biases
  uint8_t* shared;
  int words_left, units_left;  ///< bytes of rows from there on
  int stage = 0;

  /// `first`: the matrix's first element; `rows`: of it, from row `row` on; `k`: their length.
  MLX_FN StageCopies(const PackedArguments& p, int64_t first, int64_t rows, int k, int64_t row,
                     uint8_t* memory)
      : shared(memory) {
    const int thread = static_cast<int>(threadIdx.x),
              last = rows < 16 ? static_cast<int>(rows) : 16;
    const auto existing = [&](int r) { return first + (row + (r < last ? r : last - 1)) * k; };
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      words[i] = reinterpret_cast<const uint8_t*>(p.words) + existing(word_row(i)) * Bits / 8 +
                 thread % Memory::kPieces * 16;
    words_left = k * Bits / 8 - thread % Memory::kPieces * 16;
    const auto* of_units = reinterpret_cast<const uint8_t*>(is_bias() ? p.biases : p.scales);
    units = of_units + existing(unit_row()) / Group * 2 + thread % Memory::kUnitPieces * 4;
    units_left = k / Group * 2 - thread % Memory::kUnitPieces * 4;
  }
  static MLX_FN int word_row(int i) {
    return (static_cast<int>(threadIdx.x) + i * kThreads) / Memory::kPieces;
  }
  static MLX_FN bool is_bias() { return static_cast<int>(threadIdx.x) >= kUnitCopies / 2; }
  static MLX_FN int unit_row() {
    return static_cast<int>(threadIdx.x) / Memory::kUnitPieces % Memory::kRows;
  }
  MLX_FN void ask() {
    const int thread = static_cast<int>(threadIdx.x);
    uint8_t* const to = shared + stage * Memory::kStage;
    if (words_left > 0) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        copy_16(to + word_row(i) * Memory::kPitch + thread % Memory::kPieces * 16, words[i], true);
        words[i] += Memory::kRowBytes;
      }
    }
    if (thread < kUnitCopies && units_left > 0) {
      copy_4(to + (is_bias() ? Memory::kBiases : Memory::kScales) +
                 unit_row() * Memory::kUnitBytes + thread % Memory::kUnitPieces * 4,
             units);
      units += Memory::kUnitBytes;
    }
    end_copies();
    words_left -= Memory::kRowBytes;
    units_left -= Memory::kUnitBytes;
    stage = stage + 1 == Memory::kStages ? 0 : stage + 1;
  }
};

/// The part of a warp's chunk of a stage that a lane has.
template <int Bits, class T, int Group>
MLX_FN void load_stage(const uint8_t* stage, PackedPart<Bits, T>& to) {
  using Memory = StageMemory<Bits, Group>;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int element = warp * kChunk + lane % 4 * kLaneRun;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + 8 * half;
    load_words<true>(stage + row * Memory::kPitch + element * Bits / 8, to.words[half]);
    const uint8_t* units = stage + row * Memory::kUnitBytes + element / Group * 2;
    to.scale[half] = *reinterpret_cast<const T*>(units + Memory::kScales);
    to.bias[half] = *reinterpret_cast<const T*>(units + Memory::kBiases);
  }
}

/// x · w^T of up to eight rows of x whose length is a multiple of a chunk. Addresses of x and of
/// packed rows are multiples of 16, those of scales and biases of 4. Packed rows that are given
/// are copied while the kernel before, which may write x, still runs.
template <int Bits, class T, int Group>
MLX_FN void packed_stages(const PackedProductArguments& p) {
  using Memory = StageMemory<Bits, Group>;
  alignas(16) MLX_SHARED uint8_t shared[Memory::kBytes];
  if (!p.given) wait_for_kernel_before();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int k = static_cast<int>(p.k), rows = static_cast<int>(p.m);
  const int stages = (k + Memory::kElements - 1) / Memory::kElements;
  const int64_t tiles = (p.n + Memory::kRows - 1) / Memory::kRows;
  for (int64_t unit = blockIdx.x; unit < p.count * tiles; unit += gridDim.x) {
    const int64_t product = p.count == 1 ? 0 : unit / tiles;
    const int64_t column = (unit - product * tiles) * Memory::kRows;
    int64_t x_at, w_at;
    if (!operands_of(p, product, x_at, w_at)) continue;
    const T* x = reinterpret_cast<const T*>(p.x) + x_at + lane % 4 * kLaneRun +
                 (lane / 4 < rows ? lane / 4 : rows - 1) * k;
    __syncthreads();  // shared memory is free
    StageCopies<Bits, Group> copies(p.w, w_at, p.n - column, k, column, shared);
#pragma unroll
    for (int s = 0; s < Memory::kStages; ++s) copies.ask();
    wait_for_kernel_before();
    let_next_kernel_begin();
    Sums sums[1][1] = {};
    for (int s = 0, place = 0; s < stages; ++s) {
      const int first = s * Memory::kElements + warp * kChunk;
      uint32_t of_x[2][4] = {};
      if (first < k) {
        load_words<true>(x + first, of_x[0]);
        load_words<true>(x + first + 8, of_x[1]);
      }
      wait_for_earlier_copies<Memory::kStages - 1>();
      __syncthreads();
      if (first < k) {
        PackedPart<Bits, T> part[1];
        load_stage<Bits, T, Group>(shared + place * Memory::kStage, part[0]);
        multiply_packed<Packed::affine, Bits, T, T>(sums, part, [&](auto& to, int, int half) {
#pragma unroll
          for (int c = 0; c < 4; ++c) to[c] = of_x[half][c];
        });
      }
      place = place + 1 == Memory::kStages ? 0 : place + 1;
      if (s + Memory::kStages < stages) __syncthreads();  // all warps have read the stage
      copies.ask();
    }
    wait_for_copies();
    __syncthreads();
    // Sums of the warps, in order.
    auto* parts = reinterpret_cast<float*>(shared);
#pragma unroll
    for (int e = 0; e < 4; ++e) parts[warp * 128 + e * 32 + lane] = sums[0][0][e];
    __syncthreads();
    const int row = thread / Memory::kRows, own = thread % Memory::kRows;
    if (row >= rows || own >= p.n - column) continue;
    const int place = (own / 8 * 2 + row % 2) * 32 + own % 8 * 4 + row / 2;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += parts[w * 128 + place];
    reinterpret_cast<T*>(p.out)[(product * rows + row) * p.n + column + own] = narrowed<T>(sum);
  }
}

}  // namespace mlx::core::device
