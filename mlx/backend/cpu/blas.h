// Products of float32, float64 and complex matrices in the conventions of BLAS, row-major. float32
// uses the project's own kernels except with Accelerate, the others use the library with one
// thread: the project's pool distributes the work, so results do not depend on the number of
// threads and a forked child inherits no other pool.
#pragma once

#include <complex>
#include <cstdint>

namespace mlx::core::cpu::blas {

#if defined(MLX_ACCELERATE)
inline constexpr bool kOwnFloat32 = false;  // matrix units of the processor are its alone
#else
inline constexpr bool kOwnFloat32 = true;
#endif

/// Limits the library to the calling thread. Must be called before any direct use of BLAS or
/// LAPACK; cheap.
void prepare();

/// C[m, n] = alpha * op(A)[m, k] · op(B)[k, n] + beta * C, op being the identity or the (plain)
/// transpose; leading dimensions are row strides in elements. With beta == 0, C is written without
/// being read. T is float, double, std::complex<float> or std::complex<double>. Throws SizeError if
/// k or a leading dimension exceeds 2^31 - 1 (except where float uses the own kernels).
template <class T>
void gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a,
          int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc);

/// A batch of products of one shape; matrix i starts `offset[i]` elements after its pointer (a null
/// array means 0). Each is exactly what gemm() computes.
template <class T>
void gemm_batched(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, T alpha,
                  const T* a, int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc,
                  int64_t count, const int64_t* a_offset, const int64_t* b_offset,
                  const int64_t* c_offset);

}  // namespace mlx::core::cpu::blas
