// softmax and logsumexp of contiguous rows, parallel over rows, or over parts of a row if there are
// few rows. Sums depend on the length of a row alone.
#include "mlx/backend/cpu/softmax.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "mlx/backend/common/round_up.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/softmax.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/ops/softmax.h"

namespace mlx::core::cpu {

namespace {

/// The rows of a contiguous operand.
struct Rows {
  SoftmaxKernels k;
  const char* in;
  int64_t size, n, count;

  Rows(const char* data, Dtype type, int64_t length, int64_t rows)
      : k(MLX_FOR_ISA(find_softmax)(type)), in(data), size(type.size()), n(length), count(rows) {}
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
  /// Calls f(first row, rows) if rows are short enough for the kernels of whole rows, and
  /// g(row, whether to use threads within the row) otherwise.
  template <class F, class G>
  void each_row(F f, G g) const {
    if (few()) {
      for (int64_t r = 0; r < count; ++r) g(r, true);
      return;
    }
    constexpr int64_t kLanes = 16;  // rows that kernels take at once, a multiple
    const int64_t grain = round_up(4096 / std::clamp<int64_t>(n, 1, 4096), kLanes);
    const double ns = kExpNs * static_cast<double>(n) + (n <= kLanes ? 4 : 20);
    parallel_for(
        count, n > kSoftmaxPiece ? 1 : grain,
        [&](int64_t begin, int64_t end) {
          if (n <= kSoftmaxPiece) return f(begin, end - begin);
          for (int64_t r = begin; r < end; ++r) g(r, false);
        },
        static_cast<double>(count) * ns);
  }
};

void run_softmax(const KernelArgs& args) {
  const View &in = args.in[0], &out = args.out[0];
  const int axis = attrs_as<SoftmaxAttrs>(args.attrs).axis;
  if (out.size() == 0) return;
  const int64_t n = in.shape()[axis];
  if (row_major(in.shape())[axis] != 1) return softmax_columns(in, out, axis);
  softmax_rows(in.as<char>(), in.dtype(), n, in.size() / n, out.as<char>());
}

void run_logsumexp(const KernelArgs& args) {
  const View& in = args.in[0];
  if (in.size() == 0) return;
  const int64_t n = in.shape().back();
  const Rows rows(in.as<char>(), in.dtype(), n, in.size() / n);
  char* out = args.out[0].as<char>();
  rows.each_row(
      [&](int64_t first, int64_t count) {
        constexpr int64_t kBlock = 64;
        double shifts[kBlock], sums[kBlock];
        for (int64_t r = first; r < first + count; r += kBlock) {
          const int64_t some = std::min(kBlock, first + count - r);
          rows.k.sums(rows.in + r * n * rows.size, n, some, shifts, sums);
          rows.k.logs(shifts, sums, some, out + r * rows.size);
        }
      },
      [&](int64_t r, bool threads) {
        const auto [shift, sum] = rows.sum_row(r, nullptr, threads);
        rows.k.logs(&shift, &sum, 1, out + r * rows.size);
      });
}

int rows_of_softmax(const Layout& in, const Attrs* attrs) {
  const int last = static_cast<int>(in.shape.size()) - 1;
  return attrs_as<SoftmaxAttrs>(attrs).axis == last ? last : 0;
}
int rows_of_logsumexp(const Layout& in, const Attrs*) {
  return static_cast<int>(in.shape.size()) - 1;
}

constexpr KernelEntry kSoftmaxKernels[] = {
    {.op = &op_softmax, .run = run_softmax, .contiguous = 1, .rows = rows_of_softmax},
    {.op = &op_logsumexp, .run = run_logsumexp, .contiguous = 1, .rows = rows_of_logsumexp}};

}  // namespace

void softmax_rows(const char* in, Dtype type, int64_t n, int64_t count, char* out) {
  const Rows rows(in, type, n, count);
  rows.each_row(
      [&](int64_t first, int64_t count) {
        const int64_t at = first * rows.n * rows.size;
        rows.k.rows(rows.in + at, rows.n, count, out + at);
      },
      [&](int64_t r, bool threads) {
        // 16-bit floats would round: their exponentials are computed twice.
        char* e = rows.size >= 4 ? out + r * rows.n * rows.size : nullptr;
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

const std::span<const KernelEntry> softmax_kernels = kSoftmaxKernels;

}  // namespace mlx::core::cpu
