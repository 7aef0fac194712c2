// Kernels of the products with few rows and of integers, for the table in isa/gemm.cpp. Declared as
// functions so that the table needs no initialiser at load time.
#pragma once

#include "mlx/backend/cpu/isa/gemm.h"
#include "mlx/backend/cpu/isa/gemm_simd.h"

namespace mlx::core::cpu::MLX_ISA {

/// See GemmKernels::dot.
template <GemmSource>
void dot_rows(const void* x, int64_t x_row, const void* w, int64_t w_row, int64_t m, int64_t n,
              int64_t k, float* acc, int64_t ld);

/// See GemmKernels::axpy.
template <GemmSource>
void axpy_rows(const float* x, int64_t x_row, const void* w, int64_t w_row, int64_t m, int64_t n,
               int64_t k, float* acc, int64_t ld, bool prefetch);

/// See GemmKernels::widen.
template <GemmSource>
void widen_row(const void* src, int64_t stride, int64_t n, float* dst);

/// See GemmKernels::small.
template <GemmSource>
void small_products(const GemmSmall& p, const void* a, const GemmStarts& a_at, const void* b,
                    const GemmStarts& b_at, void* out, const GemmStarts& out_at, int64_t begin,
                    int64_t end);

/// See GemmKernels::integer.
template <GemmInt>
void integer_product(const GemmOperand& a, const GemmOperand& b, const GemmTarget& out, int64_t m,
                     int64_t n, int64_t k, void* b_block);

}  // namespace mlx::core::cpu::MLX_ISA
