// Tiles of the instructions that read indices.
#include "mlx/backend/cpu/fused_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/isa/random.h"
#include "mlx/backend/cpu/isa/ranges.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kNumberPiece = 256;  // elements per buffer on the stack
constexpr int64_t kLongNumberRow =
    128;  // minimum length of a row for a separate call of the generator

const RandomKernels& random() { return MLX_FOR_ISA(random_kernels); }
const RangeKernels& ranges() { return MLX_FOR_ISA(range_kernels); }

/// The innermost axes of a box along which element numbers are evenly spaced, merged into one.
struct Row {
  size_t axis;  ///< the first of them
  int64_t length = 1, stride = 0;
  explicit Row(const NumberedBox& box) : axis(box.extent.size()) {
    while (axis > 0) {
      const int64_t n = box.extent[axis - 1], s = box.strides[axis - 1];
      if (n != 1 && length != 1 && s != stride * length) break;
      if (n != 1 && length == 1) stride = s;
      length *= n;
      --axis;
    }
  }
};

/// f(first number, place in the tile) for each row of the box, in order.
template <class F>
void for_each_row(const NumberedBox& box, const Row& row, F f) {
  int64_t rows = 1;
  for (size_t d = 0; d < row.axis; ++d) rows *= box.extent[d];
  Shape at(row.axis, 0);
  int64_t number = box.first;
  for (int64_t r = 0; r < rows; ++r) {
    f(number, r * row.length);
    for (size_t d = row.axis; d-- > 0;) {
      number += box.strides[d];
      if (++at[d] < box.extent[d]) break;
      number -= box.strides[d] * box.extent[d];
      at[d] = 0;
    }
  }
}

bool is_small_whole(double v) { return std::abs(v) <= 1 << 23 && v == std::trunc(v); }

/// start + number * step along a row of a floating dtype.
void fill_row(const Numbering& how, Dtype dtype, int64_t first, int64_t stride, int64_t n,
              char* out) {
  const double last = how.start + static_cast<double>(first + (n - 1) * stride) * how.step;
  if (dtype == float64) {
    ranges().doubles(reinterpret_cast<double*>(out), how.start, how.step, first, stride, n);
  } else if (dtype == float32 && is_small_whole(how.start) && is_small_whole(how.step) &&
             is_small_whole(how.start + static_cast<double>(first) * how.step) &&
             is_small_whole(last)) {
    const double from = how.start + static_cast<double>(first) * how.step;
    ranges().whole_floats(reinterpret_cast<float*>(out), static_cast<float>(from),
                          static_cast<float>(static_cast<double>(stride) * how.step), n);
  } else if (dtype == float32) {
    ranges().floats(reinterpret_cast<float*>(out), how.start, how.step, first, stride, n);
  } else {
    const TileFn cast = loaded_kernels().find_cast(float64, dtype);
    double piece[kNumberPiece];
    const void* in[] = {piece};
    for (int64_t i = 0; i < n; i += kNumberPiece) {
      const int64_t count = std::min(kNumberPiece, n - i);
      ranges().doubles(piece, how.start, how.step, first + i * stride, stride, count);
      cast(in, out + i * dtype.size(), count);
    }
  }
  // Number 0 has no step: 0 times infinity would be NaN.
  const bool passes = stride == 0 ? first == 0 : first % stride == 0;
  const int64_t zero = stride == 0 ? 0 : -first / stride;
  if (!passes || zero < 0 || zero >= n) return;
  const Scalar start = Scalar::from(how.start, dtype);
  const int64_t end = stride == 0 ? n : zero + 1;
  for (int64_t i = zero; i < end; ++i)
    std::memcpy(out + i * dtype.size(), start.bytes, dtype.size());
}

/// The counter of word n, and which of its two words is used.
struct Counter {
  uint32_t x, y, second;
  Counter(int64_t n, int64_t count) {
    const int64_t half = (count + 1) / 2;
    second = n >= half;
    const int64_t i = second ? n - half : n;
    const bool alone = i + half >= count;
    x = static_cast<uint32_t>(i);
    y = alone ? 0 : x + static_cast<uint32_t>(half);
  }
};

/// Words of consecutive numbers for one key.
void fill_run(const uint32_t key[2], int64_t count, int64_t first, int64_t n, uint32_t* out) {
  const int64_t half = (count + 1) / 2;
  uint32_t unused[kNumberPiece];
  for (int64_t done = 0; done < n;) {
    const int64_t at = first + done, odd = count % 2 ? half - 1 : -1;
    const bool second = at >= half;
    const int64_t end = at == odd ? at + 1 : second ? count : half - (odd >= 0);
    const int64_t m = std::min({end - at, n - done, kNumberPiece});
    const Counter c(at, count);
    random().threefry(key, c.x, c.y - c.x, m, second ? unused : out + done,
                      second ? out + done : unused);
    done += m;
  }
}

bool moves(const Strides& strides, const NumberedBox& box, size_t axis) {
  for (size_t d = axis; d < strides.size(); ++d)
    if (strides[d] != 0 && box.extent[d] > 1) return true;
  return false;
}

}  // namespace

void fill_range(const Numbering& how, Dtype dtype, const NumberedBox& box, void* out) {
  const Row row(box);
  const int size = dtype.size();
  for_each_row(box, row, [&](int64_t first, int64_t at) {
    char* to = static_cast<char*>(out) + at * size;
    if (is_inexact(dtype)) return fill_row(how, dtype, first, row.stride, row.length, to);
    const auto step = static_cast<uint64_t>(how.int_step);
    ranges().integers(to,
                      static_cast<uint64_t>(how.int_start) + static_cast<uint64_t>(first) * step,
                      static_cast<uint64_t>(row.stride) * step, row.length, size);
  });
}

void fill_words(const Numbering& how, const KeyTiles& key, const NumberedBox& box, uint32_t* out) {
  const Row row(box);
  const bool one_key = !moves(key.strides0, box, row.axis) && !moves(key.strides1, box, row.axis);
  if (one_key && row.stride == 1 && row.length >= kLongNumberRow) {
    for_each_row(box, row, [&](int64_t first, int64_t at) {
      const uint32_t words[] = {key.word0[at], key.word1[at]};
      fill_run(words, how.count, first, row.length, out + at);
    });
    return;
  }
  uint32_t x[kNumberPiece], y[kNumberPiece], second[kNumberPiece];
  int64_t filled = 0, done = 0;
  auto flush = [&] {
    random().words(key.word0 + done, key.word1 + done, x, y, second, filled, out + done);
    done += std::exchange(filled, 0);
  };
  for_each_row(box, row, [&](int64_t first, int64_t) {
    for (int64_t i = 0; i < row.length; ++i) {
      const Counter c(first + i * row.stride, how.count);
      x[filled] = c.x;
      y[filled] = c.y;
      second[filled] = c.second;
      if (++filled == kNumberPiece) flush();
    }
  });
  if (filled) flush();
}

void fill_word_pairs(const Numbering& how, const KeyTiles& key, int64_t first, int64_t n,
                     uint32_t* out, uint32_t* second) {
  const uint32_t words[] = {key.word0[0], key.word1[0]};
  const int64_t half = (how.count + 1) / 2;
  random().threefry(words, static_cast<uint32_t>(first), static_cast<uint32_t>(half), n, out,
                    second);
  if (how.count % 2 && first + n == half) fill_run(words, how.count, half - 1, 1, out + n - 1);
}

}  // namespace mlx::core::cpu
