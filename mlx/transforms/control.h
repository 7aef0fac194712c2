// Control flow over arrays: loops and branches whose functions are traced once and run as one node,
// without the calling program.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "mlx/core/api.h"
#include "mlx/transforms/trace.h"

namespace mlx::core {

/// The next carried arrays and the slices of the results, from carried arrays and slices.
using ScanFunction = std::function<std::pair<Arrays, Arrays>(const Arrays&, const Arrays&)>;

/// Settings of a scan.
struct ScanOptions {
  std::optional<int64_t> length = {};  ///< of the first axes; needed without arrays
  bool reverse = false;                ///< from the last slice to the first
  bool checkpoint =
      false;  ///< derivatives compute an iteration again instead of keeping its values
};

/// Calls `f` for each slice along the first axes of `xs`, passing on what it carries, which begins
/// as `init`: the last carried arrays, and the slices of the results, stacked along a first axis.
/// Throws ValueError if the first axes differ, or a carried array changes its shape or dtype.
MLX_API std::pair<Arrays, Arrays> scan(const ScanFunction& f, const Arrays& init, const Arrays& xs,
                                       const ScanOptions& options = {});
/// The results of `f` for each slice along the first axes of `xs`, stacked along a first axis.
MLX_API Arrays map(const Function& f, const Arrays& xs);
/// Repeats `body` while `condition`, which returns one bool scalar, is true for what it carries.
/// There is no reverse-mode derivative.
MLX_API Arrays while_loop(const Function& condition, const Function& body, const Arrays& init);

/// A body that also takes the number of its iteration, an int32 scalar.
using CountedFunction = std::function<Arrays(const array&, const Arrays&)>;
/// Calls `body` for the numbers from `lower` on, below `upper`: a scan, which has derivatives.
MLX_API Arrays fori_loop(int64_t lower, int64_t upper, const CountedFunction& body,
                         const Arrays& init);
/// The same for bounds that are computed: a while loop. Both are integer scalars.
MLX_API Arrays fori_loop(const array& lower, const array& upper, const CountedFunction& body,
                         const Arrays& init);

/// The results of one of two functions; the other one does not run. `pred` is a scalar. Under vmap
/// with a mapped `pred`, both run.
MLX_API Arrays cond(const array& pred, const Function& true_fn, const Function& false_fn,
                    const Arrays& operands);
/// The results of the function with the number `index`, an integer scalar; others do not run.
/// Numbers out of range stand for the first or the last one.
MLX_API Arrays switch_branch(const array& index, const std::vector<Function>& branches,
                             const Arrays& operands);

/// The results of an associative function of two lists of arrays over all leading parts of `elems`
/// along an axis, in a logarithmic number of steps. `f` takes and returns arrays with slices along
/// the same axis, and is associative.
MLX_API Arrays associative_scan(const std::function<Arrays(const Arrays&, const Arrays&)>& f,
                                const Arrays& elems, bool reverse = false, int axis = 0);

}  // namespace mlx::core
