// mlx.core.distributed: groups of processes. Every group has one member so far.
#include "mlx/distributed/distributed.h"

#include "module.h"

namespace mlx::python {

namespace dist = mlx::core::distributed;

template <>
struct From<dist::Group> : FromBound<dist::Group> {};

namespace {

using OptionalGroup = std::optional<dist::Group>;

#define TAIL ", *, group: Group | None = None, stream: StreamOrDevice = None) -> array"

void bind_group(nb::module_& m) {
  nb::class_<dist::Group>(m, "Group", "Processes that compute together.")
      .def("rank", &dist::Group::rank, "This process's place in the group.")
      .def("size", &dist::Group::size, "Number of processes.")
      .def(
          "split",
          [](const dist::Group& g, int color, int key) {
            try {
              return g.split(color, key);
            } catch (...) {
              raise_current();
              throw nb::python_error();
            }
          },
          nb::arg("color"), nb::arg("key") = -1, "The members of the same color, ordered by key.")
      .def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def("__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); })
      .def(
          "__reduce__",
          [](nb::handle) {
            nb::object init = nb::module_::import_("mlx.core").attr("distributed").attr("init");
            return nb::make_tuple(init, nb::tuple());
          },
          "For pickling: the group of all processes, which is the only one.");
}

void bind_collectives(nb::module_& m) {
#define MLX_COLLECTIVE(NAME)     \
  def(m, #NAME "(x: array" TAIL, \
      [](const array& x, OptionalGroup g, StreamOrDevice s) { return dist::NAME(x, g, s); });
  MLX_COLLECTIVE(all_sum)
  MLX_COLLECTIVE(all_max)
  MLX_COLLECTIVE(all_min)
  MLX_COLLECTIVE(all_gather)
  MLX_COLLECTIVE(sum_scatter)
  def(
      m, "send(x: array, dst: int" TAIL,
      [](const array& x, int dst, OptionalGroup g, StreamOrDevice s) {
        return dist::send(x, dst, g, s);
      },
      "Sends `x` to the member `dst`.");
  def(
      m, "recv(shape: Sequence[int], dtype: Dtype, src: int" TAIL,
      [](AnyShape shape, Dtype dtype, int src, OptionalGroup g, StreamOrDevice s) {
        return dist::recv(shape.shape, dtype, src, g, s);
      },
      "Receives an array from the member `src`.");
  def(
      m, "recv_like(x: array, src: int" TAIL,
      [](const array& x, int src, OptionalGroup g, StreamOrDevice s) {
        return dist::recv_like(x, src, g, s);
      },
      "Receives an array of the shape and dtype of `x`.");
}

}  // namespace

void bind_distributed(nb::module_& core) {
  nb::module_ m =
      core.def_submodule("distributed", "Groups of processes and collectives over them.");
  bind_group(m);
  bind_collectives(m);
  def(
      m, "is_available(backend: str = 'any') -> bool",
      [](const std::string& backend) { return dist::is_available(backend); },
      "True where an engine of that name connects processes.");
  def(
      m,
      "init(strict: bool = False, backend: str = 'any', *, all_gather_factory: object | None = "
      "None) "
      "-> Group",
      [](bool strict, const std::string& backend, nb::handle) {
        return nb::cast(dist::init(strict, backend));
      },
      "The group of all processes: this one alone, as no engine is built in.");
}

}  // namespace mlx::python
