// Elements of arrays in files: read when the arrays are computed, or at once from streams that
// cannot be read later.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/io/stream.h"

namespace mlx::core::io {

/// How elements are stored: as units of so many bytes.
struct Encoding {
  size_t unit_bytes;
  /// Writes the elements of `n` units to the results. `to[k]` is where those of result k start.
  std::function<void(const char* units, int64_t n, std::span<char* const> to)> decode;
  /// Bytes of each result per unit.
  std::vector<size_t> to_bytes;
};

/// The next `units` units of a stream as arrays of these shapes and dtypes; `name` stands for them
/// in errors. The stream goes on after them.
Arrays read_units(Reader& in, const std::string& name, int64_t units, Encoding encoding,
                  std::vector<std::pair<Shape, Dtype>> results, StreamOrDevice s);

/// The next elements of a stream, in row-major order, with the bytes of each number in reverse
/// order where `swapped`.
MLX_API array read_elements(Reader& in, const std::string& name, Shape shape, Dtype dtype,
                            bool swapped = false, StreamOrDevice s = {});
/// The same, at once.
array read_now(Reader& in, const std::string& name, Shape shape, Dtype dtype);

}  // namespace mlx::core::io
