// The errors of masks that select another number of elements than there is space or are values for.
#pragma once

#include "mlx/core/error.h"

namespace mlx::core {

[[noreturn]] inline void bad_mask(const char* op) {
  fail<ExecutionError>(op,
                       "a mask that was changed after it was counted; one that stays is needed");
}
[[noreturn]] inline void few_values(int64_t values, int64_t selected) {
  fail<IndexError>("masked_scatter", values, " values for a mask that holds ", selected,
                   " times; a value for each element that is replaced is needed");
}

}  // namespace mlx::core
