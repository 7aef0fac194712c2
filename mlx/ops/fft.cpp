// Checks, dtypes and normalisation of Fourier transforms; frames of short-time transforms.
#include "mlx/ops/fft.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {
Arrays build_fft(const Arrays& in, const Attrs* attrs, Stream s) {
  return {transform(in[0], attrs_as<FftAttrs>(attrs), s)};
}
Arrays build_fft_planes(const Arrays& in, const Attrs* attrs, Stream s) {
  return {transform_planes(in[0], attrs_as<FftPlanesAttrs>(attrs), s)};
}
Arrays build_spectrum(const Arrays& in, const Attrs* attrs, Stream s) {
  return {whole_spectrum(in[0], attrs_as<SpectrumAttrs>(attrs), s)};
}
Dtype complex_of(Dtype t) { return real_dtype(t) == float64 ? complex128 : complex64; }

int64_t fft_length(FftKind kind, int64_t n) { return kind == FftKind::real ? n / 2 + 1 : n; }
Dtype fft_dtype(FftKind kind, Dtype t) {
  return kind == FftKind::hermitian ? real_dtype(t) : complex_of(t);
}
}  // namespace

constinit const OpDef op_fft{.name = "fft",
                             .kind = OpKind::kernel,
                             .linearity = Linearity::linear,
                             .build = build_fft,
                             .vjp = rules::fft_vjp,
                             .vmap = rules::fft_vmap};

constinit const OpDef op_fft_planes{.name = "fft_planes",
                                    .kind = OpKind::kernel,
                                    .linearity = Linearity::linear,
                                    .build = build_fft_planes,
                                    .vjp = rules::fft_planes_vjp,
                                    .vmap = rules::fft_planes_vmap};

constinit const OpDef op_spectrum{.name = "spectrum",
                                  .kind = OpKind::kernel,
                                  .linearity = Linearity::linear,
                                  .build = build_spectrum,
                                  .vjp = rules::spectrum_vjp,
                                  .vmap = rules::spectrum_vmap};

array whole_spectrum(const array& half, const SpectrumAttrs& a, Stream s) {
  Shape shape = half.shape();
  shape[a.axes.back()] = a.n;
  return make_node(op_spectrum, std::move(shape), half.dtype(), s, make_attrs(a), half);
}

array transform(const array& x, const FftAttrs& a, Stream s) {
  Shape shape = x.shape();
  shape[a.axis] = fft_length(a.kind, a.n);
  return make_node(op_fft, std::move(shape), fft_dtype(a.kind, x.dtype()), s, make_attrs(a), x);
}

array transform_planes(const array& x, const FftPlanesAttrs& a, Stream s) {
  Shape shape = x.shape();
  shape.back() = fft_length(a.kind, a.n);
  return make_node(op_fft_planes, std::move(shape), fft_dtype(a.kind, x.dtype()), s, make_attrs(a),
                   x);
}

namespace fft {

namespace {

FFTNorm opposite(FFTNorm norm) {
  return norm == FFTNorm::Backward  ? FFTNorm::Forward
         : norm == FFTNorm::Forward ? FFTNorm::Backward
                                    : norm;
}

/// The normalisation factor of one axis.
double scale_of(FftKind kind, int64_t n, FFTNorm norm) {
  const bool back = kind == FftKind::inverse || kind == FftKind::hermitian;
  if (norm == FFTNorm::Ortho) return 1 / std::sqrt(static_cast<double>(n));
  return back == (norm == FFTNorm::Backward) ? 1 / static_cast<double>(n) : 1.0;
}

/// Transforms along `axes`: `kind` along the last one and its complex counterpart along the others.
/// Missing lengths in `n` are those of the array.
array transform_along(const char* op, const array& a, FftKind kind, std::optional<Shape> n,
                      const std::vector<int>& given, FFTNorm norm, StreamOrDevice stream) {
  const Stream s = to_stream(stream);
  std::vector<int> axes;
  for (int axis : given) axes.push_back(normalize_axis(axis, static_cast<int64_t>(a.ndim()), op));
  normalize_axes(axes, static_cast<int64_t>(a.ndim()), op);
  if (n && n->size() != axes.size())
    fail(op, n->size(), " lengths for ", axes.size(), " axes; one for each is accepted");
  if (axes.empty()) return a;
  const bool real = kind == FftKind::real, back = kind == FftKind::hermitian;
  auto length = [&](size_t i) {
    const int64_t m = a.shape()[axes[i]];
    const int64_t k = n ? (*n)[i] : back && i + 1 == axes.size() ? 2 * (m - 1) : m;
    if (k < 1)
      fail(op, "a transform of length ", k, " along axis ", axes[i], " of shape ",
           to_string(a.shape()), "; lengths from 1 are accepted");
    return k;
  };
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < axes.size(); ++i) lengths.push_back(length(i));
  const Dtype t = complex_of(a.dtype());
  // The coefficients of a real signal are the conjugates of others, so that half of them suffices.
  const bool halves = !real && !back && !is_complex(a.dtype());
  array x = astype(a, real || halves ? real_dtype(t) : t, s);
  // The real axis of a real transform is the last one.
  const FftKind last = halves ? FftKind::real : kind;
  const FftKind rest = real || halves ? FftKind::forward : back ? FftKind::inverse : kind;
  auto scale = [&](size_t i) { return scale_of(kind, lengths[i], norm); };
  // Transforms of the last two axes that need no zeros along the first of them are one op.
  const size_t n_axes = axes.size();
  const int rank = static_cast<int>(a.ndim());
  const bool planes = n_axes >= 2 && axes[n_axes - 1] == rank - 1 && axes[n_axes - 2] == rank - 2 &&
                      lengths[n_axes - 2] == a.shape(-2);
  const size_t together = planes ? 2 : 1;
  auto transform_last = [&] {
    const int64_t length = lengths.back();
    x = planes ? transform_planes(x, {last, length, scale(n_axes - 1), scale(n_axes - 2)}, s)
               : transform(x, {last, axes.back(), length, scale(n_axes - 1)}, s);
  };
  if (!back) transform_last();
  for (size_t i = n_axes - together; i-- > 0;)
    x = transform(x, {rest, axes[i], lengths[i], scale(i)}, s);
  if (back) transform_last();
  return halves ? whole_spectrum(x, {axes, lengths.back(), kind == FftKind::inverse}, s) : x;
}

std::vector<int> all_axes(const char* op, const array& a) {
  if (a.ndim() == 0) fail(op, "a scalar; at least one dimension is needed");
  std::vector<int> axes(a.ndim());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

}  // namespace

FFTNorm norm_named(const std::string& name, const char* op) {
  if (name == "backward") return FFTNorm::Backward;
  if (name == "ortho") return FFTNorm::Ortho;
  if (name == "forward") return FFTNorm::Forward;
  fail(op, "norm '", name, "'; 'backward', 'ortho' and 'forward' are accepted");
}

#define MLX_FFT_AXES(name, kind)                                                             \
  array name(const array& a, const Shape& n, const std::vector<int>& axes, FFTNorm norm,     \
             StreamOrDevice s) {                                                             \
    return transform_along(#name, a, FftKind::kind, n, axes, norm, s);                       \
  }                                                                                          \
  array name(const array& a, const std::vector<int>& axes, FFTNorm norm, StreamOrDevice s) { \
    return transform_along(#name, a, FftKind::kind, std::nullopt, axes, norm, s);            \
  }
#define MLX_FFT(name, kind)                                                         \
  array name(const array& a, int n, int axis, FFTNorm norm, StreamOrDevice s) {     \
    return transform_along(#name, a, FftKind::kind, Shape{n}, {axis}, norm, s);     \
  }                                                                                 \
  array name(const array& a, int axis, FFTNorm norm, StreamOrDevice s) {            \
    return transform_along(#name, a, FftKind::kind, std::nullopt, {axis}, norm, s); \
  }                                                                                 \
  MLX_FFT_AXES(name##2, kind)                                                       \
  MLX_FFT_AXES(name##n, kind)                                                       \
  array name##n(const array& a, FFTNorm norm, StreamOrDevice s) {                   \
    return name##n(a, all_axes(#name "n", a), norm, s);                             \
  }
MLX_FFT(fft, forward)
MLX_FFT(ifft, inverse)
MLX_FFT(rfft, real)
MLX_FFT(irfft, hermitian)
#undef MLX_FFT
#undef MLX_FFT_AXES

array hfft(const array& a, int n, int axis, FFTNorm norm, StreamOrDevice s) {
  return irfft(conjugate(a, s), n, axis, opposite(norm), s);
}
array hfft(const array& a, int axis, FFTNorm norm, StreamOrDevice s) {
  return irfft(conjugate(a, s), axis, opposite(norm), s);
}
array ihfft(const array& a, int n, int axis, FFTNorm norm, StreamOrDevice s) {
  return conjugate(rfft(a, n, axis, opposite(norm), s), s);
}
array ihfft(const array& a, int axis, FFTNorm norm, StreamOrDevice s) {
  return conjugate(rfft(a, axis, opposite(norm), s), s);
}

// --- frequencies --------------------------------------------------------------------------------

namespace {
array frequencies(const char* op, int n, double d, bool both, Dtype t, StreamOrDevice s) {
  if (!is_floating(t)) fail(op, "dtype ", dtype_name(t), "; floating dtypes are accepted");
  if (n < 1) fail(op, "n = ", n, "; values from 1 are accepted");
  if (d == 0) fail(op, "d = 0; other numbers are accepted");
  const array up = arange(0, both ? (n + 1) / 2 : n / 2 + 1, s);
  const array all = both ? concatenate({up, arange(-(n / 2), 0, s)}, s) : up;
  const Dtype wide = t == float64 ? float64 : float32;
  return astype(multiply(astype(all, wide, s), array(1 / (n * d), wide), s), t, s);
}

array shifted(const char* op, const array& a, const std::vector<int>& axes, bool back,
              StreamOrDevice s) {
  Shape shift;
  for (int axis : axes) {
    const int64_t n = a.shape()[normalize_axis(axis, static_cast<int64_t>(a.ndim()), op)];
    shift.push_back(back ? -(n / 2) : n / 2);
  }
  return axes.empty() ? a : roll(a, shift, axes, s);
}
array shifted(const char* op, const array& a, bool back, StreamOrDevice s) {
  std::vector<int> axes(a.ndim());
  std::iota(axes.begin(), axes.end(), 0);
  return shifted(op, a, axes, back, s);
}
}  // namespace

#define MLX_FREQUENCIES(name, both)                            \
  array name(int n, double d, Dtype dtype, StreamOrDevice s) { \
    return frequencies(#name, n, d, both, dtype, s);           \
  }                                                            \
  array name(int n, double d, StreamOrDevice s) { return name(n, d, float32, s); }
MLX_FREQUENCIES(fftfreq, true)
MLX_FREQUENCIES(rfftfreq, false)
#undef MLX_FREQUENCIES
array fftshift(const array& a, StreamOrDevice s) { return shifted("fftshift", a, false, s); }
array fftshift(const array& a, const std::vector<int>& axes, StreamOrDevice s) {
  return shifted("fftshift", a, axes, false, s);
}
array ifftshift(const array& a, StreamOrDevice s) { return shifted("ifftshift", a, true, s); }
array ifftshift(const array& a, const std::vector<int>& axes, StreamOrDevice s) {
  return shifted("ifftshift", a, axes, true, s);
}

// --- short-time transforms ----------------------------------------------------------------------

namespace {

/// The lengths of a short-time transform.
struct Frames {
  int64_t length, hop;

  Frames(const char* op, int64_t n_fft, const std::optional<int>& hop_length)
      : length(n_fft), hop(hop_length.value_or(static_cast<int>(n_fft / 4))) {
    if (length < 1) fail(op, "n_fft = ", length, "; values from 1 are accepted");
    if (hop < 1) fail(op, "hop_length = ", hop, "; values from 1 are accepted");
  }
  int64_t total(int64_t count) const { return (count - 1) * hop + length; }
};

/// The window centred in a frame, converted to `t`.
array window_of(const char* op, const Frames& f, const std::optional<int>& win_length,
                const std::optional<array>& window, Dtype t, StreamOrDevice s) {
  if (window && window->ndim() != 1)
    fail(op, "a window of shape ", to_string(window->shape()), "; one dimension is accepted");
  const int64_t n = window ? window->shape(0) : win_length.value_or(static_cast<int>(f.length));
  if (n < 0 || n > f.length)
    fail(op, "a window of length ", n, "; at most n_fft = ", f.length, " is accepted");
  const array w = window ? astype(*window, t, s) : ones({n}, t, s);
  const int64_t low = (f.length - n) / 2;
  return n == f.length ? w
                       : pad(w, {0}, {low}, {f.length - n - low}, constant(0, t), "constant", s);
}

/// Overlap-add of frames (.., count, length): (.., total).
array overlap_add(const array& frames, const Frames& f, StreamOrDevice s) {
  // Frames are split into pieces of one hop, so that rows can be added.
  const int64_t count = frames.shape(-2), runs = (f.length + f.hop - 1) / f.hop;
  const int64_t total = f.total(count), per_line = count - 1 + runs;
  Shape outer(frames.shape().begin(), frames.shape().end() - 2);
  const int64_t lines = num_elements(outer);
  array rows = frames;
  if (runs * f.hop != f.length)
    rows = pad(rows, {static_cast<int>(rows.ndim()) - 1}, {0}, {runs * f.hop - f.length},
               constant(0, rows.dtype()), "constant", s);
  rows = reshape(rows, {lines * count * runs, 1, f.hop}, s);
  auto positions = [&](int64_t n, int64_t step, Shape shape) {
    return reshape(multiply(integer_range(0, n, 1, int64, s), array(step, int64), s), shape, s);
  };
  array at = add(add(positions(lines, per_line, {lines, 1, 1}), positions(count, 1, {count, 1}), s),
                 positions(runs, 1, {runs}), s);
  array sum = scatter_add(zeros({lines * per_line, f.hop}, rows.dtype(), s),
                          reshape(at, {lines * count * runs}, s), rows, 0, s);
  sum = slice(reshape(sum, {lines, per_line * f.hop}, s), {0, 0}, {lines, total}, s);
  outer.push_back(total);
  return reshape(sum, outer, s);
}

}  // namespace

array stft(const array& x, int n_fft, const std::optional<int>& hop_length,
           const std::optional<int>& win_length, const std::optional<array>& window, bool center,
           const std::string& pad_mode, FFTNorm norm, const std::optional<bool>& onesided,
           StreamOrDevice s) {
  if (x.ndim() == 0) fail("stft", "a scalar; at least one dimension is needed");
  const Frames f("stft", n_fft, hop_length);
  Dtype t = is_inexact(x.dtype()) ? x.dtype() : float32;
  if (t.size() == 2) t = float32;
  if (window && is_complex(window->dtype())) t = complex_of(t);
  array signal = astype(x, t, s);
  const array w = window_of("stft", f, win_length, window, t, s);
  const int last = static_cast<int>(x.ndim()) - 1;
  if (center)
    signal = pad(signal, {last}, {f.length / 2}, {f.length / 2}, constant(0, t), pad_mode, s);
  const int64_t n = signal.shape(-1);
  if (n < f.length)
    fail("stft", "a signal of ", n, " samples", center ? " with its padding" : "",
         "; at least n_fft = ", f.length, " are needed");
  Shape shape = signal.shape();
  Strides strides = row_major(shape);
  shape.back() = (n - f.length) / f.hop + 1;
  shape.push_back(f.length);
  strides.back() = f.hop;
  strides.push_back(1);
  array frames = multiply(as_strided(signal, shape, strides, 0, s), w, s);
  const bool half = onesided.value_or(!is_complex(t));
  return swapaxes(half ? rfft(frames, -1, norm, s) : fft(frames, -1, norm, s), -1, -2, s);
}

array istft(const array& a, const std::optional<int>& n_fft, const std::optional<int>& hop_length,
            const std::optional<int>& win_length, const std::optional<array>& window, bool center,
            FFTNorm norm, const std::optional<bool>& onesided, const std::optional<int>& length,
            StreamOrDevice s) {
  if (a.ndim() < 2)
    fail("istft", "an array of shape ", to_string(a.shape()),
         "; at least two dimensions, frequencies and frames, are needed");
  const bool half = onesided.value_or(true);
  const int64_t rows = a.shape(-2), count = a.shape(-1);
  const Frames f("istft", n_fft ? *n_fft : half ? 2 * (rows - 1) : rows, hop_length);
  if (count == 0) fail("istft", "no frames; at least one is needed");
  if (length && *length < 0) fail("istft", "length = ", *length, "; values from 0 are accepted");
  const array spectra = swapaxes(a, -1, -2, s);
  const int n = static_cast<int>(f.length);
  array frames = half ? irfft(spectra, n, -1, norm, s) : real(ifft(spectra, n, -1, norm, s), s);
  const array w = window_of("istft", f, win_length, window, frames.dtype(), s);
  array squares = broadcast_to(square(w, s), {count, f.length}, s);
  array weights = maximum(overlap_add(squares, f, s), constant(1e-8, w.dtype()), s);
  array signal = divide(overlap_add(multiply(frames, w, s), f, s), weights, s);
  const int64_t low = center ? f.length / 2 : 0;
  const int64_t end = std::max(low, signal.shape(-1) - low);
  const int64_t result_length = length ? *length : end - low;
  Shape start(signal.ndim(), 0), stop = signal.shape();
  start.back() = low;
  stop.back() = std::min(low + result_length, length ? signal.shape(-1) : end);
  signal = slice(signal, start, stop, s);
  if (const int64_t missing = result_length - signal.shape(-1); missing > 0)
    signal = pad(signal, {static_cast<int>(signal.ndim()) - 1}, {0}, {missing},
                 constant(0, signal.dtype()), "constant", s);
  return signal;
}

}  // namespace fft
}  // namespace mlx::core
