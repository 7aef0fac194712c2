// Sorting of signed integer keys in vector registers, the maps from elements to keys, and stable
// splits; compiled once per instruction set.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"

namespace mlx::core::cpu {

/// Sorts `count` dense lines of n keys each, in place; `spare` holds n keys.
template <class K>
using SortKeysFn = void (*)(K* keys, int64_t n, int64_t count, K* spare);
/// Sorts n keys into `sorted`, which is apart from them; changes `keys`.
template <class K>
using SortIntoFn = void (*)(K* keys, int64_t n, K* sorted);
template <class K>
using AscendingFn = bool (*)(const K* keys, int64_t n);
/// Moves keys that are greater than `pivot` to the front of `spare` and the others to the front of
/// `keys`, both in their order. Returns the number of the others. `spare` holds n keys.
template <class K>
using SplitKeysFn = int64_t (*)(K* keys, int64_t n, K pivot, K* spare);
/// The key of rank `rank`; changes the order of `keys`. `spare` holds n keys.
template <class K>
using SelectKeyFn = K (*)(K* keys, int64_t n, int64_t rank, K* spare);
/// Elements to keys in the elements' order, or back; `in` and `out` may be the same. All NaNs have
/// the last key.
using KeysFn = void (*)(const void* in, void* out, int64_t n);
/// Writes `count` lines of n keys with positions, from `first` on, in their lower halves. The keys
/// of both zeros are equal.
using PackKeysFn = void (*)(const void* in, void* out, int64_t n, int64_t count, int64_t first);
/// Positions of packed keys, whose lower `bits` bits these are.
using PositionsFn = void (*)(const void* keys, int bits, uint32_t* positions, int64_t n);

/// How elements become keys.
enum class KeyMap { integer, natural, real, half, brain };
inline constexpr int kKeyMaps = 5;

template <class K>
struct KeySorts {
  SortKeysFn<K> sort;
  SortIntoFn<K> sort_into;
  AscendingFn<K> ascending;
  SplitKeysFn<K> split;
  SelectKeyFn<K> select;
  KeysFn to_keys[kKeyMaps], from_keys[kKeyMaps];  ///< by `KeyMap`, where elements have this size
  KeysFn to_order[kKeyMaps];                      ///< `to_keys` with equal keys for both zeros
  /// Of elements of half this size; of bytes.
  PackKeysFn pack[kKeyMaps], pack_bytes[2];
  PositionsFn positions;
};

struct SortKernels {
  KeySorts<int16_t> keys16;
  KeySorts<int32_t> keys32;
  KeySorts<int64_t> keys64;
};

#define MLX_SORT_TABLE(isa, ...)         \
  namespace isa {                        \
  extern const SortKernels sort_kernels; \
  }
MLX_EACH_ISA(MLX_SORT_TABLE)
#undef MLX_SORT_TABLE

}  // namespace mlx::core::cpu
