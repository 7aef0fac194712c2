// Sorting, partitions, searches, distinct elements.
#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {
namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"
}  // namespace

void bind_sorts(nb::module_& m) {
#define MLX_SORT(NAME, DOC)                                                  \
  def(                                                                       \
      m, #NAME "(a: array, /, axis: None | int = -1, *, " STREAM,            \
      [](const array& a, std::optional<int> axis, const StreamOrDevice& s) { \
        return axis ? core::NAME(a, *axis, s) : core::NAME(a, s);            \
      },                                                                     \
      DOC);
#define MLX_PARTITION(NAME, PARAMETER, DOC)                                            \
  def(                                                                                 \
      m, #NAME "(a: array, /, " #PARAMETER ": int, axis: None | int = -1, *, " STREAM, \
      [](const array& a, int n, std::optional<int> axis, const StreamOrDevice& s) {    \
        return axis ? core::NAME(a, n, *axis, s) : core::NAME(a, n, s);                \
      },                                                                               \
      DOC);
  MLX_SORT(sort, "The elements in ascending order along an axis, or all of them. NaN comes last.")
  MLX_SORT(argsort, "Positions that sort the elements along an axis, or all of them.")
  MLX_PARTITION(partition, kth,
                "The elements with the kth smallest in its place, smaller ones before it.")
  MLX_PARTITION(argpartition, kth,
                "Positions that put the kth smallest in its place, smaller ones before it.")
  MLX_PARTITION(topk, k, "The k largest elements along an axis, or of all, in no certain order.")
  def(
      m, "searchsorted(sorted_sequence: array, values: array, /, side: str = 'left', *, " STREAM,
      [](const array& sorted, const array& values, std::string& side, const StreamOrDevice& s) {
        return core::searchsorted(sorted, values, side, s);
      },
      "Positions at which values would be inserted to keep a sequence sorted: before equal ones "
      "('left') or after them ('right').");
  def(
      m,
      "unique(a: array, /, size: int, return_index: bool = False, return_inverse: bool = False, "
      "return_counts: bool = False, fill_value: scalar | array | None = None, *, stream: "
      "StreamOrDevice = None) -> array | tuple[array, ...]",
      [](const array& a, int size, bool index, bool inverse, bool counts,
         const std::optional<array>& fill, const StreamOrDevice& s) -> nb::object {
        auto out = core::unique(a, size, index, inverse, counts, fill, s);
        return out.size() == 1 ? nb::steal(wrap(out[0])) : tuple_of(out);
      },
      "The distinct elements of the flattened array in ascending order, cut to `size` or filled up "
      "with `fill_value` (the smallest element unless given). Behind it, as asked for: positions "
      "of "
      "the first of each, the positions that give back `a`, and how many there are of each.");
}

}  // namespace mlx::python
