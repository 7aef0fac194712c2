// Packing of the operands of fused programs.
#include "mlx/backend/cpu/fused_load.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/item_size.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kShortRow = 64;  // bytes

/// 16 bytes that repeat an element.
template <int kSize>
std::array<uint64_t, 2> repeated(const char* from) {
  std::array<uint64_t, 2> out{};
  std::memcpy(out.data(), from, kSize);
  if constexpr (kSize < 16) {
    for (int bits = 8 * kSize; bits < 64; bits *= 2) out[0] |= out[0] << bits;
    out[1] = out[0];
  }
  return out;
}

/// Fills short rows with one element each, given by an element stride: whole vectors are written,
/// whose ends the next rows overwrite.
template <int kSize>
void repeat_short(char* to, const char* from, int64_t rows, int64_t columns, int64_t stride) {
  const int64_t bytes = columns * kSize, vectors = (bytes + 15) / 16;
  const char* const end = to + rows * bytes;
  for (; rows > 0 && to + 16 * vectors <= end; --rows, to += bytes, from += stride * kSize) {
    const auto vector = repeated<kSize>(from);
    for (int64_t k = 0; k < vectors; ++k) std::memcpy(to + 16 * k, vector.data(), 16);
  }
  for (; rows > 0; --rows, from += stride * kSize)
    for (int64_t c = 0; c < columns; ++c, to += kSize) std::memcpy(to, from, kSize);
}
using RepeatShort = void (*)(char*, const char*, int64_t, int64_t, int64_t);
RepeatShort repeat_short_of(int itemsize) {
  return dispatch_size(itemsize,
                       [](auto item) -> RepeatShort { return repeat_short<sizeof(item)>; });
}

}  // namespace

void load_block(const ElementwiseKernels& k, char* to, const char* from, int64_t rows,
                int64_t columns, int64_t outer, int64_t inner, int itemsize) {
  auto load_row = [&](char* row, const char* at) {
    if (inner == 0)
      k.fill(row, at, columns, itemsize);
    else
      k.load_strided(row, at, inner, columns, itemsize);
  };
  if (rows == 1) {
    load_row(to, from);
  } else if (inner == 0 && columns * itemsize <= kShortRow) {
    repeat_short_of(itemsize)(to, from, rows, columns, outer);
  } else if (columns > 1 && inner != 0 && inner != 1) {
    k.load_transposed(to, from, rows, columns, outer, inner, itemsize);
  } else if (inner == 1 && outer != 0 && columns * itemsize <= kShortRowBytes) {
    const int64_t bytes = columns * itemsize;
    copy_rows_of_bytes(from, outer * itemsize, to, bytes, bytes, rows);
  } else if (outer == 0) {
    load_row(to, from);
    const int64_t all = rows * columns * itemsize;
    for (int64_t done = columns * itemsize; done < all; done *= 2)
      copy_bytes(to + done, to, std::min(done, all - done));
  } else {
    const int64_t bytes = columns * itemsize;
    for (int64_t r = 0; r < rows; ++r, to += bytes) load_row(to, from + r * outer * itemsize);
  }
}

}  // namespace mlx::core::cpu
