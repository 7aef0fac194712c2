// Reads at index arrays: dense slices are copied by memcpy, single elements by typed loads. Every
// dtype, any strides of the indexed array.
#include "mlx/ops/index.h"

#include <algorithm>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/blocks.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/positions.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

constexpr int64_t kIndexBlock = 256;  // indices that are read at a time

/// out[o, p] = the block of `a` at outer index o and indexed position p.
void gather_blocks(const View& a, const Shape& outer, const Positions& positions,
                   const Block& block, const View& out) {
  int64_t n = positions.size(), size = num_elements(block.shape);
  int64_t chunks = (n + kIndexBlock - 1) / kIndexBlock, outers = num_elements(outer);
  if (n == 0) return;
  if (size == 0 || outers == 0) return positions.check();
  Odometer<1> start(outer, {Strides(a.strides().begin(), a.strides().begin() + outer.size())});
  double bytes = static_cast<double>(size) * a.dtype().size();
  double ns = static_cast<double>(outers) * n * (2.5 + bytes * 0.06);
  int64_t grain = std::max<int64_t>(1, static_cast<int64_t>((1 << 16) / (bytes * kIndexBlock)));
  dispatch_size(a.dtype().size(), [&](auto item) {
    using T = decltype(item);
    parallel_for(
        outers * chunks, grain,
        [&](int64_t begin, int64_t end) {
          int64_t offsets[kIndexBlock];
          Odometer<1> at = start;
          at.seek(begin / chunks);
          for (int64_t k = begin; k < end; ++k) {
            int64_t first = k % chunks * kIndexBlock, count = std::min(kIndexBlock, n - first);
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

/// The axes in front of the indexed one. None while steps are watched: an error for an index then
/// names the line of this step, not that of a unit.
int take_along_axis_rows(const Layout&, const Attrs* attrs) {
  return step_observer.load() ? 0 : attrs_as<TakeAttrs>(attrs).axis;
}

const KernelEntry kIndexKernels[] = {
    {.op = &op_take, .run = take_kernel},
    {.op = &op_gather, .run = gather_kernel},
    {.op = &op_take_along_axis,
     .run = take_along_axis_kernel,
     .contiguous = 0b10,
     .rows = take_along_axis_rows},
};

}  // namespace

const std::span<const KernelEntry> index_kernels = kIndexKernels;

}  // namespace mlx::core::cpu
