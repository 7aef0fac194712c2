// Reads at index arrays: dense slices are copied whole, single elements by typed loads. Every
// dtype, any strides of the indexed array.
#include "mlx/ops/index.h"

#include <algorithm>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/common/round_up.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/blocks.h"
#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/positions.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

constexpr int64_t kIndexBlock = 256;  // indices that are read at a time

/// Offsets of positions: all of them, where they are needed several times; else some at a time.
class Offsets {
 public:
  Offsets(const Positions& positions, bool all)
      : positions_(positions), kept_(all ? positions.size() * sizeof(int64_t) : 0) {
    if (!all) return;
    parallel_for(
        positions.size(), 4096,
        [&](int64_t begin, int64_t end) {
          positions.read(begin, end, kept_.get<int64_t>() + begin);
        },
        1.5 * static_cast<double>(positions.size()));
    data_ = kept_.get<const int64_t>();
  }
  /// The offsets of the positions [begin, end), maybe in `room`.
  const int64_t* read(int64_t begin, int64_t end, int64_t* room) const {
    if (data_ != nullptr) return data_ + begin;
    positions_.read(begin, end, room);
    return room;
  }

 private:
  const Positions& positions_;
  Scratch kept_;
  const int64_t* data_ = nullptr;
};

/// The indexed array of a read and its result, as rows of blocks.
struct Reads {
  const View& a;
  const View& out;
  Shape outer;  // of the rows, axes merged
  Strides steps;
  const Block& block;
  int64_t positions;  // blocks of a row

  Reads(const View& from, const Shape& rows, int64_t n, const Block& of, const View& to)
      : a(from), out(to), outer(rows), block(of), positions(n) {
    std::vector<Strides> s{Strides(a.strides().begin(), a.strides().begin() + rows.size())};
    collapse_axes(outer, s);
    steps = s[0];
  }
  int64_t rows() const { return num_elements(outer); }
  int64_t elements() const { return num_elements(block.shape); }
  double ns() const {
    const double bytes = static_cast<double>(elements()) * a.dtype().size();
    return static_cast<double>(rows()) * (2 + static_cast<double>(positions) * (1 + bytes * 0.06));
  }
};

/// Rows of few single elements.
template <class T>
void gather_short_rows(const Reads& r, const int64_t* offsets) {
  const int64_t n = r.positions, step = r.steps.empty() ? 0 : r.steps[0];
  parallel_for(
      r.rows(), std::max<int64_t>(1, 4096 / n),
      [&](int64_t begin, int64_t end) {
        const T* from = r.a.as<const T>() + begin * step;
        T* to = r.out.as<T>() + begin * n;
        for (int64_t k = begin; k < end; ++k, from += step)
          for (int64_t i = 0; i < n; ++i) *to++ = from[offsets[i]];
      },
      r.ns());
}

/// Few large blocks: threads share each.
void gather_large_blocks(const Reads& r, const int64_t* offsets) {
  const int64_t item = r.a.dtype().size(), bytes = r.elements() * item;
  Odometer<1> at(r.outer, {r.steps});
  char* to = r.out.as<char>();
  for (int64_t row = 0; row < r.rows(); ++row, at.next())
    for (int64_t i = 0; i < r.positions; ++i, to += bytes)
      copy_strided(r.a.as<const char>() + (at[0] + offsets[i]) * item, r.block.strides, to,
                   row_major(r.block.shape), r.block.shape, static_cast<int>(item));
}

template <class T>
void gather_all_blocks(const Reads& r, const Offsets& offsets) {
  const int64_t n = r.positions, size = r.elements();
  constexpr int64_t kChunkBytes = 1 << 18;
  const int64_t bytes = size * static_cast<int64_t>(sizeof(T));
  const int64_t most = std::clamp<int64_t>(kChunkBytes / bytes, 1, kIndexBlock);
  const int64_t chunks = ceil_div(n, most);
  parallel_for(
      r.rows() * chunks, std::max<int64_t>(1, (1 << 16) / (bytes * std::min(n, most))),
      [&](int64_t begin, int64_t end) {
        int64_t room[kIndexBlock];
        Odometer<1> at(r.outer, {r.steps});
        int64_t row = begin / chunks, chunk = begin % chunks;
        at.seek(row);
        for (int64_t k = begin; k < end; ++k) {
          const int64_t first = chunk * most, count = std::min(most, n - first);
          copy_blocks(r.block, r.a.as<const T>() + at[0], offsets.read(first, first + count, room),
                      count, r.out.as<T>() + (row * n + first) * size);
          if (++chunk < chunks) continue;
          chunk = 0;
          ++row;
          at.next();
        }
      },
      r.ns());
}

/// out[o, p] = the block of `a` at outer index o and indexed position p.
void gather_blocks(const View& a, const Shape& outer, const Positions& positions,
                   const Block& block, const View& out) {
  const Reads r(a, outer, positions.size(), block, out);
  const int64_t rows = r.rows(), size = r.elements();
  if (r.positions == 0) return;
  if (size == 0 || rows == 0) return positions.check();
  constexpr int64_t kShort = 64, kLarge = 1 << 17;
  const bool is_large = rows * r.positions < 4 * num_threads() && size * a.dtype().size() >= kLarge;
  const bool is_short = size == 1 && r.positions <= kShort && r.outer.size() <= 1;
  const Offsets offsets(positions, rows > 1 || is_large || is_short);
  if (is_large) return gather_large_blocks(r, offsets.read(0, r.positions, nullptr));
  dispatch_size(a.dtype().size(), [&](auto item) {
    using T = decltype(item);
    if (is_short) return gather_short_rows<T>(r, offsets.read(0, r.positions, nullptr));
    gather_all_blocks<T>(r, offsets);
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
