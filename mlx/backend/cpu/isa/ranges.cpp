// Tiles of evenly spaced numbers.
#include "mlx/backend/cpu/isa/ranges.h"

#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

// Counts of 32 bits are converted to double and float by vectors on every instruction set.
constexpr int64_t kPiece = 1 << 20;

template <class T>
MLX_FN void count_up(void* out, uint64_t first, uint64_t step, int64_t n) {
  T* o = static_cast<T*>(out);
  const T a = static_cast<T>(first), d = static_cast<T>(step);
  for (int64_t start = 0; start < n; start += kPiece) {
    const int count = static_cast<int>(n - start < kPiece ? n - start : kPiece);
    const T from = static_cast<T>(a + static_cast<T>(static_cast<T>(start) * d));
    for (int i = 0; i < count; ++i)
      o[start + i] = static_cast<T>(from + static_cast<T>(static_cast<T>(i) * d));
  }
}

void integers(void* out, uint64_t first, uint64_t step, int64_t n, int itemsize) {
  switch (itemsize) {
    case 1:
      return count_up<uint8_t>(out, first, step, n);
    case 2:
      return count_up<uint16_t>(out, first, step, n);
    case 4:
      return count_up<uint32_t>(out, first, step, n);
    default:
      return count_up<uint64_t>(out, first, step, n);
  }
}

template <class T>
MLX_FN void range(T* out, double start, double step, int64_t first, int64_t stride, int64_t n) {
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int count = static_cast<int>(n - begin < kPiece ? n - begin : kPiece);
    // Element numbers are exact in double.
    const double from = static_cast<double>(first + begin * stride);
    const double by = static_cast<double>(stride);
    for (int i = 0; i < count; ++i)
      out[begin + i] = static_cast<T>(start + (from + static_cast<double>(i) * by) * step);
  }
}

void floats(float* out, double start, double step, int64_t first, int64_t stride, int64_t n) {
  range(out, start, step, first, stride, n);
}
void doubles(double* out, double start, double step, int64_t first, int64_t stride, int64_t n) {
  range(out, start, step, first, stride, n);
}
void whole_floats(float* out, float first, float step, int64_t n) {
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int count = static_cast<int>(n - begin < kPiece ? n - begin : kPiece);
    const float from = first + static_cast<float>(begin) * step;
    for (int i = 0; i < count; ++i) out[begin + i] = from + static_cast<float>(i) * step;
  }
}

}  // namespace

constinit const RangeKernels range_kernels{integers, floats, doubles, whole_floats};

}  // namespace mlx::core::cpu::MLX_ISA
