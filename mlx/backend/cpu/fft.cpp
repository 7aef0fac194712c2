// Fourier transforms along any axis of operands of any layout: blocks of lines side by side if they
// are short or neighbours in memory, else line by line. Real lines of even length are transformed
// as complex lines of half the length.
#include "mlx/ops/fft.h"

#include <cmath>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/fft_plan.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/ops/fft_planes.h"

namespace mlx::core::cpu {

namespace {

/// The transforms of one node. Strides and counts in numbers of type T.
template <class T>
class Transform {
 public:
  Transform(const KernelArgs& args, const FftAttrs& a);
  void run(const KernelArgs& args);
  /// Scratch numbers of a line that threads share; 0 if each line is processed by one thread.
  static int64_t shared_scratch(const FftAttrs& a) {
    const int64_t n = core_length(a);
    if (n < LinePlan<T>::kLongLine) return 0;
    const auto plan = LinePlan<T>::of(n);
    return plan->splits() ? line_scratch(*plan, n) : 0;
  }

 private:
  static constexpr int64_t kWidth = kFftLanes<T>;
  static bool half(const FftAttrs& a) {
    return (a.kind == FftKind::real || a.kind == FftKind::hermitian) && a.n % 2 == 0;
  }
  static int64_t core_length(const FftAttrs& a) { return half(a) ? a.n / 2 : a.n; }
  static int64_t line_scratch(const LinePlan<T>& plan, int64_t n) {
    return 2 * padded<T>(n + 1) + plan.scratch();
  }

  void line(const T* x, T* y, T* scratch) const;
  void block(const T* x, T* y, int64_t lanes, T* scratch) const;
  /// Numbers per plane of a block; a transposition writes whole squares.
  int64_t block_plane() const { return kWidth * (padded<T>(core_ + 1) + kWidth); }
  /// Reads numbers from memory: rows of a block, or of a single line.
  template <class Load>
  void fetch(const T* x, Load load) const;
  void fetch_block(const T* re, const T* im, int64_t step, int64_t rows, int64_t lanes, Parts<T> to,
                   T* lines_scratch) const;
  void store_block(Parts<T> from, Parts<T> y, int64_t step, int64_t rows, int64_t lanes,
                   T* lines_scratch) const;
  void spectrum_to_pairs(Parts<T> z, int64_t width) const;
  void pairs_to_spectrum(Parts<T> z, int64_t width) const;

  FftKind kind_;
  int64_t n_, core_;
  bool half_;
  T scale_;
  int64_t count_, x_step_, y_step_, y_count_;  // along the axis
  int64_t x_lane_, y_lane_;                    // between the lines of a block
  int64_t inner_;                              // product of the axes after it
  Shape shape_;                                // the other axes
  std::vector<Strides> strides_;
  std::shared_ptr<const LinePlan<T>> plan_;
  std::shared_ptr<const RealPlan<T>> real_;
};

template <class T>
Transform<T>::Transform(const KernelArgs& args, const FftAttrs& a)
    : kind_(a.kind),
      n_(a.n),
      core_(core_length(a)),
      half_(half(a)),
      scale_(static_cast<T>(a.scale)),
      strides_(2),
      plan_(LinePlan<T>::of(core_)) {
  const View &in = args.in[0], &out = args.out[0];
  const int64_t x_size = is_complex(in.dtype()) ? 2 : 1, y_size = is_complex(out.dtype()) ? 2 : 1;
  const Strides dense = row_major(out.shape());
  for (int i = 0; i < in.ndim(); ++i) {
    if (i == a.axis) continue;
    shape_.push_back(in.shape()[i]);
    strides_[0].push_back(in.strides()[i] * x_size);
    strides_[1].push_back(dense[i] * y_size);
  }
  collapse_axes(shape_, strides_);
  const int64_t wanted = kind_ == FftKind::hermitian ? n_ / 2 + 1 : n_;
  count_ = std::min(in.shape()[a.axis], wanted);
  x_step_ = in.strides()[a.axis] * x_size;
  y_step_ = dense[a.axis] * y_size;
  y_count_ = out.shape()[a.axis];
  x_lane_ = strides_[0].back();
  y_lane_ = strides_[1].back();
  inner_ = dense[a.axis];
  if (half_ && core_ > 1) real_ = RealPlan<T>::of(n_);
}

/// Coefficients k and h - k of the half-length transform give those of the real line.
template <class T>
void Transform<T>::pairs_to_spectrum(Parts<T> z, int64_t width) const {
  const int64_t last = core_ * width;
  for (int64_t l = 0; l < width; ++l) {
    const T re = z.re[l], im = z.im[l];
    z.re[l] = re + im;
    z.re[last + l] = re - im;
    z.im[l] = z.im[last + l] = T(0);
  }
  if (real_)
    fft_arithmetic<T>().combine_real(core_, width, T(0.5), real_->forward_re.get(),
                                     real_->forward_im.get(), z.re, z.im);
}
template <class T>
void Transform<T>::spectrum_to_pairs(Parts<T> z, int64_t width) const {
  const int64_t last = core_ * width;
  for (int64_t l = 0; l < width; ++l) {
    const T first = z.re[l], middle = z.re[last + l];
    z.re[l] = first + middle;
    z.im[l] = first - middle;
  }
  if (real_)
    fft_arithmetic<T>().combine_real(core_, width, T(1), real_->backward_re.get(),
                                     real_->backward_im.get(), z.re, z.im);
}

/// Calls `load(re, im, step, first row, rows)` for the existing input, then `load(null, ..)` for
/// the rows of zeros after it.
template <class T>
template <class Load>
void Transform<T>::fetch(const T* x, Load load) const {
  int64_t rows = 0;
  switch (kind_) {
    case FftKind::forward:
      load(x, x + 1, x_step_, 0, rows = count_);
      break;
    case FftKind::inverse:
      load(x + 1, x, x_step_, 0, rows = count_);
      break;
    case FftKind::real:
      if (half_) {
        load(x, x + x_step_, 2 * x_step_, 0, rows = count_ / 2);
        if (count_ % 2) load(x + (count_ - 1) * x_step_, nullptr, x_step_, rows++, 1);
      } else {
        load(x, nullptr, x_step_, 0, rows = count_);
      }
      break;
    case FftKind::hermitian:
      load(x, x + 1, x_step_, 0, rows = count_);
      break;
  }
  const int64_t all = kind_ == FftKind::hermitian ? n_ / 2 + 1 : core_;
  if (rows < all) load(nullptr, nullptr, 0, rows, all - rows);
}

/// The conjugate half of a spectrum of odd length; real and imaginary parts are swapped for the
/// inverse.
template <class T>
void mirror(Parts<T> z, int64_t n, int64_t width) {
  for (int64_t l = 0; l < width; ++l) z.im[l] = T(0);
  for (int64_t k = 1; k <= n / 2; ++k)
    for (int64_t l = 0; l < width; ++l) {
      z.re[(n - k) * width + l] = z.re[k * width + l];
      z.im[(n - k) * width + l] = -z.im[k * width + l];
    }
}

template <class T>
void Transform<T>::line(const T* x, T* y, T* scratch) const {
  const auto& kernels = fft_arithmetic<T>();
  const int64_t plane = padded<T>(core_ + 1);
  const Parts<T> z{scratch, scratch + plane};
  T* const rest = scratch + 2 * plane;
  auto load = [&](const T* re, const T* im, int64_t step, int64_t first, int64_t rows) {
    const int64_t there = re ? rows : 0;
    kernels.load(re, im, 0, step, 1, there, rows, z.re + first, z.im + first, plane);
  };
  const Parts<const T> planes{z.re, z.im};
  switch (kind_) {
    case FftKind::forward:
      return plan_->line({x, x + 1}, x_step_, count_, {y, y + 1}, y_step_, n_, scale_, rest);
    case FftKind::inverse:
      return plan_->line({x + 1, x}, x_step_, count_, {y + 1, y}, y_step_, n_, scale_, rest);
    case FftKind::real:
      if (!half_)
        return plan_->line({x, nullptr}, x_step_, count_, {y, y + 1}, y_step_, y_count_, scale_,
                           rest);
      if (count_ % 2) {
        fetch(x, load);
        plan_->line(planes, 1, core_, z, 1, core_, T(1), rest);
      } else {
        plan_->line({x, x + x_step_}, 2 * x_step_, count_ / 2, z, 1, core_, T(1), rest);
      }
      pairs_to_spectrum(z, 1);
      return kernels.store(z.re, z.im, plane, y, y + 1, 0, y_step_, 1, y_count_, scale_);
    case FftKind::hermitian:
      fetch(x, load);
      if (half_) {
        spectrum_to_pairs(z, 1);
        return plan_->line({z.im, z.re}, 1, core_, {y + y_step_, y}, 2 * y_step_, core_, scale_,
                           rest);
      }
      mirror(z, n_, 1);
      return plan_->line({z.im, z.re}, 1, core_, {nullptr, y}, y_step_, core_, scale_, rest);
  }
}

/// Reads rows of a block. Dense lines are read as lines and then transposed.
template <class T>
void Transform<T>::fetch_block(const T* re, const T* im, int64_t step, int64_t rows, int64_t lanes,
                               Parts<T> to, T* lines_scratch) const {
  const auto& kernels = fft_arithmetic<T>();
  if (std::abs(x_lane_) <= std::abs(step))
    return kernels.load(re, im, step, x_lane_, rows, lanes, kWidth, to.re, to.im, kWidth);
  if (are_pairs<const T>({re, im}, step))
    return kernels.load_lines(re, im, x_lane_, rows, lanes, to.re, to.im);
  const int64_t pitch = padded<T>(rows);
  const Parts<T> lines{lines_scratch, lines_scratch + kWidth * pitch};
  kernels.load(re, im, x_lane_, step, lanes, rows, pitch, lines.re, lines.im, pitch);
  for (T* p : {lines.re, lines.im}) std::fill(p + lanes * pitch, p + kWidth * pitch, T(0));
  kernels.transpose(lines.re, lines.im, pitch, lanes, rows, nullptr, nullptr, 0, to.re, to.im,
                    kWidth);
}

template <class T>
void Transform<T>::store_block(Parts<T> from, Parts<T> y, int64_t step, int64_t rows, int64_t lanes,
                               T* lines_scratch) const {
  const auto& kernels = fft_arithmetic<T>();
  if (std::abs(y_lane_) <= step)
    return kernels.store(from.re, from.im, kWidth, y.re, y.im, step, y_lane_, rows, lanes, scale_);
  if (are_pairs(y, step))
    return kernels.store_lines(from.re, from.im, y.re, y.im, y_lane_, rows, lanes, scale_);
  const int64_t pitch = padded<T>(rows);
  const Parts<T> lines{lines_scratch, lines_scratch + kWidth * pitch};
  kernels.transpose(from.re, from.im, kWidth, rows, lanes, nullptr, nullptr, 0, lines.re, lines.im,
                    pitch);
  kernels.store(lines.re, lines.im, pitch, y.re, y.im, y_lane_, step, lanes, rows, scale_);
}

template <class T>
void Transform<T>::block(const T* x, T* y, int64_t lanes, T* scratch) const {
  const int64_t plane = block_plane();
  const Parts<T> a{scratch, scratch + plane}, b{scratch + 2 * plane, scratch + 3 * plane};
  T* const lines_scratch = scratch + 4 * plane;
  const Columns<T>& columns = plan_->columns();
  fetch(x, [&](const T* re, const T* im, int64_t step, int64_t first, int64_t rows) {
    const Parts<T> to = b.at(first * kWidth);
    if (re) return fetch_block(re, im, step, rows, lanes, to, lines_scratch);
    std::fill_n(to.re, rows * kWidth, T(0));
    std::fill_n(to.im, rows * kWidth, T(0));
  });
  switch (kind_) {
    case FftKind::forward:
      return store_block(columns.run(b, kWidth, a, b), {y, y + 1}, y_step_, n_, lanes,
                         lines_scratch);
    case FftKind::inverse:
      return store_block(columns.run(b, kWidth, a, b), {y + 1, y}, y_step_, n_, lanes,
                         lines_scratch);
    case FftKind::real: {
      const Parts<T> z = columns.run(b, kWidth, a, b);
      if (half_) pairs_to_spectrum(z, kWidth);
      return store_block(z, {y, y + 1}, y_step_, y_count_, lanes, lines_scratch);
    }
    case FftKind::hermitian:
      if (half_) {
        spectrum_to_pairs(b, kWidth);
        const Parts<T> z = columns.run(b.swapped(), kWidth, a, b);
        return store_block(z, {y + y_step_, y}, 2 * y_step_, core_, lanes, lines_scratch);
      }
      mirror(b, n_, kWidth);
      const Parts<T> z = columns.run(b.swapped(), kWidth, a, b);
      return store_block(z, {nullptr, y}, y_step_, core_, lanes, lines_scratch);
  }
}

template <class T>
void Transform<T>::run(const KernelArgs& args) {
  const T* const x = args.in[0].as<T>();
  T* const y = args.out[0].as<T>();
  const int64_t across = shape_.back(), lines = num_elements(shape_);
  // The choice affects rounding, so it depends on shapes and never on strides.
  const bool blocks = plan_->smooth() &&
                      (!plan_->splits() ||
                       (inner_ == 1 ? lines >= 4 && core_ <= 64 * kWidth
                                    : inner_ >= kWidth / 2 && core_ <= LinePlan<T>::kMaxColumns));
  const double work = static_cast<double>(lines) * static_cast<double>(core_);
  const double estimate = work * (0.2 + 0.1 * std::log2(static_cast<double>(core_) + 1));
  if (!blocks) {
    const Odometer<2> start(shape_, {strides_[0], strides_[1]});
    auto some = [&](int64_t begin, int64_t end, T* scratch) {
      Odometer<2> at = start;
      at.seek(begin);
      for (; begin < end; ++begin, at.next()) line(x + at[0], y + at[1], scratch);
    };
    if (core_ >= LinePlan<T>::kLongLine && lines < 2 * num_threads())
      return some(0, lines, static_cast<T*>(args.workspace));
    return parallel_for(
        lines, 1,
        [&](int64_t begin, int64_t end) {
          some(begin, end, Plane<T>(line_scratch(*plan_, core_)).get());
        },
        estimate);
  }
  const int64_t per_row = (across + kWidth - 1) / kWidth;
  Shape outer(shape_.begin(), shape_.end() - 1);
  const Odometer<2> start(outer, {Strides(strides_[0].begin(), strides_[0].end() - 1),
                                  Strides(strides_[1].begin(), strides_[1].end() - 1)});
  parallel_for(
      lines / across * per_row, 1,
      [&](int64_t begin, int64_t end) {
        const Plane<T> scratch(6 * block_plane());
        Odometer<2> at = start;
        for (; begin < end; ++begin) {
          at.seek(begin / per_row);
          const int64_t first = begin % per_row * kWidth;
          block(x + at[0] + first * x_lane_, y + at[1] + first * y_lane_,
                std::min(kWidth, across - first), scratch.get());
        }
      },
      estimate);
}

void run_transform(const KernelArgs& args, const FftAttrs& a) {
  if (real_dtype(args.in[0].dtype()) == float64) {
    Transform<double>(args, a).run(args);
  } else {
    Transform<float>(args, a).run(args);
  }
}

void run_fft(const KernelArgs& args) {
  if (args.out[0].size() > 0) run_transform(args, attrs_as<FftAttrs>(args.attrs));
}

/// Bytes that the threads of a transform of such elements share.
size_t transform_workspace(Dtype t, const FftAttrs& a) {
  if (real_dtype(t) == float64)
    return static_cast<size_t>(Transform<double>::shared_scratch(a)) * sizeof(double);
  return static_cast<size_t>(Transform<float>::shared_scratch(a)) * sizeof(float);
}
size_t fft_workspace(std::span<const Layout> operands, int, const Attrs* attrs) {
  return transform_workspace(operands[0].dtype, attrs_as<FftAttrs>(attrs));
}

//--- planes: a pass along each axis

/// Bytes between the passes, so that what follows is aligned.
size_t between_bytes(const FftPlanePasses& p) {
  const size_t bytes = static_cast<size_t>(num_elements(p.between.shape)) * p.between.dtype.size();
  return (bytes + 63) / 64 * 64;
}

void run_fft_planes(const KernelArgs& args) {
  if (args.out[0].size() == 0) return;
  const View &in = args.in[0], &out = args.out[0];
  const FftPlanePasses p(attrs_as<FftPlanesAttrs>(args.attrs), *in.layout, *out.layout);
  auto* const memory = static_cast<char*>(args.workspace);
  const View between{memory, &p.between};
  auto pass = [&](const View& from, const View& to, const FftAttrs& a) {
    run_transform({.in = {&from, 1},
                   .out = {&to, 1},
                   .attrs = nullptr,
                   .workspace = memory + between_bytes(p)},
                  a);
  };
  pass(in, between, p.first);
  pass(between, out, p.second);
}

size_t fft_planes_workspace(std::span<const Layout> operands, int n_inputs, const Attrs* attrs) {
  const FftPlanePasses p(attrs_as<FftPlanesAttrs>(attrs), operands[0], operands[n_inputs]);
  const Dtype t = operands[0].dtype;
  return between_bytes(p) +
         std::max(transform_workspace(t, p.first), transform_workspace(t, p.second));
}

constexpr KernelEntry kFftKernels[] = {
    {.op = &op_fft, .run = run_fft, .workspace = fft_workspace},
    {.op = &op_fft_planes, .run = run_fft_planes, .workspace = fft_planes_workspace}};

}  // namespace

const std::span<const KernelEntry> fft_kernels = kFftKernels;

}  // namespace mlx::core::cpu
