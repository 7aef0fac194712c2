// Reads at index arrays: slices that are dense go by memcpy, single elements by typed loads. Reads
// jump, writes stream. Every dtype, any strides of the indexed array.
#include "mlx/ops/index.h"

#include <algorithm>

#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/positions.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/backend/shared/odometer.h"

namespace mlx::core::cpu {
namespace {

constexpr int64_t kBlock = 256;  // positions that are read at a time

struct Item16 {
  uint64_t low, high;
};

/// Calls `f` with an unsigned type of the item's size.
template <class F>
void dispatch_size(int itemsize, F&& f) {
  switch (itemsize) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Item16{});
  }
}

/// What is read at every position: a block of the indexed array, its axes merged.
struct Block {
  Shape shape;
  Strides strides;
  Block(const Shape& sizes, const Strides& steps) : shape(sizes) {
    std::vector<Strides> s{steps};
    collapse_axes(shape, s);
    strides = s[0];
  }
  bool dense() const { return shape.size() == 1 && (strides[0] == 1 || shape[0] == 1); }
};

/// Asks for the first page of a slice that is copied next: each starts anew for the processor's own
/// prefetchers.
void touch_slice(const void* p, int64_t bytes) {
  for (int64_t i = 0; i < std::min<int64_t>(bytes, 4096); i += 64)
    __builtin_prefetch(static_cast<const char*>(p) + i);
}

template <class T>
void copy_blocks(const Block& block, const T* src, const int64_t* offsets, int64_t n, T* dst) {
  int64_t row = block.shape.back(), step = block.strides.back();
  if (block.dense() && row == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[offsets[i]];
  } else if (block.dense()) {
    const int64_t bytes = row * static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < n; ++i) {
      if (i + 1 < n) touch_slice(src + offsets[i + 1], bytes);
      std::memcpy(dst + i * row, src + offsets[i], bytes);
    }
  } else {
    Shape outer(block.shape.begin(), block.shape.end() - 1);
    Odometer<1> rows(outer, {Strides(block.strides.begin(), block.strides.end() - 1)});
    int64_t count = num_elements(outer);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t r = 0; r < count; ++r, rows.next(), dst += row) {
        const T* p = src + offsets[i] + rows[0];
        if (step == 1) {
          std::memcpy(dst, p, row * sizeof(T));
        } else {
          for (int64_t j = 0; j < row; ++j) dst[j] = p[j * step];
        }
      }
    }
  }
}

/// out[o, p] = the block of `a` at outer position o and indexed position p.
void gather_blocks(const View& a, const Shape& outer, const Positions& positions,
                   const Block& block, const View& out) {
  int64_t n = positions.size(), size = num_elements(block.shape);
  int64_t chunks = (n + kBlock - 1) / kBlock, outers = num_elements(outer);
  if (n == 0) return;
  if (size == 0 || outers == 0) return positions.check();
  Odometer<1> start(outer, {Strides(a.strides().begin(), a.strides().begin() + outer.size())});
  double bytes = static_cast<double>(size) * a.dtype().size();
  double ns = static_cast<double>(outers) * n * (2.5 + bytes * 0.06);
  int64_t grain = std::max<int64_t>(1, static_cast<int64_t>((1 << 16) / (bytes * kBlock)));
  dispatch_size(a.dtype().size(), [&](auto item) {
    using T = decltype(item);
    parallel_for(
        outers * chunks, grain,
        [&](int64_t begin, int64_t end) {
          int64_t offsets[kBlock];
          Odometer<1> at = start;
          at.seek(begin / chunks);
          for (int64_t k = begin; k < end; ++k) {
            int64_t first = k % chunks * kBlock, count = std::min(kBlock, n - first);
            positions.read(first, first + count, offsets);
            copy_blocks(block, a.as<const T>() + at[0], offsets, count,
                        out.as<T>() + (k / chunks * n + first) * size);
            if ((k + 1) % chunks == 0) at.next();
          }
        },
        ns);
  });
}

void take_kernel(const KernelArgs& args) {
  const View &a = args.in[0], &indices = args.in[1];
  int axis = attrs_as<TakeAttrs>(args.attrs).axis;
  Shape outer(a.shape().begin(), a.shape().begin() + axis);
  Positions positions("take", indices.shape(),
                      {{indices, axis, a.shape()[axis], 1, a.strides()[axis]}});
  Block block(Shape(a.shape().begin() + axis + 1, a.shape().end()),
              Strides(a.strides().begin() + axis + 1, a.strides().end()));
  gather_blocks(a, outer, positions, block, args.out[0]);
}

void gather_kernel(const KernelArgs& args) {
  const View& a = args.in[0];
  const auto& attrs = attrs_as<GatherAttrs>(args.attrs);
  std::vector<IndexedAxis> axes;
  for (size_t i = 0; i < attrs.axes.size(); ++i) {
    int axis = attrs.axes[i];
    axes.push_back(
        {args.in[i + 1], axis, a.shape()[axis], attrs.slice_sizes[axis], a.strides()[axis]});
  }
  const Shape& shape = args.out[0].shape();
  Positions positions("gather", Shape(shape.begin(), shape.end() - a.ndim()), axes);
  gather_blocks(a, {}, positions, Block(attrs.slice_sizes, a.strides()), args.out[0]);
}

/// out[i.., j, k..] = a[i.., indices[i.., j, k..], k..]; the indices are contiguous.
void take_along_axis_kernel(const KernelArgs& args) {
  const View &a = args.in[0], &indices = args.in[1], &out = args.out[0];
  int axis = attrs_as<TakeAttrs>(args.attrs).axis;
  int64_t size = a.shape()[axis], stride = a.strides()[axis];
  Shape shape = indices.shape();
  if (num_elements(shape) == 0) return;
  std::vector<Strides> strides{a.strides(), row_major(shape)};
  strides[0][axis] = 0;
  collapse_axes(shape, strides);
  int64_t row = shape.back(), step = strides[0].back();
  Shape outer(shape.begin(), shape.end() - 1);
  Odometer<1> start(outer, {Strides(strides[0].begin(), strides[0].end() - 1)});
  int64_t total = num_elements(shape);
  dispatch_size(a.dtype().size(), [&](auto item) {
    using T = decltype(item);
    dispatch_index(indices.dtype(), [&](auto tag) {
      using I = typename decltype(tag)::type;
      auto run = [&](int64_t begin, int64_t end) {
        Odometer<1> at = start;
        at.seek(begin / row);
        for (int64_t i = begin; i < end; at.next()) {
          int64_t first = i % row, n = std::min(row - first, end - i);
          const T* src = a.as<const T>() + at[0] + first * step;
          const I* index = indices.as<const I>() + i;
          T* dst = out.as<T>() + i;
          for (int64_t j = 0; j < n; ++j)
            dst[j] =
                src[j * step + checked_index(index[j], size, 1, "take_along_axis", axis) * stride];
          i += n;
        }
      };
      parallel_for(total, 4096, run, 1.5 * total);
    });
  });
}

const KernelEntry kEntries[] = {
    {.op = &op_take, .run = take_kernel},
    {.op = &op_gather, .run = gather_kernel},
    {.op = &op_take_along_axis, .run = take_along_axis_kernel, .contiguous = 0b10},
};

}  // namespace

const std::span<const KernelEntry> index_kernels = kEntries;

}  // namespace mlx::core::cpu
