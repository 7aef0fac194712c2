// Traced functions as data that outlives the process, and the file that they are kept in.
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
//    "traces": [{"shapeless": bool, "bound": why it serves one form of inputs only,
//                "inputs": [[dtype, shape], ..],      positional ones, then those by keyword
//                "keywords": [names of the last inputs],
//                "constants": [number of an array, or [dtype, bits of a scalar in hexadecimal]],
//                "steps": [{"op": name, "attrs": {field: value}, "in": [values],
//                           "out": [[dtype, shape], ..],
//                           "map": [[whether each input has the axis, ..], ..]}, ..],
//                "outputs": [values]}, ..]}
//
// where values are numbered: inputs, constants, results of the steps. A step with "map" runs its op
// at each position along the first axes of its inputs, outermost first (ops/loop.h).
#pragma once

#include <string>
#include <vector>

#include "mlx/io/stream.h"
#include "mlx/transforms/export_ops.h"

namespace mlx::core {

/// What is known of an array before it is computed.
struct ArrayType {
  Dtype dtype;
  Shape shape;
  bool operator==(const ArrayType&) const = default;
};
inline ArrayType type_of(const array& a) { return {a.dtype(), a.shape()}; }

/// One op of a trace.
struct TraceStep {
  const ExportOp* op;
  Ref<const Attrs> attrs;
  std::vector<uint32_t> inputs;  ///< values
  std::vector<ArrayType> outputs;
  std::vector<std::vector<bool>> mapped = {};  ///< per axis that the op is mapped over, per input
};

/// One trace of a function.
struct StoredTrace {
  bool shapeless = false;  ///< serves inputs of any lengths
  std::string bound;       ///< why it does not, where it was asked to
  std::vector<ArrayType> inputs;
  std::vector<std::string> keywords;  ///< of the last inputs, sorted
  Arrays constants;
  std::vector<TraceStep> steps;
  std::vector<uint32_t> outputs;  ///< values

  /// True for inputs that the trace serves.
  bool accepts(const Arrays& given, const std::vector<std::string>& names) const;
  /// The outputs for inputs that it accepts: every step builds its op.
  Arrays run(const Arrays& given) const;
  /// Builds the steps over placeholders. Throws ValueError where they are not what they say.
  void check() const;
};

struct StoredFunction {
  std::string metadata;
  std::vector<StoredTrace> traces;
};

/// Writes a file; arrays have been evaluated.
void write_function(io::Writer& out, const StoredFunction& f);
/// Reads a file. Throws FileError for anything but what `write_function` writes.
StoredFunction read_function(io::Reader& in);

}  // namespace mlx::core
