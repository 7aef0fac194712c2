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
#define MLX_DISTINCT(NAME, TYPE, FIELDS, INDEX, INVERSE, COUNTS)                             \
  {                                                                                          \
    nb::object type = nb::module_::import_("collections")                                    \
                          .attr("namedtuple")(TYPE, FIELDS, nb::arg("module") = "mlx.core"); \
    m.attr(TYPE) = type;                                                                     \
    def(m, #NAME "(x: array, /, *, stream: StreamOrDevice = None) -> " TYPE,                 \
        [](array x, const StreamOrDevice& s) -> nb::object {                                 \
          auto out = core::unique(x, std::nullopt, INDEX, INVERSE, COUNTS, std::nullopt, s); \
          for (size_t i = 1; i < out.size(); ++i) out[i] = core::astype(out[i], int32, s);   \
          return nb::module_::import_("mlx.core").attr(TYPE)(*tuple_of(out));                \
        });                                                                                  \
  }
  MLX_DISTINCT(unique_all, "UniqueAllResult", "values indices inverse_indices counts", true, true,
               true)
  MLX_DISTINCT(unique_counts, "UniqueCountsResult", "values counts", false, false, true)
  MLX_DISTINCT(unique_inverse, "UniqueInverseResult", "values inverse_indices", false, true, false)
#undef MLX_DISTINCT
  def(m, "unique_values(x: array, /, *, " STREAM, [](array x, const StreamOrDevice& s) {
    return core::unique(x, std::nullopt, false, false, false, std::nullopt, s)[0];
  });
}

}  // namespace

void bind_sorts(nb::module_& m, nb::handle c) {
#define MLX_SORT(NAME)                                                              \
  {                                                                                 \
    auto f = [](const array& a, std::optional<int> axis, const StreamOrDevice& s) { \
      return axis ? core::NAME(a, *axis, s) : core::NAME(a, s);                     \
    };                                                                              \
    def(m, #NAME "(a: array, /, axis: None | int = -1, *, " STREAM, f);             \
    def(c, #NAME "(self, axis: None | int = -1, *, " STREAM, f);                    \
  }
#define MLX_PARTITION(NAME, PARAMETER)                                                 \
  def(m, #NAME "(a: array, /, " #PARAMETER ": int, axis: None | int = -1, *, " STREAM, \
      [](const array& a, int n, std::optional<int> axis, const StreamOrDevice& s) {    \
        return axis ? core::NAME(a, n, *axis, s) : core::NAME(a, n, s);                \
      });
  MLX_SORT(sort)
  MLX_SORT(argsort)
  MLX_PARTITION(partition, kth)
  MLX_PARTITION(argpartition, kth)
  MLX_PARTITION(topk, k)
  def(m,
      "searchsorted(sorted_sequence: array, values: array, /, side: str = 'left', *, "
      "sorter: array | None = None, " STREAM,
      [](const array& sorted, Operand given, std::string& side, const std::optional<array>& sorter,
         const StreamOrDevice& s) {
        array values = convert_operand("searchsorted", sorted, given);
        return sorter ? core::searchsorted(sorted, values, side, *sorter, s)
                      : core::searchsorted(sorted, values, side, s);
      });
  def(m,
      "unique(a: array, /, size: int | None = None, return_index: bool = False, "
      "return_inverse: bool = False, return_counts: bool = False, "
      "fill_value: scalar | array | None = None, *, stream: StreamOrDevice = None) -> "
      "array | tuple[array, ...]",
      [](array a, std::optional<int> size, bool index, bool inverse, bool counts,
         const std::optional<array>& fill, const StreamOrDevice& s) -> nb::object {
        auto out = core::unique(a, size, index, inverse, counts, fill, s);
        return out.size() == 1 ? nb::steal(wrap(out[0])) : tuple_of(out);
      });
  bind_distinct(m);
}
#undef MLX_PARTITION
#undef MLX_SORT

}  // namespace mlx::python
