// Writes at indices. An element belongs to one thread, which applies its updates in order: results
// do not depend on when threads run. A thread finds its updates among all, or, where there are
// many, as neighbours after a stable sort by their targets; share_updates.cuh has a third way.
#pragma once

#include "mlx/backend/gpu/kernels/index.cuh"

namespace mlx::core::device {

/// The modes of a scatter, as in ops/scatter.h.
enum class Mode { set, add, multiply, divide, maximum, minimum };

template <class T>
MLX_FN bool before(T a, T b) {
  if constexpr (m::IsCx<T>::value) {
    return a.re < b.re || (a.re == b.re && a.im < b.im);
  } else {
    return a < b;
  }
}
template <class T>
MLX_FN bool is_not_a_number(T a) {
  if constexpr (m::IsCx<T>::value) {
    return a.re != a.re || a.im != a.im;
  } else {
    return a != a;
  }
}

/// The value of an element `a` after an update with `b`.
template <Mode M, class T>
MLX_FN T combined(T a, T b) {
  if constexpr (M == Mode::set) {
    return b;
  } else if constexpr (is_narrow<T>) {
    return narrowed<T>(combined<M>(widened(a), widened(b)));
  } else if constexpr (M == Mode::maximum) {
    return is_not_a_number(a) || before(b, a) ? a : b;
  } else if constexpr (M == Mode::minimum) {
    return is_not_a_number(a) || before(a, b) ? a : b;
  } else if constexpr (std::is_same_v<T, bool>) {
    return M == Mode::add ? a || b : a && b;
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (M == Mode::add)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    if constexpr (M == Mode::multiply)
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    if (b == T(-1))
      return std::is_signed_v<T> ? static_cast<T>(uint64_t(0) - static_cast<uint64_t>(a))
                                 : static_cast<T>(a == b);
    return b == 0 ? T(0) : static_cast<T>(a / b);
  } else if constexpr (m::IsCx<T>::value) {
    if constexpr (M == Mode::add) return m::add(a, b);
    if constexpr (M == Mode::multiply) return m::multiply(a, b);
    return m::divide(a, b);
  } else {
    return M == Mode::add ? a + b : M == Mode::multiply ? a * b : a / b;
  }
}

/// Which of `parts` (a power of two) an offset belongs to.
MLX_FN int64_t part_of(int64_t offset, int64_t parts) {
  return (offset ^ (offset >> 7)) & (parts - 1);
}

/// A thread has a column of the slices, and of the positions those of its part.
template <Mode M, class T>
MLX_FN void scatter(const ScatterArguments& p) {
  auto* out = memory<T>(p.out);
  const auto* updates = memory<const T>(p.updates);
  const auto* offsets = memory<const int64_t>(p.offsets);
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       t < p.columns * p.parts; t += threads) {
    const int64_t column = t % p.columns, part = t / p.columns;
    const int64_t target = offset_of(p.target, column), from = offset_of(p.column, column);
    for (int64_t i = 0; i < p.positions; ++i) {
      const int64_t offset = offsets[i];
      if (offset == kNowhere || part_of(offset, p.parts) != part) continue;
      auto& x = out[offset + target];
      x = combined<M>(x, updates[from + offset_of(p.position, i)]);
    }
  }
}

/// out[o, indices[o, j, i], i] from updates[o, j, i].
template <Mode M, class T>
MLX_FN void scatter_axis(const ScatterAxisArguments& p) {
  auto* out = memory<T>(p.out);
  const auto* updates = memory<const T>(p.updates);
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads, lines = p.outer * p.inner;
  for (int64_t t = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; t < lines * p.parts;
       t += threads) {
    const int64_t line = t % lines, part = t / lines;
    const int64_t o = line / p.inner, i = line % p.inner;
    for (int64_t j = 0; j < p.n; ++j) {
      const int64_t from = (o * p.n + j) * p.inner + i;
      const int64_t index =
          checked_index(load_index(p.indices, p.type, from), p.type, p.size, 1, p.record, 0);
      if (index < 0 || part_of(index, p.parts) != part) continue;
      auto& x = out[(o * p.size + index) * p.inner + i];
      x = combined<M>(x, updates[from]);
    }
  }
}

//--- sorted updates

/// The key of an update whose index is out of range.
template <class K>
MLX_CONSTANT K kNoKey = static_cast<K>(~K(0));

/// Notes the key of update i, and claims its target.
template <class K>
MLX_FN void note_key(int64_t keys, int64_t claims, int64_t i, K key) {
  memory<K>(keys)[i] = key;
  if (claims && key != kNoKey<K>)
    atomicMax(memory<uint32_t>(claims) + key, static_cast<uint32_t>(i + 1));
}
template <class K>
MLX_FN void target_keys(const TargetKeysArguments& p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.count;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t offset = indexed_offset(p.at, i);
    note_key<K>(p.keys, p.claims, i,
                offset == kNowhere ? kNoKey<K> : static_cast<K>(position_quotient(offset, p.unit)));
  }
}
/// The same for scatter_axis; `out` has the keys.
template <class K>
MLX_FN void axis_keys(const ScatterAxisArguments& p) {
  const int64_t count = p.outer * p.n * p.inner;
  for (int64_t x = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; x < count;
       x += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t o = position_quotient(x, p.n * p.inner);
    const int64_t i = x - position_quotient(x, p.inner) * p.inner;
    const int64_t index =
        checked_index(load_index(p.indices, p.type, x), p.type, p.size, 1, p.record, 0);
    note_key<K>(p.out, p.claims, x,
                index < 0 ? kNoKey<K> : static_cast<K>((o * p.size + index) * p.inner + i));
  }
}

/// Whether the updates of `key`, the first of which is i, are a long run.
template <class K>
MLX_FN bool is_long_run(const SortedUpdatesArguments& p, DevicePointer<const K> keys, int64_t i,
                        K key) {
  const int64_t block = (i + kLongRun - 1) / kLongRun * kLongRun, last = block + kLongRun - 1;
  return last < p.positions && keys[last] == key;
}

/// A thread has V neighbouring columns of one target, if its update is the first there.
template <Mode M, class T, class K, class I, int V>
MLX_FN void apply_sorted(const SortedUpdatesArguments& p) {
  using Some = Neighbours<T, V>;
  // Updates that are read before one of them is applied; the same where a target's end is near.
  constexpr int kMany = sizeof(Some) <= 4 ? 16 : 8, kFew = 4;
  const auto* updates = memory<const T>(p.updates);
  const auto* keys = memory<const K>(p.keys);
  const auto* places = memory<const uint32_t>(p.places);
  const I columns = static_cast<I>(p.columns) / V, all = static_cast<I>(p.positions) * columns;
  for (I x = static_cast<I>(blockIdx.x) * kThreads + threadIdx.x; x < all;
       x += static_cast<I>(gridDim.x) * kThreads) {
    int64_t i = static_cast<int64_t>(x / columns);
    const int64_t column = static_cast<int64_t>(x % columns) * V;
    const K key = keys[i];
    if (key == kNoKey<K> || (i > 0 && keys[i - 1] == key)) continue;
    if (is_long_run(p, keys, i, key)) continue;
    const auto to = neighbours<Some>(memory<T>(p.out) + static_cast<int64_t>(key) * p.unit +
                                     offset_of(p.target, column));
    const auto* from = updates + offset_of(p.column, column);
    auto update = [&](int64_t k) {
      return *neighbours<const Some>(from + offset_of(p.position, places[k]));
    };
    Some value = *to;
    auto apply = [&](const Some& by) {
#pragma unroll
      for (int v = 0; v < V; ++v) value.x[v] = combined<M>(value.x[v], by.x[v]);
    };
    for (; i + kMany <= p.positions && keys[i + kMany - 1] == key; i += kMany) {
      Some some[kMany];
#pragma unroll
      for (int k = 0; k < kMany; ++k) some[k] = update(i + k);
#pragma unroll
      for (int k = 0; k < kMany; ++k) apply(some[k]);
    }
    for (bool goes_on = true; goes_on; i += kFew) {
      bool own[kFew];
      Some some[kFew];
#pragma unroll
      for (int k = 0; k < kFew; ++k) own[k] = i + k < p.positions && keys[i + k] == key;
      if (!own[0]) break;
#pragma unroll
      for (int k = 0; k < kFew; ++k) some[k] = update(own[k] ? i + k : i);
#pragma unroll
      for (int k = 0; k < kFew; ++k)
        if (own[k]) apply(some[k]);
      goes_on = own[kFew - 1];
    }
    *to = value;
  }
}

//--- updates that need no sorting

/// Calls apply(i, key, element, update) for each update i with a target and each column.
template <class T, class K, class I, class F>
MLX_FN void each_update(const SortedUpdatesArguments& p, F apply) {
  const auto* updates = memory<const T>(p.updates);
  const auto* keys = memory<const K>(p.keys);
  const I columns = static_cast<I>(p.columns), all = static_cast<I>(p.positions) * columns;
  for (I x = static_cast<I>(blockIdx.x) * kThreads + threadIdx.x; x < all;
       x += static_cast<I>(gridDim.x) * kThreads) {
    const int64_t i = static_cast<int64_t>(x / columns);
    const int64_t column = static_cast<int64_t>(x % columns);
    const K key = keys[i];
    if (key == kNoKey<K>) continue;
    apply(i, key,
          memory<T>(p.out) + (static_cast<int64_t>(key) * p.unit + offset_of(p.target, column)),
          updates + (offset_of(p.column, column) + offset_of(p.position, i)));
  }
}

/// Sums of integers, which are the same in any order.
template <class T, class K, class I>
MLX_FN void add_at_once(const SortedUpdatesArguments& p) {
  each_update<T, K, I>(p, [](int64_t, K, DevicePointer<T> element, DevicePointer<const T> update) {
    atomic_add(element, *update);
  });
}

MLX_FN void clear_claims(const SortedUpdatesArguments& p) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < p.targets;
       i += static_cast<int64_t>(gridDim.x) * kThreads)
    memory<uint32_t>(p.claims)[i] = 0;
}
/// Assignments: the update whose claim stands, the last one of a target.
template <class T, class K, class I>
MLX_FN void apply_claimed(const SortedUpdatesArguments& p) {
  const auto* claims = memory<const uint32_t>(p.claims);
  each_update<T, K, I>(
      p, [claims](int64_t i, K key, DevicePointer<T> element, DevicePointer<const T> update) {
        if (claims[key] == static_cast<uint32_t>(i + 1)) *element = *update;
      });
}

//--- few targets of many updates

/// The value that a lane of the warp has.
template <class T>
MLX_FN T of_lane(T x, int lane) {
  if constexpr (m::IsCx<T>::value) {
    return {__shfl_sync(~0u, x.re, lane), __shfl_sync(~0u, x.im, lane)};
  } else if constexpr (is_narrow<T>) {
    x.bits = static_cast<uint16_t>(__shfl_sync(~0u, static_cast<int>(x.bits), lane));
    return x;
  } else if constexpr (sizeof(T) < 4) {
    return static_cast<T>(__shfl_sync(~0u, static_cast<int>(x), lane));
  } else {
    return __shfl_sync(~0u, x, lane);
  }
}

/// A warp for each target and column: its lanes read the updates of the target, all of them apply
/// these in order.
template <Mode M, class T, class K>
MLX_FN void apply_runs(const SortedUpdatesArguments& p) {
  constexpr int kLanes = 32;
  const auto* updates = memory<const T>(p.updates);
  const auto* keys = memory<const K>(p.keys);
  const auto* places = memory<const uint32_t>(p.places);
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kThreads / kLanes);
  for (int64_t w = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kLanes;
       w < p.targets * p.columns; w += warps) {
    const K key = static_cast<K>(w / p.columns);
    const int64_t column = w % p.columns;
    // The first update of the target.
    int64_t i = 0;
    for (int64_t end = p.positions; i < end;) {
      const int64_t middle = i + (end - i) / 2;
      if (keys[middle] < key)
        i = middle + 1;
      else
        end = middle;
    }
    const auto* from = updates + offset_of(p.column, column);
    auto& to = memory<T>(p.out)[static_cast<int64_t>(key) * p.unit + offset_of(p.target, column)];
    auto belongs = [&](int64_t k) { return k < p.positions && keys[k] == key; };
    auto update = [&](int64_t k) {
      return belongs(k) ? from[offset_of(p.position, places[k])] : T{};
    };
    if (!belongs(i)) continue;
    T value = to, own = update(i + lane);
    while (true) {
      const bool goes_on = belongs(i + kLanes);
      const T next = goes_on ? update(i + kLanes + lane) : T{};
      if (goes_on || belongs(i + kLanes - 1)) {
#pragma unroll
        for (int j = 0; j < kLanes; ++j) value = combined<M>(value, of_lane(own, j));
      } else {
        for (int j = 0; belongs(i + j); ++j) value = combined<M>(value, of_lane(own, j));
      }
      if (!goes_on) break;
      own = next;
      i += kLanes;
    }
    if (lane == 0) to = value;
  }
}

//--- long runs among sorted updates

/// The first position from `begin` on, before `end`, whose key is not below (After: is above)
/// `key`.
template <bool After, class K>
MLX_FN int64_t run_bound(DevicePointer<const K> keys, int64_t begin, int64_t end, K key) {
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (keys[middle] < key || (After && keys[middle] == key))
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/// Applies the updates [begin, end) to one element: lanes read some updates each, and all of them
/// apply these in order.
template <Mode M, class T>
MLX_FN T apply_along(const SortedUpdatesArguments& p, DevicePointer<const T> from, int64_t begin,
                     int64_t end, T value) {
  constexpr int kLanes = 32, kDeep = 8;  // updates of a lane that are on their way
  const auto* places = memory<const uint32_t>(p.places);
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  T next[kDeep];
  auto read = [&](int64_t i) {
    uint32_t at[kDeep];
#pragma unroll
    for (int d = 0; d < kDeep; ++d) {
      const int64_t k = i + d * kLanes + lane;
      at[d] = places[k < end ? k : end - 1];
    }
#pragma unroll
    for (int d = 0; d < kDeep; ++d) next[d] = from[offset_of(p.position, at[d])];
  };
  read(begin);
  for (int64_t i = begin; i < end; i += kDeep * kLanes) {
    T own[kDeep];
#pragma unroll
    for (int d = 0; d < kDeep; ++d) own[d] = next[d];
    read(i + kDeep * kLanes);
#pragma unroll
    for (int d = 0; d < kDeep; ++d) {
      const int64_t left = end - i - d * kLanes;
      if (left >= kLanes) {
#pragma unroll
        for (int j = 0; j < kLanes; ++j) value = combined<M>(value, of_lane(own[d], j));
      } else {
        for (int j = 0; j < left; ++j) value = combined<M>(value, of_lane(own[d], j));
      }
    }
  }
  return value;
}

/// Applies the updates [begin, end) to the columns of the lanes.
template <Mode M, class T>
MLX_FN T apply_across(const SortedUpdatesArguments& p, DevicePointer<const T> from, int64_t begin,
                      int64_t end, T value) {
  constexpr int kLanes = 32, kMany = 16;  // updates that are on their way
  const auto* places = memory<const uint32_t>(p.places);
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  auto place = [&](int64_t i) { return places[i + lane < end ? i + lane : end - 1]; };
  uint32_t next = place(begin);
  for (int64_t i = begin; i < end; i += kLanes) {
    const uint32_t own = next;
    next = place(i + kLanes);
#pragma unroll
    for (int half = 0; half < kLanes; half += kMany) {
      T some[kMany];
#pragma unroll
      for (int k = 0; k < kMany; ++k)
        some[k] = from[offset_of(p.position, __shfl_sync(~0u, own, half + k))];
#pragma unroll
      for (int k = 0; k < kMany; ++k)
        if (i + half + k < end) value = combined<M>(value, some[k]);
    }
  }
  return value;
}

/// A warp for each block of kLongRun places and each column, or 32 columns: where the block is the
/// first of a long run, it applies the run.
template <Mode M, class T, class K>
MLX_FN void apply_long_runs(const SortedUpdatesArguments& p) {
  constexpr int kLanes = 32, kFewColumns = 16;
  const auto* updates = memory<const T>(p.updates);
  const auto* keys = memory<const K>(p.keys);
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const bool few = p.columns <= kFewColumns;
  const int64_t groups = few ? p.columns : (p.columns + kLanes - 1) / kLanes;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kThreads / kLanes);
  for (int64_t w = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kLanes;
       w < p.positions / kLongRun * groups; w += warps) {
    const int64_t block = position_quotient(w, groups), group = w - block * groups;
    const int64_t i = block * kLongRun;
    const K key = keys[i];
    if (key == kNoKey<K> || keys[i + kLongRun - 1] != key) continue;
    const bool goes_on = block > 0 && keys[i - kLongRun] == key;
    if (goes_on) continue;
    const int64_t begin = run_bound<false>(keys, block > 0 ? i - kLongRun : 0, i, key);
    const int64_t end = run_bound<true>(keys, i + kLongRun, p.positions, key);
    const int64_t own = few ? group : group * kLanes + lane;
    const int64_t column = own < p.columns ? own : p.columns - 1;
    const auto* from = updates + offset_of(p.column, column);
    auto& to = memory<T>(p.out)[static_cast<int64_t>(key) * p.unit + offset_of(p.target, column)];
    const T value = few ? apply_along<M, T>(p, from, begin, end, to)
                        : apply_across<M, T>(p, from, begin, end, to);
    if (few ? lane == 0 : own < p.columns) to = value;
  }
}

}  // namespace mlx::core::device
