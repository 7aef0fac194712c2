// Sorts of signed keys with the kernels of the instruction set, on one thread or several. Keys with
// equal bits are equal, so that results depend on neither.
#pragma once

#include <cstdint>

#include "mlx/backend/cpu/isa/sort.h"

namespace mlx::core::cpu {

/// The kernels of keys K: int16_t, int32_t or int64_t.
template <class K>
const KeySorts<K>& key_sorts();

/// Minimum length of a line that several threads sort.
inline constexpr int64_t kLongLine = 1 << 17;

/// Sorts n keys; `spare` holds as many. With `room` for n more, several threads may work on them.
template <class K>
void sort_keys(K* keys, K* spare, int64_t n, K* room);

/// Moves the key of rank `kth` of at least 1024 to its place and sorts those that have its upper
/// bits; smaller keys are before these, larger ones behind, both in their order.
template <class K>
void select_keys(K* keys, K* spare, int64_t n, int64_t kth, K* room);

/// Stable order of n keys of 64 bits, at most 2^31: their positions. `spare` holds 2 n keys.
void order_keys(const int64_t* keys, int64_t n, int64_t* spare, uint32_t* positions, int64_t* room);

/// Sorts numbers by counting each of their values; `sorted` may be `keys`.
void count_keys(const int8_t* keys, int64_t n, int8_t* sorted);
void count_keys(const uint8_t* keys, int64_t n, uint8_t* sorted);
void count_keys(const int16_t* keys, int64_t n, int16_t* sorted);
/// Minimum number of keys of 16 bits that are sorted by counting, and maximum.
inline constexpr int64_t kCounted = 1 << 18, kMostCounted = UINT32_MAX;

}  // namespace mlx::core::cpu
