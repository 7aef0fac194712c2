// The derivative of attention in 16 bits by products of warpgroups, in three kernels. The first one
// is the forward kernel: in place of results it stores the facts of each query that the others need
// (GroupFacts). The second one goes through the keys of 64 queries for each warpgroup, and gives
// their cotangents. The third one goes through the queries of 64 keys for each warpgroup, in order,
// with transposed scores: rows are keys. Cotangents of scores are w (g - sum of w g), for weights w
// and their cotangents g.
#pragma once

#include "mlx/backend/gpu/kernels/attention_groups.cuh"

namespace mlx::core::device {

/// True of scores that are no products: the weights of such rows depend on nothing.
template <class M>
MLX_FN bool is_fixed(float score) {
  constexpr bool may_add = !std::is_same_v<M, void> && !std::is_same_v<M, bool>;
  return !may_add && score == kLowestScore;
}

template <class T, class M, int F, int W, int K, int G, int kStages>
inline constexpr int attention_groups_facts_threads = threads_of_groups(G);
template <class T, class M, int F, int W, int K, int G, int kStages>
MLX_FN void attention_groups_facts(const AttentionGroupArguments& a) {
  run_attention_groups<T, M, F, W, K, G, kStages, true>(a);
}

/// Shared memory of a block: its own rows of two operands, F and W columns, and `kStages` times
/// `kStep` rows of two others, with facts of these rows or none.
template <int F, int W, int kRows, int kStep, int kStages, bool kFacts>
struct VjpMemory {
  static constexpr int kOwnBytes = kRows * kTileRowBytes * (tiles_of(F) + tiles_of(W));
  static constexpr int kFactBytes = kFacts ? kStep * static_cast<int>(sizeof(GroupFacts)) : 0;
  static constexpr int kTileBytes = kStep * kTileRowBytes * (tiles_of(F) + tiles_of(W));
  static constexpr int kStageBytes = vjp_stage_bytes(F, W, kStep, kFacts);
  static constexpr int kBarriers = kOwnBytes + kStages * kStageBytes;
  static_assert(kBarriers + (2 + 2 * kStages) * 8 + kTileAlignment ==
                vjp_bytes(F, W, kRows, kStep, kStages, kFacts));
  uint32_t base;
  unsigned char* start;
  Barrier* barriers;
  explicit MLX_FN VjpMemory(unsigned char* all) {
    const uint32_t address = shared_address(all);
    base = (address + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
    start = all + (base - address);
    barriers = reinterpret_cast<Barrier*>(start + kBarriers);
  }
  MLX_FN uint32_t own_first() const { return base; }
  MLX_FN uint32_t own_second() const { return base + kRows * kTileRowBytes * tiles_of(F); }
  MLX_FN uint32_t first(int stage) const { return base + kOwnBytes + stage * kStageBytes; }
  MLX_FN uint32_t second(int stage) const {
    return first(stage) + kStep * kTileRowBytes * tiles_of(F);
  }
  MLX_FN uint32_t facts_address(int stage) const { return first(stage) + kTileBytes; }
  MLX_FN const GroupFacts* facts(int stage) const {
    return reinterpret_cast<const GroupFacts*>(start + kOwnBytes + stage * kStageBytes +
                                               kTileBytes);
  }
  // Full: copies have come. Free: all warps have read.
  MLX_FN Barrier& own_full() const { return barriers[0]; }
  MLX_FN Barrier& own_free() const { return barriers[1]; }
  MLX_FN Barrier& full(int s) const { return barriers[2 + s]; }
  MLX_FN Barrier& free(int s) const { return barriers[2 + kStages + s]; }
  MLX_FN void start_barriers() const {
    for (int i = 0; i < 2 + 2 * kStages; ++i)
      start_barrier(barriers[i], i == 1 || i >= 2 + kStages ? kRows / 16 : 1);
    publish_barriers();
  }
};

/// Stores rows of sums, times a factor.
template <class T, int N>
MLX_FN void store_sums(int64_t to, int64_t first, int row, int rows, int width, float factor,
                       const Sums (&x)[N / 8]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at = row + 8 * half;
    store_rows_16<T, N>(reinterpret_cast<T*>(to) + (first + at) * width, x, half, factor, width,
                        at < rows);
  }
}

//--- cotangents of queries

/// A warpgroup that has 64 queries.
template <class T, class M, int F, int W, int K, int G, int kStages>
struct QueryVjpGroup {
  using Memory = VjpMemory<F, W, 64 * G, K, kStages, false>;
  static constexpr int kNextOwn = Memory::kOwnBytes / (tiles_of(F) + tiles_of(W));
  static constexpr int kNext = K * kTileRowBytes;
  const AttentionGroupArguments& a;
  const Memory& memory;
  const int group;
  Turn<kStages> turn = {};
  int part_phase = 0;

  /// The cotangents of scores of a tile, from products with keys and with values. A score is
  /// rounded as the largest one was: large ones differ from it by 0 or by more.
  MLX_FN void to_score_cotangents(Sums (&x)[K / 8], const Sums (&y)[K / 8],
                                  const LaneRow (&rows)[2], const GroupFacts (&facts)[2],
                                  const GroupPart& part, int from) const {
    const AttentionArguments& p = a.forward;
    const float scale = static_cast<float>(p.scale), unit = scale * kLog2E;
    if (std::is_same_v<M, void> && scale > 0 && !part.some_see_none) {
      if (from + K > part.by_all) hide_keys(x, rows, from);
#pragma unroll
      for (int j = 0; j < K / 8; ++j) {
#pragma unroll
        for (int c = 0; c < 4; ++c)
          x[j][c] = power_of_2(x[j][c] * unit - facts[c / 2].base) * (y[j][c] - facts[c / 2].mean);
      }
      return;
    }
    to_scores<M>(x, p, rows, from, from + K <= part.by_all);
#pragma unroll
    for (int j = 0; j < K / 8; ++j) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const GroupFacts& row = facts[c / 2];
        const float weight = power_of_2(x[j][c] - row.largest) * row.scale;
        x[j][c] = weight == 0 || is_fixed<M>(x[j][c]) ? 0.f : weight * (y[j][c] - row.mean);
      }
    }
  }

  MLX_FN void run(const GroupPart& part) {
    const AttentionArguments& p = a.forward;
    const int row =
        group * 64 + static_cast<int>(threadIdx.x) % kGroupThreads / 32 * 16 + lane_row();
    const LaneRow rows[2] = {lane_row_of(a, part, row), lane_row_of(a, part, row + 8)};
    const int64_t head = part.batch * p.heads + part.head;
    GroupFacts facts[2];
#pragma unroll
    for (int half = 0; half < 2; ++half)
      facts[half] = reinterpret_cast<const GroupFacts*>(
          a.facts)[head * a.facts_rows + part.first + row + 8 * half];
    Sums out[F / 8] = {};
    FactorA weights[K / 16];
    wait_for(memory.own_full(), part_phase);
    part_phase ^= 1;
    Turn<kStages> before = turn;
    const uint64_t queries =
        tile_operand(memory.own_first() + group * 64 * kTileRowBytes, kNextOwn);
    const uint64_t given = tile_operand(memory.own_second() + group * 64 * kTileRowBytes, kNextOwn);
    for (int from = 0; from < part.by_any; from += K) {
      wait_for(memory.full(turn.stage), turn.phase);
      Sums x[K / 8], y[K / 8];
      pin(x);
      pin(y);
      begin_products();
      multiply_tiles<T, F, K>(x, queries, kNextOwn, tile_operand(memory.first(turn.stage), kNext),
                              kNext);
      multiply_tiles<T, W, K>(y, given, kNextOwn, tile_operand(memory.second(turn.stage), kNext),
                              kNext);
      commit_products();
      wait_for_products<0>();
      pin(x);
      pin(y);
      pin(out);
      if (from > 0) release(memory.free(before.stage));
      if (from + K >= part.by_any) release(memory.own_free());
      to_score_cotangents(x, y, rows, facts, part, from);
      round_weights<T, K>(weights, x);
      pin(weights);
      pin(out);
      begin_products();
      multiply_weights<T, K, F>(out, weights, tile_operand(memory.first(turn.stage), kNext), kNext);
      commit_products();
      before = turn;
      turn.next();
    }
    wait_for_products<0>();
    pin(out);
    release(memory.free(before.stage));
    store_sums<T, F>(p.out, head * p.queries + part.first, row,
                     static_cast<int>(p.queries) - part.first, static_cast<int>(p.features),
                     static_cast<float>(p.scale), out);
  }
};

template <class T, class M, int F, int W, int K, int G, int kStages>
inline constexpr int attention_groups_queries_threads = threads_of_groups(G);
template <class T, class M, int F, int W, int K, int G, int kStages>
MLX_FN void attention_groups_queries(const AttentionGroupArguments& a) {
  using Group = QueryVjpGroup<T, M, F, W, K, G, kStages>;
  using Memory = typename Group::Memory;
  extern __shared__ unsigned char shared_memory[];
  const Memory memory(shared_memory);
  if (threadIdx.x == 0) memory.start_barriers();
  __syncthreads();
  const int group = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
  if (group < G) {
    take_registers<G == 2 ? 240 : 160>();
    Group own{a, memory, group};
    for_parts<64 * G>(a, [&](const GroupPart& part) { own.run(part); });
    return;
  }
  give_registers<G == 2 ? 24 : 32>();
  if (threadIdx.x != G * kGroupThreads) return;
  Turn<kStages> turn;
  int part_phase = 0;
  for_parts<64 * G>(a, [&](const GroupPart& part) {
    wait_for(memory.own_free(), part_phase ^ 1);
    part_phase ^= 1;
    expect_bytes(memory.own_full(), Memory::kOwnBytes);
    copy_rows<64 * G, F>(memory.own_first(), a.q, memory.own_full(), part.first,
                         numbered(part.head, a.q_steps[1]), numbered(part.batch, a.q_steps[0]));
    copy_rows<64 * G, W>(memory.own_second(), a.given, memory.own_full(), part.first, part.head,
                         part.batch);
    for (int key = 0; key < part.by_any; key += K, turn.next()) {
      wait_for(memory.free(turn.stage), turn.phase ^ 1);
      Barrier& full = memory.full(turn.stage);
      expect_bytes(full, Memory::kTileBytes);
      copy_rows<K, F>(memory.first(turn.stage), a.k, full, key,
                      numbered(part.key_head, a.k_steps[1]), numbered(part.batch, a.k_steps[0]));
      copy_rows<K, W>(memory.second(turn.stage), a.v, full, key,
                      numbered(part.key_head, a.v_steps[1]), numbered(part.batch, a.v_steps[0]));
    }
  });
}

//--- cotangents of keys and values

/// A block's part: `rows` keys from `first` on, and the first query that may see one of them.
struct KeyPart {
  int batch, key_head, first, begin;
  bool some_see_none;  ///< of all queries
  MLX_FN KeyPart(const AttentionGroupArguments& a, int number, int rows, int step) {
    const AttentionArguments& p = a.forward;
    const int key_heads = static_cast<int>(p.key_heads), keys = static_cast<int>(p.keys);
    const int blocks = (keys + rows - 1) / rows, ahead = static_cast<int>(p.queries) - keys;
    const int shared = static_cast<int>(p.heads) / key_heads;
    const int some = static_cast<int>(a.together) / shared, together = some > 0 ? some : 1;
    const int all = static_cast<int>(p.batches) * key_heads;
    const int begun = number / (together * blocks) * together, left = all - begun;
    const int here = left < together ? left : together, place = number - begun * blocks;
    // Earlier keys are seen by more queries of a causal mask: their parts come first.
    first = place / here * rows;
    const int at = begun + place % here;
    batch = at / key_heads;
    key_head = at - batch * key_heads;
    some_see_none = p.causal && ahead > 0;
    begin = p.causal && ahead <= 0 && first + ahead > 0 ? (first + ahead) / step * step : 0;
  }
};

/// Calls f(part) for the parts of this block, as for_parts does.
template <int kRows, int kStep, class F>
MLX_FN void for_key_parts(const AttentionGroupArguments& a, F f) {
  const AttentionArguments& p = a.forward;
  const int blocks = (static_cast<int>(p.keys) + kRows - 1) / kRows;
  const int all = static_cast<int>(p.batches * p.key_heads) * blocks;
  const int step = static_cast<int>(gridDim.x), own = static_cast<int>(blockIdx.x);
  for (int from = 0, round = 0; from < all; from += step, ++round) {
    const int number = from + (round & 1 ? step - 1 - own : own);
    if (number < all) f(KeyPart(a, number, kRows, kStep));
  }
}

/// Calls f(head, query) for the tiles of queries that see keys of a part.
template <int kStep, class F>
MLX_FN void for_queries(const AttentionGroupArguments& a, const KeyPart& part, F f) {
  const AttentionArguments& p = a.forward;
  const int shared = static_cast<int>(p.heads / p.key_heads);
  for (int head = part.key_head * shared; head < (part.key_head + 1) * shared; ++head)
    for (int query = part.begin; query < static_cast<int>(p.queries); query += kStep)
      f(head, query);
}

/// A warpgroup that has 64 keys. Q: queries at a time.
template <class T, class M, int F, int W, int Q, int G, int kStages>
struct KeyVjpGroup {
  using Memory = VjpMemory<F, W, 64 * G, Q, kStages, true>;
  static constexpr int kNextOwn = 64 * G * kTileRowBytes, kNext = Q * kTileRowBytes;
  const AttentionGroupArguments& a;
  const Memory& memory;
  const int group;
  Turn<kStages> turn = {};
  int part_phase = 0;

  /// Products of the lane's rows, keys from `key` on, with queries from `query` on become weights.
  MLX_FN void to_weights(Sums (&x)[Q / 8], const GroupFacts* facts, const KeyPart& part, int head,
                         int key, int query, uint32_t& fixed) const {
    const AttentionArguments& p = a.forward;
    const float scale = static_cast<float>(p.scale), unit = scale * kLog2E;
    const int ahead = static_cast<int>(p.keys - p.queries);
    if (std::is_same_v<M, void> && scale > 0 && !part.some_see_none) {
      // The last key of the group is seen by the first of the queries, or not.
      if (p.causal && part.first + group * 64 + 63 > query + ahead) {
        const int limit = key - ahead - query - lane_column();
#pragma unroll
        for (int j = 0; j < Q / 8; ++j) {
#pragma unroll
          for (int c = 0; c < 4; ++c)
            if (j * 8 + c % 2 < limit + c / 2 * 8) x[j][c] = -__builtin_inff();
        }
      }
#pragma unroll
      for (int j = 0; j < Q / 8; ++j) {
#pragma unroll
        for (int c = 0; c < 4; ++c)
          x[j][c] = power_of_2(x[j][c] * unit - facts[j * 8 + lane_column() + c % 2].base);
      }
      return;
    }
    const int64_t mask = p.mask ? at4(p.mask_stride, part.batch, head, 0, 0) : int64_t{0};
#pragma unroll
    for (int j = 0; j < Q / 8; ++j) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int i = j * 8 + lane_column() + c % 2, sees = query + i + 1 + ahead;
        LaneRow row;
        row.visible = query + i >= p.queries ? 0
                      : !p.causal            ? static_cast<int>(p.keys)
                      : sees <= 0            ? -1
                                             : sees;
        row.mask = mask + (query + i) * p.mask_stride[2];
        const float s = score_of<M>(p, row, key + c / 2 * 8, x[j][c]);
        x[j][c] = power_of_2(s - facts[i].largest) * facts[i].scale;
        if (is_fixed<M>(s) || x[j][c] == 0) fixed |= 1u << (j * 4 + c);
      }
    }
  }
  /// Cotangents of scores.
  MLX_FN void to_cotangents(Sums (&x)[Q / 8], const Sums (&y)[Q / 8], const GroupFacts* facts,
                            uint32_t fixed) const {
#pragma unroll
    for (int j = 0; j < Q / 8; ++j) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        x[j][c] *= y[j][c] - facts[j * 8 + lane_column() + c % 2].mean;
        if (fixed >> (j * 4 + c) & 1) x[j][c] = 0;
      }
    }
  }

  MLX_FN void run(const KeyPart& part) {
    static_assert(Q == 64);
    const AttentionArguments& p = a.forward;
    const int row =
        group * 64 + static_cast<int>(threadIdx.x) % kGroupThreads / 32 * 16 + lane_row();
    Sums of_keys[F / 8] = {}, of_values[W / 8] = {};
    FactorA weights[Q / 16], cotangents[Q / 16];
    const uint64_t keys = tile_operand(memory.own_first() + group * 64 * kTileRowBytes, kNextOwn);
    const uint64_t values =
        tile_operand(memory.own_second() + group * 64 * kTileRowBytes, kNextOwn);
    wait_for(memory.own_full(), part_phase);
    part_phase ^= 1;
    int before = -1;
    for_queries<Q>(a, part, [&](int head, int query) {
      wait_for(memory.full(turn.stage), turn.phase);
      const uint64_t first = tile_operand(memory.first(turn.stage), kNext);
      const uint64_t second = tile_operand(memory.second(turn.stage), kNext);
      const GroupFacts* facts = memory.facts(turn.stage);
      Sums x[Q / 8], y[Q / 8];
      pin(x);
      begin_products();
      multiply_tiles<T, F, Q>(x, keys, kNextOwn, first, kNext);
      commit_products();
      wait_for_products<0>();
      pin(x);
      pin(of_keys);
      pin(of_values);
      if (before >= 0) release(memory.free(before));
      pin(y);
      begin_products();
      multiply_tiles<T, W, Q>(y, values, kNextOwn, second, kNext);
      commit_products();
      uint32_t fixed = 0;
      to_weights(x, facts, part, head, part.first + row, query, fixed);
      round_weights<T, Q>(weights, x);
      wait_for_products<0>();
      pin(y);
      pin(weights);
      pin(of_values);
      begin_products();
      multiply_weights<T, Q, W>(of_values, weights, second, kNext);
      commit_products();
      to_cotangents(x, y, facts, fixed);
      round_weights<T, Q>(cotangents, x);
      pin(cotangents);
      pin(of_keys);
      begin_products();
      multiply_weights<T, Q, F>(of_keys, cotangents, first, kNext);
      commit_products();
      before = turn.stage;
      turn.next();
    });
    wait_for_products<0>();
    pin(of_keys);
    pin(of_values);
    if (before >= 0) release(memory.free(before));
    release(memory.own_free());
    const int64_t head = part.batch * p.key_heads + part.key_head;
    const int left = static_cast<int>(p.keys) - part.first;
    store_sums<T, F>(a.keys, head * p.keys + part.first, row, left, static_cast<int>(p.features),
                     static_cast<float>(p.scale), of_keys);
    store_sums<T, W>(a.values, head * p.keys + part.first, row, left, static_cast<int>(p.width), 1,
                     of_values);
  }
};

template <class T, class M, int F, int W, int Q, int G, int kStages>
inline constexpr int attention_groups_keys_threads = threads_of_groups(G);
template <class T, class M, int F, int W, int Q, int G, int kStages>
MLX_FN void attention_groups_keys(const AttentionGroupArguments& a) {
  using Group = KeyVjpGroup<T, M, F, W, Q, G, kStages>;
  using Memory = typename Group::Memory;
  extern __shared__ unsigned char shared_memory[];
  const Memory memory(shared_memory);
  if (threadIdx.x == 0) memory.start_barriers();
  __syncthreads();
  const int group = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
  if (group < G) {
    take_registers<G == 2 ? 240 : 160>();
    Group own{a, memory, group};
    for_key_parts<64 * G, Q>(a, [&](const KeyPart& part) { own.run(part); });
    return;
  }
  give_registers<G == 2 ? 24 : 32>();
  if (threadIdx.x != G * kGroupThreads) return;
  Turn<kStages> turn;
  int part_phase = 0;
  const AttentionArguments& p = a.forward;
  for_key_parts<64 * G, Q>(a, [&](const KeyPart& part) {
    wait_for(memory.own_free(), part_phase ^ 1);
    part_phase ^= 1;
    expect_bytes(memory.own_full(), Memory::kOwnBytes);
    copy_rows<64 * G, F>(memory.own_first(), a.k, memory.own_full(), part.first,
                         numbered(part.key_head, a.k_steps[1]), numbered(part.batch, a.k_steps[0]));
    copy_rows<64 * G, W>(memory.own_second(), a.v, memory.own_full(), part.first,
                         numbered(part.key_head, a.v_steps[1]), numbered(part.batch, a.v_steps[0]));
    for_queries<Q>(a, part, [&](int head, int query) {
      wait_for(memory.free(turn.stage), turn.phase ^ 1);
      Barrier& full = memory.full(turn.stage);
      expect_bytes(full, Memory::kTileBytes + Memory::kFactBytes);
      copy_rows<Q, F>(memory.first(turn.stage), a.q, full, query, numbered(head, a.q_steps[1]),
                      numbered(part.batch, a.q_steps[0]));
      copy_rows<Q, W>(memory.second(turn.stage), a.given, full, query, head, part.batch);
      copy_bytes(memory.facts_address(turn.stage),
                 reinterpret_cast<const GroupFacts*>(a.facts) +
                     (part.batch * p.heads + head) * a.facts_rows + query,
                 Memory::kFactBytes, full);
      turn.next();
    });
  });
}

}  // namespace mlx::core::device
