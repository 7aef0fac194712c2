// Kernels of slices: copies of parts out of an array and into one. Any dtype and strides; an
// in-place update writes the part alone.
#include "mlx/ops/slice.h"

#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/positions.h"

namespace mlx::core::cpu {
namespace {

/// A part of an operand as a View.
struct SlicePart {
  Layout layout;
  void* data;
  View view() const { return {data, &layout}; }
};

SlicePart part_of(const View& v, const Shape& start, const Shape& length,
                  const Shape* steps = nullptr) {
  SlicePart p{{length, v.strides(), 0, v.dtype()}, v.data};
  int64_t offset = 0;
  for (size_t i = 0; i < length.size(); ++i) {
    offset += start[i] * v.strides()[i];
    if (steps) p.layout.strides[i] *= (*steps)[i];
  }
  if (num_elements(length) > 0) p.data = v.as<char>() + offset * v.dtype().size();
  return p;
}

/// Copies the elements outside a box: along each axis the parts before and after it, within the box
/// along the axes already processed.
void copy_around(const View& src, const View& dst, const Shape& start, const Shape& length) {
  Shape from(start.size(), 0), size = dst.shape();
  for (size_t i = 0; i < start.size(); ++i) {
    int64_t n = dst.shape()[i], end = start[i] + length[i];
    for (auto [first, count] : {std::pair{int64_t{0}, start[i]}, std::pair{end, n - end}}) {
      if (count == 0) continue;
      from[i] = first;
      size[i] = count;
      copy_strided(part_of(src, from, size).view(), part_of(dst, from, size).view());
    }
    from[i] = start[i];
    size[i] = length[i];
  }
}

/// Completes `out` as a copy of `src` with a part replaced by `update`.
void replace_part(const View& src, const View& update, const View& out, const Shape& start,
                  const Shape& length, const Shape* steps) {
  SlicePart part = part_of(out, start, length, steps);
  bool dense = true;
  if (steps)
    for (int64_t step : *steps) dense = dense && step == 1;
  if (src.data != out.data) {
    if (dense && 2 * num_elements(length) > out.size()) {
      copy_around(src, out, start, length);
    } else {
      copy_strided(src, out);
    }
  }
  copy_strided(update, part.view());
}

void slice_update(const KernelArgs& k) {
  auto& a = attrs_as<SliceAttrs>(k.attrs);
  SliceRange range = slice_range("slice_update", k.out[0].shape(), a);
  replace_part(k.in[0], k.in[1], k.out[0], range.start, range.length, &a.strides);
}

/// The starts of a part of shape `size`, read and checked.
Shape read_starts(const View& starts, const DynamicSliceAttrs& a, const Shape& shape,
                  const char* op) {
  Shape start(shape.size(), 0);
  dispatch_index(starts.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    int64_t stride = starts.ndim() ? starts.strides()[0] : 0;
    for (size_t i = 0; i < a.axes.size(); ++i) {
      int axis = a.axes[i];
      start[axis] =
          checked_index(starts.as<T>()[i * stride], shape[axis], a.slice_size[axis], op, axis);
    }
  });
  return start;
}

void dynamic_slice(const KernelArgs& k) {
  auto& a = attrs_as<DynamicSliceAttrs>(k.attrs);
  Shape start = read_starts(k.in[1], a, k.in[0].shape(), "slice");
  copy_strided(part_of(k.in[0], start, a.slice_size).view(), k.out[0]);
}

void dynamic_slice_update(const KernelArgs& k) {
  auto& a = attrs_as<DynamicSliceAttrs>(k.attrs);
  Shape start = read_starts(k.in[2], a, k.out[0].shape(), "slice_update");
  replace_part(k.in[0], k.in[1], k.out[0], start, a.slice_size, nullptr);
}

constexpr KernelEntry kSliceKernels[] = {
    {.op = &op_slice_update, .run = slice_update, .in_place = 1},
    {.op = &op_dynamic_slice, .run = dynamic_slice},
    {.op = &op_dynamic_slice_update, .run = dynamic_slice_update, .in_place = 1},
};

}  // namespace

const std::span<const KernelEntry> slice_kernels = kSliceKernels;

}  // namespace mlx::core::cpu
