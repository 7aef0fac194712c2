// Sorting, partitions, searches, distinct elements.
#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {
namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"
}  // namespace

namespace {

/// The functions of the array API standard around `unique`, with named results.
void bind_distinct(nb::module_& m) {
#define MLX_DISTINCT(NAME, TYPE, FIELDS, INDEX, INVERSE, COUNTS, DOC)                        \
  {                                                                                          \
    nb::object type = nb::module_::import_("collections")                                    \
                          .attr("namedtuple")(TYPE, FIELDS, nb::arg("module") = "mlx.core"); \
    m.attr(TYPE) = type;                                                                     \
    def(                                                                                     \
        m, #NAME "(x: array, /, *, stream: StreamOrDevice = None) -> " TYPE,                 \
        [](array x, const StreamOrDevice& s) -> nb::object {                                 \
          auto out = core::unique(x, std::nullopt, INDEX, INVERSE, COUNTS, std::nullopt, s); \
          for (size_t i = 1; i < out.size(); ++i) out[i] = core::astype(out[i], int32, s);   \
          return nb::module_::import_("mlx.core").attr(TYPE)(*tuple_of(out));                \
        },                                                                                   \
        DOC);                                                                                \
  }
  MLX_DISTINCT(unique_all, "UniqueAllResult", "values indices inverse_indices counts", true, true,
               true,
               "The distinct elements, where the first of each stands, the positions that give "
               "back `x`, and the counts. Computes the array.")
  MLX_DISTINCT(unique_counts, "UniqueCountsResult", "values counts", false, false, true,
               "The distinct elements and how many there are of each. Computes the array.")
  MLX_DISTINCT(unique_inverse, "UniqueInverseResult", "values inverse_indices", false, true, false,
               "The distinct elements and the positions that give back `x`. Computes the array.")
#undef MLX_DISTINCT
  def(
      m, "unique_values(x: array, /, *, " STREAM,
      [](array x, const StreamOrDevice& s) {
        return core::unique(x, std::nullopt, false, false, false, std::nullopt, s)[0];
      },
      "The distinct elements in ascending order. Computes the array.");
}

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
  MLX_SORT(argsort, "Indices that sort the elements along an axis, or the flattened array.")
  MLX_PARTITION(partition, kth,
                "Partially sorted elements: the kth smallest is in its sorted position, with none "
                "larger before it.")
  MLX_PARTITION(argpartition, kth, "Indices that partition the elements; see partition.")
  MLX_PARTITION(
      topk, k,
      "The k largest elements along an axis, or of the flattened array, in no particular order.")
  def(
      m,
      "searchsorted(sorted_sequence: array, values: array, /, side: str = 'left', *, "
      "sorter: array | None = None, " STREAM,
      [](const array& sorted, Operand given, std::string& side, const std::optional<array>& sorter,
         const StreamOrDevice& s) {
        array values = convert_operand("searchsorted", sorted, given);
        return sorter ? core::searchsorted(sorted, values, side, *sorter, s)
                      : core::searchsorted(sorted, values, side, s);
      },
      "Positions at which values would be inserted to keep a sequence sorted: before equal ones "
      "('left') or after them ('right'). The sequence may be one that taking `sorter` sorts.");
  def(
      m,
      "unique(a: array, /, size: int | None = None, return_index: bool = False, "
      "return_inverse: bool = False, return_counts: bool = False, "
      "fill_value: scalar | array | None = None, *, stream: StreamOrDevice = None) -> "
      "array | tuple[array, ...]",
      [](array a, std::optional<int> size, bool index, bool inverse, bool counts,
         const std::optional<array>& fill, const StreamOrDevice& s) -> nb::object {
        auto out = core::unique(a, size, index, inverse, counts, fill, s);
        return out.size() == 1 ? nb::steal(wrap(out[0])) : tuple_of(out);
      },
      "The distinct elements of the flattened array in ascending order, for which the array is\n"
      "computed; or the first `size` of them, filled up with `fill_value` (the smallest element\n"
      "unless given), for which it is not. Behind them, as asked for: positions of the first of\n"
      "each, the positions that give back `a`, and how many there are of each. No two NaN are "
      "equal.");
  bind_distinct(m);
}

}  // namespace mlx::python
