// Conversions of arguments that check them.
#include "mlx/c/src/convert.h"

#include "mlx/compile.h"

namespace mlx::c {

namespace {

template <class Out, class T>
Out numbers_of(const T* numbers, size_t n) {
  if (n && !numbers)
    core::fail<core::ValueError>("mlx_c", "null for ", n, " numbers; their address is accepted");
  return Out(numbers, numbers + n);
}

}  // namespace

core::fft::FFTNorm in(mlx_fft_norm norm) {
  switch (norm) {
    case MLX_FFT_NORM_BACKWARD:
      return core::fft::FFTNorm::Backward;
    case MLX_FFT_NORM_ORTHO:
      return core::fft::FFTNorm::Ortho;
    case MLX_FFT_NORM_FORWARD:
      return core::fft::FFTNorm::Forward;
  }
  core::fail<core::ValueError>("mlx_fft_norm", static_cast<int>(norm), "; 0 to 2 are accepted");
}

core::CompileMode in(mlx_compile_mode mode) {
  if (mode < MLX_COMPILE_MODE_DISABLED || mode > MLX_COMPILE_MODE_ENABLED)
    core::fail<core::ValueError>("mlx_compile_mode", static_cast<int>(mode),
                                 "; 0 to 3 are accepted");
  return static_cast<core::CompileMode>(mode);
}

std::string in(const char* text) {
  if (!text) core::fail<core::ValueError>("mlx_c", "null for a string; its address is accepted");
  return text;
}

std::vector<int> ints_in(const int* numbers, size_t n) {
  return numbers_of<std::vector<int>>(numbers, n);
}
core::Shape shape_in(const int* numbers, size_t n) { return numbers_of<core::Shape>(numbers, n); }
core::Strides strides_in(const int64_t* numbers, size_t n) {
  return numbers_of<core::Strides>(numbers, n);
}
std::vector<uint64_t> words_in(const uint64_t* numbers, size_t n) {
  return numbers_of<std::vector<uint64_t>>(numbers, n);
}
std::optional<std::vector<int>> maybe_ints_in(const int* numbers, size_t n) {
  return numbers ? std::optional(ints_in(numbers, n)) : std::nullopt;
}

}  // namespace mlx::c
