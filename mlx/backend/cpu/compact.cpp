// Reads and writes of the elements that a mask selects. Chunks of the mask are counted first, which
// gives the output offset of each; then all threads write their chunks. No chunk writes outside its
// range, even if the mask is modified concurrently.
#include "mlx/ops/compact.h"

#include <algorithm>
#include <numeric>

#include "mlx/backend/common/mask_error.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/blocks.h"
#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

const CompactKernels& compact_kernels() { return MLX_FOR_ISA(compact_kernels); }

constexpr int64_t kCompactBlock = 1024;  // mask elements whose indices are computed at a time
constexpr int64_t kChunk = 32 * kCompactBlock;

/// A mask divided into chunks, and the output offset of each.
class Chunks {
 public:
  Chunks(const char* op, const View& mask, int64_t chunk)
      : op_(op),
        mask_(mask.as<const uint8_t>()),
        size_(mask.size()),
        chunk_(chunk),
        starts_(((size_ + chunk - 1) / chunk + 1) * sizeof(int64_t)) {
    auto* starts = starts_.get<int64_t>();
    starts[0] = 0;
    parallel_for(
        count(), 1,
        [&](int64_t begin, int64_t end) {
          for (int64_t c = begin; c < end; ++c)
            starts[c + 1] = compact_kernels().count(mask_ + c * chunk_, length(c));
        },
        0.03 * static_cast<double>(size_));
    std::partial_sum(starts, starts + count() + 1, starts);
  }
  int64_t total() const { return starts_.get<int64_t>()[count()]; }

  /// Calls `f(begin, length, at, n)` for each chunk of the mask with n > 0 results, which are
  /// written from `at` on; `f` returns how many it found. `ns` is the time per result.
  template <class F>
  void each(F&& f, double ns) const {
    const auto* starts = starts_.get<const int64_t>();
    parallel_for(
        count(), 1,
        [&](int64_t begin, int64_t end) {
          for (int64_t c = begin; c < end; ++c) {
            const int64_t n = starts[c + 1] - starts[c];
            if (n > 0 && f(c * chunk_, length(c), starts[c], n) != n) bad_mask(op_);
          }
        },
        0.1 * static_cast<double>(size_) + ns * static_cast<double>(total()));
  }
  /// The same by blocks: calls `f(begin, offsets, n, at)` with the offsets, relative to `begin`, of
  /// the n elements that are written from `at` on.
  template <class F>
  void each_block(F&& f, double ns) const {
    each(
        [&](int64_t begin, int64_t length, int64_t at, int64_t n) {
          uint32_t offsets[kCompactBlock];
          int64_t found = 0;
          for (int64_t i = 0; i < length && found <= n; i += kCompactBlock) {
            const int64_t some = compact_kernels().indices(
                mask_ + begin + i, std::min(kCompactBlock, length - i), 0,
                reinterpret_cast<int32_t*>(offsets), std::min(kCompactBlock, n - found));
            if (some > n - found) return n + 1;
            if (some > 0) f(begin + i, offsets, some, at + found);
            found += some;
          }
          return found;
        },
        ns);
  }
  const uint8_t* mask() const { return mask_; }

 private:
  int64_t count() const { return (size_ + chunk_ - 1) / chunk_; }
  int64_t length(int64_t c) const { return std::min(chunk_, size_ - c * chunk_); }

  const char* op_;
  const uint8_t* mask_;
  int64_t size_, chunk_;
  Scratch starts_;
};

/// Calls `put(axis, i, index)` with the index on each axis of the element at begin + offsets[i] of
/// an array of that shape. Modifies the offsets.
template <class F>
void for_indices(const Shape& shape, bool wide, int64_t begin, uint32_t* offsets, int64_t n,
                 F&& put) {
  for (size_t axis = shape.size(); axis-- > 0; begin /= shape[axis]) {
    const int64_t length = shape[axis], start = begin % length;
    if (wide) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t x = start + offsets[i];
        offsets[i] = static_cast<uint32_t>(x / length);
        put(axis, i, x % length);
      }
    } else {
      uint32_t indices[kCompactBlock];
      compact_kernels().split(offsets, n, static_cast<uint32_t>(start),
                              static_cast<uint32_t>(length), indices);
      for (int64_t i = 0; i < n; ++i) put(axis, i, indices[i]);
    }
  }
}

template <class I>
void write_positions(const Chunks& chunks, const Shape& shape, bool wide, bool rows, I* out) {
  const auto axes = static_cast<int64_t>(shape.size());
  const int64_t count = chunks.total();
  const int64_t along = rows ? axes : 1, across = rows ? 1 : count;
  auto write = [&](int64_t begin, uint32_t* offsets, int64_t n, int64_t at) {
    for_indices(shape, wide, begin, offsets, n, [&](size_t axis, int64_t i, int64_t index) {
      out[(at + i) * along + static_cast<int64_t>(axis) * across] = static_cast<I>(index);
    });
  };
  chunks.each_block(write, 0.7 * static_cast<double>(axes));
}

void run_nonzero(const KernelArgs& args) {
  const auto& attrs = attrs_as<NonzeroAttrs>(args.attrs);
  const View &mask = args.in[0], &out = args.out[0];
  const Chunks chunks("nonzero", mask, kChunk);
  if (chunks.total() != attrs.count) bad_mask("nonzero");
  if (out.size() == 0) return;
  const bool wide = mask.size() > INT32_MAX;
  if (out.dtype() == int64)
    return write_positions(chunks, mask.shape(), wide, attrs.rows, out.as<int64_t>());
  if (mask.ndim() > 1)
    return write_positions(chunks, mask.shape(), wide, attrs.rows, out.as<int32_t>());
  chunks.each(
      [&](int64_t begin, int64_t length, int64_t at, int64_t n) {
        return compact_kernels().indices(chunks.mask() + begin, length, static_cast<int32_t>(begin),
                                         out.as<int32_t>() + at, n);
      },
      0.2);
}

/// The kernel among five for rows of that many bytes, or null.
template <class F>
F for_rows(const F (&kernels)[5], int64_t bytes) {
  for (int i = 0; i < 5; ++i)
    if (bytes == 1 << i) return kernels[i];
  return nullptr;
}

/// The chunk length of a mask over rows of that many bytes.
int64_t rows_a_chunk(int64_t bytes) {
  return std::clamp(kChunk * 8 / std::max<int64_t>(bytes, 1), kCompactBlock, kChunk) /
         kCompactBlock * kCompactBlock;
}
double ns_a_row(int64_t bytes) { return 0.2 + 0.06 * static_cast<double>(bytes); }

void run_compact(const KernelArgs& args) {
  const auto& attrs = attrs_as<CompactAttrs>(args.attrs);
  const View &a = args.in[0], &mask = args.in[1], &out = args.out[0];
  const int64_t row = num_elements(Shape(a.shape().begin() + mask.ndim(), a.shape().end()));
  const int64_t item = a.dtype().size(), bytes = row * item;
  const Chunks chunks("index", mask, rows_a_chunk(bytes));
  const int64_t count = chunks.total();
  if (count > attrs.count || (attrs.exact && count < attrs.count)) bad_mask("index");
  std::memset(out.as<char>() + count * bytes, 0, (attrs.count - count) * bytes);
  if (out.size() == 0) return;

  const double ns = ns_a_row(bytes);
  const bool dense = is_row_contiguous(a.shape(), a.strides());
  if (const CompressFn compress = dense ? for_rows(compact_kernels().compress, bytes) : nullptr)
    return chunks.each(
        [&](int64_t begin, int64_t length, int64_t at, int64_t n) {
          return compress(chunks.mask() + begin, length, a.as<char>() + begin * bytes,
                          out.as<char>() + at * bytes, n);
        },
        ns);

  const auto split = a.strides().begin() + mask.ndim();
  const Block block(Shape(a.shape().begin() + mask.ndim(), a.shape().end()),
                    Strides(split, a.strides().end()));
  Shape shape = mask.shape();
  std::vector<Strides> strides{Strides(a.strides().begin(), split)};
  collapse_axes(shape, strides);
  const bool wide = mask.size() > INT32_MAX;
  dispatch_size(static_cast<int>(item), [&](auto tag) {
    using T = decltype(tag);
    chunks.each_block(
        [&](int64_t begin, uint32_t* offsets, int64_t n, int64_t at) {
          int64_t from[kCompactBlock] = {};
          for_indices(shape, wide, begin, offsets, n, [&](size_t axis, int64_t i, int64_t index) {
            from[i] += index * strides[0][axis];
          });
          copy_blocks(block, a.as<const T>(), from, n, out.as<T>() + at * row);
        },
        2 + ns);
  });
}

void run_masked_scatter(const KernelArgs& args) {
  const View &a = args.in[0], &mask = args.in[1], &values = args.in[2], &out = args.out[0];
  if (out.size() == 0) return;
  const int64_t bytes = out.size() / mask.size() * out.dtype().size();
  const Chunks chunks("masked_scatter", mask, rows_a_chunk(bytes));
  if (chunks.total() > values.shape()[0]) few_values(values.shape()[0], chunks.total());
  char* const to = out.as<char>();
  const char* const from = values.as<const char>();
  if (to != a.as<char>()) {
    const int64_t all = out.size() * out.dtype().size();
    parallel_for(
        all, 1 << 16,
        [&](int64_t begin, int64_t end) {
          copy_bytes(to + begin, a.as<const char>() + begin, end - begin);
        },
        0.06 * static_cast<double>(all));
  }
  if (const ExpandFn expand = for_rows(compact_kernels().expand, bytes))
    return chunks.each(
        [&](int64_t begin, int64_t length, int64_t at, int64_t n) {
          return expand(chunks.mask() + begin, length, from + at * bytes, to + begin * bytes, n);
        },
        ns_a_row(bytes));
  chunks.each_block(
      [&](int64_t begin, const uint32_t* offsets, int64_t n, int64_t at) {
        for (int64_t i = 0; i < n; ++i)
          std::memcpy(to + (begin + offsets[i]) * bytes, from + (at + i) * bytes, bytes);
      },
      2 + ns_a_row(bytes));
}

constexpr KernelEntry kCompactKernels[] = {
    {.op = &op_nonzero, .run = run_nonzero, .contiguous = 1},
    {.op = &op_compact, .run = run_compact, .contiguous = 2},
    {.op = &op_masked_scatter, .run = run_masked_scatter, .contiguous = 7, .in_place = 1},
};

}  // namespace

const std::span<const KernelEntry> compact_entries = kCompactKernels;

}  // namespace mlx::core::cpu
