// Reductions on the CPU: adapts operands of any layout to the kernels of isa/reduce.h.
#pragma once

#include <optional>
#include <vector>

#include "mlx/backend/cpu/isa/reduce.h"
#include "mlx/backend/cpu/kernel.h"

namespace mlx::core::cpu {

/// out = `in` reduced over sorted axes; `out` is row-contiguous. Threaded. The result does not
/// depend on the strides of `in` nor on the number of threads. With a source, which computes the
/// elements of `in`, `in` is row-contiguous and the axes are the last ones or the first ones.
void reduce(const View& in, Reduction kind, const std::vector<int>& axes, const View& out,
            const FusedSource* source = nullptr);

/// A reduction of dense rows to one number each, prepared for many runs (units of rows).
class RowReduction {
 public:
  /// For an op whose input has its rows along axis `axis`; nothing if the op is no such reduction.
  static std::optional<RowReduction> of(const Step& step, const Layout& in, int axis);
  RowReduction(Reduction kind, Dtype in, Dtype out, int64_t elements);
  int64_t elements() const { return elements_; }
  /// Reduces `rows` rows, `stride` elements from one to the next; on the calling thread.
  void run(const void* in, int64_t stride, int64_t rows, void* out) const;

 private:
  Reducer reducer_;
  Reduction kind_;
  Dtype in_type_, out_type_;
  int64_t elements_;
};

}  // namespace mlx::core::cpu
