// Arrays whose elements are read when they are computed: loaded tensors, before they are used.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Elements that are stored in units, which can be read in any order and by several threads at
/// once. A source is read once, and freed when the arrays that it fills are computed.
class ElementSource {
 public:
  virtual ~ElementSource() = default;
  /// Writes the elements of the units from `begin` to `end`. The k-th result starts at `to[k]`.
  virtual void read(int64_t begin, int64_t end, std::span<char* const> to) const = 0;
  /// Says that all units have been read.
  virtual void finish() const {}
  virtual int64_t units() const = 0;
  virtual int64_t unit_bytes() const = 0;
};

/// The arrays that a source fills, by shape and dtype. They are computed on the CPU: on the given
/// stream if it is one of the CPU, else on the default one.
Arrays read_later(std::shared_ptr<const ElementSource> source,
                  std::vector<std::pair<Shape, Dtype>> results, StreamOrDevice s = {});

/// The source of a node of `op_file_read` or `op_file_read_parts`, from the first element of the
/// node's input.
const ElementSource& source_at(const void* element);

/// One result. The input is one element of `kSourceDtype` that refers to the source: inputs, unlike
/// attributes, are not kept by cached plans.
extern const OpDef op_file_read;
/// Several results.
extern const OpDef op_file_read_parts;
inline constexpr Dtype kSourceDtype = uint64;

}  // namespace mlx::core
