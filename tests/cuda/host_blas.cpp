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
EXPORT int cublasSetWorkspace_v2(Handle*, void* work, size_t bytes) {
  const auto address = reinterpret_cast<unsigned long long>(work);
  return device_memory(address, bytes) && address % 256 == 0 ? kSuccess : kInvalidValue;
}

namespace {

/// A factor or a product as the library's functions take it.
struct Operand {
  int form;
  int type;
  int64_t column;
};
/// The types of a product, and the trailing bits of operands that are rounded away.
struct Types {
  int in, out, bits;
  bool known;
  bool widens() const { return out == 0 && (in == 2 || in == 14); }
};
Types types_of(int in, int in_b, int out, int compute) {
  const bool wide = in == 1 || in == 5;
  // Operands of float32 may be rounded to bfloat16 (75) or TF32 (77).
  Types t{in, out, compute == 75 ? 16 : compute == 77 ? 13 : 0, false};
  t.known = in_b == in && (out == in || t.widens()) && size_of(in) &&
            (t.bits ? in == 0 || in == 4 : compute == (wide ? 70 : 68));
  return t;
}

/// Calls f(an element, a sum) of the types.
template <class F>
void with_types(int type, F f) {
  switch (type) {
    case 0:
      return f(float(), float());
    case 1:
      return f(double(), double());
    case 2:
      return f(float16_t(), float());
    case 14:
      return f(bfloat16_t(), float());
    case 4:
      return f(std::complex<float>(), std::complex<float>());
    default:
      return f(std::complex<double>(), std::complex<double>());
  }
}

/// Pushes a product whose matrices `find` says when the stream is there; null data counts a fault.
struct Three {
  Matrix a, b, c;
};
template <class F>
void push_product(Handle* handle, const Types& t, int64_t m, int64_t n, int64_t k, int64_t count,
                  const void* alpha, const void* beta, F find) {
  with_types(t.in, [&]<class T, class Sum>(T, Sum) {
    push(*handle->stream,
         [=, alpha = *static_cast<const Sum*>(alpha), beta = *static_cast<const Sum*>(beta)] {
           const int64_t calls = find.calls;
           for (int64_t call = 0; call < calls; ++call) {
             const Three x = find(call);
             if (!x.a.data || !x.b.data || !x.c.data) return count_fault();
             if constexpr (std::is_same_v<Sum, float> && !std::is_same_v<T, float>)
               if (t.widens()) {
                 multiply<T, float>(x.a, x.b, x.c, m, n, k, count, t.bits, alpha, beta);
                 continue;
               }
             multiply<T, T>(x.a, x.b, x.c, m, n, k, count, t.bits, alpha, beta);
           }
         });
  });
}
struct AtSteps {
  Three x;
  int64_t calls = 1;
  Three operator()(int64_t) const { return x; }
};
/// Matrices at addresses that kernels have written, multiples of 16.
struct AtAddresses {
  const uint64_t *a, *b, *c;
  Operand of_a, of_b, of_c;
  int64_t m, n, k, calls;
  Three operator()(int64_t i) const {
    return {at(a[i], m, k, of_a), at(b[i], k, n, of_b), at(c[i], m, n, of_c)};
  }

 private:
  static Matrix at(uint64_t address, int64_t rows, int64_t columns, const Operand& x) {
    if (x.form) std::swap(rows, columns);
    const auto bytes = static_cast<size_t>(((columns - 1) * x.column + rows)) * size_of(x.type);
    const bool fits = x.column >= rows && address % 16 == 0;
    return {fits ? memory_of_kernel(address, bytes) : nullptr, x.form != 0, x.column, 0};
  }
};

}  // namespace

EXPORT int cublasGemmStridedBatchedEx_64(Handle* handle, int form_a, int form_b, int64_t m,
                                         int64_t n, int64_t k, const void* alpha, const void* a,
                                         int type, int64_t lda, int64_t step_a, const void* b,
                                         int type_b, int64_t ldb, int64_t step_b, const void* beta,
                                         void* c, int type_c, int64_t ldc, int64_t step_c,
                                         int64_t count, int compute, int) {
  const Types t = types_of(type, type_b, type_c, compute);
  if (!t.known) return kNotSupported;
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  const size_t size = size_of(type);
  const Three x{matrix(a, m, k, form_a != 0, lda, step_a, count, size),
                matrix(b, k, n, form_b != 0, ldb, step_b, count, size),
                matrix(c, m, n, false, ldc, step_c, count, size_of(type_c))};
  if (!x.a.data || !x.b.data || !x.c.data) return count_fault(), kInvalidValue;
  push_product(handle, t, m, n, k, count, alpha, beta, AtSteps{x});
  return kSuccess;
}

EXPORT int cublasGemmEx_64(Handle* handle, int form_a, int form_b, int64_t m, int64_t n, int64_t k,
                           const void* alpha, const void* a, int type, int64_t lda, const void* b,
                           int type_b, int64_t ldb, const void* beta, void* c, int type_c,
                           int64_t ldc, int compute, int algorithm) {
  return cublasGemmStridedBatchedEx_64(handle, form_a, form_b, m, n, k, alpha, a, type, lda, 0, b,
                                       type_b, ldb, 0, beta, c, type_c, ldc, 0, 1, compute,
                                       algorithm);
}

EXPORT int cublasGemmBatchedEx_64(Handle* handle, int form_a, int form_b, int64_t m, int64_t n,
                                  int64_t k, const void* alpha, const void* const* a, int type,
                                  int64_t lda, const void* const* b, int type_b, int64_t ldb,
                                  const void* beta, void* const* c, int type_c, int64_t ldc,
                                  int64_t count, int compute, int) {
  const Types t = types_of(type, type_b, type_c, compute);
  if (!t.known || !m || !n || !k) return kNotSupported;
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  auto list = [&](const void* addresses) {
    return reinterpret_cast<const uint64_t*>(
        device_memory(reinterpret_cast<unsigned long long>(addresses), count * sizeof(uint64_t)));
  };
  const AtAddresses x{
      list(a), list(b), list(c), {form_a, type, lda}, {form_b, type, ldb}, {0, type_c, ldc}, m,
      n,       k,       count};
  if (!x.a || !x.b || !x.c) return count_fault(), kInvalidValue;
  push_product(handle, t, m, n, k, 1, alpha, beta, x);
  return kSuccess;
}
