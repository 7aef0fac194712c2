// Discrete Fourier transforms of any length along any axes, of complex and real arrays, and
// short-time transforms of signals. float64 and complex128 are transformed in double precision,
// other dtypes as float32 and complex64.
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
  real,       ///< real to the first n / 2 + 1 numbers of its forward transform
  hermitian,  ///< the first n / 2 + 1 numbers of a spectrum to its real inverse
};

/// `n` is the length transformed: what the input has less is zero, what it has more is left out.
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

/// The transform that `a` describes; complex input for all kinds but `real`.
MLX_API array transform(const array& x, const FftAttrs& a, Stream s);

namespace rules {
Arrays fft_vjp(const RuleArgs& r);
Batched fft_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

namespace fft {

/// Where the factor 1 / n stands: at the inverse, at neither (both have its root), at the forward
/// transform.
enum class FFTNorm { Backward = 0, Ortho = 1, Forward = 2 };

/// "backward", "ortho" or "forward".
MLX_API FFTNorm norm_named(const std::string& name, const char* op);

// Over all axes, over `axes`, or over `axes` cut or padded with zeros to lengths `n`. The real
// transforms of several axes are real along the last of them; irfft* give 2 (m - 1) numbers for m
// along it unless a length is given. Throws IndexError for axes out of range, ValueError for
// lengths below 1, repeated axes, and scalars.
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
/// The real spectrum of a signal of which `a` is the first half, and the way back.
MLX_FFT_1(hfft)
MLX_FFT_1(ihfft)
#undef MLX_FFT
#undef MLX_FFT_1
#undef MLX_FFT_2
#undef MLX_FFT_N

/// The frequencies of the n numbers that `fft` gives, for samples `d` apart, in a floating dtype
/// (float32): (n).
MLX_API array fftfreq(int n, double d, Dtype dtype, StreamOrDevice s = {});
MLX_API array fftfreq(int n, double d = 1.0, StreamOrDevice s = {});
/// Those of `rfft`: (n / 2 + 1).
MLX_API array rfftfreq(int n, double d, Dtype dtype, StreamOrDevice s = {});
MLX_API array rfftfreq(int n, double d = 1.0, StreamOrDevice s = {});
/// Frequency zero moved to the middle of all axes or of some, and back.
MLX_API array fftshift(const array& a, StreamOrDevice s = {});
MLX_API array fftshift(const array& a, const std::vector<int>& axes, StreamOrDevice s = {});
MLX_API array ifftshift(const array& a, StreamOrDevice s = {});
MLX_API array ifftshift(const array& a, const std::vector<int>& axes, StreamOrDevice s = {});

/// Spectra of windowed frames of a signal (.., time): (.., frequency, frame). Frames are `n_fft`
/// long and `hop_length` (n_fft / 4) apart; the window (ones of `win_length`, n_fft) stands in
/// their middle. `center` pads the signal by n_fft / 2 at both ends. `onesided` (for real signals)
/// gives n_fft / 2 + 1 frequencies.
MLX_API array stft(const array& x, int n_fft = 2048, const std::optional<int>& hop_length = {},
                   const std::optional<int>& win_length = {},
                   const std::optional<array>& window = {}, bool center = true,
                   const std::string& pad_mode = "reflect", FFTNorm norm = FFTNorm::Backward,
                   const std::optional<bool>& onesided = {}, StreamOrDevice s = {});
/// The real signal with these frames, overlapping ones averaged by the squares of the window; cut
/// or padded to `length`.
MLX_API array istft(const array& stft_matrix, const std::optional<int>& n_fft = {},
                    const std::optional<int>& hop_length = {},
                    const std::optional<int>& win_length = {},
                    const std::optional<array>& window = {}, bool center = true,
                    FFTNorm norm = FFTNorm::Backward, const std::optional<bool>& onesided = {},
                    const std::optional<int>& length = {}, StreamOrDevice s = {});

}  // namespace fft
}  // namespace mlx::core
