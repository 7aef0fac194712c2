// Functions in files: traced, written, read again, called.
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

/// A field of an op's attributes: a number, a name, lengths, or numbers.
using ExportAttribute = std::variant<int64_t, double, std::string, Shape, std::vector<double>>;
using ExportValue =
    std::variant<std::string, std::vector<std::tuple<std::string, Shape, Dtype>>,
                 std::vector<std::pair<std::string, std::string>>,
                 std::vector<std::pair<std::string, array>>, std::vector<ExportAttribute>>;
/// Receives a traced function part by part, instead of a file. "type" says which part it is:
/// "inputs", "keyword_inputs", "outputs" and "constants" (each with a list of that name, or of
/// "keywords"), then a "primitive" for each op, with its "name", "inputs", "outputs" and
/// "arguments". Arrays are known by letters.
using ExportCallback = std::function<void(const std::unordered_map<std::string, ExportValue>&)>;

/// Traces a function once for each form of its arguments; `close` writes the file. Nothing is there
/// before, and an earlier file of that name stays until then. Destruction closes, unless an
/// exception is under way.
///
///   FunctionExporter e = exporter("f.mlxfn", [](const Args& a) { return Args{exp(a[0])}; });
///   e({array(1.0f)});
///   e.close();
class MLX_API FunctionExporter {
 public:
  /// Traces for arguments of these dtypes and shapes (with `shapeless`, of any lengths). Custom
  /// functions become what they compute: their rules are code of the program. Throws ValueError
  /// for other ops that cannot be written, ExecutionError where the traces there are serve
  /// these arguments already and after `close`.
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

/// A function read from a file. It is ordinary code to transformations: they go through its ops.
class MLX_API ImportedFunction {
 public:
  /// Throws FileError for a file that is missing, damaged, or none of this library.
  explicit ImportedFunction(const std::string& file);
  /// The outputs of the trace that was made for such arguments. Throws ValueError, which lists what
  /// is accepted, where there is none.
  std::vector<array> operator()(const std::initializer_list<array>& args) const;
  std::vector<array> operator()(const Args& args) const;
  std::vector<array> operator()(const Kwargs& kwargs) const;
  std::vector<array> operator()(const Args& args, const Kwargs& kwargs) const;
  /// What was given when the file was written.
  const std::string& metadata() const;

 private:
  std::shared_ptr<const StoredFunction> function_;
};

using ArgsFunction = std::function<std::vector<array>(const Args&)>;
using KwargsFunction = std::function<std::vector<array>(const Kwargs&)>;
using ArgsKwargsFunction = std::function<std::vector<array>(const Args&, const Kwargs&)>;

/// Several traces into one file. With `shapeless` a trace serves arguments of all lengths, where
/// the function means the same for all; where it does not (it read a shape, or uses an op bound to
/// one) its trace serves the shapes that it was made for.
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

/// One trace into a file.
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

/// The function in a file. Throws FileError.
MLX_API ImportedFunction import_function(const std::string& file);

/// Writes the graph behind arrays as Graphviz text: arrays are names with dtype and shape, ops are
/// boxes. Arrays are called A, B, .. unless `names` has them.
MLX_API void export_to_dot(std::ostream& out, const std::vector<array>& outputs,
                           const std::unordered_map<std::uintptr_t, std::string>& names = {});

}  // namespace mlx::core
