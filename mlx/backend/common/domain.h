// Which operand dtypes a row of ops/elementwise.def takes.
#pragma once

#include "mlx/core/dtype.h"

namespace mlx::core {

/// The column `domain` of the table.
enum class Domain { any, real, numeric, integral, inexact, floating, boolean };

/// True where kernels of the domain take the dtype. Never a function of the library: files that
/// are compiled for several instruction sets share none.
consteval bool takes(Domain domain, Dtype::Val v) {
  using Val = Dtype::Val;
  switch (domain) {
    case Domain::any:
      return true;
    case Domain::real:
      return v < Val::complex64;
    case Domain::numeric:
      return v != Val::bool_;
    case Domain::integral:
      return v < Val::float16;
    case Domain::inexact:
      return v >= Val::float16;
    case Domain::floating:
      return v >= Val::float16 && v < Val::complex64;
    case Domain::boolean:
      return v == Val::bool_;
  }
  return false;
}

}  // namespace mlx::core
