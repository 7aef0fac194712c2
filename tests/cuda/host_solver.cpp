// cuSOLVER's functions on the driver of the host: MLX_CUDA_SOLVER names the library. Matrices lie
// column by column.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "host_driver.h"

namespace {

struct Handle {
  Stream* stream = nullptr;
};
constexpr int kNotSupported = 16, kExecutionFailed = 6;
constexpr size_t kDeviceWork = 64, kHostWork = 32;

template <class F>
bool with_type(int type, F f) {
  switch (type) {
    case 0:
      return f(float()), true;
    case 1:
      return f(double()), true;
    case 4:
      return f(std::complex<float>()), true;
    case 5:
      return f(std::complex<double>()), true;
    default:
      return false;
  }
}
template <class T>
T* elements(const void* address, int64_t count) {
  return reinterpret_cast<T*>(
      device_memory(reinterpret_cast<unsigned long long>(address), count * sizeof(T)));
}
double conjugated(double x) { return x; }
float conjugated(float x) { return x; }
template <class T>
std::complex<T> conjugated(std::complex<T> x) {
  return std::conj(x);
}
template <class T>
auto parts(T x) {
  return std::abs(std::real(x)) + std::abs(std::imag(x));
}

/// Factors of the lower triangle, or of the upper one; garbage in the other, which none may read.
template <class T>
int factor(T* a, int64_t n, bool upper) {
  auto at = [&](int64_t i, int64_t j) -> T& { return upper ? a[j + i * n] : a[i + j * n]; };
  for (int64_t j = 0; j < n; ++j) {
    if (!(std::real(at(j, j)) > 0)) return static_cast<int>(j + 1);
    const auto root = std::sqrt(std::real(at(j, j)));
    for (int64_t i = j; i < n; ++i) at(i, j) = i == j ? T(root) : at(i, j) / root;
    for (int64_t k = j + 1; k < n; ++k)
      for (int64_t i = k; i < n; ++i) at(i, k) -= at(i, j) * conjugated(at(k, j));
    for (int64_t i = 0; i < j; ++i) at(i, j) = T(NAN);
  }
  return 0;
}
template <class T>
int factor(T* a, int64_t* pivots, int64_t n) {
  int info = 0;
  for (int64_t j = 0; j < n; ++j) {
    int64_t best = j;
    for (int64_t i = j + 1; i < n; ++i)
      if (parts(a[i + j * n]) > parts(a[best + j * n])) best = i;
    pivots[j] = best + 1;
    if (a[best + j * n] == T(0)) {
      if (info == 0) info = static_cast<int>(j + 1);
      continue;
    }
    for (int64_t c = 0; c < n; ++c) std::swap(a[j + c * n], a[best + c * n]);
    for (int64_t i = j + 1; i < n; ++i) a[i + j * n] /= a[j + j * n];
    for (int64_t c = j + 1; c < n; ++c)
      for (int64_t i = j + 1; i < n; ++i) a[i + c * n] -= a[i + j * n] * a[j + c * n];
  }
  return info;
}
template <class T>
void solve(const T* a, const int64_t* pivots, T* x, int64_t n, bool transposed) {
  auto at = [&](int64_t i, int64_t j) { return transposed ? a[j + i * n] : a[i + j * n]; };
  if (!transposed)
    for (int64_t j = 0; j < n; ++j) std::swap(x[j], x[pivots[j] - 1]);
  // The lower triangle first, or the transpose of the upper one; one of them has a diagonal of 1.
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) x[i] -= at(i, j) * x[j];
    if (transposed) x[i] /= at(i, i);
  }
  for (int64_t i = n; i-- > 0;) {
    for (int64_t j = i + 1; j < n; ++j) x[i] -= at(i, j) * x[j];
    if (!transposed) x[i] /= at(i, i);
  }
  if (transposed)
    for (int64_t j = n; j-- > 0;) std::swap(x[j], x[pivots[j] - 1]);
}

/// Subtracts from a column its part along v, by a scale; both from row j on.
template <class T>
void reflect(const T* v, T scale, T* column, int64_t j, int64_t m) {
  T part = column[j];
  for (int64_t i = j + 1; i < m; ++i) part += conjugated(v[i]) * column[i];
  column[j] -= scale * part;
  for (int64_t i = j + 1; i < m; ++i) column[i] -= scale * part * v[i];
}
/// Reflectors I - scale v v^H, whose v begin with a 1 that is not stored; R above them.
template <class T>
void reflect(T* a, T* scales, int64_t m, int64_t n) {
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    T* const v = a + j * m;
    auto squares = std::norm(v[j]) * 0;
    for (int64_t i = j; i < m; ++i) squares += std::norm(v[i]);
    const auto length = std::real(v[j]) < 0 ? std::sqrt(squares) : -std::sqrt(squares);
    if (squares == std::real(v[j]) * std::real(v[j])) {
      scales[j] = T(0);
      continue;
    }
    scales[j] = (T(length) - v[j]) / length;
    for (int64_t i = j + 1; i < m; ++i) v[i] /= v[j] - T(length);
    v[j] = T(length);
    for (int64_t c = j + 1; c < n; ++c) reflect(v, conjugated(scales[j]), a + c * m, j, m);
  }
}
/// The first n columns of the product of n reflectors, in their place.
template <class T>
void multiply_reflectors(T* a, const T* scales, int64_t m, int64_t n) {
  std::vector<T> q(m * n);
  for (int64_t c = 0; c < n; ++c) {
    q[c * m + c] = T(1);
    for (int64_t j = n; j-- > 0;) reflect(a + j * m, scales[j], q.data() + c * m, j, m);
  }
  std::copy(q.begin(), q.end(), a);
}

/// Whether temporary memory is what was asked for, which is overwritten.
bool use_work(Stream& stream, void* device, size_t bytes, void* host, size_t host_bytes) {
  auto* memory = elements<char>(device, static_cast<int64_t>(bytes));
  if (!memory || !host || bytes != kDeviceWork || host_bytes != kHostWork) return false;
  push(stream, [=] {
    std::memset(memory, 0xA5, bytes);
    std::memset(host, 0xA5, host_bytes);
  });
  return true;
}

}  // namespace

EXPORT int cusolverDnCreate(Handle** handle) {
  if (fails_now(kFailLibrary)) return 2;
  return *handle = new Handle, kSuccess;
}
EXPORT int cusolverDnDestroy(Handle* handle) { return delete handle, kSuccess; }
EXPORT int cusolverDnSetStream(Handle* handle, Stream* stream) {
  return handle->stream = stream, kSuccess;
}
EXPORT int cusolverDnCreateParams(void** params) {
  static char only;
  return *params = &only, kSuccess;
}

EXPORT int cusolverDnXpotrf_bufferSize(Handle*, void*, int, int64_t, int, const void*, int64_t, int,
                                       size_t* device, size_t* host) {
  return *device = kDeviceWork, *host = kHostWork, kSuccess;
}
EXPORT int cusolverDnXgetrf_bufferSize(Handle*, void*, int64_t, int64_t, int, const void*, int64_t,
                                       int, size_t* device, size_t* host) {
  return *device = kDeviceWork, *host = kHostWork, kSuccess;
}

EXPORT int cusolverDnXpotrf(Handle* handle, void*, int uplo, int64_t n, int type, void* a,
                            int64_t lda, int compute, void* device, size_t bytes, void* host,
                            size_t host_bytes, int* info) {
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  int* const word = elements<int>(info, 1);
  if (compute != type || lda != n || !word ||
      !use_work(*handle->stream, device, bytes, host, host_bytes))
    return count_fault(), kInvalidValue;
  const bool known = with_type(type, [&]<class T>(T) {
    T* matrix = elements<T>(a, n * n);
    if (!matrix) return count_fault();
    push(*handle->stream, [=] { *word = factor(matrix, n, uplo == 1); });
  });
  return known ? kSuccess : kNotSupported;
}
EXPORT int cusolverDnXgetrf(Handle* handle, void*, int64_t m, int64_t n, int type, void* a,
                            int64_t lda, int64_t* pivots, int compute, void* device, size_t bytes,
                            void* host, size_t host_bytes, int* info) {
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  int* const word = elements<int>(info, 1);
  auto* const rows = elements<int64_t>(pivots, n);
  if (compute != type || lda != n || m != n || !word || !rows ||
      !use_work(*handle->stream, device, bytes, host, host_bytes))
    return count_fault(), kInvalidValue;
  const bool known = with_type(type, [&]<class T>(T) {
    T* matrix = elements<T>(a, n * n);
    if (!matrix) return count_fault();
    push(*handle->stream, [=] { *word = factor(matrix, rows, n); });
  });
  return known ? kSuccess : kNotSupported;
}
EXPORT int cusolverDnXgetrs(Handle* handle, void*, int form, int64_t n, int64_t columns, int type,
                            const void* a, int64_t lda, const int64_t* pivots, int type_b, void* b,
                            int64_t ldb, int* info) {
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  int* const word = elements<int>(info, 1);
  auto* const rows = elements<int64_t>(pivots, n);
  if (type_b != type || lda != n || ldb != n || !word || !rows) return count_fault(), kInvalidValue;
  const bool known = with_type(type, [&]<class T>(T) {
    const T* matrix = elements<T>(a, n * n);
    T* x = elements<T>(b, n * columns);
    if (!matrix || !x) return count_fault();
    push(*handle->stream, [=] {
      for (int64_t c = 0; c < columns; ++c) solve(matrix, rows, x + c * n, n, form != 0);
      *word = 0;
    });
  });
  return known ? kSuccess : kNotSupported;
}

EXPORT int cusolverDnXgeqrf_bufferSize(Handle*, void*, int64_t, int64_t, int, const void*, int64_t,
                                       int, const void*, int, size_t* device, size_t* host) {
  return *device = kDeviceWork, *host = kHostWork, kSuccess;
}
EXPORT int cusolverDnXgeqrf(Handle* handle, void*, int64_t m, int64_t n, int type, void* a,
                            int64_t lda, int type_scales, void* scales, int compute, void* device,
                            size_t bytes, void* host, size_t host_bytes, int* info) {
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  int* const word = elements<int>(info, 1);
  if (compute != type || type_scales != type || lda != m || !word ||
      !use_work(*handle->stream, device, bytes, host, host_bytes))
    return count_fault(), kInvalidValue;
  const bool known = with_type(type, [&]<class T>(T) {
    T* matrix = elements<T>(a, m * n);
    T* factors = elements<T>(scales, std::min(m, n));
    if (!matrix || !factors) return count_fault();
    push(*handle->stream, [=] {
      reflect(matrix, factors, m, n);
      *word = 0;
    });
  });
  return known ? kSuccess : kNotSupported;
}

namespace {

template <class T>
int orthogonal(Handle* handle, int m, int n, int k, void* a, int lda, const void* scales,
               void* work, int lwork, int* info) {
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  T* matrix = elements<T>(a, static_cast<int64_t>(m) * n);
  const T* factors = elements<T>(scales, n);
  auto* const memory = elements<char>(work, kDeviceWork);
  if (n != k || n > m || lda != m || !matrix || !factors || !memory ||
      lwork != static_cast<int>(kDeviceWork / sizeof(T)) || !elements<int>(info, 1))
    return count_fault(), kInvalidValue;
  push(*handle->stream, [=] {
    std::memset(memory, 0xA5, kDeviceWork);
    multiply_reflectors(matrix, factors, m, n);
  });
  return kSuccess;
}
template <class T>
int orthogonal_work(int* elements) {
  return *elements = static_cast<int>(kDeviceWork / sizeof(T)), kSuccess;
}

}  // namespace

#define ORTHOGONAL(name, T)                                                                     \
  EXPORT int name##_bufferSize(Handle*, int, int, int, const void*, int, const void*, int* n) { \
    return orthogonal_work<T>(n);                                                               \
  }                                                                                             \
  EXPORT int name(Handle* handle, int m, int n, int k, void* a, int lda, const void* scales,    \
                  void* work, int lwork, int* info) {                                           \
    return orthogonal<T>(handle, m, n, k, a, lda, scales, work, lwork, info);                   \
  }
ORTHOGONAL(cusolverDnSorgqr, float)
ORTHOGONAL(cusolverDnDorgqr, double)
ORTHOGONAL(cusolverDnCungqr, std::complex<float>)
ORTHOGONAL(cusolverDnZungqr, std::complex<double>)
