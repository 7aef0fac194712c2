// Plans of Fourier transforms and the transform of one line.
#include "mlx/backend/cpu/fft_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <mutex>
#include <numbers>
#include <unordered_map>

#include "mlx/backend/common/convolution_length.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

using Complex = std::complex<double>;

/// exp(-2 pi i k / n), 0 <= k < n, with an error below one unit in the last place: the angle is
/// reduced to an eighth of a transpose in integer arithmetic.
Complex unit_root(int64_t k, int64_t n) {
  const int64_t quarters = 4 * k / n, rest = 4 * k % n;
  const bool upper = 2 * rest > n;
  const double angle =
      std::numbers::pi / 2 * static_cast<double>(upper ? n - rest : rest) / static_cast<double>(n);
  Complex z(std::cos(angle), -std::sin(angle));
  if (upper) z = Complex(-z.imag(), -z.real());
  for (int64_t q = 0; q < quarters; ++q) z = Complex(z.imag(), -z.real());
  return z;
}

/// exp(-2 pi i k / n) for many k: a product of two entries of short tables if n is large.
class Roots {
 public:
  explicit Roots(int64_t n) : shift_(n < 4096 ? 0 : std::bit_width(static_cast<uint64_t>(n)) / 2) {
    for (int64_t k = 0; k < n; k += int64_t{1} << shift_) high_.push_back(unit_root(k, n));
    for (int64_t k = 0; k < int64_t{1} << shift_; ++k) low_.push_back(unit_root(k, n));
  }
  Complex operator()(int64_t k) const {
    const Complex a = high_[k >> shift_];
    if (shift_ == 0) return a;
    const Complex b = low_[k & ((int64_t{1} << shift_) - 1)];
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }

 private:
  int shift_;
  std::vector<Complex> high_, low_;
};

/// Radices of the passes of a length, or none if a prime factor is too large.
std::vector<int> radices(int64_t n) {
  std::vector<int> out;
  int twos = std::countr_zero(static_cast<uint64_t>(n));
  n >>= twos;
  // Powers of two use passes of 8 and 4, and a 2 only if nothing else is left.
  while (twos > 4 || twos == 3) out.push_back(8), twos -= 3;
  while (twos > 1) out.push_back(4), twos -= 2;
  if (twos) out.push_back(2);
  for (int p = 3; p <= kFftMaxRadix && n > 1; p += 2)
    for (; n % p == 0; n /= p) out.push_back(p);
  return n > 1 ? std::vector<int>() : out;
}
bool is_smooth(int64_t n) { return n == 1 || !radices(n).empty(); }

/// The largest divisor that is at most the square root.
int64_t middle_divisor(int64_t n) {
  auto d = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (d * d > n) --d;
  while (n % d) --d;
  return d;
}

/// Plans by length. Cleared when it exceeds its limit; plans in use stay alive.
template <class P>
std::shared_ptr<const P> cached(int64_t n) {
  static std::mutex mutex;
  static auto& plans = *new std::unordered_map<int64_t, std::shared_ptr<const P>>;
  static int64_t bytes = 0;
  constexpr int64_t kLimit = 64 << 20;
  {
    std::lock_guard lock(mutex);
    if (auto it = plans.find(n); it != plans.end()) return it->second;
  }
  auto plan = std::make_shared<const P>(n);
  std::lock_guard lock(mutex);
  if (bytes + plan->bytes() > kLimit) plans.clear(), bytes = 0;
  if (plans.emplace(n, plan).second) bytes += plan->bytes();
  return plan;
}

}  // namespace

template <>
const FftKernels<float>& fft_arithmetic<float>() {
  return MLX_FOR_ISA(fft32);
}
template <>
const FftKernels<double>& fft_arithmetic<double>() {
  return MLX_FOR_ISA(fft64);
}

// --- columns ------------------------------------------------------------------------------------

template <class T>
Columns<T>::Columns(int64_t n) : n_(n) {
  auto append = [&](Complex z) {
    numbers_.push_back(static_cast<T>(z.real()));
    numbers_.push_back(static_cast<T>(z.imag()));
  };
  int64_t left = n;
  for (int radix : radices(n)) {
    const Roots root(left);
    left /= radix;
    Pass pass{radix, left, numbers_.size(), 0};
    for (int64_t p = 0; left > 1 && p < left; ++p)
      for (int k = 1; k < radix; ++k) append(root(p * k));
    pass.roots = numbers_.size();
    for (int j = 0; j < radix; ++j) numbers_.push_back(static_cast<T>(unit_root(j, radix).real()));
    for (int j = 0; j < radix; ++j) numbers_.push_back(static_cast<T>(-unit_root(j, radix).imag()));
    passes_.push_back(pass);
  }
}

template <class T>
Parts<T> Columns<T>::passes(size_t begin, size_t end, Parts<T> x, int64_t pitch, Parts<T> a,
                            Parts<T> b) const {
  for (size_t i = begin; i < end; ++i) {
    const Pass& p = passes_[i];
    // The results of all passes before are beside each other.
    const int64_t width = kFftLanes<T> * (n_ / (p.m * p.radix));
    fft_arithmetic<T>().pass(p.radix, p.m, width, i > 0 ? width : pitch, twiddles(p),
                             &numbers_[p.roots], x.re, x.im, a.re, a.im);
    x = a;
    std::swap(a, b);
  }
  return x;
}

template <class T>
Parts<T> Columns<T>::run_from(Parts<const T> x, int64_t row, Parts<T> a, Parts<T> b) const {
  constexpr int64_t kWidth = kFftLanes<T>;
  const auto& kernels = fft_arithmetic<T>();
  if (!passes_.empty()) {
    const Pass& p = passes_.front();
    if (kernels.first_pass(p.radix, p.m, twiddles(p), x.re, x.im, row, a.re, a.im))
      return passes(1, passes_.size(), a, kWidth, b, a);
  }
  kernels.load(x.re, x.im, row, 2, n_, kWidth, kWidth, b.re, b.im, kWidth);
  return run(b, kWidth, a, b);
}

template <class T>
void Columns<T>::run_to(Parts<T> x, int64_t pitch, Parts<T> a, Parts<T> b, Parts<T> y, int64_t row,
                        T scale) const {
  constexpr int64_t kWidth = kFftLanes<T>;
  const auto& kernels = fft_arithmetic<T>();
  if (!passes_.empty()) {
    const size_t last = passes_.size() - 1;
    const int radix = passes_[last].radix;
    x = passes(0, last, x, pitch, a, b);
    const int64_t width = kWidth * (n_ / radix);
    if (last > 0) pitch = width;
    if (kernels.last_pass(radix, width, pitch, x.re, x.im, y.re, y.im, row, scale)) return;
    if (last % 2) std::swap(a, b);
    x = passes(last, last + 1, x, pitch, a, b);
  }
  kernels.store(x.re, x.im, kWidth, y.re, y.im, row, 2, n_, kWidth, scale);
}

// --- lines --------------------------------------------------------------------------------------

template <class T>
std::shared_ptr<const LinePlan<T>> LinePlan<T>::of(int64_t n) {
  return cached<LinePlan>(n);
}

template <class T>
LinePlan<T>::LinePlan(int64_t n) : n_(n) {
  if (!is_smooth(n)) {
    prepare_chirp();
    return;
  }
  lanes_ = middle_divisor(n);
  if (lanes_ >= kMinLanes) prepare_split();
  if (n <= kMaxColumns || lanes_ < kMinLanes) whole_ = Columns<T>(n);
}

template <class T>
void LinePlan<T>::prepare_split() {
  rows_ = n_ / lanes_;
  down_ = Columns<T>(rows_);
  across_ = Columns<T>(lanes_);
  pitch_ = padded<T>(rows_);
  // Rows a power of two apart would map to few sets of the caches.
  if (pitch_ * static_cast<int64_t>(sizeof(T)) % 1024 == 0) pitch_ += kFftLanes<T>;
  twiddle_pitch_ = padded<T>(lanes_);
  const int64_t size = padded<T>(rows_) * twiddle_pitch_;
  twiddle_re_ = Plane<T>(size);
  twiddle_im_ = Plane<T>(size);
  const Roots root(n_);
  parallel_for(
      padded<T>(rows_), 16,
      [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
          for (int64_t l = 0; l < twiddle_pitch_; ++l) {
            const Complex z = r < rows_ && l < lanes_ ? root(r * l) : Complex();
            twiddle_re_[r * twiddle_pitch_ + l] = static_cast<T>(z.real());
            twiddle_im_[r * twiddle_pitch_ + l] = static_cast<T>(z.imag());
          }
      },
      4.0 * static_cast<double>(size));
}

// x_j w_j convolved with 1 / w_j, where w_j = exp(-pi i j^2 / n).
template <class T>
void LinePlan<T>::prepare_chirp() {
  chirp_length_ = convolution_length(n_);
  inner_ = of(chirp_length_);
  const int64_t m = chirp_length_;
  chirp_re_ = Plane<T>(n_);
  chirp_im_ = Plane<T>(n_);
  spectrum_re_ = Plane<T>(m);
  spectrum_im_ = Plane<T>(m);
  std::fill_n(spectrum_re_.get(), m, T(0));
  std::fill_n(spectrum_im_.get(), m, T(0));
  const Roots root(2 * n_);
  int64_t square = 0;  // j * j modulo 2 n
  for (int64_t j = 0; j < n_; ++j) {
    const Complex w = root(square);
    chirp_re_[j] = static_cast<T>(w.real());
    chirp_im_[j] = static_cast<T>(w.imag());
    for (int64_t at : {j, j ? m - j : 0}) {
      spectrum_re_[at] = chirp_re_[j];
      spectrum_im_[at] = -chirp_im_[j];
    }
    square = (square + 2 * j + 1) % (2 * n_);
  }
  Plane<T> scratch(inner_->scratch());
  const Parts<T> spectrum{spectrum_re_.get(), spectrum_im_.get()};
  inner_->line({spectrum.re, spectrum.im}, 1, m, spectrum, 1, m,
               static_cast<T>(1.0 / static_cast<double>(m)), scratch.get());
}

template <class T>
int64_t LinePlan<T>::scratch() const {
  if (chirp_length_) return 2 * padded<T>(chirp_length_) + inner_->scratch();
  return 2 * padded<T>(lanes_) * pitch_ + block();
}

template <class T>
int64_t LinePlan<T>::bytes() const {
  const int64_t planes = 2 * padded<T>(rows_) * twiddle_pitch_ + 2 * chirp_length_ + 2 * n_;
  return planes * static_cast<int64_t>(sizeof(T)) + whole_.bytes() + down_.bytes() +
         across_.bytes();
}

template <class T>
void LinePlan<T>::line(Parts<const T> x, int64_t step, int64_t count, Parts<T> y, int64_t y_step,
                       int64_t y_count, T scale, T* scratch) const {
  if (chirp_length_) return chirped(x, step, count, y, y_step, y_count, scale, scratch);
  const auto& kernels = fft_arithmetic<T>();
  constexpr int64_t kWidth = kFftLanes<T>;
  const int64_t plane = padded<T>(lanes_) * pitch_;
  const Parts<T> mid{scratch, scratch + plane};
  auto blocks = [&](int64_t total, auto each) {
    const int64_t n = (total + kWidth - 1) / kWidth;
    const int64_t part = block() / 4;
    auto some = [&](T* buffer, int64_t begin, int64_t end) {
      const Parts<T> a{buffer, buffer + part}, b{buffer + 2 * part, buffer + 3 * part};
      for (int64_t i = begin; i < end; ++i)
        each(i * kWidth, std::min(kWidth, total - i * kWidth), a, b);
    };
    if (n_ < kLongLine) return some(scratch + 2 * plane, 0, n);
    parallel_for(
        n, 1, [&](int64_t begin, int64_t end) { some(Plane<T>(block()).get(), begin, end); },
        4.0 * static_cast<double>(n_));
  };
  auto down = [&](int64_t first, int64_t lanes, Parts<T> a, Parts<T> b) {
    if (lanes == kWidth && count >= n_ && are_pairs(x, step))
      return down_.run_from(x.at(first * step), lanes_ * step, a, b);
    // Complete rows, and one that may be partial.
    const int64_t rows = std::clamp<int64_t>((count - first - lanes) / lanes_ + 1, 0, rows_);
    const int64_t whole = count < first + lanes ? 0 : rows;
    const int64_t offset = first * step;
    auto from = x.at(offset);
    kernels.load(from.re, from.im, lanes_ * step, step, whole, lanes, kWidth, b.re, b.im, kWidth);
    if (whole < rows_) {
      const int64_t some = std::clamp<int64_t>(count - first - whole * lanes_, 0, lanes);
      from = x.at(offset + whole * lanes_ * step);
      const Parts<T> to = b.at(whole * kWidth);
      kernels.load(from.re, from.im, 0, step, 1, some, kWidth, to.re, to.im, kWidth);
      std::fill(b.re + (whole + 1) * kWidth, b.re + rows_ * kWidth, T(0));
      std::fill(b.im + (whole + 1) * kWidth, b.im + rows_ * kWidth, T(0));
    }
    return down_.run(b, kWidth, a, b);
  };
  blocks(lanes_, [&](int64_t first, int64_t lanes, Parts<T> a, Parts<T> b) {
    const Parts<T> z = down(first, lanes, a, b);
    kernels.transpose(z.re, z.im, kWidth, rows_, lanes, twiddle_re_.get() + first,
                      twiddle_im_.get() + first, twiddle_pitch_, mid.re + first * pitch_,
                      mid.im + first * pitch_, pitch_);
  });
  blocks(rows_, [&](int64_t first, int64_t lanes, Parts<T> a, Parts<T> b) {
    if (lanes == kWidth && y_count == n_ && are_pairs(y, y_step))
      return across_.run_to(mid.at(first), pitch_, a, b, y.at(first * y_step), rows_ * y_step,
                            scale);
    const Parts<T> z = across_.run(mid.at(first), pitch_, a, b);
    const int64_t full = std::clamp<int64_t>((y_count - first - lanes) / rows_ + 1, 0, lanes_);
    const int64_t rows = y_count < first + lanes ? 0 : full;
    auto to = y.at(first * y_step);
    kernels.store(z.re, z.im, kWidth, to.re, to.im, rows_ * y_step, y_step, rows, lanes, scale);
    const int64_t some =
        rows < lanes_ ? std::clamp<int64_t>(y_count - first - rows * rows_, 0, lanes) : 0;
    to = y.at((first + rows * rows_) * y_step);
    kernels.store(z.re + rows * kWidth, z.im + rows * kWidth, kWidth, to.re, to.im, 0, y_step,
                  some > 0, some, scale);
  });
}

template <class T>
void LinePlan<T>::chirped(Parts<const T> x, int64_t step, int64_t count, Parts<T> y, int64_t y_step,
                          int64_t y_count, T scale, T* scratch) const {
  const auto& kernels = fft_arithmetic<T>();
  const int64_t m = chirp_length_;
  const Parts<T> z{scratch, scratch + padded<T>(m)};
  T* const rest = scratch + 2 * padded<T>(m);
  kernels.load(x.re, x.im, 0, step, 1, count, m, z.re, z.im, m);
  kernels.multiply(count, z.re, z.im, chirp_re_.get(), chirp_im_.get(), z.re, z.im);
  inner_->line({z.re, z.im}, 1, m, z, 1, m, T(1), rest);
  kernels.multiply(m, z.re, z.im, spectrum_re_.get(), spectrum_im_.get(), z.re, z.im);
  inner_->line({z.im, z.re}, 1, m, z.swapped(), 1, n_, T(1), rest);
  kernels.multiply(y_count, z.re, z.im, chirp_re_.get(), chirp_im_.get(), z.re, z.im);
  kernels.store(z.re, z.im, m, y.re, y.im, 0, y_step, 1, y_count, scale);
}

// --- real lines ---------------------------------------------------------------------------------

template <class T>
std::shared_ptr<const RealPlan<T>> RealPlan<T>::of(int64_t n) {
  return cached<RealPlan>(n);
}

template <class T>
RealPlan<T>::RealPlan(int64_t n) : n(n) {
  const int64_t count = n / 4 + 1;
  for (auto* p : {&forward_re, &forward_im, &backward_re, &backward_im}) *p = Plane<T>(count);
  const Roots root(n);
  for (int64_t k = 0; k < count; ++k) {
    const Complex w = root(k);  // forward -i w / 2, backward i conj(w)
    forward_re[k] = static_cast<T>(w.imag() / 2);
    forward_im[k] = static_cast<T>(-w.real() / 2);
    backward_re[k] = static_cast<T>(w.imag());
    backward_im[k] = static_cast<T>(w.real());
  }
}

template class Columns<float>;
template class Columns<double>;
template class LinePlan<float>;
template class LinePlan<double>;
template struct RealPlan<float>;
template struct RealPlan<double>;

}  // namespace mlx::core::cpu
