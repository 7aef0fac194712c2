// Writes at index arrays. Every element of the result belongs to one thread, which applies its
// updates in order: results do not depend on the number of threads, and the last of several
// assignments wins. 16-bit floats are combined in float32 and rounded after every update.
#include "mlx/ops/scatter.h"

#include <algorithm>
#include <bit>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/blocks.h"
#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/positions.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/backend/program.h"

namespace mlx::core::cpu {
namespace {

template <class T>
inline constexpr bool kComplex = !std::is_arithmetic_v<T> && sizeof(T) > 2;
template <class T>
inline constexpr bool kHalf = !std::is_arithmetic_v<T> && sizeof(T) == 2;

template <class T>
bool before(T a, T b) {
  if constexpr (kComplex<T>)
    return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
  else
    return a < b;
}

/// The value of an element `a` after an update with `b`.
template <ScatterMode M, class T>
T combined(T a, T b) {
  if constexpr (M == ScatterMode::set) {
    return b;
  } else if constexpr (kHalf<T>) {
    return T(combined<M, float>(a, b));
  } else if constexpr (M == ScatterMode::maximum) {
    return a != a || before(b, a) ? a : b;
  } else if constexpr (M == ScatterMode::minimum) {
    return a != a || before(a, b) ? a : b;
  } else if constexpr (std::is_same_v<T, bool>) {
    return M == ScatterMode::add ? a || b : a && b;
  } else if constexpr (std::is_integral_v<T>) {
    using U = uint64_t;  // wraps instead of overflowing
    if constexpr (M == ScatterMode::add)
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    if constexpr (M == ScatterMode::multiply)
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    if (b == T(-1)) return std::is_signed_v<T> ? static_cast<T>(U{0} - static_cast<U>(a)) : a == b;
    return b == 0 ? T(0) : static_cast<T>(a / b);
  } else {
    return M == ScatterMode::add ? a + b : M == ScatterMode::multiply ? a * b : a / b;
  }
}

/// The vector kernel that combines rows of floats like `combined`.
TileFn row_kernel(ScatterMode mode, Dtype t) {
  if (!is_inexact(t) || is_complex(t)) return nullptr;
  switch (mode) {
    case ScatterMode::add:
      return loaded_kernels().find_tile(OpId::add, t.val());
    case ScatterMode::multiply:
      return loaded_kernels().find_tile(OpId::multiply, t.val());
    case ScatterMode::divide:
      return loaded_kernels().find_tile(OpId::divide, t.val());
    case ScatterMode::maximum:
      return loaded_kernels().find_tile(OpId::maximum, t.val());
    case ScatterMode::minimum:
      return loaded_kernels().find_tile(OpId::minimum, t.val());
    default:
      return nullptr;
  }
}

/// The loops that are compiled for each mode and element; distances are in elements.
struct Combining {
  /// out[at[i]] is combined with updates[from[i]] for i < n.
  void (*elements)(void* out, const int64_t* at, const void* updates, const int64_t* from,
                   int64_t n);
  /// A row is combined with a row of updates.
  void (*row)(void* out, int64_t out_step, const void* updates, int64_t updates_step, int64_t n);
  /// The columns [begin, end) of n dense rows of updates: row j, column k goes to place[j, k] + k.
  void (*places)(void* out, const int64_t* place, const void* updates, int64_t n, int64_t inner,
                 int64_t begin, int64_t end);
};

template <ScatterMode M, class T>
struct Loops {
  static void elements(void* out, const int64_t* at, const void* updates, const int64_t* from,
                       int64_t n) {
    T* const to = static_cast<T*>(out);
    const T* const p = static_cast<const T*>(updates);
    for (int64_t i = 0; i < n; ++i) to[at[i]] = combined<M>(to[at[i]], p[from[i]]);
  }
  static void row(void* out, int64_t out_step, const void* updates, int64_t updates_step,
                  int64_t n) {
    T* const to = static_cast<T*>(out);
    const T* const p = static_cast<const T*>(updates);
    if (out_step != 1 || updates_step != 1) {
      for (int64_t i = 0; i < n; ++i)
        to[i * out_step] = combined<M>(to[i * out_step], p[i * updates_step]);
    } else if constexpr (M == ScatterMode::set) {
      copy_bytes(out, updates, n * static_cast<int64_t>(sizeof(T)));
    } else {
      for (int64_t i = 0; i < n; ++i) to[i] = combined<M>(to[i], p[i]);
    }
  }
  static void places(void* out, const int64_t* place, const void* updates, int64_t n, int64_t inner,
                     int64_t begin, int64_t end) {
    T* const to = static_cast<T*>(out);
    const T* p = static_cast<const T*>(updates);
    for (int64_t j = 0; j < n; ++j, place += inner, p += inner)
      for (int64_t k = begin; k < end; ++k) to[place[k] + k] = combined<M>(to[place[k] + k], p[k]);
  }
  static constexpr Combining table{elements, row, places};
};

/// The loops of a mode; assignments only move items.
template <ScatterMode M>
Combining loops_of(Dtype t) {
  Combining found{};
  if constexpr (M == ScatterMode::set)
    dispatch_size(t.size(), [&](auto item) { found = Loops<M, decltype(item)>::table; });
  else
    dispatch(t, [&](auto tag) { found = Loops<M, typename decltype(tag)::type>::table; });
  return found;
}
Combining loops_of(ScatterMode mode, Dtype t) {
  switch (mode) {
    case ScatterMode::set:
      return loops_of<ScatterMode::set>(t);
    case ScatterMode::add:
      return loops_of<ScatterMode::add>(t);
    case ScatterMode::multiply:
      return loops_of<ScatterMode::multiply>(t);
    case ScatterMode::divide:
      return loops_of<ScatterMode::divide>(t);
    case ScatterMode::maximum:
      return loops_of<ScatterMode::maximum>(t);
    case ScatterMode::minimum:
      return loops_of<ScatterMode::minimum>(t);
  }
  return {};
}

void start_updates_from(const View& a, const View& out) {
  if (a.data != out.data) copy_strided(a, out);
}

/// A slice of the updates and the strides of its target, with axes merged.
struct Slice {
  Shape shape;
  Strides out, updates;
};

/// How the work is divided: all updates on a range of the slice's last axis, all updates of some
/// positions in the slices, or the updates of some slices of the result.
enum class UpdateShare { one_thread, columns, positions, slices };

struct Scatter {
  const int64_t* offsets;  // offset of every slice in the result
  int64_t n;               // slices
  Shape shape;             // shape of the slices' positions in the updates, axes merged
  Strides strides;
  Slice slice;
  int64_t item;  // bytes of an element
  Combining loops;
  TileFn vectors;  // combines rows; may be null

  /// Calls `f(offsets in the result, offsets in the updates, count)` for the slices that belong to
  /// `part` of a power of two.
  template <class F>
  void each(int64_t part, int64_t parts, F&& f) const {
    constexpr int64_t kBlock = 256;
    int64_t at[kBlock], from[kBlock];
    int64_t row = shape.back(), step = strides.back();
    Odometer<1> rows(Shape(shape.begin(), shape.end() - 1),
                     {Strides(strides.begin(), strides.end() - 1)});
    for (int64_t first = 0; first < n; first += row, rows.next()) {
      for (int64_t begin = 0; begin < row; begin += kBlock) {
        int64_t end = std::min(begin + kBlock, row), count = 0;
        for (int64_t i = begin; i < end; ++i) {
          // Neighbouring positions belong to one thread, so that threads do not share cache lines.
          at[count] = offsets[first + i];
          from[count] = rows[0] + i * step;
          count += ((at[count] >> 8) & (parts - 1)) == part;
        }
        f(at, from, count);
      }
    }
  }

  /// Applies the updates of the positions [begin, end) in the slices, whose elements lie apart: one
  /// position of all slices after another.
  void run_positions(char* out, const char* updates, const int64_t* from, int64_t begin,
                     int64_t end) const {
    Odometer<2> at(slice.shape, {slice.out, slice.updates});
    at.seek(begin);
    for (int64_t k = begin; k < end; ++k, at.next())
      loops.elements(out + at[0] * item, offsets, updates + at[1] * item, from, n);
  }
  /// The offset of every slice in the updates.
  void list_updates(int64_t* from) const {
    Odometer<1> at(shape, {strides});
    for (int64_t i = 0; i < n; ++i, at.next()) from[i] = at[0];
  }

  /// Applies the updates of columns [begin, end) to the slices that belong to `part`.
  void run(char* out, const char* updates, int64_t begin, int64_t end, int64_t part,
           int64_t parts) const {
    if (slice.shape.size() == 1 && slice.shape[0] == 1) {
      return each(part, parts, [&](const int64_t* at, const int64_t* from, int64_t count) {
        loops.elements(out, at, updates, from, count);
      });
    }
    int64_t out_step = slice.out.back(), updates_step = slice.updates.back(), width = end - begin;
    const bool dense = vectors && out_step == 1 && updates_step == 1 && width >= 8;
    Shape outer(slice.shape.begin(), slice.shape.end() - 1);
    Odometer<2> rows(outer, {Strides(slice.out.begin(), slice.out.end() - 1),
                             Strides(slice.updates.begin(), slice.updates.end() - 1)});
    int64_t count = num_elements(outer);
    out += begin * out_step * item;
    updates += begin * updates_step * item;
    each(part, parts, [&](const int64_t* at, const int64_t* from, int64_t slices) {
      for (int64_t i = 0; i < slices; ++i) {
        for (int64_t r = 0; r < count; ++r, rows.next()) {
          char* const to = out + (at[i] + rows[0]) * item;
          const char* const p = updates + (from[i] + rows[1]) * item;
          const void* in[] = {to, p};
          if (dense)
            vectors(in, to, width);
          else
            loops.row(to, out_step, p, updates_step, width);
        }
      }
    });
  }
};

std::vector<IndexedAxis> indexed_axes(const KernelArgs& args, const ScatterAttrs& attrs) {
  const View &out = args.out[0], &updates = args.in.back();
  const int index_ndim = updates.ndim() - out.ndim();
  std::vector<IndexedAxis> axes;
  for (size_t i = 0; i < attrs.axes.size(); ++i) {
    const int axis = attrs.axes[i];
    axes.push_back({args.in[i + 1], axis, out.shape()[axis], updates.shape()[index_ndim + axis],
                    out.strides()[axis]});
  }
  return axes;
}

void scatter_kernel(const KernelArgs& args) {
  const auto& attrs = attrs_as<ScatterAttrs>(args.attrs);
  const View &out = args.out[0], &updates = args.in.back();
  start_updates_from(args.in[0], out);
  int ndim = out.ndim(), index_ndim = updates.ndim() - ndim;
  const Shape& shape = updates.shape();
  if (updates.size() == 0 && num_elements(Shape(shape.begin(), shape.begin() + index_ndim)) == 0)
    return;

  const auto axes = indexed_axes(args, attrs);
  const bool overlapping = std::ranges::any_of(axes, [](auto& x) { return x.span > 1; });
  Shape index_shape(shape.begin(), shape.begin() + index_ndim);
  Positions positions("scatter", index_shape, axes);
  int64_t n = positions.size();
  Scratch storage(n * sizeof(int64_t));
  int64_t* offsets = storage.get<int64_t>();
  auto read = [&](int64_t begin, int64_t end) { positions.read(begin, end, offsets + begin); };
  parallel_for(n, 4096, read, 1.5 * n);
  if (updates.size() == 0) return;

  Slice slice{Shape(shape.begin() + index_ndim, shape.end()), {}, {}};
  std::vector<Strides> strides{
      out.strides(), Strides(updates.strides().begin() + index_ndim, updates.strides().end())};
  collapse_axes(slice.shape, strides);
  slice.out = strides[0];
  slice.updates = strides[1];
  std::vector<Strides> index_strides{
      Strides(updates.strides().begin(), updates.strides().begin() + index_ndim)};
  collapse_axes(index_shape, index_strides);
  Scatter job{offsets,
              n,
              index_shape,
              index_strides[0],
              slice,
              static_cast<int64_t>(out.dtype().size()),
              loops_of(attrs.mode, out.dtype()),
              row_kernel(attrs.mode, out.dtype())};

  int64_t threads = num_threads(), columns = slice.shape.back();
  int64_t parts = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(threads)));
  // Slices whose elements lie apart, as those along a last axis.
  constexpr int64_t kFewSlices = 16;
  const int64_t elements = num_elements(slice.shape);
  const bool apart = slice.out.back() != 1 && n >= kFewSlices && elements >= 4 * threads;
  double ns = n * (2 + static_cast<double>(elements) * 0.6);
  UpdateShare share = overlapping                                     ? UpdateShare::one_thread
                      : apart                                         ? UpdateShare::positions
                      : threads == 1                                  ? UpdateShare::one_thread
                      : columns * out.dtype().size() >= 256 * threads ? UpdateShare::columns
                                                                      : UpdateShare::slices;
  auto apply = [&](int64_t begin, int64_t end, int64_t part, int64_t parts) {
    job.run(out.as<char>(), updates.as<const char>(), begin, end, part, parts);
  };
  if (share == UpdateShare::positions) {
    const Scratch from(n * sizeof(int64_t));
    job.list_updates(from.get<int64_t>());
    parallel_for(
        elements, std::max<int64_t>(1, 4096 / n),
        [&](int64_t begin, int64_t end) {
          job.run_positions(out.as<char>(), updates.as<const char>(), from.get<int64_t>(), begin,
                            end);
        },
        ns);
  } else if (share == UpdateShare::columns) {
    int64_t grain = (columns + threads - 1) / threads;
    parallel_for(columns, grain, [&](int64_t begin, int64_t end) { apply(begin, end, 0, 1); }, ns);
  } else if (share == UpdateShare::slices && ns > 20000) {
    auto run = [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) apply(0, columns, part, parts);
    };
    parallel_for(parts, 1, run, ns);
  } else {
    apply(0, columns, 0, 1);
  }
}

/// out[i.., indices[i.., j, k..], k..] op= updates[i.., j, k..]; indices and updates are
/// contiguous.
void scatter_axis_kernel(const KernelArgs& args) {
  const auto& attrs = attrs_as<ScatterAxisAttrs>(args.attrs);
  const View &indices = args.in[1], &updates = args.in[2], &out = args.out[0];
  start_updates_from(args.in[0], out);
  const Shape& shape = indices.shape();
  int axis = attrs.axis;
  int64_t size = out.shape()[axis], n = shape[axis];
  int64_t outer = num_elements(Shape(shape.begin(), shape.begin() + axis));
  int64_t inner = num_elements(Shape(shape.begin() + axis + 1, shape.end()));
  if (outer * n * inner == 0) return;
  int64_t total = outer * n * inner;
  double ns = 2.0 * total;
  const char* op = attrs.mode == ScatterMode::set ? "put_along_axis" : "scatter_add_axis";
  Scratch storage(total * sizeof(int64_t));
  int64_t* places = storage.get<int64_t>();
  dispatch_index(indices.dtype(), [&](auto tag) {
    auto* p = indices.as<const typename decltype(tag)::type>();
    auto read = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        places[i] = checked_index(p[i], size, 1, op, axis) * inner;
    };
    parallel_for(total, 4096, read, 1.0 * total);
  });
  const Combining loops = loops_of(attrs.mode, out.dtype());
  const int64_t item = out.dtype().size();
  auto run = [&](int64_t o, int64_t begin, int64_t end) {
    loops.places(out.as<char>() + o * size * inner * item, places + o * n * inner,
                 updates.as<const char>() + o * n * inner * item, n, inner, begin, end);
  };
  if (outer >= inner) {
    auto rows = [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) run(o, 0, inner);
    };
    parallel_for(outer, std::max<int64_t>(1, 4096 / (n * inner)), rows, ns);
  } else {
    auto columns = [&](int64_t begin, int64_t end) {
      for (int64_t o = 0; o < outer; ++o) run(o, begin, end);
    };
    parallel_for(inner, 64, columns, ns);
  }
}

const KernelEntry kScatterKernels[] = {
    {.op = &op_scatter, .run = scatter_kernel, .in_place = 1},
    {.op = &op_scatter_axis, .run = scatter_axis_kernel, .contiguous = 0b110, .in_place = 1},
};

}  // namespace

const std::span<const KernelEntry> scatter_kernels = kScatterKernels;

}  // namespace mlx::core::cpu
