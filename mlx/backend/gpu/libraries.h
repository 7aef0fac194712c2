// Libraries of a device that families of ops use where they are found: products and factors of
// matrices, Fourier transforms and convolutions.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <memory>

#include "mlx/backend/gpu/kernels/group_arguments.h"
#include "mlx/backend/gpu/queue.h"
#include "mlx/core/dtype.h"
#include "mlx/ops/fft.h"
#include "mlx/ops/precision.h"

namespace mlx::core::gpu {

/// All that a call of a library's plan depends on: the plan, and addresses and numbers.
template <class... T>
std::array<int64_t, 1 + sizeof...(T)> words_of(const void* plan, T... words) {
  return {reinterpret_cast<int64_t>(plan), static_cast<int64_t>(words)...};
}

/// out = alpha * a b + beta * out for `count` pairs of matrices, row by row in memory. A transposed
/// operand is stored column by column. `row`: elements from one row (or column) to the next.
struct Gemm {
  struct Operand {
    uint64_t address;   ///< of the first matrix, or of an array of the matrices' addresses
    int64_t row, step;  ///< step: elements from one matrix to the next
    bool transposed;
  };
  Operand a, b, out;
  int64_t m, n, k, count;
  Dtype type = float32;
  bool wide_out = false;   ///< `out` is of float32 where the operands have 16 bits
  bool scattered = false;  ///< matrices lie at addresses of their own, multiples of 16
  Precision precision = Precision::highest;
  double alpha, beta;

  /// All that the product depends on.
  auto words() const {
    return words_of(nullptr, a.address, a.row, a.step, a.transposed, b.address, b.row, b.step,
                    b.transposed, out.address, out.row, out.step, m, n, k, count, type.val(),
                    wide_out, scattered, precision, std::bit_cast<int64_t>(alpha),
                    std::bit_cast<int64_t>(beta));
  }
};

/// out = alpha * a b + row, which is added to each row of the result. Matrices lie as for `Gemm`,
/// rows of the result without gaps; the dtype has 16 or 32 bits.
struct RowProduct {
  int64_t m, n, k, a_row, b_row;
  bool a_transposed, b_transposed;
  Dtype::Val type;
  auto operator<=>(const RowProduct&) const = default;
};
/// Addresses of its operands are multiples of this.
inline constexpr uint64_t kRowProductAlignment = 16;

/// The library's plan of such a product on one device.
struct RowProductPlan {
  virtual ~RowProductPlan() = default;
  /// The temporary memory of `run`.
  virtual size_t work_bytes() const = 0;
  struct Operands {
    uint64_t a, b, row, out, work;
  };
  /// Enqueues it.
  virtual void run(Queue& queue, const Operands& at, double alpha) const = 0;
};

struct ProductLibrary {
  virtual ~ProductLibrary() = default;
  /// Whether products of the dtype can run there; opens the library on first use.
  virtual bool has(Dtype type) = 0;
  /// Enqueues it.
  virtual void run(Queue& queue, const Gemm& g) = 0;
  /// A plan, which is kept for later requests; null where the library has none.
  virtual std::shared_ptr<const RowProductPlan> plan(const RowProduct& product) = 0;
};

inline bool has_products(Hardware& hardware, Dtype type) {
  ProductLibrary* library = hardware.products();
  return library && library->has(type);
}

/// `count` transforms of n elements, without a factor. `stride`: elements from one to the next of a
/// line, `step`: from one line to the next. With `rows`, of planes: of so many lines without gaps,
/// and then along these; `step` is from one plane to the next.
struct FftLines {
  struct Side {
    int64_t stride, step;
    auto operator<=>(const Side&) const = default;
  };
  FftKind kind;
  bool wide;  ///< in double precision
  int64_t n, count;
  Side in, out;
  int64_t rows = 0;
  auto operator<=>(const FftLines&) const = default;
};

/// The library's plan of transforms on one device.
struct FftPlan {
  virtual ~FftPlan() = default;
  /// The temporary memory of `run`.
  virtual size_t work_bytes() const = 0;
  /// Enqueues it. The input is kept, unless the kind is hermitian. Addresses are multiples of the
  /// size of a complex number.
  virtual void run(Queue& queue, uint64_t in, uint64_t out, uint64_t work) const = 0;
};

struct FourierLibrary {
  virtual ~FourierLibrary() = default;
  /// A plan, which is kept for later requests; null where the library is not there or does not
  /// transform such lines.
  virtual std::shared_ptr<const FftPlan> plan(const FftLines& lines) = 0;
};

/// One of the three tensors of a cross-correlation y of x and w, computed from the two others: y
/// itself, or the cotangent of x or of w. All lie in rows: x [batch, in.., channels],
/// w [features, kernel.., channels / groups], y [batch, out.., features].
struct Convolution {
  enum class Result { y, x, w };
  Result result;
  Dtype::Val type;
  Precision precision;
  int axes;  ///< spatial: 2, or 3; the last so many of the lists below
  int64_t batch, channels, features, groups;
  /// `padding`: on both sides.
  std::array<int64_t, 3> in, out, kernel, stride, padding, dilation;
  auto operator<=>(const Convolution&) const = default;
};

/// The library's plan of a convolution on one device.
struct ConvolutionPlan {
  virtual ~ConvolutionPlan() = default;
  /// The temporary memory of `run`.
  virtual size_t work_bytes() const = 0;
  /// Enqueues it. Addresses are multiples of 16.
  virtual void run(Queue& queue, uint64_t x, uint64_t w, uint64_t y, uint64_t work) const = 0;
};

struct ConvolutionLibrary {
  virtual ~ConvolutionLibrary() = default;
  /// A plan with the same bits from run to run, which is kept for later requests; null where the
  /// library is not there or has none.
  virtual std::shared_ptr<const ConvolutionPlan> plan(const Convolution& c) = 0;
};

/// Factors of matrices that lie column by column, without gaps; square ones unless said. Each call
/// enqueues the work on one matrix and leaves LAPACK's info, an int32, at an address.
struct FactorLibrary {
  virtual ~FactorLibrary() = default;
  /// Whether matrices of the dtype have factors there; opens the library on first use.
  virtual bool has(Dtype type) = 0;
  enum class Form { cholesky, lu };
  /// Bytes of temporary memory for a factor: of the device, and of the host until it is done.
  struct Work {
    size_t device = 0, host = 0;
  };
  virtual Work work(Form form, Dtype type, int64_t n) = 0;
  /// A matrix, which becomes its factor, and temporary memory.
  struct Operands {
    /// pivots: n numbers of 64 bits for LU; scales of reflectors, of the dtype, for QR.
    uint64_t a, pivots, info, device;
    void* host;
    Work work;
  };
  /// The lower factor, from the lower triangle.
  virtual void cholesky(Queue& queue, Dtype type, int64_t n, const Operands& at) = 0;
  virtual void lu(Queue& queue, Dtype type, int64_t n, const Operands& at) = 0;
  /// Solves with LU factors for `columns` columns of `x`, in place; with the transpose on request.
  virtual void solve(Queue& queue, Dtype type, int64_t n, int64_t columns, bool transposed,
                     const Operands& at, uint64_t x) = 0;

  /// Temporary memory for QR factors of m rows and n columns.
  virtual Work qr_work(Dtype type, int64_t m, int64_t n) = 0;
  /// R in the upper triangle, over the reflectors that make Q.
  virtual void reflectors(Queue& queue, Dtype type, int64_t m, int64_t n, const Operands& at) = 0;
  /// The first n columns of Q, in place of its n reflectors.
  virtual void orthogonal(Queue& queue, Dtype type, int64_t m, int64_t n, const Operands& at) = 0;
};

/// An array of four axes of 16-bit elements, of which kernels copy tiles. Lists go from the last
/// axis to the first; steps, in elements, are multiples of 8, that of the last axis is 1.
struct TiledArray {
  Dtype::Val type = Dtype::Val::float16;
  std::array<int64_t, 4> sizes = {};
  std::array<int64_t, 3> steps = {};
};

/// Kernels whose warps multiply in groups of four, and whose tiles the device copies by itself
/// (kernels/warpgroups.cuh).
struct Warpgroups {
  virtual ~Warpgroups() = default;
  /// The map of an array at an address, a multiple of 16, for copies of `rows` rows.
  virtual device::TileMap map(const TiledArray& a, int64_t address, int rows) = 0;
  /// Lets launches of a kernel have so many bytes of shared memory.
  virtual void allow(FunctionHandle kernel, int shared) = 0;
};

}  // namespace mlx::core::gpu
