// BLAS on the project's thread pool. Outputs are divided into tiles that depend on the shape
// alone, each computed by one single-threaded call.
#include "mlx/backend/cpu/blas.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "mlx/backend/cpu/blas_library.h"
#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/core/error.h"

namespace mlx::core::cpu::blas {

namespace {

using library::Int;
constexpr int64_t kTile = 512;  // tile side: small enough to distribute, large enough to be fast

template <class T>
constexpr bool is_complex = !std::is_floating_point_v<T>;

library::Transpose flag(bool transpose) {
  return transpose ? library::kTransposed : library::kPlain;
}

// Divides [0, n) into equal ranges of about kTile.
struct Pieces {
  explicit Pieces(int64_t n)
      : total(n),
        count(std::max<int64_t>(1, (n + kTile / 2) / kTile)),
        size(((n + count - 1) / count + 31) / 32 * 32) {
    count = (n + size - 1) / size;
  }
  int64_t begin(int64_t i) const { return i * size; }
  int64_t length(int64_t i) const { return std::min(size, total - i * size); }
  int64_t total, count, size;
};

template <class T>
double estimate(int64_t m, int64_t n, int64_t k) {
  const double factor = is_complex<T> ? 4 : 1;
  return factor * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / 20 +
         static_cast<double>(m * k + k * n) * sizeof(T) / 20;
}

template <class T>
void scale(int64_t m, int64_t n, T beta, T* c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T& x = c[i * ldc + j];
      x = beta == T(0) ? T(0) : beta * x;
    }
  }
}

// `tm` is op(M) with `length` rows; each row range is one range of the output vector.
template <class T>
void vector_product(bool tm, int64_t length, int64_t k, T alpha, const T* matrix, int64_t ld,
                    const T* x, int64_t step_x, T* y, int64_t step_y) {
  const Pieces pieces(length);
  parallel_for(
      pieces.count, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          const int64_t at = pieces.begin(p), size = pieces.length(p);
          const T one = 1;
          library::gemv(library::kRowMajor, flag(tm), static_cast<Int>(tm ? k : size),
                        static_cast<Int>(tm ? size : k), library::factor(alpha),
                        matrix + at * (tm ? 1 : ld), static_cast<Int>(ld), x,
                        static_cast<Int>(step_x), library::factor(one), y + at * step_y,
                        static_cast<Int>(step_y));
        }
      },
      estimate<T>(1, length, k));
}

[[maybe_unused]] void own_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha,
                               const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
                               float* c, int64_t ldc) {
  Gemm g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = {a, ta ? 1 : lda, ta ? lda : 1};
  g.b = {b, tb ? 1 : ldb, tb ? ldb : 1};
  g.out = {c, ldc, 1};
  g.epilogue.alpha = alpha;
  if (beta != 0) {
    g.epilogue.beta = beta;
    g.epilogue.addend = {c, ldc, 1};
  }
  cpu::gemm(g);
}

template <class T>
void foreign_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a,
                  int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  for (int64_t size : {k, lda, ldb, ldc}) {
    if (size > std::numeric_limits<Int>::max()) {
      fail<SizeError>("matmul", "inner or row length ", size, " given; accepted: at most ",
                      std::numeric_limits<Int>::max(), " for this dtype.");
    }
  }
  prepare();
  if (k <= 0) {
    return scale(m, n, beta, c, ldc);
  }
  if (m == 1 || n == 1) {
    if (beta != T(1)) {
      scale(m, n, beta, c, ldc);
    }
    return n == 1 ? vector_product<T>(ta, m, k, alpha, a, lda, b, tb ? 1 : ldb, c, ldc)
                  : vector_product<T>(!tb, n, k, alpha, b, ldb, a, ta ? lda : 1, c, 1);
  }
  const Pieces down(m), across(n);
  parallel_for(
      down.count * across.count, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
          const int64_t p = t % down.count, q = t / down.count;
          const int64_t i = down.begin(p), j = across.begin(q);
          library::gemm(library::kRowMajor, flag(ta), flag(tb), static_cast<Int>(down.length(p)),
                        static_cast<Int>(across.length(q)), static_cast<Int>(k),
                        library::factor(alpha), a + i * (ta ? 1 : lda), static_cast<Int>(lda),
                        b + j * (tb ? ldb : 1), static_cast<Int>(ldb), library::factor(beta),
                        c + i * ldc + j, static_cast<Int>(ldc));
        }
      },
      estimate<T>(m, n, k));
}

}  // namespace

void prepare() {
  static const bool done = (library::use_one_thread(), true);
  (void)done;
}

template <class T>
void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a,
          int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  if (m <= 0 || n <= 0) {
    return;
  }
  if constexpr (kOwnFloat32 && std::is_same_v<T, float>) {
    own_gemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  } else {
    foreign_gemm<T>(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
}

template <class T>
void gemm_batched(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, T alpha,
                  const T* a, int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc,
                  int64_t count, const int64_t* a_offset, const int64_t* b_offset,
                  const int64_t* c_offset) {
  const auto at = [](const int64_t* offsets, int64_t i) { return offsets ? offsets[i] : 0; };
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      gemm<T>(transpose_a, transpose_b, m, n, k, alpha, a + at(a_offset, i), lda,
              b + at(b_offset, i), ldb, beta, c + at(c_offset, i), ldc);
    }
  };
  const double item_ns = estimate<T>(m, n, k);
  if (item_ns < 1e6 || count >= 8 * num_threads()) {
    parallel_for(count, 1, run, item_ns * static_cast<double>(count));
  } else {
    run(0, count);
  }
}

#define MLX_INSTANTIATE(T)                                                                     \
  template void gemm<T>(bool, bool, int64_t, int64_t, int64_t, T, const T*, int64_t, const T*, \
                        int64_t, T, T*, int64_t);                                              \
  template void gemm_batched<T>(bool, bool, int64_t, int64_t, int64_t, T, const T*, int64_t,   \
                                const T*, int64_t, T, T*, int64_t, int64_t, const int64_t*,    \
                                const int64_t*, const int64_t*);
MLX_INSTANTIATE(float)
MLX_INSTANTIATE(double)
MLX_INSTANTIATE(std::complex<float>)
MLX_INSTANTIATE(std::complex<double>)
#undef MLX_INSTANTIATE

}  // namespace mlx::core::cpu::blas
