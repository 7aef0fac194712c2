// Attention of many queries in 16 bits by products of warpgroups (warpgroups.cuh). A block stays on
// its processor and takes one part after the other: 64 queries of a head for each warpgroup, and
// all keys that these see. One more warpgroup only asks for tiles of queries, keys and values, as
// soon as there is space. A warpgroup turns scores of a tile into weights while the products of the
// tile before are computed, and while others multiply. Scores, weights and sums stay in registers.
#pragma once

#include "mlx/backend/gpu/kernels/attention_tiles.cuh"
#include "mlx/backend/gpu/kernels/warpgroups.cuh"

namespace mlx::core::device {

/// Shared memory of a block: F and W features of queries and values, K keys at a time, G
/// warpgroups that compute, `kStages` tiles of keys and values each.
template <int F, int W, int K, int G, int kStages>
struct GroupMemory {
  static constexpr int kRows = 64 * G;
  static constexpr int kQueryBytes = kRows * kTileRowBytes * tiles_of(F);
  static constexpr int kKeyBytes = K * kTileRowBytes * tiles_of(F);
  static constexpr int kValueBytes = K * kTileRowBytes * tiles_of(W);
  uint32_t base;
  Barrier* barriers;
  explicit MLX_FN GroupMemory(unsigned char* start) {
    const uint32_t address = shared_address(start);
    base = (address + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
    barriers = reinterpret_cast<Barrier*>(start + (base - address) + kBarriers);
  }
  static constexpr int kBarriers = kQueryBytes + kStages * (kKeyBytes + kValueBytes);
  static_assert(kBarriers + (2 + 4 * kStages) * 8 + kTileAlignment ==
                group_bytes(F, W, K, G, kStages));
  MLX_FN uint32_t queries() const { return base; }
  MLX_FN uint32_t keys(int stage) const { return base + kQueryBytes + stage * kKeyBytes; }
  MLX_FN uint32_t values(int stage) const {
    return base + kQueryBytes + kStages * kKeyBytes + stage * kValueBytes;
  }
  // Full: copies have come. Free: all warps have read.
  MLX_FN Barrier& queries_full() const { return barriers[0]; }
  MLX_FN Barrier& queries_free() const { return barriers[1]; }
  MLX_FN Barrier& keys_full(int s) const { return barriers[2 + s]; }
  MLX_FN Barrier& keys_free(int s) const { return barriers[2 + kStages + s]; }
  MLX_FN Barrier& values_full(int s) const { return barriers[2 + 2 * kStages + s]; }
  MLX_FN Barrier& values_free(int s) const { return barriers[2 + 3 * kStages + s]; }
  MLX_FN void start() const {
    for (int i = 0; i < 2 + 4 * kStages; ++i) {
      const bool free = i == 1 || (i >= 2 && (i - 2) / kStages % 2 == 1);
      start_barrier(barriers[i], free ? 4 * G : 1);
    }
    publish_barriers();
  }
};

/// A place in a ring of stages, and the phase of its barriers.
template <int kStages>
struct Turn {
  int stage = 0, phase = 0;
  MLX_FN void next() {
    if (++stage == kStages) stage = 0, phase ^= 1;
  }
};

/// A block's part: `rows` queries of a head from `first` on, keys that all or some of these see.
struct GroupPart {
  int batch, head, key_head, first, by_all, by_any;
  bool some_see_none;
  MLX_FN GroupPart(const AttentionGroupArguments& a, int number, int rows) {
    const AttentionArguments& p = a.forward;
    const int heads = static_cast<int>(p.heads), queries = static_cast<int>(p.queries);
    const int keys = static_cast<int>(p.keys), blocks = (queries + rows - 1) / rows;
    const int together = static_cast<int>(a.together), all = static_cast<int>(p.batches) * heads;
    const int begin = number / (together * blocks) * together, left = all - begin;
    const int here = left < together ? left : together, place = number - begin * blocks;
    // Later queries of a causal mask see more keys: their parts come first.
    first = (blocks - 1 - place / here) * rows;
    const int at = begin + place % here;
    batch = at / heads;
    head = at - batch * heads;
    key_head = head / (heads / static_cast<int>(p.key_heads));
    by_all = by_any = keys;
    some_see_none = false;
    if (!p.causal) return;
    const int last = (first + rows < queries ? first + rows : queries) - 1;
    const int least = first + 1 + keys - queries, most = last + 1 + keys - queries;
    some_see_none = least <= 0;
    by_all = least <= 0 ? 0 : least;
    by_any = least <= 0 ? keys : most;
  }
};

/// Calls f(part) for the parts of this block, of which the longest ones come first: odd rounds go
/// through the blocks backwards, so that all blocks get as much.
template <int kRows, class F>
MLX_FN void for_parts(const AttentionGroupArguments& a, F f) {
  const AttentionArguments& p = a.forward;
  const int blocks = (static_cast<int>(p.queries) + kRows - 1) / kRows;
  const int all = static_cast<int>(p.batches * p.heads) * blocks;
  const int step = static_cast<int>(gridDim.x), own = static_cast<int>(blockIdx.x);
  for (int from = 0, round = 0; from < all; from += step, ++round) {
    const int number = from + (round & 1 ? step - 1 - own : own);
    if (number < all) f(GroupPart(a, number, kRows));
  }
}

/// Asks for all tiles of some rows; the barrier has been told of their bytes.
template <int kRows, int kColumns>
MLX_FN void copy_rows(uint32_t to, const TileMap& map, Barrier& b, int row, int matrix, int batch) {
  constexpr int kStep = rows_of_copy(kRows);
#pragma unroll
  for (int tile = 0; tile < tiles_of(kColumns); ++tile) {
#pragma unroll
    for (int r = 0; r < kRows; r += kStep)
      copy_tile(to + (tile * kRows + r) * kTileRowBytes, map, b, tile * kTileColumns, row + r,
                matrix, batch);
  }
}
/// The number of a batch, or of a head, in an array that may have but one for all.
MLX_FN int numbered(int number, int64_t step) { return number * static_cast<int>(step); }

/// The warp that asks for tiles; one lane of it comes here.
template <int F, int W, int K, int G, int kStages>
MLX_FN void ask_for_tiles(const AttentionGroupArguments& a,
                          const GroupMemory<F, W, K, G, kStages>& memory) {
  using Memory = GroupMemory<F, W, K, G, kStages>;
  prefetch_map(a.q);
  prefetch_map(a.k);
  prefetch_map(a.v);
  Turn<kStages> turn;
  int part_phase = 0;
  for_parts<Memory::kRows>(a, [&](const GroupPart& part) {
    wait_for(memory.queries_free(), part_phase ^ 1);
    part_phase ^= 1;
    expect_bytes(memory.queries_full(), Memory::kQueryBytes);
    copy_rows<Memory::kRows, F>(memory.queries(), a.q, memory.queries_full(), part.first,
                                numbered(part.head, a.q_steps[1]),
                                numbered(part.batch, a.q_steps[0]));
    for (int key = 0; key < part.by_any; key += K, turn.next()) {
      Barrier &keys = memory.keys_full(turn.stage), &values = memory.values_full(turn.stage);
      wait_for(memory.keys_free(turn.stage), turn.phase ^ 1);
      expect_bytes(keys, Memory::kKeyBytes);
      copy_rows<K, F>(memory.keys(turn.stage), a.k, keys, key,
                      numbered(part.key_head, a.k_steps[1]), numbered(part.batch, a.k_steps[0]));
      wait_for(memory.values_free(turn.stage), turn.phase ^ 1);
      expect_bytes(values, Memory::kValueBytes);
      copy_rows<K, W>(memory.values(turn.stage), a.v, values, key,
                      numbered(part.key_head, a.v_steps[1]), numbered(part.batch, a.v_steps[0]));
    }
  });
}

/// The scores of 64 queries: products with K keys along F features. `next_query`, `next_key`: bytes
/// between tiles.
template <class T, int F, int K>
MLX_FN void multiply_tiles(Sums (&to)[K / 8], uint64_t queries, int next_query, uint64_t keys,
                           int next_key) {
#pragma unroll
  for (int step = 0; step < F / 16; ++step) {
    const int tile = step / 4, bytes = step % 4 * 32;
    multiply_rows_async<T>(to, operand_at(queries, tile * next_query + bytes),
                           operand_at(keys, tile * next_key + bytes), step > 0);
  }
}

/// Columns of sums from `kFirst` on as an array of their own.
template <int kFirst, int N, int W>
MLX_FN Sums (&columns_of(Sums (&x)[W / 8]))
    [N / 8] { return *reinterpret_cast<Sums(*)[N / 8]>(&x[kFirst / 8]); }

/// Adds the products of weights with W features of K values. `next`: bytes between tiles.
template <class T, int K, int W>
MLX_FN void multiply_weights(Sums (&to)[W / 8], const FactorA (&weights)[K / 16], uint64_t values,
                             int next) {
#pragma unroll
  for (int step = 0; step < K / 16; ++step) {
    const uint64_t rows = operand_at(values, step * 16 * kTileRowBytes);
    if constexpr (W >= 128)
      multiply_columns_async<T>(columns_of<0, 128, W>(to), weights[step], rows);
    if constexpr (W == 256)
      multiply_columns_async<T>(columns_of<128, 128, W>(to), weights[step],
                                operand_at(rows, 2 * next));
    if constexpr (W % 128 == 64)
      multiply_columns_async<T>(columns_of<W - 64, 64, W>(to), weights[step],
                                operand_at(rows, (W - 64) / 64 * next));
  }
}

/// Weights as factors of products.
template <class T, int K>
MLX_FN void round_weights(FactorA (&to)[K / 16], const Sums (&x)[K / 8]) {
#pragma unroll
  for (int s = 0; s < K / 16; ++s) {
    const Sums &low = x[2 * s], &high = x[2 * s + 1];
    to[s][0] = pair_of<T>(low[0], low[1]);
    to[s][1] = pair_of<T>(low[2], low[3]);
    to[s][2] = pair_of<T>(high[0], high[1]);
    to[s][3] = pair_of<T>(high[2], high[3]);
  }
}

/// Whether scores, in units of log 2, are so large that a rounded one differs by whole units from
/// one that is not: both sides of a difference are rounded then.
MLX_FN bool are_large(float score) { return ::fabsf(score) >= 0x1p24f; }

/// The running softmax of the lane's two rows. Scores count in units of log 2 after they are
/// multiplied by `unit`, which is positive.
struct GroupRows {
  float largest[2], sums[2];  ///< a lane's part of the sums
  float factors[2];           ///< by which earlier sums are multiplied
  /// Turns scores into weights, relative to the largest score so far.
  template <int K>
  MLX_FN void weigh(Sums (&x)[K], float unit) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = ::fmaxf(x[0][2 * half], x[0][2 * half + 1]);
#pragma unroll
      for (int j = 1; j < K; ++j) most = ::fmaxf(most, ::fmaxf(x[j][2 * half], x[j][2 * half + 1]));
      most = ::fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = ::fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      most = ::fmaxf(largest[half], most * unit);
      const float base = most == -__builtin_inff() ? 0.f : most;
      factors[half] = power_of_2(largest[half] - base);
      largest[half] = most;
      float step = unit;
      if (are_large(base)) {
        step = 1;
#pragma unroll
        for (int j = 0; j < K; ++j) {
          x[j][2 * half] *= unit;
          x[j][2 * half + 1] *= unit;
        }
      }
      float sum = 0, other = 0;
#pragma unroll
      for (int j = 0; j < K; ++j) {
        float &low = x[j][2 * half], &high = x[j][2 * half + 1];
        low = power_of_2(::fmaf(low, step, -base));
        high = power_of_2(::fmaf(high, step, -base));
        sum += low;
        other += high;
      }
      sums[half] = ::fmaf(sums[half], factors[half], sum + other);
    }
  }
  /// Multiplies sums of weighted values by the factors; where all are 1, nothing changes.
  template <int W>
  MLX_FN void scale(Sums (&out)[W]) const {
    if (__ballot_sync(~0u, factors[0] != 1 || factors[1] != 1) == 0) return;
#pragma unroll
    for (int w = 0; w < W; ++w) {
#pragma unroll
      for (int c = 0; c < 4; ++c) out[w][c] *= factors[c / 2];
    }
  }
};

/// Keys that a row does not see get the score -inf.
template <int K>
MLX_FN void hide_keys(Sums (&x)[K], const LaneRow (&rows)[2], int from) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int limit = rows[half].visible - from - lane_column();
#pragma unroll
    for (int j = 0; j < K; ++j) {
#pragma unroll
      for (int c = 0; c < 2; ++c)
        if (j * 8 + c >= limit) x[j][2 * half + c] = -__builtin_inff();
    }
  }
}

/// Writes a row of a fragment, 16 bytes at a time: its four lanes exchange their parts of four
/// neighbouring fragments.
template <class T, int W>
MLX_FN void store_rows_16(T* to, const Sums (&out)[W / 8], int half, float factor, int width,
                          bool some) {
  const int lane = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int group = 0; group < W / 32; ++group) {
    uint32_t w[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const Sums& x = out[4 * group + c];
      w[c] = pair_of<T>(x[2 * half] * factor, x[2 * half + 1] * factor);
    }
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        if (c & bit) continue;
        const uint32_t got = __shfl_xor_sync(~0u, lane & bit ? w[c] : w[c + bit], bit);
        (lane & bit ? w[c] : w[c + bit]) = got;
      }
    }
    const int column = group * 32 + lane * 8;
    if (some && column < width)
      *reinterpret_cast<uint4*>(to + column) = uint4{w[0], w[1], w[2], w[3]};
  }
}

/// A row of a part: the keys it sees, and the place of its mask. Rows behind the last query see all
/// keys.
MLX_FN LaneRow lane_row_of(const AttentionGroupArguments& a, const GroupPart& part, int row) {
  const AttentionArguments& p = a.forward;
  const int query = part.first + row, sees = query + 1 + static_cast<int>(p.keys - p.queries);
  LaneRow r;
  r.visible = query >= p.queries || !p.causal ? static_cast<int>(p.keys) : sees <= 0 ? -1 : sees;
  r.mask = query < p.queries && p.mask ? at4(p.mask_stride, part.batch, part.head, query, 0)
                                       : int64_t{0};
  return r;
}

/// One of the warps that compute is done with a tile.
MLX_FN void release(Barrier& b) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) arrive(b);
}

/// A warpgroup that computes 64 queries of each part. T: elements, M: of the mask, or void.
/// Groups multiply one after the other, so that softmax goes on beside products. kFacts: facts of
/// queries are stored in place of results.
template <class T, class M, int F, int W, int K, int G, int kStages, bool kFacts>
struct AttentionGroup {
  using Memory = GroupMemory<F, W, K, G, kStages>;
  static constexpr int kNextQuery = Memory::kRows * kTileRowBytes, kNext = K * kTileRowBytes;
  const AttentionGroupArguments& a;
  const Memory& memory;
  const int group;  ///< number of the warpgroup among those that compute
  Turn<kStages> turn = {};
  int part_phase = 0;

  MLX_FN int first_row() const {
    return group * 64 + static_cast<int>(threadIdx.x) % kGroupThreads / 32 * 16 + lane_row();
  }
  MLX_FN void begin_turn() const { meet(1 + group, 2 * kGroupThreads); }
  MLX_FN void end_turn() const { pass(1 + (group + 1 == G ? 0 : group + 1), 2 * kGroupThreads); }
  /// Scores of a tile of keys as `weigh` takes them. Returns their unit.
  MLX_FN float to_units(Sums (&x)[K / 8], const LaneRow (&rows)[2], const GroupPart& part,
                        int from) const {
    const AttentionArguments& p = a.forward;
    const float scale = static_cast<float>(p.scale);
    if (std::is_same_v<M, void> && scale > 0 && !part.some_see_none) {
      if (from + K > part.by_all) hide_keys(x, rows, from);
      return scale * kLog2E;
    }
    to_scores<M>(x, p, rows, from, from + K <= part.by_all);
    return 1;
  }
  MLX_FN void score(Sums (&x)[K / 8], int stage) const {
    multiply_tiles<T, F, K>(x,
                            tile_operand(memory.queries() + group * 64 * kTileRowBytes, kNextQuery),
                            kNextQuery, tile_operand(memory.keys(stage), kNext), kNext);
  }
  MLX_FN void add_values(Sums (&out)[W / 8], const FactorA (&weights)[K / 16], int stage) const {
    multiply_weights<T, K, W>(out, weights, tile_operand(memory.values(stage), kNext), kNext);
  }

  /// Waits for the weighted values of the tile before, where there is one, then gets the sums and
  /// the next weights ready.
  MLX_FN void add_up(const GroupRows& running, Sums (&out)[W / 8], FactorA (&weights)[K / 16],
                     const Sums (&x)[K / 8], bool some, int stage) const {
    wait_for_products<0>();
    pin(out);
    pin(weights);
    if (some) {
      release(memory.values_free(stage));
      running.scale(out);
    }
    round_weights<T, K>(weights, x);
    pin(out);
  }

  MLX_FN void run(const GroupPart& part) {
    const AttentionArguments& p = a.forward;
    const LaneRow rows[2] = {lane_row_of(a, part, first_row()),
                             lane_row_of(a, part, first_row() + 8)};
    GroupRows running;
    Sums out[W / 8] = {};
    const T* sinks = reinterpret_cast<const T*>(p.sinks);
    const float sink = sinks ? wide(sinks[part.head * p.sink_stride]) * kLog2E : 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      running.largest[half] = sinks ? sink : -__builtin_inff();
      running.sums[half] = sinks && threadIdx.x % 4 == 0 ? 1.f : 0.f;
    }
    Sums x[K / 8];
    FactorA weights[K / 16];
    wait_for(memory.queries_full(), part_phase);
    wait_for(memory.keys_full(turn.stage), turn.phase);
    begin_turn();
    pin(x);
    begin_products();
    score(x, turn.stage);
    commit_products();
    end_turn();
    wait_for_products<0>();
    pin(x);
    release(memory.keys_free(turn.stage));
    if (K >= part.by_any) release(memory.queries_free());
    running.weigh(x, to_units(x, rows, part, 0));
    // Waits for copies stand between the softmax and waits for products: else the compiler lets the
    // softmax wait for these too.
    Turn<kStages> before = turn, earlier = turn;
    for (int from = K; from < part.by_any; from += K) {
      earlier = before;
      before = turn;
      turn.next();
      wait_for(memory.keys_full(turn.stage), turn.phase);
      add_up(running, out, weights, x, from > K, earlier.stage);
      begin_turn();
      pin(x);
      pin(weights);
      begin_products();
      score(x, turn.stage);
      commit_products();
      wait_for(memory.values_full(before.stage), before.phase);
      add_values(out, weights, before.stage);
      commit_products();
      end_turn();
      wait_for_products<1>();
      pin(x);
      release(memory.keys_free(turn.stage));
      if (from + K >= part.by_any) release(memory.queries_free());
      running.weigh(x, to_units(x, rows, part, from));
    }
    wait_for(memory.values_full(turn.stage), turn.phase);
    add_up(running, out, weights, x, part.by_any > K, before.stage);
    pin(weights);
    begin_products();
    add_values(out, weights, turn.stage);
    commit_products();
    wait_for_products<0>();
    pin(out);
    pin(weights);
    release(memory.values_free(turn.stage));
    turn.next();
    part_phase ^= 1;
    store(part, running, out);
  }
  MLX_FN void store(const GroupPart& part, const GroupRows& running, const Sums (&out)[W / 8]) {
    const AttentionArguments& p = a.forward;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = part.first + first_row() + 8 * half, width = static_cast<int>(p.width);
      const int64_t head = part.batch * p.heads + part.head, row = head * p.queries + query;
      const float sum = over_lanes_of_row(running.sums[half]);
      if constexpr (kFacts) {
        float mean = 0;
        if (query < p.queries)
          mean = product_with(out, half, reinterpret_cast<const T*>(a.cotangents) + row * width);
        mean = over_lanes_of_row(mean) / sum;
        const float most = running.largest[half] == -__builtin_inff() ? 0.f : running.largest[half];
        const GroupFacts own{most + ::log2f(sum), mean, most, 1 / sum};
        // Rows behind the last query, whose scores are 0, weigh nothing.
        if (threadIdx.x % 4 == 0 && query < a.facts_rows)
          reinterpret_cast<GroupFacts*>(a.facts)[head * a.facts_rows + query] =
              query < p.queries ? own : GroupFacts{0x1p23f, 0, __builtin_inff(), 0};
      } else {
        // Without scores above -inf the result is NaN.
        store_rows_16<T, W>(reinterpret_cast<T*>(p.out) + row * width, out, half, 1 / sum, width,
                            query < p.queries);
      }
    }
  }
  /// The lane's part of the product of a row with its cotangent.
  MLX_FN float product_with(const Sums (&out)[W / 8], int half, const T* given) const {
    float sum = 0;
#pragma unroll
    for (int w = 0; w < W / 8; ++w) {
      const int column = w * 8 + lane_column();
      if (column >= a.forward.width) continue;
      const uint32_t two = *reinterpret_cast<const uint32_t*>(given + column);
      T low, high;
      low.bits = static_cast<uint16_t>(two);
      high.bits = static_cast<uint16_t>(two >> 16);
      sum = ::fmaf(out[w][2 * half], widened(low), sum);
      sum = ::fmaf(out[w][2 * half + 1], widened(high), sum);
    }
    return sum;
  }
};

/// Threads of a block with G groups that compute and one that copies.
constexpr int threads_of_groups(int groups) { return (groups + 1) * kGroupThreads; }

template <class T, class M, int F, int W, int K, int G, int kStages, bool kFacts>
MLX_FN void run_attention_groups(const AttentionGroupArguments& a) {
  using Group = AttentionGroup<T, M, F, W, K, G, kStages, kFacts>;
  using Memory = typename Group::Memory;
  extern __shared__ unsigned char shared_memory[];
  const Memory memory(shared_memory);
  if (threadIdx.x == 0) memory.start();
  __syncthreads();
  const int group = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
  if (group == G) {
    give_registers<G == 2 ? 24 : 32>();
    if (threadIdx.x == G * kGroupThreads) ask_for_tiles(a, memory);
  } else {
    take_registers<G == 2 ? 240 : 160>();
    Group own{a, memory, group};
    if (group + 1 == G) own.end_turn();
    for_parts<Memory::kRows>(a, [&](const GroupPart& part) { own.run(part); });
  }
}

template <class T, class M, int F, int W, int K, int G, int kStages>
inline constexpr int attention_groups_threads = threads_of_groups(G);
template <class T, class M, int F, int W, int K, int G, int kStages>
MLX_FN void attention_groups(const AttentionGroupArguments& a) {
  run_attention_groups<T, M, F, W, K, G, kStages, false>(a);
}

}  // namespace mlx::core::device
