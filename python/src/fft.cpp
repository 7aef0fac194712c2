// Fourier transforms: the submodule mlx.core.fft.
#include "mlx/fft.h"

#include "module.h"

namespace mlx::python {

namespace {

namespace transforms = mlx::core::fft;
#define STREAM "stream: StreamOrDevice = None) -> array"
#define TAIL "norm: str = 'backward', " STREAM
#define FREQUENCIES                                                                         \
  "(n: int, d: float = 1.0, stream: StreamOrDevice = None, *, dtype: Dtype | None = None, " \
  "device: Device | Stream | None = None) -> array"

void bind_lines(nb::module_& m) {
#define MLX_FFT(NAME)                                                                         \
  def(m, #NAME "(a: array, n: int | None = None, axis: int = -1, " TAIL,                      \
      [](const array& a, std::optional<int> n, int axis, const std::string& norm,             \
         const StreamOrDevice& s) {                                                           \
        const auto how = transforms::norm_named(norm, #NAME);                                 \
        return n ? transforms::NAME(a, *n, axis, how, s) : transforms::NAME(a, axis, how, s); \
      });
#define LENGTH " The axis is cut, or padded with zeros, to `n`."
  MLX_FFT(fft)
  MLX_FFT(ifft)
  MLX_FFT(rfft)
  MLX_FFT(irfft)
  MLX_FFT(hfft)
  MLX_FFT(ihfft)
#undef MLX_FFT
}

std::vector<int> last_axes(size_t count) {
  std::vector<int> axes(count);
  for (size_t i = 0; i < count; ++i) axes[i] = static_cast<int>(i) - static_cast<int>(count);
  return axes;
}

#define MLX_FFTS(NAME, AXES, OTHERWISE)                                                       \
  def(m,                                                                                      \
      #NAME "(a: array, s: tuple[int, ...] | None = None, axes: Sequence[int] | None = " AXES \
            ", " TAIL,                                                                        \
      [](const array& a, std::optional<Shape>& n, std::optional<std::vector<int>>& axes,      \
         const std::string& norm, const StreamOrDevice& s) {                                  \
        const auto how = transforms::norm_named(norm, #NAME);                                 \
        if (n) return transforms::NAME(a, *n, axes ? *axes : last_axes(n->size()), how, s);   \
        if (axes) return transforms::NAME(a, *axes, how, s);                                  \
        return transforms::OTHERWISE(a, how, s);                                              \
      });
#define MLX_PAIR(NAME)                   \
  MLX_FFTS(NAME##2, "[-2, -1]", NAME##n) \
  MLX_FFTS(NAME##n, "None", NAME##n)

void bind_planes(nb::module_& m) {
  MLX_PAIR(fft)
  MLX_PAIR(ifft)
  MLX_PAIR(rfft)
  MLX_PAIR(irfft)
}
#undef MLX_PAIR

void bind_frequencies(nb::module_& m) {
#define MLX_FREQUENCIES(NAME)                                                            \
  def(m, #NAME FREQUENCIES,                                                              \
      [](int n, double d, const StreamOrDevice& s, std::optional<Dtype> dtype,           \
         const StreamOrDevice& device) {                                                 \
        return transforms::NAME(n, d, dtype.value_or(float32),                           \
                                std::holds_alternative<std::monostate>(s) ? device : s); \
      });
  MLX_FREQUENCIES(fftfreq)
  MLX_FREQUENCIES(rfftfreq)
#undef MLX_FREQUENCIES
#define MLX_SHIFT(NAME)                                                                 \
  def(m, #NAME "(a: array, axes: int | Sequence[int] | None = None, " STREAM,           \
      [](const array& a, Axes& axes, const StreamOrDevice& s) {                         \
        if (auto* one = std::get_if<int>(&axes)) return transforms::NAME(a, {*one}, s); \
        if (auto* several = std::get_if<std::vector<int>>(&axes))                       \
          return transforms::NAME(a, *several, s);                                      \
        return transforms::NAME(a, s);                                                  \
      });
  MLX_SHIFT(fftshift)
  MLX_SHIFT(ifftshift)
#undef MLX_SHIFT
}

using Int = std::optional<int>;

void bind_frames(nb::module_& m) {
  def(m,
      "stft(x: array, n_fft: int = 2048, hop_length: int | None = None, "
      "win_length: int | None = None, window: array | None = None, center: bool = True, "
      "pad_mode: str = 'reflect', norm: str = 'backward', onesided: bool | None = None, " STREAM,
      [](const array& x, int n_fft, Int hop, Int length, std::optional<array>& window, bool center,
         const std::string& mode, const std::string& norm, std::optional<bool> onesided,
         const StreamOrDevice& s) {
        return transforms::stft(x, n_fft, hop, length, window, center, mode,
                                transforms::norm_named(norm, "stft"), onesided, s);
      });
  def(m,
      "istft(stft_matrix: array, n_fft: int | None = None, hop_length: int | None = None, "
      "win_length: int | None = None, window: array | None = None, center: bool = True, "
      "norm: str = 'backward', onesided: bool | None = None, length: int | None = None, " STREAM,
      [](const array& a, Int n_fft, Int hop, Int win_length, std::optional<array>& window,
         bool center, const std::string& norm, std::optional<bool> onesided, Int length,
         const StreamOrDevice& s) {
        return transforms::istft(a, n_fft, hop, win_length, window, center,
                                 transforms::norm_named(norm, "istft"), onesided, length, s);
      });
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
