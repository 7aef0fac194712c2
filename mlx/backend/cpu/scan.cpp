// Scans of operands of any layout: several rows side by side, or columns if the axis is not the
// last one in memory. Threads share rows and columns. A few long scans are divided into chunks by
// length alone: a group of chunks is summed, and then scanned from the sums before them while in
// the cache.
#include "mlx/backend/cpu/isa/scan.h"

#include <algorithm>
#include <utility>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/ops/scan.h"

namespace mlx::core::cpu {

namespace {

ScanKernels find_scan(ScanKind kind, Dtype t) { return MLX_FOR_ISA(find_scan)(kind, t); }

/// Few long scans of neighbouring columns, or a single one. Strides may be negative.
struct LongScan {
  const ScanKernels& kernels;
  const char* x;
  char* y;
  int64_t size;  ///< bytes per element
  int64_t n, width, x_stride, y_stride;
  bool inclusive;
  double ns_each;

  // Independent of layout and number of threads, since results depend on them.
  static constexpr int64_t kLines = 15, kChunk = 1 << 13;
  // Partial products could overflow where the whole product does not.
  static bool worth(ScanKind kind, Dtype t, int64_t lines, int64_t n) {
    return lines <= kLines && n >= 4 * kChunk && !(kind == ScanKind::prod && is_inexact(t));
  }

  void run() const {
    const int64_t chunks = (n + kChunk - 1) / kChunk, state = width * kernels.state;
    const int64_t wave = std::max<int64_t>(1, 16 / (width * size)) * 4 * num_threads();
    std::vector<char> states(static_cast<size_t>(wave * state)), before(static_cast<size_t>(state));
    kernels.start(before.data(), width);
    for (int64_t first = 0; first < chunks; first += wave) {
      const int64_t count = std::min(wave, chunks - first);
      auto each = [&](auto f) {
        parallel_for(
            count, 1,
            [&](int64_t begin, int64_t end) {
              for (; begin < end; ++begin)
                for (int64_t c = 0; c < width; ++c)
                  f((first + begin) * kChunk, c,
                    states.data() + (begin * width + c) * kernels.state);
            },
            ns_each * static_cast<double>(count * kChunk * width));
      };
      each([&](int64_t i, int64_t c, char* state) {
        kernels.total(x + (i * x_stride + c) * size, std::min(kChunk, n - i), x_stride, state);
      });
      kernels.carry(states.data(), count, width, before.data());
      each([&](int64_t i, int64_t c, char* state) {
        scan(x + (i * x_stride + c) * size, y + (i * y_stride + c) * size, std::min(kChunk, n - i),
             state);
      });
    }
  }

 private:
  void scan(const char* from, char* to, int64_t length, char* state) const {
    // Whole registers; sums restart in each, which keeps rounding errors small.
    constexpr int64_t kBlock = 1024;
    alignas(64) char buffer[kBlock * 16];
    const bool dense = x_stride == 1 && y_stride == 1;
    const auto& tiles = loaded_kernels();
    for (int64_t i = 0; i < length; i += kBlock) {
      const int64_t some = std::min(kBlock, length - i);
      const int bytes = static_cast<int>(size);
      const char* in = from + i * x_stride * size;
      char* out = to + i * y_stride * size;
      if (dense) {
        kernels.resume(in, out, some, inclusive, state);
        continue;
      }
      tiles.load_strided(buffer, in, x_stride, some, bytes);
      kernels.resume(buffer, buffer, some, inclusive, state);
      tiles.store_strided(out, y_stride, buffer, some, bytes);
    }
  }
};

/// All axes but the given one, with the strides of the operand and of the result; merged if both
/// allow it.
std::pair<Shape, std::vector<Strides>> other_axes(const View& in, const View& out, int axis) {
  Shape shape;
  std::vector<Strides> strides(2);
  for (int i : axes_beside(out, axis)) {
    shape.push_back(in.shape()[i]);
    strides[0].push_back(in.strides()[i]);
    strides[1].push_back(out.strides()[i]);
  }
  collapse_axes(shape, strides);
  return {shape, strides};
}

void run_scan(const KernelArgs& args) {
  auto& a = attrs_as<ScanAttrs>(args.attrs);
  const View &in = args.in[0], &out = args.out[0];
  if (out.size() == 0) return;
  const ScanKernels kernels = find_scan(a.kind, in.dtype());
  const int64_t size = in.dtype().size(), n = in.shape()[a.axis];
  int64_t x_stride = in.strides()[a.axis], y_stride = out.strides()[a.axis];

  auto [shape, strides] = other_axes(in, out, a.axis);
  const char* x = in.as<char>();
  char* y = out.as<char>();
  if (a.reverse) {
    x += (n - 1) * x_stride * size;
    y += (n - 1) * y_stride * size;
    x_stride = -x_stride;
    y_stride = -y_stride;
  }
  const double ns_each = a.kind == ScanKind::logsumexp ? 15 : 0.5;
  const double estimate = static_cast<double>(out.size()) * ns_each;
  const bool columns = strides[0].back() == 1 && strides[1].back() == 1 && shape.back() > 1;
  const int64_t inner = columns ? shape.back() : 1;
  if (columns) {
    shape.pop_back();
    for (auto& s : strides) s.pop_back();
  }
  const int64_t outer = num_elements(shape);
  const Odometer<2> start(shape, {strides[0], strides[1]});
  // In parts, which are read twice. Integers give the same in any order.
  const bool alone = num_threads() == 1 && !is_inexact(in.dtype());
  if (!alone && LongScan::worth(a.kind, in.dtype(), out.size() / n, n)) {
    Odometer<2> at = start;
    for (int64_t i = 0; i < outer; ++i, at.next())
      LongScan{kernels, x + at[0] * size, y + at[1] * size, size,        n,
               inner,   x_stride,         y_stride,         a.inclusive, ns_each}
          .run();
    return;
  }
  if (columns) {
    const int64_t width =
        std::clamp<int64_t>(inner * outer / (2 * num_threads()), 64, kScanColumns);
    const int64_t tiles = (inner + width - 1) / width;
    parallel_for(
        outer * tiles, 1,
        [&](int64_t begin, int64_t end) {
          Odometer<2> at = start;
          for (int64_t t = begin; t < end; ++t) {
            at.seek(t / tiles);
            const int64_t c = t % tiles * width;
            kernels.columns(x + (at[0] + c) * size, y + (at[1] + c) * size,
                            std::min(width, inner - c), n, x_stride, y_stride, a.inclusive);
          }
        },
        estimate);
    return;
  }
  parallel_for(
      outer, kScanRows,
      [&](int64_t begin, int64_t end) {
        Odometer<2> at = start;
        at.seek(begin);
        while (begin < end) {
          const void* xs[kScanRows];
          void* ys[kScanRows];
          int count = 0;
          for (; count < kScanRows && begin < end; ++count, ++begin, at.next()) {
            xs[count] = x + at[0] * size;
            ys[count] = y + at[1] * size;
          }
          kernels.rows(xs, ys, count, n, x_stride, y_stride, a.inclusive);
        }
      },
      estimate);
}

// Both operands are row-contiguous.
void run_affine_scan(const KernelArgs& args) {
  auto& attrs = attrs_as<AffineScanAttrs>(args.attrs);
  const View& out = args.out[0];
  const int64_t n = out.shape()[attrs.axis];
  if (out.size() == 0) return;
  const int64_t inner = row_major(out.shape())[attrs.axis], outer = out.size() / (n * inner);
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_inexact(TypeToDtype<T>::value)) {
      using A = std::conditional_t<sizeof(T) == 2, float, T>;
      const T *a = args.in[0].as<T>(), *b = args.in[1].as<T>();
      T* y = out.as<T>();
      parallel_for(
          outer * inner, 64,
          [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c) {
              A state{};
              const int64_t base = c / inner * n * inner + c % inner;
              for (int64_t i = 0; i < n; ++i) {
                const int64_t at = base + (attrs.reverse ? n - 1 - i : i) * inner;
                state = static_cast<A>(b[at]) + static_cast<A>(a[at]) * state;
                y[at] = static_cast<T>(state);
              }
            }
          },
          2.0 * static_cast<double>(out.size()));
    }
  });
}

constexpr KernelEntry kScanKernels[] = {
    {.op = &op_scan, .run = run_scan, .keeps_order = true},
    {.op = &op_affine_scan, .run = run_affine_scan, .contiguous = 3}};

}  // namespace

const std::span<const KernelEntry> scan_kernels = kScanKernels;

}  // namespace mlx::core::cpu
