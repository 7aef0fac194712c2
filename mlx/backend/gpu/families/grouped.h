// Products whose right matrices indices say, grouped by these: the rows that share a matrix are
// gathered to tiles, which the product library multiplies by it.
#pragma once

#include <optional>

#include "mlx/backend/gpu/families/index.h"
#include "mlx/backend/gpu/families/radix.h"

namespace mlx::core::gpu {

/// Products x[i] · w[j] for pairs of indices (i, j).
struct GroupedProblem {
  Dtype dtype;
  int64_t positions, matrices;        ///< pairs; matrices of w
  int64_t m, n, k;                    ///< of a product
  int64_t x_matrix, x_row, x_column;  ///< strides
  bool transposed = false;            ///< matrices of w lie column by column
  int64_t columns = 0;                ///< of a product at a time
  bool long_tiles = false;            ///< with more rows than tiles in place have else
  bool rows_in_place = false;         ///< `multiply` is not called: rows are used where they lie

  /// Whether the library has such products, and enough rows share a matrix.
  bool served(const DeviceState& device) const;
};

/// The tiles of a problem, and the memory that they need.
class GroupedProducts {
 public:
  /// Compiles where `prepare` is called. The problem is served.
  GroupedProducts(const GroupedProblem& problem, const DeviceState& device);
  size_t workspace() const { return workspace_; }
  void prepare(DeviceState& device);

  /// Addresses of x, of the results, and of the workspace.
  struct Operands {
    int64_t x, out, workspace;
  };
  /// Sorts the positions. `at`: the indices, in elements of x and w.
  device::GroupedArguments begin(const Enqueue& to, const Operands& operands,
                                 const device::Positions& at) const;
  /// Multiplies by `columns` columns of the matrices at `weights`, the first of which is `column`
  /// of the results. `row`, `step`: elements from row to row (or column to column), matrix to
  /// matrix.
  void multiply(const Enqueue& to, device::GroupedArguments p, int64_t weights, int64_t row,
                int64_t step, int64_t column, int64_t columns) const;

 private:
  GroupedProblem problem_;
  RadixProblem order_;
  std::optional<RadixSort> sort_;
  device::GroupedArguments arguments_ = {};  // addresses count from the workspace
  int64_t sort_at_ = 0;
  size_t workspace_ = 0;
  KernelOn<device::GroupedArguments> keys_, starts_, slots_, pointers_, rows_, results_;
};

}  // namespace mlx::core::gpu
