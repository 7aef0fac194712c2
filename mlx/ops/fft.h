// Discrete Fourier transforms of any length along any axes, of complex and real arrays, and
// short-time Fourier transforms. float64 and complex128 are transformed in double precision, other
// dtypes as float32 and complex64.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// One transform along one axis.
enum class FftKind : uint8_t {
  forward,    ///< complex to complex
  inverse,    ///< complex to complex, without a factor
  real,       ///< real to the first n / 2 + 1 coefficients of its forward transform
  hermitian,  ///< the first n / 2 + 1 coefficients to the real inverse
};

/// `n` is the transform length: shorter input is padded with zeros, longer input is cropped.
struct FftAttrs {
  FftKind kind;
  int axis;
  int64_t n;
  double scale;
  template <class F>
  void each(F&& f) {
    f("kind", kind);
    f("axis", axis);
    f("n", n);
    f("scale", scale);
  }
};
extern const OpDef op_fft;

/// Transforms along the last two axes: along the last one as FftAttrs says; along the other one,
/// which keeps its length, inverse for the kinds `inverse` and `hermitian`, else forward.
struct FftPlanesAttrs {
  FftKind kind;
  int64_t n;
  double scale, other_scale;
  template <class F>
  void each(F&& f) {
    f("kind", kind);
    f("n", n);
    f("scale", scale);
    f("other_scale", other_scale);
  }
};
extern const OpDef op_fft_planes;

/// All coefficients of a real signal's transform along `axes`, from the first n / 2 + 1 along the
/// last of these, where the signal has length n. With `conjugate`, of the inverse transform, from
/// a half of the forward one.
struct SpectrumAttrs {
  std::vector<int> axes;
  int64_t n;
  bool conjugate;
  template <class F>
  void each(F&& f) {
    f("axes", axes);
    f("n", n);
    f("conjugate", conjugate);
  }
};
extern const OpDef op_spectrum;

/// The transform described by `a`; the input is complex for all kinds except `real`.
MLX_API array transform(const array& x, const FftAttrs& a, Stream s);
/// The transforms described by `a`, of an array of at least two axes.
MLX_API array transform_planes(const array& x, const FftPlanesAttrs& a, Stream s);
/// The whole spectrum described by `a`, of a complex half.
MLX_API array whole_spectrum(const array& half, const SpectrumAttrs& a, Stream s);

namespace rules {
Arrays fft_vjp(const RuleArgs& r);
Batched fft_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Arrays fft_planes_vjp(const RuleArgs& r);
Batched fft_planes_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Arrays spectrum_vjp(const RuleArgs& r);
Batched spectrum_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

namespace fft {

/// Normalisation by 1 / n of the inverse transform, by its square root in both directions, or of
/// the forward transform.
enum class FFTNorm { Backward = 0, Ortho = 1, Forward = 2 };

/// Parses "backward", "ortho" or "forward".
MLX_API FFTNorm norm_named(const std::string& name, const char* op);

// Over all axes, over `axes`, or over `axes` cropped or padded with zeros to lengths `n`. Real
// transforms of several axes are real along the last one; irfft* give 2 (m - 1) values for m
// coefficients along it unless a length is given. Throws IndexError for axes out of range,
// ValueError for lengths below 1, repeated axes, and scalars.
#define MLX_FFT_N(name)                                                            \
  MLX_API array name(const array& a, const Shape& n, const std::vector<int>& axes, \
                     FFTNorm norm = FFTNorm::Backward, StreamOrDevice s = {});     \
  MLX_API array name(const array& a, const std::vector<int>& axes,                 \
                     FFTNorm norm = FFTNorm::Backward, StreamOrDevice s = {});     \
  MLX_API array name(const array& a, FFTNorm norm = FFTNorm::Backward, StreamOrDevice s = {});
#define MLX_FFT_2(name)                                                            \
  MLX_API array name(const array& a, const Shape& n, const std::vector<int>& axes, \
                     FFTNorm norm = FFTNorm::Backward, StreamOrDevice s = {});     \
  MLX_API array name(const array& a, const std::vector<int>& axes = {-2, -1},      \
                     FFTNorm norm = FFTNorm::Backward, StreamOrDevice s = {});
#define MLX_FFT_1(name)                                                                 \
  MLX_API array name(const array& a, int n, int axis, FFTNorm norm = FFTNorm::Backward, \
                     StreamOrDevice s = {});                                            \
  MLX_API array name(const array& a, int axis = -1, FFTNorm norm = FFTNorm::Backward,   \
                     StreamOrDevice s = {});
#define MLX_FFT(name) \
  MLX_FFT_1(name)     \
  MLX_FFT_2(name##2)  \
  MLX_FFT_N(name##n)
MLX_FFT(fft)
MLX_FFT(ifft)
MLX_FFT(rfft)
MLX_FFT(irfft)
/// The real transform of a Hermitian signal given by its first half, and its inverse.
MLX_FFT_1(hfft)
MLX_FFT_1(ihfft)
#undef MLX_FFT
#undef MLX_FFT_1
#undef MLX_FFT_2
#undef MLX_FFT_N

/// The frequencies of the n coefficients of `fft`, for sample spacing `d`, in a floating dtype
/// (float32): (n).
MLX_API array fftfreq(int n, double d, Dtype dtype, StreamOrDevice s = {});
MLX_API array fftfreq(int n, double d = 1.0, StreamOrDevice s = {});
/// The frequencies of `rfft`: (n / 2 + 1).
MLX_API array rfftfreq(int n, double d, Dtype dtype, StreamOrDevice s = {});
MLX_API array rfftfreq(int n, double d = 1.0, StreamOrDevice s = {});
/// Frequency zero moved to the middle of all axes or of the given axes, and the inverse.
MLX_API array fftshift(const array& a, StreamOrDevice s = {});
MLX_API array fftshift(const array& a, const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array ifftshift(const array& a, StreamOrDevice s = {});
MLX_API array ifftshift(const array& a, const std::vector<int>& axes, StreamOrDevice s = {});

/// Short-time Fourier transform of a signal (.., time): (.., frequency, frame). Frames have length
/// `n_fft` and distance `hop_length` (n_fft / 4); the window (ones of `win_length`, n_fft) is
/// centred in a frame. `center` pads the signal by n_fft / 2 at both ends. `onesided` (for real
/// signals) gives n_fft / 2 + 1 frequencies.
MLX_API array stft(const array& x, int n_fft = 2048, const std::optional<int>& hop_length = {},
                   const std::optional<int>& win_length = {},
                   const std::optional<array>& window = {}, bool center = true,
                   const std::string& pad_mode = "reflect", FFTNorm norm = FFTNorm::Backward,
                   const std::optional<bool>& onesided = {}, StreamOrDevice s = {});
/// The real signal with these frames; overlapping frames are averaged, weighted by the squared
/// window. Cropped or padded to `length`.
MLX_API array istft(const array& stft_matrix, const std::optional<int>& n_fft = {},
                    const std::optional<int>& hop_length = {},
                    const std::optional<int>& win_length = {},
                    const std::optional<array>& window = {}, bool center = true,
                    FFTNorm norm = FFTNorm::Backward, const std::optional<bool>& onesided = {},
                    const std::optional<int>& length = {}, StreamOrDevice s = {});

}  // namespace fft
}  // namespace mlx::core
