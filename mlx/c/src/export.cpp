// Functions in files, and graphs as text.
#include "mlx/c/export.h"

#include <sstream>

#include "mlx/c/graph_utils.h"
#include "mlx/c/src/convert.h"
#include "mlx/c/src/handles.h"

namespace mlx::c {

namespace {

core::ArgsFunction of_arguments(mlx_closure fun) {
  return [f = get(fun)](const core::Args& args) { return f(args); };
}
core::ArgsKwargsFunction of_arguments(mlx_closure_kwargs fun) {
  return [f = get(fun)](const core::Args& args, const core::Kwargs& kwargs) {
    return f(args, kwargs);
  };
}

void write(FILE* to, const std::string& text, const char* name) {
  if (!to) core::fail<core::ValueError>(name, "null; a file is accepted");
  if (std::fwrite(text.data(), 1, text.size(), to) != text.size())
    core::fail<core::FileError>(name, "a write of ", text.size(), " bytes failed");
}

}  // namespace

}  // namespace mlx::c

using namespace mlx::c;
namespace core = mlx::core;

extern "C" {

int mlx_export_function(const char* file, const mlx_closure fun, const mlx_vector_array args,
                        bool shapeless) {
  return status(__func__,
                [&] { core::export_function(in(file), of_arguments(fun), get(args), shapeless); });
}
int mlx_export_function_kwargs(const char* file, const mlx_closure_kwargs fun,
                               const mlx_vector_array args, const mlx_map_string_to_array kwargs,
                               bool shapeless) {
  return status(__func__, [&] {
    core::export_function(in(file), of_arguments(fun), get(args), get(kwargs), shapeless);
  });
}

mlx_function_exporter mlx_function_exporter_new(const char* file, const mlx_closure fun,
                                                bool shapeless) {
  return result(__func__, mlx_function_exporter{}, [&] {
    return make<mlx_function_exporter>(core::exporter(in(file), of_arguments(fun), shapeless));
  });
}
int mlx_function_exporter_free(mlx_function_exporter xfunc) {
  return status(__func__, [&] {
    if (!xfunc.ctx) return;
    get(xfunc).close();  // whose errors a destructor would not tell
    drop(xfunc);
  });
}
int mlx_function_exporter_apply(const mlx_function_exporter xfunc, const mlx_vector_array args) {
  return status(__func__, [&] { get(xfunc)(get(args)); });
}
int mlx_function_exporter_apply_kwargs(const mlx_function_exporter xfunc,
                                       const mlx_vector_array args,
                                       const mlx_map_string_to_array kwargs) {
  return status(__func__, [&] { get(xfunc)(get(args), get(kwargs)); });
}

mlx_imported_function mlx_imported_function_new(const char* file) {
  return result(__func__, mlx_imported_function{},
                [&] { return make<mlx_imported_function>(core::import_function(in(file))); });
}
int mlx_imported_function_free(mlx_imported_function xfunc) {
  return status(__func__, [&] { drop(xfunc); });
}
int mlx_imported_function_apply(mlx_vector_array* res, const mlx_imported_function xfunc,
                                const mlx_vector_array args) {
  return status(__func__, [&] { out(res, get(xfunc)(get(args))); });
}
int mlx_imported_function_apply_kwargs(mlx_vector_array* res, const mlx_imported_function xfunc,
                                       const mlx_vector_array args,
                                       const mlx_map_string_to_array kwargs) {
  return status(__func__, [&] { out(res, get(xfunc)(get(args), get(kwargs))); });
}

mlx_node_namer mlx_node_namer_new(void) {
  return result(__func__, mlx_node_namer{}, [] { return make<mlx_node_namer>({}); });
}
int mlx_node_namer_free(mlx_node_namer namer) {
  return status(__func__, [&] { drop(namer); });
}
int mlx_node_namer_set_name(mlx_node_namer namer, const mlx_array arr, const char* name) {
  return status(__func__, [&] { get(namer).set_name(in(arr), in(name)); });
}
int mlx_node_namer_get_name(const char** name, mlx_node_namer namer, const mlx_array arr) {
  return status(__func__, [&] {
    if (!name) core::fail<core::ValueError>("mlx_node_namer", "no place for a result");
    *name = get(namer).get_name(in(arr)).c_str();
  });
}
int mlx_export_to_dot(FILE* os, const mlx_node_namer namer, const mlx_vector_array outputs) {
  return status(__func__, [&] {
    std::ostringstream text;
    core::export_to_dot(text, get(namer), get(outputs));
    write(os, text.str(), "mlx_export_to_dot");
  });
}
int mlx_print_graph(FILE* os, const mlx_node_namer namer, const mlx_vector_array outputs) {
  return status(__func__, [&] {
    std::ostringstream text;
    core::print_graph(text, get(namer), get(outputs));
    write(os, text.str(), "mlx_print_graph");
  });
}

}  // extern "C"
