// Plans of Fourier transforms: how a length is divided into passes, with their twiddle factors.
// Plans are immutable and cached by length. All transform forward; an inverse transform swaps real
// and imaginary parts of input and output.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "mlx/backend/cpu/isa/fft.h"

namespace mlx::core::cpu {

/// Uninitialised numbers aligned to a cache line.
template <class T>
class Plane {
 public:
  Plane() = default;
  explicit Plane(int64_t n)
      : data_(static_cast<T*>(::operator new(static_cast<size_t>(n) * sizeof(T), kAlign))) {}
  T* get() const { return data_.get(); }
  T& operator[](int64_t i) const { return data_.get()[i]; }

 private:
  static constexpr std::align_val_t kAlign{64};
  struct Free {
    void operator()(T* p) const { ::operator delete(p, kAlign); }
  };
  std::unique_ptr<T, Free> data_;
};

/// n rounded up to whole cache lines of T.
template <class T>
constexpr int64_t padded(int64_t n) {
  return (n + kFftLanes<T> - 1) / kFftLanes<T> * kFftLanes<T>;
}

/// The kernels for the instruction set in use.
template <class T>
const FftKernels<T>& fft_arithmetic();

/// Real and imaginary parts of complex numbers: planes, or any memory with a stride.
template <class T>
struct Parts {
  T *re, *im;
  Parts swapped() const { return {im, re}; }
  Parts at(int64_t offset) const {
    return {re ? re + offset : nullptr, im ? im + offset : nullptr};
  }
};

/// A transform of columns whose length has no prime factor above kFftMaxRadix.
template <class T>
class Columns {
 public:
  Columns() = default;
  explicit Columns(int64_t n);
  int64_t length() const { return n_; }
  /// Transforms x, n rows of kFftLanes<T> lanes with row stride `pitch`. Results are contiguous
  /// rows, in `a` or `b` (returned); x may be `b`.
  Parts<T> run(Parts<T> x, int64_t pitch, Parts<T> a, Parts<T> b) const {
    return passes(0, passes_.size(), x, pitch, a, b);
  }
  /// The same of rows of dense complex numbers in memory, `row` apart. `b` holds them where the
  /// first pass cannot read them.
  Parts<T> run_from(Parts<const T> x, int64_t row, Parts<T> a, Parts<T> b) const;
  /// The same with results, times `scale`, in such rows.
  void run_to(Parts<T> x, int64_t pitch, Parts<T> a, Parts<T> b, Parts<T> y, int64_t row,
              T scale) const;
  int64_t bytes() const { return static_cast<int64_t>(numbers_.size() * sizeof(T)); }

 private:
  struct Pass {
    int radix;
    int64_t m;
    size_t twiddles, roots;  ///< offsets; the last pass has no twiddles
  };
  /// Passes [begin, end).
  Parts<T> passes(size_t begin, size_t end, Parts<T> x, int64_t pitch, Parts<T> a,
                  Parts<T> b) const;
  const T* twiddles(const Pass& p) const { return p.m > 1 ? &numbers_[p.twiddles] : nullptr; }

  int64_t n_ = 1;
  std::vector<Pass> passes_;
  std::vector<T> numbers_;
};

/// Whether complex numbers `step` apart are dense: two parts beside each other, in either order.
template <class T>
bool are_pairs(Parts<T> x, int64_t step) {
  return x.re && x.im && step == 2 && (x.re + 1 == x.im || x.im + 1 == x.re);
}

/// The algorithm for lines of one length. Lengths with small prime factors are transformed as
/// columns for a block of lines, or, for a single line, as a matrix of rows * lanes: columns,
/// twiddles and a transposition, then columns again. Other lengths are convolved with a chirp
/// (Bluestein).
template <class T>
class LinePlan {
 public:
  /// The longest columns.
  static constexpr int64_t kMaxColumns = 4096;
  /// minimum length of a line that is distributed over threads
  static constexpr int64_t kLongLine = 1 << 15;

  explicit LinePlan(int64_t n);
  /// The plan of a length, from the cache.
  static std::shared_ptr<const LinePlan> of(int64_t n);

  int64_t length() const { return n_; }
  /// Whether `columns` can be used, and whether `line` can.
  bool smooth() const { return chirp_length_ == 0; }
  bool splits() const { return chirp_length_ != 0 || lanes_ >= kMinLanes; }
  const Columns<T>& columns() const { return whole_; }

  /// Scratch numbers that `line` needs.
  int64_t scratch() const;
  /// Transforms one line: input x[i * step] for i < count, zeros after it; output y[i * y_step]
  /// times `scale` for i < y_count. A null part of x is zero, a null part of y is not written. y
  /// may be x. Long lines are distributed over threads.
  void line(Parts<const T> x, int64_t step, int64_t count, Parts<T> y, int64_t y_step,
            int64_t y_count, T scale, T* scratch) const;
  int64_t bytes() const;

 private:
  static constexpr int64_t kMinLanes = 8;
  void prepare_split();
  void prepare_chirp();
  int64_t block() const { return 4 * kFftLanes<T> * padded<T>(std::max(rows_, lanes_)); }
  void chirped(Parts<const T> x, int64_t step, int64_t count, Parts<T> y, int64_t y_step,
               int64_t y_count, T scale, T* scratch) const;

  int64_t n_;
  Columns<T> whole_;              // short smooth lengths
  int64_t rows_ = 1, lanes_ = 1;  // n = rows * lanes
  int64_t pitch_ = 0, twiddle_pitch_ = 0;
  Columns<T> down_, across_;          // of length rows, and of length lanes
  Plane<T> twiddle_re_, twiddle_im_;  // [rows][lanes]
  int64_t chirp_length_ = 0;
  std::shared_ptr<const LinePlan> inner_;  // for the convolution
  Plane<T> chirp_re_, chirp_im_, spectrum_re_, spectrum_im_;
};

/// Factors for splitting the half-length transform of a real line of even length n.
template <class T>
struct RealPlan {
  explicit RealPlan(int64_t n);
  static std::shared_ptr<const RealPlan> of(int64_t n);
  int64_t bytes() const { return n / 4 * 4 * static_cast<int64_t>(sizeof(T)); }
  int64_t n;
  Plane<T> forward_re, forward_im, backward_re, backward_im;
};

}  // namespace mlx::core::cpu
