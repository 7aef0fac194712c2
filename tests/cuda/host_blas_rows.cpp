// cuBLASLt's functions on the driver of the host: products to whose columns a column is added.
#include <array>
#include <cstdint>
#include <cstring>

#include "host_driver.h"
#include "mlx/core/half.h"

using mlx::core::bfloat16_t;
using mlx::core::float16_t;

namespace {

constexpr int kNotSupported = 15, kExecutionFailed = 13;
constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kColumnAddress = 8, kAddsColumn = 4;
constexpr uint64_t kAlignment = 16;

struct Product {
  int transpose_a = 0, transpose_b = 0, epilogue = 1;
  void* column = nullptr;
};
/// Column by column in memory.
struct Matrix {
  int type;
  int64_t rows, columns, step;
  size_t size() const { return type == 0 ? 4 : type == 2 || type == 14 ? 2 : 0; }
  /// Its elements, if all of them lie in the device's memory.
  unsigned char* at(const void* address) const {
    const auto where = reinterpret_cast<unsigned long long>(address);
    if (where % kAlignment || step < rows) return nullptr;
    return device_memory(where, ((columns - 1) * step + rows) * size());
  }
};
struct Preference {
  uint64_t most_work = 0;
};
struct Algorithm {
  std::array<uint64_t, 8> data;
};
struct Found {
  Algorithm algorithm;
  size_t work_bytes;
  int status;
  float waves;
  int reserved[4];
};
/// Long sums need temporary memory.
size_t work_bytes(int64_t k) { return k < 16 ? 0 : 1024; }

/// An operand of a product of one type, which may be transposed.
template <class T>
struct Factor {
  const T* data;
  bool transposed;
  int64_t step;
  float at(int64_t i, int64_t j) const {
    return static_cast<float>(data[transposed ? j + i * step : i + j * step]);
  }
};

template <class T>
void multiply(const Factor<T>& a, const Factor<T>& b, const T* column, T* out, const Matrix& shape,
              int64_t k, float alpha) {
  for (int64_t j = 0; j < shape.columns; ++j)
    for (int64_t i = 0; i < shape.rows; ++i) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a.at(i, l) * b.at(l, j);
      out[i + j * shape.step] = static_cast<T>(alpha * sum + static_cast<float>(column[i]));
    }
}

template <class F>
void with_type(int type, F f) {
  if (type == 0) return f(float());
  if (type == 2) return f(float16_t());
  f(bfloat16_t());
}

}  // namespace

EXPORT int cublasLtCreate(void** handle) {
  static int handles = 0;
  if (fails_now(kFailLibrary)) return 3;
  return *handle = &handles, kSuccess;
}
EXPORT int cublasLtMatmulDescCreate(Product** product, int compute, int scale) {
  if (compute != 68 || scale != 0) return kNotSupported;
  return *product = new Product, kSuccess;
}
EXPORT int cublasLtMatmulDescDestroy(Product* product) { return delete product, kSuccess; }
EXPORT int cublasLtMatmulDescSetAttribute(Product* product, int what, const void* value,
                                          size_t size) {
  auto set = [&](auto& to) {
    if (size != sizeof(to)) return kInvalidValue;
    std::memcpy(&to, value, size);
    return kSuccess;
  };
  switch (what) {
    case kTransposeA:
      return set(product->transpose_a);
    case kTransposeB:
      return set(product->transpose_b);
    case kEpilogue:
      return set(product->epilogue);
    case kColumnAddress:
      return set(product->column);
    default:
      return kInvalidValue;
  }
}
EXPORT int cublasLtMatrixLayoutCreate(Matrix** matrix, int type, uint64_t rows, uint64_t columns,
                                      int64_t step) {
  *matrix = new Matrix{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), step};
  return kSuccess;
}
EXPORT int cublasLtMatrixLayoutDestroy(Matrix* matrix) { return delete matrix, kSuccess; }
EXPORT int cublasLtMatmulPreferenceCreate(Preference** preference) {
  return *preference = new Preference, kSuccess;
}
EXPORT int cublasLtMatmulPreferenceDestroy(Preference* preference) {
  return delete preference, kSuccess;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(Preference* preference, int what, const void* value,
                                                size_t size) {
  uint64_t number = 0;
  std::memcpy(&number, value, size);
  if (what == 1) preference->most_work = number;
  const bool known = what == 1 ? size == 8 : size == 4;
  return known && number ? kSuccess : kInvalidValue;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(void*, Product* product, Matrix* a, Matrix* b, Matrix* c,
                                          Matrix* out, Preference* preference, int wanted,
                                          Found* found, int* count) {
  if (fails_now(kFailLibrary)) return 3;
  auto inner = [](const Matrix& x, bool columns) { return columns ? x.columns : x.rows; };
  const int64_t k = inner(*a, !product->transpose_a);
  const bool fits = k == inner(*b, product->transpose_b) &&
                    out->rows == inner(*a, product->transpose_a) &&
                    out->columns == inner(*b, !product->transpose_b) && c == out;
  if (!fits || wanted < 1 || product->epilogue != kAddsColumn) return kInvalidValue;
  *found = {};
  found->work_bytes = work_bytes(k);
  *count = found->work_bytes <= preference->most_work;
  return *count ? kSuccess : kNotSupported;
}

EXPORT int cublasLtMatmul(void*, Product* product, const void* alpha, const void* a, Matrix* of_a,
                          const void* b, Matrix* of_b, const void* beta, const void*, Matrix*,
                          void* out, Matrix* of_out, const Algorithm*, void* work, size_t bytes,
                          Stream* stream) {
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  const int64_t k = product->transpose_a ? of_a->rows : of_a->columns;
  const Matrix column{of_out->type, of_out->rows, 1, of_out->rows};
  float scale = 0, of_c = 0;
  std::memcpy(&scale, alpha, sizeof scale);
  std::memcpy(&of_c, beta, sizeof of_c);
  unsigned char *const pa = of_a->at(a), *const pb = of_b->at(b), *const po = of_out->at(out),
                       *const pc = column.at(product->column);
  const size_t needed = work_bytes(k);
  unsigned char* const pw =
      needed ? device_memory(reinterpret_cast<unsigned long long>(work), needed) : po;
  if (!pa || !pb || !po || !pc || !pw || bytes < needed || of_c != 0)
    return count_fault(), kInvalidValue;
  with_type(of_out->type, [&]<class T>(T) {
    auto elements = [](unsigned char* p) { return reinterpret_cast<T*>(p); };
    const Factor<T> left{elements(pa), product->transpose_a != 0, of_a->step},
        right{elements(pb), product->transpose_b != 0, of_b->step};
    push(*stream, [=, added = elements(pc), to = elements(po), shape = *of_out] {
      if (needed) std::memset(pw, 0x5a, needed);
      multiply(left, right, added, to, shape, k, scale);
    });
  });
  return kSuccess;
}
