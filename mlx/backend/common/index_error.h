// The error of an index that is out of range.
#pragma once

#include <string>

#include "mlx/core/error.h"

namespace mlx::core {

/// `span`: elements read from the index on.
[[noreturn]] inline void bad_index(const char* op, const std::string& index, int axis, int64_t size,
                                   int64_t span) {
  const std::string accepted = size < span ? std::string("no index is accepted")
                                           : cat(-size, " to ", size - span, " are accepted");
  fail<IndexError>(op, "index ", index, " is out of range for axis ", axis, " with size ", size,
                   "; ", accepted);
}

}  // namespace mlx::core
