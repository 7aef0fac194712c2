// The micro-ops that read where an element is (backend/program.h), over runs of elements whose
// numbers are known.
#pragma once

#include "mlx/backend/program.h"

namespace mlx::core::fake {

/// `position`, before it is rounded to its result's dtype.
void positions(const Numbering& how, const int64_t* numbers, int64_t* out, int64_t n);
void positions(const Numbering& how, const int64_t* numbers, double* out, int64_t n);
/// `random_bits` for a key (two words) of each element.
void random_words(const Numbering& how, const int64_t* numbers, const uint32_t* key0,
                  const uint32_t* key1, uint32_t* out, int64_t n);

}  // namespace mlx::core::fake
