// Products with few rows: the second factor is read in place by long rows, as memory is read
// fastest.
#include "mlx/backend/cpu/gemm_rows.h"

#include <algorithm>
#include <type_traits>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/gemm_operands.h"
#include "mlx/backend/cpu/panels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kDotColumns = 128;  // of results that a task computes at a time
constexpr int64_t kAxpySums = 4096;   // results at a time, which stay in the first cache
constexpr int64_t kAxpyGrain = 64;    // columns
using AxpyKernel = std::remove_extent_t<decltype(GemmKernels::axpy)>;

// The rows of A, contiguous along K: float32, or bfloat16 for pairs. In place if possible.
class Inputs {
 public:
  Inputs(const Gemm& g, GemmSource source)
      : in_place_(g.a.col == 1 && (source == GemmSource::f32 || source == GemmSource::bf16_pair)),
        scratch_(in_place_ ? 0 : static_cast<size_t>(g.m * g.k) * sizeof(float)) {
    if (in_place_) {
      data_ = g.a.data;
      row_ = g.a.row;
      return;
    }
    data_ = scratch_.get();
    row_ = g.k;
    for (int64_t i = 0; i < g.m; ++i) {
      const void* from = operand_at(g, g.a, i, 0);
      if (source == GemmSource::bf16_pair) {
        for (int64_t l = 0; l < g.k; ++l) {
          scratch_.get<uint16_t>()[i * g.k + l] = static_cast<const uint16_t*>(from)[l * g.a.col];
        }
      } else {
        gemm_kernels().widen[static_cast<int>(source)](from, g.a.col, g.k,
                                                       scratch_.get<float>() + i * g.k);
      }
    }
  }
  const void* data() const { return data_; }
  int64_t row() const { return row_; }

 private:
  bool in_place_;
  Scratch scratch_;
  const void* data_;
  int64_t row_;
};

/// Rows of B times the numbers of A, added up in blocks of kAxpyDepth rows: a task has columns of
/// all blocks or, where those columns would be short pieces of rows, longer pieces of one block.
class AxpyProduct {
 public:
  AxpyProduct(const Gemm& g, GemmSource source)
      : g_(g),
        x_(g, source),
        axpy_(gemm_kernels().axpy[static_cast<int>(source)]),
        blocks_(ceil_div(g.k, kAxpyDepth)),
        threads_(in_parallel() ? 1 : num_threads()),
        longest_(std::max(kAxpyGrain, kAxpySums / g.m / kAxpyGrain * kAxpyGrain)) {}

  void run() const {
    const int64_t grain =
        std::clamp(round_up(ceil_div(g_.n, 2 * threads_), kAxpyGrain), kAxpyGrain, longest_);
    if (threads_ > 1 && blocks_ > 1 && grain < longest_) return run_blocks();
    parallel_for(
        g_.n, grain,
        [&](int64_t begin, int64_t end) {
          for (int64_t j = begin; j < end; j += longest_) {
            sum_all(j, std::min(longest_, end - j));
          }
        },
        estimate(g_));
  }

 private:
  /// The results of these columns.
  void sum_all(int64_t j, int64_t columns) const {
    alignas(64) float sums[kAxpySums], block[kAxpySums];
    sum(0, j, columns, sums, longest_);
    for (int64_t b = 1; b < blocks_; ++b) {
      sum(b, j, columns, block, longest_);
      for (int64_t i = 0; i < g_.m; ++i) add(block + i * longest_, columns, sums + i * longest_);
    }
    finish(g_, sums, longest_, 0, j, g_.m, columns);
  }

  /// Sums of single blocks, then those of all blocks.
  void run_blocks() const {
    const Scratch scratch(static_cast<size_t>(blocks_ * g_.m * g_.n) * sizeof(float));
    auto* sums = scratch.get<float>();
    const int64_t turns = ceil_div(g_.n * blocks_, threads_ * longest_);
    const int64_t some =
        std::min(longest_, round_up(ceil_div(g_.n * blocks_, threads_ * turns), kAxpyGrain));
    const int64_t across = ceil_div(g_.n, some);
    parallel_for(
        across * blocks_, 1,
        [&](int64_t begin, int64_t end) {
          for (int64_t t = begin; t < end; ++t) {
            const int64_t b = t / across, j = t % across * some;
            sum(b, j, std::min(some, g_.n - j), sums + b * g_.m * g_.n + j, g_.n);
          }
        },
        estimate(g_));
    constexpr double kAddNs = 0.2;
    const int64_t cells = g_.m * g_.n;
    parallel_for(
        g_.n, kAxpyGrain,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = 0; i < g_.m; ++i) {
            float* row = sums + i * g_.n + begin;
            for (int64_t b = 1; b < blocks_; ++b) add(row + b * cells, end - begin, row);
          }
          finish(g_, sums + begin, g_.n, 0, begin, g_.m, end - begin);
        },
        kAddNs * static_cast<double>(cells * blocks_));
  }

  /// acc = the sums of one block of rows of B, in their order.
  void sum(int64_t block, int64_t j, int64_t columns, float* acc, int64_t ld) const {
    const int64_t from = block * kAxpyDepth;
    axpy_(static_cast<const float*>(x_.data()) + from, x_.row(), operand_at(g_, g_.b, from, j),
          g_.b.row, g_.m, columns, std::min(kAxpyDepth, g_.k - from), acc, ld,
          prefetches_within_pages());
  }

  static void add(const float* from, int64_t n, float* to) {
    for (int64_t j = 0; j < n; ++j) to[j] += from[j];
  }

  const Gemm& g_;
  Inputs x_;
  AxpyKernel axpy_;
  int64_t blocks_, threads_, longest_;
};

}  // namespace

void dot_product(const Gemm& g) {
  const auto source = row_source(g.type);
  const Inputs x(g, source);
  const auto dot = gemm_kernels().dot[static_cast<int>(source)];
  parallel_for(
      g.n, 16,
      [&](int64_t begin, int64_t end) {
        alignas(64) float acc[kDotRows * kDotColumns];
        for (int64_t j = begin; j < end; j += kDotColumns) {
          const int64_t columns = std::min(kDotColumns, end - j);
          dot(x.data(), x.row(), operand_at(g, g.b, 0, j), g.b.col, g.m, columns, g.k, acc,
              kDotColumns);
          finish(g, acc, kDotColumns, 0, j, g.m, columns);
        }
      },
      estimate(g));
}

void axpy_product(const Gemm& g) {
  AxpyProduct(g, g.type == GemmOutput::bf16 ? GemmSource::bf16 : row_source(g.type)).run();
}

}  // namespace mlx::core::cpu
