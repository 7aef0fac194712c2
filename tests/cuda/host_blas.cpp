// cuBLAS's functions on the driver of the host: MLX_CUDA_BLAS names the library.
#include <bit>
#include <complex>
#include <cstdint>
#include <vector>

#include "host_driver.h"
#include "mlx/core/half.h"

using mlx::core::bfloat16_t;
using mlx::core::float16_t;

namespace {

struct Handle {
  Stream* stream = nullptr;
};
constexpr int kNotSupported = 15, kExecutionFailed = 13;

/// A matrix of column-major elements, or its transpose.
struct Matrix {
  unsigned char* data;
  bool transposed;
  int64_t column, step;  // elements from column to column, from matrix to matrix
  int64_t at(int64_t i, int64_t j) const { return transposed ? j + i * column : i + j * column; }
};

template <class Sum, class T>
Sum widened(T x) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
    return static_cast<float>(x);
  else
    return x;
}

/// An operand with so many of its trailing bits rounded away, to even.
float rounded(float x, int bits) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  if (!bits || (u & 0x7f800000u) == 0x7f800000u) return x;
  const uint32_t half = 1u << (bits - 1), last = u >> bits & 1;
  return std::bit_cast<float>((u + half - 1 + last) & ~(2 * half - 1));
}
std::complex<float> rounded(std::complex<float> z, int bits) {
  return {rounded(z.real(), bits), rounded(z.imag(), bits)};
}
template <class T>
T rounded(T x, int) {
  return x;
}

template <class T, class Out, class Sum>
void multiply(const Matrix& a, const Matrix& b, const Matrix& c, int64_t m, int64_t n, int64_t k,
              int64_t count, int bits, Sum alpha, Sum beta) {
  auto elements = [](const Matrix& x, int64_t of) {
    return reinterpret_cast<T*>(x.data) + of * x.step;
  };
  for (int64_t of = 0; of < count; ++of) {
    const T *pa = elements(a, of), *pb = elements(b, of);
    Out* pc = reinterpret_cast<Out*>(c.data) + of * c.step;
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < m; ++i) {
        Sum sum{};
        for (int64_t l = 0; l < k; ++l)
          sum += rounded(widened<Sum>(pa[a.at(i, l)]), bits) *
                 rounded(widened<Sum>(pb[b.at(l, j)]), bits);
        sum *= alpha;
        Out& out = pc[c.at(i, j)];
        if (beta != Sum{}) sum += beta * widened<Sum>(out);
        out = static_cast<Out>(sum);
      }
    }
  }
}

size_t size_of(int type) {
  switch (type) {
    case 2:
    case 14:
      return 2;
    case 0:
      return 4;
    case 1:
    case 4:
      return 8;
    case 5:
      return 16;
    default:
      return 0;
  }
}

/// A matrix whose elements all lie in the device's memory; null data otherwise.
Matrix matrix(const void* address, int64_t rows, int64_t columns, bool transposed, int64_t column,
              int64_t step, int64_t count, size_t size) {
  if (transposed) std::swap(rows, columns);
  const int64_t last =
      rows && columns && count ? (count - 1) * step + (columns - 1) * column + rows : 0;
  const bool fits = column >= rows && step >= 0;
  return {
      fits ? device_memory(reinterpret_cast<unsigned long long>(address), last * size) : nullptr,
      transposed, column, step};
}

}  // namespace

EXPORT int cublasCreate_v2(Handle** handle) {
  if (fails_now(kFailLibrary)) return 3;
  return *handle = new Handle, kSuccess;
}
EXPORT int cublasDestroy_v2(Handle* handle) { return delete handle, kSuccess; }
EXPORT int cublasSetStream_v2(Handle* handle, Stream* stream) {
  return handle->stream = stream, kSuccess;
}
EXPORT int cublasSetMathMode(Handle*, int) { return kSuccess; }

EXPORT int cublasGemmStridedBatchedEx_64(Handle* handle, int form_a, int form_b, int64_t m,
                                         int64_t n, int64_t k, const void* alpha, const void* a,
                                         int type, int64_t lda, int64_t step_a, const void* b,
                                         int type_b, int64_t ldb, int64_t step_b, const void* beta,
                                         void* c, int type_c, int64_t ldc, int64_t step_c,
                                         int64_t count, int compute, int) {
  const bool wide = type == 1 || type == 5;
  // Operands of float32 may be rounded to bfloat16 (75) or TF32 (77).
  const int bits = compute == 75 ? 16 : compute == 77 ? 13 : 0;
  const bool widens = type_c == 0 && (type == 2 || type == 14);
  if (type_b != type || (type_c != type && !widens) || !size_of(type) ||
      (bits ? type != 0 && type != 4 : compute != (wide ? 70 : 68)))
    return kNotSupported;
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  const size_t size = size_of(type);
  const Matrix ma = matrix(a, m, k, form_a != 0, lda, step_a, count, size),
               mb = matrix(b, k, n, form_b != 0, ldb, step_b, count, size),
               mc = matrix(c, m, n, false, ldc, step_c, count, size_of(type_c));
  if (!ma.data || !mb.data || !mc.data) return count_fault(), kInvalidValue;
  auto run = [&]<class T, class Sum>(T, Sum) {
    push(*handle->stream,
         [=, alpha = *static_cast<const Sum*>(alpha), beta = *static_cast<const Sum*>(beta)] {
           if constexpr (std::is_same_v<Sum, float> && !std::is_same_v<T, float>)
             if (widens) return multiply<T, float>(ma, mb, mc, m, n, k, count, bits, alpha, beta);
           multiply<T, T>(ma, mb, mc, m, n, k, count, bits, alpha, beta);
         });
  };
  switch (type) {
    case 0:
      run(float(), float());
      break;
    case 1:
      run(double(), double());
      break;
    case 2:
      run(float16_t(), float());
      break;
    case 14:
      run(bfloat16_t(), float());
      break;
    case 4:
      run(std::complex<float>(), std::complex<float>());
      break;
    default:
      run(std::complex<double>(), std::complex<double>());
  }
  return kSuccess;
}
