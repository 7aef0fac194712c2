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

/// Sorts n keys; `spare` holds as many. With `threads`, several may work on them.
template <class K>
void sort_keys(K* keys, K* spare, int64_t n, bool threads);

/// Moves the key of rank `kth` of at least 1024 to its place and sorts those that have its upper
/// bits; smaller keys are before these, larger ones behind, both in their order.
template <class K>
void select_keys(K* keys, K* spare, int64_t n, int64_t kth, bool threads);

/// Stable order of n keys of 64 bits, at most 2^31: their positions. `room` holds 2 n keys.
void order_keys(const int64_t* keys, int64_t n, int64_t* room, uint32_t* positions, bool threads);

}  // namespace mlx::core::cpu
