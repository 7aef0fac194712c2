// Strided copies for every item size. The axes are ordered by the destination's strides and merged;
// the innermost axis then decides: whole rows, fills, blocked transpositions, or a strided
// loop.

#include "mlx/backend/cpu/copy.h"

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/item_size.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

/// A copy with its axes merged, ordered by decreasing destination stride.
struct CopyLayout {
  Shape shape;
  Strides src, dst;
};

/// Rows of at least W bytes, by pieces of W bytes, the last two of which may overlap.
template <int W>
void copy_pieces(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t bytes,
                 int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, src += src_step, dst += dst_step) {
    for (int64_t i = 0; i + W < bytes; i += W) std::memcpy(dst + i, src + i, W);
    std::memcpy(dst + bytes - W, src + bytes - W, W);
  }
}

constexpr double kNsPerByte = 0.15;       // of one thread that copies contiguous memory
constexpr int64_t kChunkBytes = 1 << 16;  // length of the chunks of a row for threads
constexpr int64_t kNarrow = 16;           // axes up to this length are not treated as rows

CopyLayout make_layout(const Shape& shape, const Strides& src, const Strides& dst) {
  // Insertion sort: the ranks are small, and equal strides keep their order.
  SmallVector<int, 8> order;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    size_t at = order.size();
    order.push_back(static_cast<int>(i));
    for (; at > 0 && std::abs(dst[order[at - 1]]) < std::abs(dst[i]); --at)
      order[at] = order[at - 1];
    order[at] = static_cast<int>(i);
  }
  CopyLayout w;
  for (int i : order) {
    if (!w.shape.empty() && w.src.back() == src[i] * shape[i] &&
        w.dst.back() == dst[i] * shape[i]) {
      w.shape.back() *= shape[i];
      w.src.back() = src[i];
      w.dst.back() = dst[i];
    } else {
      w.shape.push_back(shape[i]);
      w.src.push_back(src[i]);
      w.dst.push_back(dst[i]);
    }
  }
  if (w.shape.empty()) {
    w.shape = {1};
    w.src = {1};
    w.dst = {1};
  }
  return w;
}

constexpr int64_t kKernelRow = 32;  // elements for which a kernel is called

template <class T>
void copy_row(const T* src, int64_t src_stride, T* dst, int64_t dst_stride, int64_t n) {
  if (dst_stride == 1 && src_stride == 1) {
    copy_bytes(dst, src, n * static_cast<int64_t>(sizeof(T)));
  } else if (dst_stride == 1 && src_stride == 0) {
    std::fill_n(dst, n, *src);
  } else if (dst_stride == 1 && n >= kKernelRow) {
    loaded_kernels().load_strided(dst, src, src_stride, n, sizeof(T));
  } else if (dst_stride == 1) {
    for (int64_t i = 0; i < n; ++i, src += src_stride) dst[i] = *src;
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_stride] = src[i * src_stride];
  }
}

/// Both axes at once, one of which has `N` positions.
template <int N, class T>
void copy_columns(const T* src, int64_t src_wide, int64_t src_narrow, T* dst, int64_t dst_wide,
                  int64_t dst_narrow, int64_t n) {
  for (int64_t i = 0; i < n; ++i, src += src_wide, dst += dst_wide)
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) dst[j * dst_narrow] = src[j * src_narrow];
}

template <class T>
void copy_piece(const CopyLayout& w, size_t narrow, size_t wide, const T* src, T* dst, int64_t n) {
  int64_t sw = w.src[wide], sn = w.src[narrow], dw = w.dst[wide], dn = w.dst[narrow];
  switch (w.shape[narrow]) {
    case 2:
      return copy_columns<2>(src, sw, sn, dst, dw, dn, n);
    case 3:
      return copy_columns<3>(src, sw, sn, dst, dw, dn, n);
    case 4:
      return copy_columns<4>(src, sw, sn, dst, dw, dn, n);
    case 8:
      return copy_columns<8>(src, sw, sn, dst, dw, dn, n);
    default:
      for (int64_t i = 0; i < w.shape[narrow]; ++i) copy_row(src + i * sn, sw, dst + i * dn, dw, n);
  }
}

/// Two axes, one of them short: the long one in parts that stay in the first-level cache, each
/// copied once for every position on the short one.
template <class T>
void copy_narrow(const CopyLayout& w, size_t narrow, size_t wide, const T* src, T* dst) {
  constexpr int64_t piece = 4096 / sizeof(T);
  int64_t n = w.shape[wide], pieces = (n + piece - 1) / piece;
  Shape outer(w.shape.begin(), w.shape.end() - 2);
  Odometer<2> start(
      outer, {Strides(w.src.begin(), w.src.end() - 2), Strides(w.dst.begin(), w.dst.end() - 2)});
  int64_t units = num_elements(outer) * pieces;
  int64_t bytes = std::min(n, piece) * w.shape[narrow] * sizeof(T);
  parallel_for(
      units, std::max<int64_t>(1, kChunkBytes / bytes),
      [&](int64_t begin, int64_t end) {
        Odometer<2> at = start;
        at.seek(begin / pieces);
        for (int64_t k = begin; k < end; ++k) {
          int64_t first = k % pieces * piece, count = std::min(piece, n - first);
          const T* s = src + at[0] + first * w.src[wide];
          T* d = dst + at[1] + first * w.dst[wide];
          copy_piece(w, narrow, wide, s, d, count);
          if ((k + 1) % pieces == 0) at.next();
        }
      },
      2 * kNsPerByte * static_cast<double>(bytes) * static_cast<double>(units));
}

template <class T>
void copy_rows(const CopyLayout& w, const T* src, T* dst) {
  int64_t n = w.shape.back(), ss = w.src.back(), ds = w.dst.back();
  Shape outer(w.shape.begin(), w.shape.end() - 1);
  int64_t chunk = std::max<int64_t>(1, kChunkBytes / sizeof(T));
  int64_t chunks = n > 2 * chunk ? (n + chunk - 1) / chunk : 1;
  if (chunks == 1) chunk = n;
  int64_t rows = num_elements(outer);
  Odometer<2> start(
      outer, {Strides(w.src.begin(), w.src.end() - 1), Strides(w.dst.begin(), w.dst.end() - 1)});
  int64_t grain = std::max<int64_t>(1, kChunkBytes / (chunk * sizeof(T)));
  double ns = static_cast<double>(rows) * (2 + n * sizeof(T) * kNsPerByte);
  parallel_for(
      rows * chunks, grain,
      [&](int64_t begin, int64_t end) {
        Odometer<2> at = start;
        at.seek(begin / chunks);
        for (int64_t i = begin; i < end; ++i) {
          int64_t first = i % chunks * chunk;
          copy_row(src + at[0] + first * ss, ss, dst + at[1] + first * ds, ds,
                   std::min(chunk, n - first));
          if ((i + 1) % chunks == 0) at.next();
        }
      },
      ns);
}

template <class V, int... I>
V interleave_low(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  return __builtin_shufflevector(a, b, (I % 2 * n + I / 2)...);
}
template <class V, int... I>
V interleave_high(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  return __builtin_shufflevector(a, b, (I % 2 * n + n / 2 + I / 2)...);
}

/// dst[j * ds + i] = src[i * ss + j] for a square with rows of 16 bytes: log2 N rounds of
/// interleaving the two halves of the rows.
template <class T>
void transpose_square(const T* src, int64_t ss, T* dst, int64_t ds) {
  if constexpr (sizeof(T) == 16) {
    *dst = *src;
  } else {
    constexpr int n = 16 / sizeof(T);
    typedef T V __attribute__((vector_size(16)));
    using Lanes = std::make_integer_sequence<int, n>;
    V a[n], b[n];
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) std::memcpy(&a[i], src + i * ss, 16);
#pragma GCC unroll 4
    for (int round = n; round > 1; round /= 2) {
#pragma GCC unroll 8
      for (int i = 0; i < n / 2; ++i) {
        b[2 * i] = interleave_low(a[i], a[i + n / 2], Lanes{});
        b[2 * i + 1] = interleave_high(a[i], a[i + n / 2], Lanes{});
      }
#pragma GCC unroll 16
      for (int i = 0; i < n; ++i) a[i] = b[i];
    }
#pragma GCC unroll 16
    for (int j = 0; j < n; ++j) std::memcpy(dst + j * ds, &a[j], 16);
  }
}

/// Block lengths: several cache lines of every row at once, to reuse TLB entries, within the size
/// of the first-level cache.
template <class T>
constexpr int64_t kCopyBlock = std::min<int64_t>(256 / sizeof(T), 128);

/// dst[j * ds + i] = src[i * ss + j] for i < rows, j < columns, both at most kBlock. The source's
/// rows are gathered first: at a stride of a power of two they would evict one another.
template <class T>
void transpose_block(const T* src, int64_t ss, T* dst, int64_t ds, int64_t rows, int64_t columns) {
  constexpr int64_t n = 16 / sizeof(T);
  alignas(64) T gathered[kCopyBlock<T> * kCopyBlock<T>];
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(gathered + i * kCopyBlock<T>, src + i * ss, columns * sizeof(T));
  src = gathered;
  ss = kCopyBlock<T>;
  int64_t full_rows = rows - rows % n, full_columns = columns - columns % n;
  for (int64_t j = 0; j < full_columns; j += n)
    for (int64_t i = 0; i < full_rows; i += n)
      transpose_square(src + i * ss + j, ss, dst + j * ds + i, ds);
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = j < full_columns ? full_rows : 0; i < rows; ++i)
      dst[j * ds + i] = src[i * ss + j];
}

/// The destination is dense along its last axis and the source along `axis`: both sides are
/// accessed by whole cache lines.
template <class T>
void transpose_blocks(const CopyLayout& w, size_t axis, const T* src, T* dst) {
  constexpr int64_t block = kCopyBlock<T>;
  int64_t rows = w.shape.back(), columns = w.shape[axis];
  int64_t ss = w.src.back(), ds = w.dst[axis];
  int64_t row_blocks = (rows + block - 1) / block, column_blocks = (columns + block - 1) / block;
  Shape outer;
  Strides outer_src, outer_dst;
  for (size_t i = 0; i + 1 < w.shape.size(); ++i) {
    if (i == axis) continue;
    outer.push_back(w.shape[i]);
    outer_src.push_back(w.src[i]);
    outer_dst.push_back(w.dst[i]);
  }
  Odometer<2> start(outer, {outer_src, outer_dst});
  int64_t strips = num_elements(outer) * column_blocks;
  double ns = 2 * kNsPerByte * sizeof(T) * static_cast<double>(num_elements(w.shape));
  // Strips along the destination's rows, few at a time, so that the source's lines stay in the
  // cache.
  int64_t grain = std::max<int64_t>(1, kChunkBytes / (block * rows * sizeof(T)));
  parallel_for(
      strips * row_blocks, std::min(grain * row_blocks, row_blocks * strips),
      [&](int64_t begin, int64_t end) {
        Odometer<2> at = start;
        at.seek(begin / (row_blocks * column_blocks));
        for (int64_t k = begin; k < end; ++k) {
          int64_t i = k % row_blocks * block, j = k / row_blocks % column_blocks * block;
          transpose_block(src + at[0] + i * ss + j, ss, dst + at[1] + j * ds + i, ds,
                          std::min(block, rows - i), std::min(block, columns - j));
          if ((k + 1) % (row_blocks * column_blocks) == 0) at.next();
        }
      },
      ns);
}

/// Dense rows of few bytes.
void copy_short_rows(const CopyLayout& w, int64_t item, const char* src, char* dst) {
  const size_t last = w.shape.size() - 1, second = last - 1;
  const int64_t bytes = w.shape[last] * item, n = w.shape[second];
  const int64_t step = w.src[second] * item, out_step = w.dst[second] * item;
  const int64_t chunk = kChunkBytes / bytes, chunks = (n + chunk - 1) / chunk;
  const Shape outer(w.shape.begin(), w.shape.end() - 2);
  const Odometer<2> start(
      outer, {Strides(w.src.begin(), w.src.end() - 2), Strides(w.dst.begin(), w.dst.end() - 2)});
  const int64_t units = num_elements(outer) * chunks;
  parallel_for(
      units, std::max<int64_t>(1, kChunkBytes / (bytes * std::min(n, chunk))),
      [&](int64_t begin, int64_t end) {
        Odometer<2> at = start;
        at.seek(begin / chunks);
        int64_t part = begin % chunks;
        for (int64_t k = begin; k < end; ++k) {
          const int64_t first = part * chunk;
          copy_rows_of_bytes(src + at[0] * item + first * step, step,
                             dst + at[1] * item + first * out_step, out_step, bytes,
                             std::min(chunk, n - first));
          if (++part < chunks) continue;
          part = 0;
          at.next();
        }
      },
      static_cast<double>(num_elements(outer) * n) * (1 + static_cast<double>(bytes) * kNsPerByte));
}

template <class T>
void run(const CopyLayout& w, const void* src, void* dst) {
  auto* s = static_cast<const T*>(src);
  auto* d = static_cast<T*>(dst);
  constexpr int64_t square = 16 / sizeof(T);
  if (w.dst.back() == 1 && w.src.back() != 1 && w.src.back() != 0 && w.shape.back() >= square)
    for (size_t i = 0; i + 1 < w.shape.size(); ++i)
      if (w.src[i] == 1 && w.shape[i] >= square) return transpose_blocks(w, i, s, d);
  size_t last = w.shape.size() - 1;
  if (last > 0) {
    bool dense = w.dst[last] == 1 && w.src[last] == 1;
    if (w.shape[last] <= (dense ? 4 : kNarrow) && w.shape[last] < w.shape[last - 1])
      return copy_narrow(w, last, last - 1, s, d);
    // Few long rows go together if their elements share lines of the source.
    const bool shares = std::abs(w.src[last - 1]) < std::abs(w.src[last]);
    if (w.shape[last - 1] <= kNarrow && !dense && shares)
      return copy_narrow(w, last - 1, last, s, d);
    constexpr int64_t item = sizeof(T);
    if (dense && w.shape[last] * item <= kShortRowBytes)
      return copy_short_rows(w, item, static_cast<const char*>(src), static_cast<char*>(dst));
  }
  copy_rows(w, s, d);
}

}  // namespace

void copy_rows_of_bytes(const char* src, int64_t src_step, char* dst, int64_t dst_step,
                        int64_t bytes, int64_t rows) {
  const auto pieces = bytes >= 64   ? copy_pieces<64>
                      : bytes >= 32 ? copy_pieces<32>
                      : bytes >= 16 ? copy_pieces<16>
                      : bytes >= 8  ? copy_pieces<8>
                      : bytes >= 4  ? copy_pieces<4>
                                    : copy_pieces<1>;
  pieces(src, src_step, dst, dst_step, bytes, rows);
}

void copy_strided(const void* src, const Strides& src_strides, void* dst,
                  const Strides& dst_strides, const Shape& shape, int itemsize) {
  for (int64_t n : shape)
    if (n == 0) return;
  CopyLayout w = make_layout(shape, src_strides, dst_strides);
  dispatch_size(itemsize, [&](auto item) { run<decltype(item)>(w, src, dst); });
}

void copy_strided(const View& src, const View& dst) {
  copy_strided(src.data, src.strides(), dst.data, dst.strides(), dst.shape(), dst.dtype().size());
}

}  // namespace mlx::core::cpu
