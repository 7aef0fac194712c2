// Functions in files: exported by tracing, imported, called.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>

#include "mlx/core/api.h"
#include "mlx/transforms/trace.h"

namespace mlx::core {

using Args = std::vector<array>;
using Kwargs = std::unordered_map<std::string, array>;

/// An argument of an op: a number, a name, a dtype, a shape, axes, or numbers.
using ExportAttribute = std::variant<int64_t, double, bool, std::string, Dtype, Shape,
                                     std::vector<int>, std::vector<double>>;
using ExportValue =
    std::variant<std::string, std::vector<std::tuple<std::string, Shape, Dtype>>,
                 std::vector<std::pair<std::string, std::string>>,
                 std::vector<std::pair<std::string, array>>, std::vector<ExportAttribute>>;
/// Receives a traced function part by part, instead of a file. "type" names the part: "inputs",
/// "keyword_inputs", "outputs" and "constants" (each with a list of that name, or of "keywords"),
/// then a "primitive" for each op, with its "name", "inputs", "outputs" and "arguments". Arrays are
/// named by letters. Names and arguments are those that MLX publishes, for the ops that it has.
using ExportCallback = std::function<void(const std::unordered_map<std::string, ExportValue>&)>;

/// Traces a function once for each combination of argument dtypes and shapes; `close` writes the
/// file. No file is written before, and an existing file stays unchanged until then. The destructor
/// closes, unless an exception is being thrown.
///
///   FunctionExporter e = exporter("f.mlxfn", [](const Args& a) { return Args{exp(a[0])}; });
///   e({array(1.0f)});
///   e.close();
class MLX_API FunctionExporter {
 public:
  /// Traces the function for arguments of these dtypes and shapes (with `shapeless`, of any
  /// lengths). Custom functions are replaced by what they compute, since their rules are user code.
  /// Throws ValueError for other ops that cannot be written, ExecutionError after `close` and if an
  /// existing trace accepts these arguments.
  void operator()(const std::initializer_list<array>& args);
  void operator()(const Args& args);
  void operator()(const Kwargs& kwargs);
  void operator()(const Args& args, const Kwargs& kwargs);
  void close();
  /// Closes without writing.
  void discard();

  FunctionExporter(const FunctionExporter&) = delete;
  FunctionExporter& operator=(const FunctionExporter&) = delete;
  FunctionExporter(FunctionExporter&&) noexcept;
  ~FunctionExporter();

  struct State;
  explicit FunctionExporter(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

struct StoredFunction;

/// A function read from a file. Transformations see its ops as ordinary ones.
class MLX_API ImportedFunction {
 public:
  /// Throws FileError for a file that is missing, damaged, or not an exported function.
  explicit ImportedFunction(const std::string& file);
  /// The outputs of the trace that was made for such arguments. If there is none, throws ValueError
  /// with a list of what is accepted.
  std::vector<array> operator()(const std::initializer_list<array>& args) const;
  std::vector<array> operator()(const Args& args) const;
  std::vector<array> operator()(const Kwargs& kwargs) const;
  std::vector<array> operator()(const Args& args, const Kwargs& kwargs) const;
  /// The metadata given when the file was written.
  const std::string& metadata() const;

 private:
  std::shared_ptr<const StoredFunction> function_;
};

using ArgsFunction = std::function<std::vector<array>(const Args&)>;
using KwargsFunction = std::function<std::vector<array>(const Kwargs&)>;
using ArgsKwargsFunction = std::function<std::vector<array>(const Args&, const Kwargs&)>;

/// Exports several traces to one file. With `shapeless` a trace accepts arguments of all lengths if
/// the graph is valid for all; if it is not (the function read a shape, or uses an op bound to
/// one), the trace accepts the shapes that it was made for.
MLX_API FunctionExporter exporter(const std::string& file, const ArgsFunction& fun,
                                  bool shapeless = false, const std::string& metadata = "");
MLX_API FunctionExporter exporter(const std::string& file, const KwargsFunction& fun,
                                  bool shapeless = false, const std::string& metadata = "");
MLX_API FunctionExporter exporter(const std::string& path, const ArgsKwargsFunction& fun,
                                  bool shapeless = false, const std::string& metadata = "");
MLX_API FunctionExporter exporter(const ExportCallback& callback, const ArgsFunction& fun,
                                  bool shapeless = false);
MLX_API FunctionExporter exporter(const ExportCallback& callback, const KwargsFunction& fun,
                                  bool shapeless = false);
MLX_API FunctionExporter exporter(const ExportCallback& callback, const ArgsKwargsFunction& fun,
                                  bool shapeless = false);

/// Exports one trace to a file.
MLX_API void export_function(const std::string& file, const ArgsFunction& fun, const Args& args,
                             bool shapeless = false, const std::string& metadata = "");
MLX_API void export_function(const std::string& file, const KwargsFunction& fun,
                             const Kwargs& kwargs, bool shapeless = false,
                             const std::string& metadata = "");
MLX_API void export_function(const std::string& file, const ArgsKwargsFunction& fun,
                             const Args& args, const Kwargs& kwargs, bool shapeless = false,
                             const std::string& metadata = "");
MLX_API void export_function(const ExportCallback& callback, const ArgsFunction& fun,
                             const Args& args, bool shapeless = false);
MLX_API void export_function(const ExportCallback& callback, const KwargsFunction& fun,
                             const Kwargs& kwargs, bool shapeless = false);
MLX_API void export_function(const ExportCallback& callback, const ArgsKwargsFunction& fun,
                             const Args& args, const Kwargs& kwargs, bool shapeless = false);

/// Imports the function in a file. Throws FileError.
MLX_API ImportedFunction import_function(const std::string& file);

/// Writes the graph of arrays in Graphviz format: arrays are names with dtype and shape, ops are
/// boxes. Arrays are named A, B, .. unless `names` contains them.
MLX_API void export_to_dot(std::ostream& out, const std::vector<array>& outputs,
                           const std::unordered_map<std::uintptr_t, std::string>& names = {});

}  // namespace mlx::core
