// The arithmetic of Fourier transforms, compiled once per instruction set. Complex numbers are
// stored in two planes, real and imaginary parts; a plane is a matrix whose columns ("lanes") are
// transformed side by side. Planes and their rows are aligned to 64 bytes.
#pragma once

#include <stdint.h>

#include "mlx/backend/cpu/isas.def"

namespace mlx::core::cpu {

/// Lanes per block of columns: one cache line.
template <class T>
inline constexpr int64_t kFftLanes = 64 / static_cast<int64_t>(sizeof(T));
/// The largest prime that a pass takes.
inline constexpr int kFftMaxRadix = 127;

/// Strides are in numbers of type T. In a dense complex line the parts are one apart and the stride
/// is 2.
template <class T>
struct FftKernels {
  /// Loads rows x lanes numbers of any strides to planes; zeros if `im` is null, and from `lanes`
  /// to `width`.
  void (*load)(const T* re, const T* im, int64_t row, int64_t lane, int64_t rows, int64_t lanes,
               int64_t width, T* to_re, T* to_im, int64_t pitch);
  /// The inverse, times `scale`. A null part is not written.
  void (*store)(const T* re, const T* im, int64_t pitch, T* to_re, T* to_im, int64_t row,
                int64_t lane, int64_t rows, int64_t lanes, T scale);
  /// Loads dense lines of `rows` complex numbers, `line` apart, as columns: to[row][lane], of
  /// kFftLanes lanes. Lanes without a line repeat the last one.
  void (*load_lines)(const T* re, const T* im, int64_t line, int64_t rows, int64_t lanes, T* to_re,
                     T* to_im);
  /// The inverse, times `scale`.
  void (*store_lines)(const T* re, const T* im, T* to_re, T* to_im, int64_t line, int64_t rows,
                      int64_t lanes, T scale);
  /// Transposes: to[lane][row] = from[row][lane] * w[row][lane] (without a factor if w is null).
  /// Rows and lanes are rounded up to kFftLanes: that range is read and written.
  void (*transpose)(const T* re, const T* im, int64_t pitch, int64_t rows, int64_t lanes,
                    const T* w_re, const T* w_im, int64_t w_pitch, T* to_re, T* to_im,
                    int64_t to_pitch);
  /// One pass of a transform of columns: x is [radix][m][width] with row stride `pitch`, y is
  /// [m][radix][width]. Result k of row p is multiplied by twiddles[p][k - 1] (two numbers each;
  /// null: no factor). `roots` are cos(2 pi j / radix), then the sines; used by odd radices only.
  void (*pass)(int radix, int64_t m, int64_t width, int64_t pitch, const T* twiddles,
               const T* roots, const T* x_re, const T* x_im, T* y_re, T* y_im);
  /// The same of rows of kFftLanes dense complex numbers in memory, `row` apart, as the first pass;
  /// false, and nothing is done, for a radix that is not there.
  bool (*first_pass)(int radix, int64_t m, const T* twiddles, const T* re, const T* im, int64_t row,
                     T* y_re, T* y_im);
  /// The same as the last pass, of `width` lanes, to such rows, times `scale`.
  bool (*last_pass)(int radix, int64_t width, int64_t pitch, const T* x_re, const T* x_im, T* re,
                    T* im, int64_t row, T scale);
  /// y = x * w, n numbers.
  void (*multiply)(int64_t n, const T* x_re, const T* x_im, const T* w_re, const T* w_im, T* y_re,
                   T* y_im);
  /// Rows a and b = n - a of columns of `width` (a multiple of kFftLanes, or 1), 1 <= a <= n / 2:
  /// with s = a + conj(b) and d = c * (a - conj(b)), a = f * s + d and b = conj(f * s - d). This
  /// converts between a half-length complex transform and the spectrum of a real line.
  void (*combine_real)(int64_t n, int64_t width, T f, const T* c_re, const T* c_im, T* re, T* im);
};

#define MLX_FFT_TABLE(isa, ...)          \
  namespace isa {                        \
  extern const FftKernels<float> fft32;  \
  extern const FftKernels<double> fft64; \
  }
MLX_EACH_ISA(MLX_FFT_TABLE)
#undef MLX_FFT_TABLE

}  // namespace mlx::core::cpu
