// softmax and logsumexp of contiguous operands: over the last axis, parallel over rows, or over
// parts of a row if there are few rows; over another axis, tiles of columns. Sums depend on the
// length of the axis alone.
#include "mlx/backend/cpu/isa/softmax.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/ops/softmax.h"

namespace mlx::core::cpu {

namespace {

SoftmaxKernels find_softmax(Dtype t) { return MLX_FOR_ISA(find_softmax)(t); }

constexpr double kExpNs = 0.5;  // one exponential on one thread

/// The rows of a contiguous operand.
struct Rows {
  SoftmaxKernels k;
  const char* in;
  int64_t size, n, count;

  explicit Rows(const View& x)
      : k(find_softmax(x.dtype())),
        in(x.as<char>()),
        size(x.dtype().size()),
        n(x.shape().back()),
        count(n ? x.size() / n : 0) {}
  bool few() const { return count < 2 * num_threads() && n >= 16 * kSoftmaxPiece; }
  int64_t pieces() const { return (n + kSoftmaxPiece - 1) / kSoftmaxPiece; }

  /// Calls f(piece, address of its first element, length) for the pieces of a row.
  template <class F>
  void each_piece(int64_t row, F f, bool threads) const {
    auto some = [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t first = p * kSoftmaxPiece;
        f(p, (row * n + first) * size, std::min(kSoftmaxPiece, n - first));
      }
    };
    if (threads) {
      parallel_for(pieces(), 1, some, kExpNs * static_cast<double>(n));
    } else {
      some(0, pieces());
    }
  }
  struct Result {
    double shift, sum;
  };
  /// Maximum of a row and sum of exponentials, which are stored at `e` unless it is null.
  Result sum_row(int64_t row, char* e, bool threads) const {
    const auto parts = std::make_unique<double[]>(pieces());
    each_piece(
        row, [&](int64_t p, int64_t at, int64_t m) { parts[p] = k.largest(in + at, m); }, threads);
    double shift = parts[0];
    for (int64_t p = 1; p < pieces(); ++p)
      if (!(shift >= parts[p]) && !std::isnan(shift)) shift = parts[p];
    each_piece(
        row,
        [&](int64_t p, int64_t at, int64_t m) {
          parts[p] = k.sum_exp(in + at, m, shift, e ? e + p * kSoftmaxPiece * size : nullptr);
        },
        threads);
    double sum = 0;
    for (int64_t p = 0; p < pieces(); ++p) sum += parts[p];
    return {shift, sum};
  }
  /// Calls f(row, whether to use threads within the row).
  template <class F>
  void each_row(F f) const {
    if (few()) {
      for (int64_t r = 0; r < count; ++r) f(r, true);
      return;
    }
    const int64_t grain = 4096 / std::clamp<int64_t>(n, 1, 4096);
    parallel_for(
        count, grain,
        [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) f(r, false);
        },
        static_cast<double>(count) * (kExpNs * static_cast<double>(n) + 20));
  }
};

void run_softmax_columns(const View& in, const View& out, int axis) {
  const SoftmaxKernels k = find_softmax(in.dtype());
  const int64_t n = in.shape()[axis], stride = row_major(in.shape())[axis],
                size = in.dtype().size();
  if (out.size() == 0) return;
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

void run_softmax(const KernelArgs& args) {
  const int axis = attrs_as<SoftmaxAttrs>(args.attrs).axis;
  if (axis + 1 != args.in[0].ndim()) return run_softmax_columns(args.in[0], args.out[0], axis);
  const Rows rows(args.in[0]);
  char* out = args.out[0].as<char>();
  rows.each_row([&](int64_t r, bool threads) {
    // 16-bit floats would round: short rows store their exponentials in float32, long ones compute
    // them twice.
    float aside[kSoftmaxPiece];
    char* e = rows.size >= 4            ? out + r * rows.n * rows.size
              : rows.n <= kSoftmaxPiece ? reinterpret_cast<char*>(aside)
                                        : nullptr;
    const auto [shift, sum] = rows.sum_row(r, e, threads);
    rows.each_piece(
        r,
        [&, shift = shift, sum = sum](int64_t p, int64_t at, int64_t m) {
          rows.k.finish(rows.in + at, m, shift, 1 / sum,
                        e ? e + p * kSoftmaxPiece * rows.size : nullptr, out + at);
        },
        threads);
  });
}

void run_logsumexp(const KernelArgs& args) {
  const Rows rows(args.in[0]);
  dispatch(args.out[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_convertible_v<double, T> && is_floating(TypeToDtype<T>::value)) {
      T* out = args.out[0].as<T>();
      rows.each_row([&](int64_t r, bool threads) {
        const auto [shift, sum] = rows.sum_row(r, nullptr, threads);
        const double y = std::isinf(shift) ? shift : shift + std::log(sum);
        out[r] = static_cast<T>(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(y));
      });
    }
  });
}

int softmax_rows(const Layout& in, const Attrs* attrs) {
  const int last = static_cast<int>(in.shape.size()) - 1;
  return attrs_as<SoftmaxAttrs>(attrs).axis == last ? last : 0;
}
int logsumexp_rows(const Layout& in, const Attrs*) { return static_cast<int>(in.shape.size()) - 1; }

constexpr KernelEntry kSoftmaxKernels[] = {
    {.op = &op_softmax, .run = run_softmax, .contiguous = 1, .rows = softmax_rows},
    {.op = &op_logsumexp, .run = run_logsumexp, .contiguous = 1, .rows = logsumexp_rows}};

}  // namespace

const std::span<const KernelEntry> softmax_kernels = kSoftmaxKernels;

}  // namespace mlx::core::cpu
