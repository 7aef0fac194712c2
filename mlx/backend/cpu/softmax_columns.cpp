// Softmax over an axis that is not the last: tiles of columns, or rows of a copy where columns are
// few.
#include <algorithm>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/softmax.h"
#include "mlx/backend/cpu/softmax.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

/// Tiles of columns.
void softmax_tiles(const View& in, const View& out, int axis) {
  const SoftmaxKernels k = MLX_FOR_ISA(find_softmax)(in.dtype());
  const int64_t n = in.shape()[axis], stride = row_major(in.shape())[axis],
                size = in.dtype().size();
  const int64_t outer = in.size() / (n * stride);
  const int64_t width =
      std::clamp<int64_t>(outer * stride / (4 * num_threads()), 64, kSoftmaxColumns);
  const int64_t tiles = (stride + width - 1) / width;
  parallel_for(
      outer * tiles, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
          const int64_t c = t % tiles * width, at = (t / tiles * n * stride + c) * size;
          k.columns(in.as<char>() + at, stride, n, std::min(width, stride - c),
                    out.as<char>() + at);
        }
      },
      kExpNs * static_cast<double>(in.size()));
}

/// Over an axis before a few positions: rows in temporary memory.
void softmax_of_few(const View& in, const View& out, int64_t n, int64_t stride) {
  const int64_t outer = in.size() / (n * stride);
  const int size = in.dtype().size();
  const Scratch scratch(static_cast<size_t>(in.size()) * size);
  const Shape shape = {outer, stride, n};
  const Strides apart = {n * stride, 1, stride}, rows = {n * stride, n, 1};
  copy_strided(in.data, apart, scratch.get(), rows, shape, size);
  softmax_rows(scratch.get<char>(), in.dtype(), n, outer * stride, scratch.get<char>());
  copy_strided(scratch.get(), rows, out.data, apart, shape, size);
}

}  // namespace

void softmax_columns(const View& in, const View& out, int axis) {
  const int64_t n = in.shape()[axis], stride = row_major(in.shape())[axis];
  constexpr int64_t kFew = 8, kLong = 16;
  if (stride <= kFew && n >= kLong) return softmax_of_few(in, out, n, stride);
  softmax_tiles(in, out, axis);
}

}  // namespace mlx::core::cpu
