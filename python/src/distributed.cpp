// mlx.core.distributed: groups of processes, and what they do together.
#include "mlx/distributed/distributed.h"

#include <cstdlib>
#include <fstream>

#include "lines.h"
#include "lock.h"
#include "mlx/core/lines.h"
#include "module.h"

namespace mlx::python {

namespace dist = mlx::core::distributed;

template <>
struct From<dist::Group> : FromBound<dist::Group> {};

namespace {

using OptionalGroup = std::optional<dist::Group>;

#define GROUP_TAIL ", *, group: Group | None = None, stream: StreamOrDevice = None) -> array"

nb::object in_module(const char* name) {
  return nb::module_::import_("mlx.core").attr("distributed").attr(name);
}

/// Calls `f`, and raises what it throws in Python.
template <class F>
auto raising(F&& f) {
  try {
    return f();
  } catch (...) {
    raise_current();
    throw nb::python_error();
  }
}

constexpr const char* split_text =
    R"(Return the group of the members that give the same color. All members call it.

Args:
    color: a number; members with the same one are in one group.
    key: the order in it: by key, then by rank; a negative one, the default, stands for the rank.

Returns:
    A `Group`.

Raises:
    ExecutionError: this process is alone.
    CommunicationError: a member does something else, or is lost.

Example:
    >>> def halves():
    ...     half = mx.distributed.init().split(mx.distributed.init().rank() % 2)
    ...     return half.rank(), half.size()
    >>> mx.distributed.simulate(halves, 4)
    [(0, 2), (0, 2), (1, 2), (1, 2)])";

void bind_group(nb::module_& m) {
  nb::class_<dist::Group>(m, "Group",
                          "Processes that compute together; `init` and `split` make groups.")
      .def("rank", &dist::Group::rank, "The place of this process in the group, from 0.")
      .def("size", &dist::Group::size, "The number of processes.")
      .def(
          "split",
          [](const dist::Group& g, int color, int key) {
            return raising([&] { return g.split(color, key); });
          },
          nb::arg("color"), nb::arg("key") = -1, split_text)
      .def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def("__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); })
      .def(
          "__eq__",
          [](const dist::Group& g, nb::handle other) {
            return nb::isinstance<dist::Group>(other) && nb::cast<dist::Group&>(other) == g;
          },
          nb::arg("other").none(), "True for the same group.")
      .def("__hash__",
           [](const dist::Group& g) {
             return static_cast<Py_ssize_t>(reinterpret_cast<uintptr_t>(g.channel().get()) >> 4);
           })
      .def(
          "__reduce__",
          [](const dist::Group& g) {
            return nb::make_tuple(in_module("_group"), nb::make_tuple(g.name()));
          },
          "For pickling: the name of the group, which every process finds that has made it.");
}

void bind_collectives(nb::module_& m) {
#define MLX_COLLECTIVE(NAME)           \
  def(m, #NAME "(x: array" GROUP_TAIL, \
      [](const array& x, OptionalGroup g, StreamOrDevice s) { return dist::NAME(x, g, s); });
  MLX_COLLECTIVE(all_sum)
  MLX_COLLECTIVE(all_max)
  MLX_COLLECTIVE(all_min)
  MLX_COLLECTIVE(all_gather)
  MLX_COLLECTIVE(sum_scatter)
  MLX_COLLECTIVE(all_to_all)
  def(m, "broadcast(x: array, src: int" GROUP_TAIL,
      [](const array& x, int src, OptionalGroup g, StreamOrDevice s) {
        return dist::broadcast(x, src, g, s);
      });
  def(m, "send(x: array, dst: int" GROUP_TAIL,
      [](const array& x, int dst, OptionalGroup g, StreamOrDevice s) {
        return dist::send(x, dst, g, s);
      });
  def(m, "recv(shape: Sequence[int], dtype: Dtype, src: int" GROUP_TAIL,
      [](AnyShape shape, Dtype dtype, int src, OptionalGroup g, StreamOrDevice s) {
        return dist::recv(shape.shape, dtype, src, g, s);
      });
  def(m, "recv_like(x: array, src: int" GROUP_TAIL,
      [](const array& x, int src, OptionalGroup g, StreamOrDevice s) {
        return dist::recv_like(x, src, g, s);
      });
  def(m, "barrier(*, group: Group | None = None) -> None",
      [](OptionalGroup g) { dist::barrier(g); });
}

/// "ValueError: no such file (train.py:12)" of an exception object.
std::string describe_exception(nb::handle e) {
  std::string text =
      text_of(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(e.ptr()))).attr("__name__"));
  if (const std::string message = text_of(nb::str(e)); !message.empty()) text += ": " + message;
  const std::string line = short_line_of(e);
  return line.empty() ? text : text + " (" + line + ")";
}

std::string describe_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (nb::python_error& e) {
    nb::gil_scoped_acquire lock;
    return describe_exception(e.value());
  } catch (const std::exception& e) {
    return e.what();
  }
}

/// Tells the launcher why this process ended: nothing where that was the fault of another one.
void leave_note(int rank, const std::string& words) {
  if (const char* folder = std::getenv("MLX_LAUNCH_NOTES"))
    std::ofstream(std::string(folder) + "/" + std::to_string(rank)) << words;
}

/// Tells the others at the end of the program, and why where an exception ended it.
void end_with_last_words() {
  if (mlx::core::world_number() == 0) return;
  std::string words;
  nb::object error = nb::getattr(nb::module_::import_("sys"), "last_value", nb::none());
  if (!error.is_none()) {
    const int rank = dist::status().rank;
    words = "rank " + std::to_string(rank) + " ended: " + describe_exception(error);
    leave_note(rank, PyErr_GivenExceptionMatches(error.ptr(), communication_error) ? "" : words);
  }
  // An engine may end the process.
  for (const char* stream : {"stdout", "stderr"}) {
    try {
      if (nb::object o = nb::module_::import_("sys").attr(stream); !o.is_none()) o.attr("flush")();
    } catch (const nb::python_error&) {
      // A pipe without a reader.
    }
  }
  BlockingRegion region;
  dist::end_all(words);
}

nb::object simulate(const nb::callable& fn, int size) {
  std::vector<nb::object> results(static_cast<size_t>(std::max(size, 0)));
  dist::simulate(
      size,
      [&](int rank) {
        nb::gil_scoped_acquire lock;
        results[static_cast<size_t>(rank)] = fn();
      },
      describe_error);
  nb::list all;
  for (nb::object& r : results) all.append(r);
  return all;
}

nb::object status() {
  const dist::Status s = dist::status();
  nb::dict d;
  d["engine"] = s.engine;
  d["rank"] = s.rank;
  d["size"] = s.size;
  d["messages"] = s.messages;
  d["bytes"] = s.bytes;
  auto text = [](const std::string& t) {
    return t.empty() ? nb::none() : nb::object(nb::str(t.c_str()));
  };
  d["failure"] = text(s.failure);
  d["library"] = text(s.library);
  nb::list groups;
  for (const dist::GroupStatus& g : s.groups) {
    nb::dict one;
    one["name"] = g.name;
    one["rank"] = g.rank;
    one["size"] = g.size;
    nb::list ranks;
    for (const int rank : g.ranks) ranks.append(rank);
    one["ranks"] = ranks;
    one["messages"] = g.messages;
    one["bytes"] = g.bytes;
    one["last"] = text(g.last);
    one["running"] = g.running;
    groups.append(one);
  }
  d["groups"] = groups;
  return d;
}

}  // namespace

void bind_distributed(nb::module_& core) {
  nb::module_ m =
      core.def_submodule("distributed", "Groups of processes and collectives over them.");
  mlx::core::program_line = short_line_of_program;
  // A collective makes the group, too, where the program has not called `init`.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(end_with_last_words));
  bind_group(m);
  bind_collectives(m);
  def(m, "is_available(backend: str = 'any') -> bool",
      [](const std::string& backend) { return dist::is_available(backend); });
  def(m,
      "init(strict: bool = False, backend: str = 'any', *, all_gather_factory: object | None = "
      "None, timeout: float | None = None) -> Group",
      [](bool strict, const std::string& backend, nb::handle factory,
         std::optional<double> timeout) {
        if (!factory.is_none() && !PyCallable_Check(factory.ptr()))
          throw mlx::core::TypeError(
              "[init] all_gather_factory is not callable; a function is accepted");
        if (!factory.is_none() && backend != "jaccl")
          throw mlx::core::ValueError("[init] all_gather_factory with backend '" + backend +
                                      "'; it is accepted with jaccl alone");
        if (timeout && !(*timeout > 0))
          throw mlx::core::ValueError(
              "[init] timeout is not positive; a number of seconds is accepted");
        return nb::cast(dist::init(strict, backend, timeout.value_or(0)));
      });
  def(
      m, "_clear_backends() -> None", [] { dist::clear_backends(); },
      "Leaves all groups: a later `init` connects again. For tests.");
  def(
      m, "_group(name: str) -> Group",
      [](const std::string& name) { return nb::cast(dist::group_named(name)); },
      "The group of a name, for pickles: 'world', or one that was split off and still exists.");
  def(m, "simulate(fn: Callable[[], object], size: int) -> list[object]",
      [](nb::callable fn, int size) { return simulate(fn, size); });
  def(m, "status() -> dict[str, object]", [] { return status(); });
}

}  // namespace mlx::python
