// Fourier transforms: the submodule mlx.core.fft.
#include "mlx/fft.h"

#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core::fft;
#define STREAM "stream: StreamOrDevice = None) -> array"
#define TAIL "norm: str = 'backward', " STREAM
#define FREQUENCIES                                                                         \
  "(n: int, d: float = 1.0, stream: StreamOrDevice = None, *, dtype: Dtype | None = None, " \
  "device: Device | Stream | None = None) -> array"

void bind_lines(nb::module_& m) {
#define MLX_FFT(NAME, DOC)                                                        \
  def(                                                                            \
      m, #NAME "(a: array, n: int | None = None, axis: int = -1, " TAIL,          \
      [](const array& a, std::optional<int> n, int axis, const std::string& norm, \
         const StreamOrDevice& s) {                                               \
        const auto how = core::norm_named(norm, #NAME);                           \
        return n ? core::NAME(a, *n, axis, how, s) : core::NAME(a, axis, how, s); \
      },                                                                          \
      DOC);
#define LENGTH " The axis is cut, or padded with zeros, to `n`."
  MLX_FFT(fft, "Discrete Fourier transform along an axis." LENGTH)
  MLX_FFT(ifft, "Inverse discrete Fourier transform along an axis." LENGTH)
  MLX_FFT(rfft, "The first n // 2 + 1 numbers of the transform of a real array." LENGTH)
  MLX_FFT(irfft, "The way back from rfft to `n` real numbers, 2 (m - 1) for m along the axis.")
  MLX_FFT(hfft, "The real transform of signals with conjugate symmetry, of which `a` is half.")
  MLX_FFT(ihfft, "The way back from hfft.")
#undef MLX_FFT
}

std::vector<int> last_axes(size_t count) {
  std::vector<int> axes(count);
  for (size_t i = 0; i < count; ++i) axes[i] = static_cast<int>(i) - static_cast<int>(count);
  return axes;
}

#define MLX_FFTS(NAME, AXES, OTHERWISE, DOC)                                                  \
  def(                                                                                        \
      m,                                                                                      \
      #NAME "(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = " AXES \
            ", " TAIL,                                                                        \
      [](const array& a, std::optional<Shape>& n, std::optional<std::vector<int>>& axes,      \
         const std::string& norm, const StreamOrDevice& s) {                                  \
        const auto how = core::norm_named(norm, #NAME);                                       \
        if (n) return core::NAME(a, *n, axes ? *axes : last_axes(n->size()), how, s);         \
        if (axes) return core::NAME(a, *axes, how, s);                                        \
        return core::OTHERWISE(a, how, s);                                                    \
      },                                                                                      \
      DOC);
#define MLX_PAIR(NAME, DOC)                                     \
  MLX_FFTS(NAME##2, "[-2, -1]", NAME##n, DOC " over two axes.") \
  MLX_FFTS(NAME##n, "None", NAME##n,                            \
           DOC " over axes: by default all, or the last ones that `s` has lengths for.")

void bind_planes(nb::module_& m) {
  MLX_PAIR(fft, "Discrete Fourier transform")
  MLX_PAIR(ifft, "Inverse discrete Fourier transform")
  MLX_PAIR(rfft, "Transform of a real array, of which half is given along the last axis,")
  MLX_PAIR(irfft, "The way back from the transform of a real array")
}

void bind_frequencies(nb::module_& m) {
#define MLX_FREQUENCIES(NAME, DOC)                                                 \
  def(                                                                             \
      m, #NAME FREQUENCIES,                                                        \
      [](int n, double d, const StreamOrDevice& s, std::optional<Dtype> dtype,     \
         const StreamOrDevice& device) {                                           \
        return core::NAME(n, d, dtype.value_or(float32),                           \
                          std::holds_alternative<std::monostate>(s) ? device : s); \
      },                                                                           \
      DOC);
  MLX_FREQUENCIES(fftfreq, "Frequencies of the n numbers of fft for samples d apart.")
  MLX_FREQUENCIES(rfftfreq, "Frequencies of the n // 2 + 1 numbers of rfft for samples d apart.")
#undef MLX_FREQUENCIES
#define MLX_SHIFT(NAME, DOC)                                                      \
  def(                                                                            \
      m, #NAME "(a: array, axes: int | Sequence[int] | None = None, " STREAM,     \
      [](const array& a, Axes& axes, const StreamOrDevice& s) {                   \
        if (auto* one = std::get_if<int>(&axes)) return core::NAME(a, {*one}, s); \
        if (auto* several = std::get_if<std::vector<int>>(&axes))                 \
          return core::NAME(a, *several, s);                                      \
        return core::NAME(a, s);                                                  \
      },                                                                          \
      DOC);
  MLX_SHIFT(fftshift, "Moves frequency zero to the middle of axes, all by default.")
  MLX_SHIFT(ifftshift, "The way back from fftshift.")
#undef MLX_SHIFT
}

using Int = std::optional<int>;

void bind_frames(nb::module_& m) {
  def(
      m,
      "stft(x: array, n_fft: int = 2048, hop_length: int | None = None, "
      "win_length: int | None = None, window: array | None = None, center: bool = True, "
      "pad_mode: str = 'reflect', norm: str = 'backward', onesided: bool | None = None, " STREAM,
      [](const array& x, int n_fft, Int hop, Int length, std::optional<array>& window, bool center,
         const std::string& mode, const std::string& norm, std::optional<bool> onesided,
         const StreamOrDevice& s) {
        return core::stft(x, n_fft, hop, length, window, center, mode,
                          core::norm_named(norm, "stft"), onesided, s);
      },
      "Spectra of overlapping, windowed frames of a signal (.., time): (.., frequency, frame).\n\n"
      "Frames of `n_fft` samples begin `hop_length` (n_fft // 4) apart. The window, ones of\n"
      "`win_length` (n_fft) by default, stands in the middle of a frame. `center` pads the signal\n"
      "by n_fft // 2 at both ends ('reflect', 'edge', 'constant', 'symmetric'). `onesided`, the\n"
      "default for real signals, gives n_fft // 2 + 1 frequencies.");
  def(
      m,
      "istft(stft_matrix: array, n_fft: int | None = None, hop_length: int | None = None, "
      "win_length: int | None = None, window: array | None = None, center: bool = True, "
      "norm: str = 'backward', onesided: bool | None = None, length: int | None = None, " STREAM,
      [](const array& a, Int n_fft, Int hop, Int win_length, std::optional<array>& window,
         bool center, const std::string& norm, std::optional<bool> onesided, Int length,
         const StreamOrDevice& s) {
        return core::istft(a, n_fft, hop, win_length, window, center,
                           core::norm_named(norm, "istft"), onesided, length, s);
      },
      "The real signal of which `stft`, with the same parameters, gives the spectra; cut or padded "
      "to `length`.");
}

}  // namespace

void bind_fft(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("fft", "Discrete Fourier transforms.");
  bind_lines(m);
  bind_planes(m);
  bind_frequencies(m);
  bind_frames(m);
}

}  // namespace mlx::python
