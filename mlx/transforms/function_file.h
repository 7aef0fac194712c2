// Traced functions as data, and the file format that stores them.
//
// A file is, in little-endian order,
//
//   "MLXFUNC\n"   8 bytes
//   version       4 bytes, now 1
//   zero          4 bytes
//   length        8 bytes, of the header with its padding
//   header        JSON, padded with spaces to the next multiple of 64 bytes from the start
//   elements      of each array in row-major order, padded with zeros to a multiple of 64 bytes
//   checksum      8 bytes, over everything before
//
// and the header
//
//   {"metadata": text,
//    "arrays": [[dtype, shape], ..],
//    "traces": [{"shapeless": bool, "bound": why it accepts the traced shapes only,
//                "inputs": [[dtype, shape], ..],      positional ones, then those by keyword
//                "keywords": [names of the last inputs],
//                "constants": [number of an array, or [dtype, bits of a scalar in hexadecimal]],
//                "steps": [{"op": name, "attrs": {field: value}, "in": [values],
//                           "out": [[dtype, shape], ..],
//                           "map": [[whether each input has the axis, ..], ..],
//                           "functions": [traces of functions that the op runs]}, ..],
//                "outputs": [values]}, ..]}
//
// where values are numbered: inputs, constants, results of the steps. A step with "map" runs its op
// at each position along the first axes of its inputs, outermost first (ops/loop.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mlx/io/stream.h"
#include "mlx/transforms/export_ops.h"

namespace mlx::core {

/// Dtype and shape of an array.
struct ArrayType {
  Dtype dtype;
  Shape shape;
  bool operator==(const ArrayType&) const = default;
};
inline ArrayType type_of(const array& a) { return {a.dtype(), a.shape()}; }

struct StoredTrace;

/// One op of a trace.
struct TraceStep {
  const ExportOp* op;
  Ref<const Attrs> attrs;
  std::vector<uint32_t> inputs;  ///< value numbers
  std::vector<ArrayType> outputs;
  std::vector<std::vector<bool>> mapped = {};  ///< per mapped axis: which inputs have it
  /// The functions of a control-flow op, which its attributes hold as graphs.
  std::vector<std::shared_ptr<const StoredTrace>> functions = {};
};

/// One trace of a function.
struct StoredTrace {
  bool shapeless = false;  ///< accepts inputs of any lengths
  std::string bound;       ///< why it accepts only the traced shapes, if any were requested
  std::vector<ArrayType> inputs;
  std::vector<std::string> keywords;  ///< names of the last inputs, sorted
  Arrays constants;
  std::vector<TraceStep> steps;
  std::vector<uint32_t> outputs;  ///< value numbers

  /// True if the trace accepts these inputs.
  bool accepts(const Arrays& given, const std::vector<std::string>& names) const;
  /// The outputs for inputs that it accepts: every step builds its op.
  Arrays run(const Arrays& given) const;
  /// Builds the steps over placeholders. Throws ValueError if the results differ from what is
  /// stated.
  void check() const;
};

struct StoredFunction {
  std::string metadata;
  std::vector<StoredTrace> traces;
};

/// Writes a file; the arrays are already evaluated.
void write_function(io::Writer& out, const StoredFunction& f);
/// Reads a file. Throws FileError for anything that `write_function` does not write.
StoredFunction read_function(io::Reader& in);

}  // namespace mlx::core
