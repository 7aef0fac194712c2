// Functions in files, and graphs in Graphviz format.
#include "mlx/transforms/export.h"

#include <fstream>
#include <sstream>

#include "files.h"
#include "mlx/core/print.h"
#include "mlx/io/io.h"
#include "mlx/transforms/graph.h"
#include "module.h"
#include "transformed.h"
#include "tree.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

struct Inputs {
  core::Args args;
  core::Kwargs kwargs;
};

/// Arrays by position and keyword, or one list or tuple, one dict, or a list or tuple and a dict.
Inputs inputs_of(const char* op, Star args, nb::dict kwargs) {
  Inputs out;
  auto refuse = [&](nb::handle o) {
    fail<ValueError>(op, "an argument of type ", class_name(o),
                     "; arrays by position and by keyword are accepted, or one list or tuple "
                     "of arrays, or one dict of them, or both");
  };
  auto add = [&](nb::handle o) {
    if (!is_array(o.ptr())) refuse(o);
    out.args.push_back(checked(o.ptr()));
  };
  auto add_named = [&](nb::handle name, nb::handle o) {
    if (!PyUnicode_Check(name.ptr())) refuse(name);
    if (!is_array(o.ptr())) refuse(o);
    out.kwargs.emplace(utf8_of(op, name), checked(o.ptr()));
  };
  auto is_list = [&](size_t i) {
    return i < args.size() && (PyList_Check(args[i].ptr()) || PyTuple_Check(args[i].ptr()));
  };
  auto is_dict = [&](size_t i) { return i < args.size() && PyDict_Check(args[i].ptr()); };
  if (kwargs.size() == 0 && ((args.size() == 1 && (is_list(0) || is_dict(0))) ||
                             (args.size() == 2 && is_list(0) && is_dict(1)))) {
    if (is_list(0))
      for (nb::handle o : args[0]) add(o);
    if (size_t last = args.size() - 1; is_dict(last))
      for (const auto& [name, o] : pairs_of(args[last])) add_named(name, o);
    return out;
  }
  for (nb::handle o : args.items) add(o);
  for (auto [name, o] : kwargs) add_named(name, o);
  return out;
}

/// The Python function as a C++ function.
core::ArgsKwargsFunction traced_call(nb::handle fun) {
  return [fun](const core::Args& args, const core::Kwargs& kwargs) {
    std::vector<nb::object> positional;
    for (const array& a : args) positional.push_back(nb::steal(wrap(a)));
    nb::dict named;
    for (const auto& [name, a] : kwargs) named[name.c_str()] = nb::steal(wrap(a));
    nb::object result = call_python(fun, positional, named);
    Arrays out;
    auto add = [&](nb::handle o) {
      if (!is_array(o.ptr()))
        fail<ValueError>("export_function", "a result of type ", class_name(o),
                         "; an array, or a list or tuple of arrays, is accepted");
      out.push_back(checked(o.ptr()));
    };
    if (PyList_Check(result.ptr()) || PyTuple_Check(result.ptr()))
      for (nb::handle o : result) add(o);
    else
      add(result);
    return out;
  };
}

nb::object to_object(const Shape& s) {
  nb::list out;
  for (int64_t n : s) out.append(n);
  return nb::tuple(out);
}
nb::object to_object(const core::ExportAttribute& value) {
  return std::visit(
      [](const auto& v) -> nb::object {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Shape>) {
          return to_object(v);
        } else if constexpr (std::is_same_v<T, std::vector<int>>) {
          nb::list out;
          for (int x : v) out.append(x);
          return out;
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          nb::list out;
          for (double x : v) out.append(x);
          return nb::tuple(out);
        } else {
          return nb::cast(v);
        }
      },
      value);
}
nb::object to_object(const std::string& s) { return nb::str(s.c_str(), s.size()); }
nb::object to_object(const array& a) { return nb::steal(wrap(a)); }
nb::object to_object(const std::pair<std::string, std::string>& p) {
  return nb::make_tuple(to_object(p.first), to_object(p.second));
}
nb::object to_object(const std::pair<std::string, array>& p) {
  return nb::make_tuple(to_object(p.first), to_object(p.second));
}
nb::object to_object(const std::tuple<std::string, Shape, Dtype>& t) {
  return nb::make_tuple(to_object(std::get<0>(t)), to_object(std::get<1>(t)),
                        nb::cast(std::get<2>(t)));
}

core::ExportCallback callback_to(nb::handle fun) {
  return [fun](const std::unordered_map<std::string, core::ExportValue>& part) {
    nb::dict out;
    for (const auto& [key, value] : part) {
      out[key.c_str()] = std::visit(
          [](const auto& v) -> nb::object {
            if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) {
              return to_object(v);
            } else {
              nb::list items;
              for (const auto& item : v) items.append(to_object(item));
              return items;
            }
          },
          value);
    }
    call_python(fun, {out});
  };
}

/// mlx.core.FunctionExporter. Holds the function, so that the garbage collector sees it.
struct FunctionExporter {
  nb::object fun;
  std::unique_ptr<core::FunctionExporter> exporter;

  FunctionExporter(nb::object f, core::FunctionExporter e)
      : fun(std::move(f)), exporter(std::make_unique<core::FunctionExporter>(std::move(e))) {}
  FunctionExporter(FunctionExporter&&) = default;
  /// Closes whatever the engine counts as exceptions in flight: Python's unwind no C++ scope, and
  /// an engine with another C++ runtime than the bindings miscounts theirs.
  ~FunctionExporter() {
    try {
      if (exporter) exporter->close();
    } catch (const std::exception&) {
      // As in the engine's destructor.
    }
  }
};

int traverse_exporter(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<FunctionExporter>(self)->fun.ptr());
  return 0;
}
int clear_exporter(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  FunctionExporter& e = *nb::inst_ptr<FunctionExporter>(self);
  const FunctionExporter ended = std::move(e);
  return 0;
}
PyType_Slot exporter_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_exporter)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear_exporter)},
                                {0, nullptr}};

std::string required_path(const char* op, nb::handle file) {
  if (auto path = path_of(file)) return *path;
  fail<TypeError>(op, "a file of type ", class_name(file), "; a path is accepted");
}

void export_once(nb::handle target, nb::callable fun, Star args, bool shapeless,
                 const std::optional<std::string>& metadata, nb::dict kwargs) {
  constexpr const char* op = "export_function";
  Inputs in = inputs_of(op, args, kwargs);
  if (auto path = path_of(target)) {
    core::export_function(*path, traced_call(fun), in.args, in.kwargs, shapeless,
                          metadata.value_or(""));
    return;
  }
  if (!PyCallable_Check(target.ptr()))
    fail<TypeError>(op, "a target of type ", class_name(target),
                    "; a path or a function that gets the parts is accepted");
  if (metadata) fail<ValueError>(op, "metadata for a function; files have it");
  core::export_function(callback_to(target), traced_call(fun), in.args, in.kwargs, shapeless);
}

nb::object import_function(nb::handle file, bool return_metadata) {
  core::ImportedFunction f(required_path("import_function", file));
  nb::object call = nb::cpp_function(
      [f](nb::args args, nb::kwargs kwargs) {
        std::vector<PyObject*> items;
        for (nb::handle o : args) items.push_back(o.ptr());
        Inputs in = inputs_of("import_function", Star{items}, kwargs);
        nb::list out;
        for (array& a : f(in.args, in.kwargs)) out.append(nb::steal(wrap(std::move(a))));
        return nb::tuple(out);
      },
      nb::name("imported_function"));
  if (!return_metadata) return call;
  return nb::make_tuple(call, to_object(f.metadata()));
}

void write_dot(nb::handle file, Star args, nb::dict kwargs) {
  constexpr const char* op = "export_to_dot";
  auto path = path_of(file);
  if (!path) require_file(op, file, "write");
  Arrays outputs;
  for (nb::handle tree : args.items)
    for (array& a : flatten(tree, op)) outputs.push_back(std::move(a));
  std::unordered_map<std::uintptr_t, std::string> names;
  for (auto [name, o] : kwargs) {
    if (!is_array(o.ptr()))
      fail<ValueError>(op, "a value of type ", class_name(o), " by keyword; arrays are accepted");
    names.emplace(checked(o.ptr()).id(), utf8_of(op, name));
    outputs.push_back(checked(o.ptr()));
  }
  std::ostringstream text;
  core::export_to_dot(text, outputs, names);
  const std::string s = text.str();
  if (!path) {
    file.attr("write")(to_object(s));
    return;
  }
  auto out = core::io::open_writer(*path, op);
  out->write(s.data(), s.size());
  out->commit();
}

void simplify_in_place(Star trees) {
  std::vector<nb::handle> objects;
  Arrays arrays;
  for (nb::handle tree : trees.items) {
    each_leaf(tree, [&](nb::handle leaf) {
      if (!is_array(leaf.ptr())) return;
      objects.push_back(leaf);
      arrays.push_back(checked(leaf.ptr()));
    });
  }
  Arrays simple = core::simplify(arrays);
  for (size_t i = 0; i < objects.size(); ++i) array_of(objects[i].ptr()) = simple[i];
}

}  // namespace

template <>
struct From<FunctionExporter> : FromBound<FunctionExporter> {};

void bind_export(nb::module_& m) {
  nb::class_<FunctionExporter> cls(
      m, "FunctionExporter", nb::type_slots(exporter_slots),
      "Traces a function for each form of its arguments that it is called with, and writes the "
      "file when it is closed. Made by `exporter`.");
  def(
      cls, "__call__(self, *args: Any, **kwargs: Any) -> None",
      [](FunctionExporter& e, Star args, Keywords& kwargs) {
        Inputs in = inputs_of("exporter", args, kwargs.items);
        (*e.exporter)(in.args, in.kwargs);
      },
      "Adds a trace for such arguments.");
  def(
      cls, "close(self) -> None", [](FunctionExporter& e) { e.exporter->close(); },
      "Writes the file. Nothing is traced afterwards.");
  def(
      cls, "__enter__(self) -> FunctionExporter", [](nb::handle self) { return nb::borrow(self); },
      "");
  def(
      cls,
      "__exit__(self, exc_type: object | None = None, exc_value: object | None = None, "
      "traceback: object | None = None) -> None",
      [](FunctionExporter& e, nb::handle type, nb::handle, nb::handle) {
        if (type.is_none())
          e.exporter->close();
        else
          e.exporter->discard();
      },
      "Closes; after an exception nothing is written.");
  def(m,
      "export_function(file_or_callback: str | Callable[..., Any], fun: Callable[..., Any], *args: "
      "Any, "
      "shapeless: bool = False, metadata: str | None = None, **kwargs: Any) -> None",
      [](nb::handle target, nb::callable fun, Star args, bool shapeless,
         std::optional<std::string>& metadata,
         Keywords& kwargs) { export_once(target, fun, args, shapeless, metadata, kwargs.items); });
  def(m,
      "exporter(file: str, fun: Callable[..., Any], *, shapeless: bool = False, "
      "metadata: str | None = None) -> FunctionExporter",
      [](nb::handle file, nb::callable fun, bool shapeless, std::optional<std::string>& metadata) {
        auto e = core::exporter(required_path("exporter", file), traced_call(fun), shapeless,
                                metadata.value_or(""));
        return nb::cast(FunctionExporter(fun, std::move(e)));
      });
  def(m,
      "import_function(file: str, return_metadata: bool = False) -> "
      "Callable[..., tuple[array, ...]] | tuple[Callable[..., tuple[array, ...]], str]",
      [](nb::handle file, bool return_metadata) { return import_function(file, return_metadata); });
  def(m, "export_to_dot(file: object, *args: Any, **kwargs: Any) -> None",
      [](nb::handle file, Star args, Keywords& kwargs) { write_dot(file, args, kwargs.items); });
  def(m, "simplify(*args: Any) -> None", [](Star trees) { simplify_in_place(trees); });
}

}  // namespace mlx::python
