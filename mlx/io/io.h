// Saving and loading arrays: .npy, .safetensors and .gguf. Saving evaluates the arrays; a failed
// save leaves an existing file unchanged. Loading validates headers and throws FileError if they
// are malformed; elements in files are read when an array is computed, which throws FileError if
// they are not there any more.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"
#include "mlx/io/stream.h"

namespace mlx::core {

using SafetensorsLoad =
    std::pair<std::unordered_map<std::string, array>, std::unordered_map<std::string, std::string>>;

/// Writes one array in NumPy's format, version 1 (2 for long headers). The dtype bfloat16 is
/// written as "V2".
MLX_API void save(std::shared_ptr<io::Writer> out, array a);
/// As above; ".npy" is appended to a name without it.
MLX_API void save(std::string file, array a);
/// Reads one array in NumPy's format: either byte order, C or Fortran order.
MLX_API array load(std::shared_ptr<io::Reader> in, StreamOrDevice s = {});
MLX_API array load(std::string file, StreamOrDevice s = {});

/// Writes named arrays and string metadata in the safetensors format.
MLX_API void save_safetensors(std::shared_ptr<io::Writer> out,
                              std::unordered_map<std::string, array> arrays,
                              std::unordered_map<std::string, std::string> metadata = {});
MLX_API void save_safetensors(std::string file, std::unordered_map<std::string, array> arrays,
                              std::unordered_map<std::string, std::string> metadata = {});
MLX_API SafetensorsLoad load_safetensors(std::shared_ptr<io::Reader> in, StreamOrDevice s = {});
MLX_API SafetensorsLoad load_safetensors(const std::string& file, StreamOrDevice s = {});

/// A value of GGUF metadata; monostate means none.
using GGUFMetaData = std::variant<std::monostate, array, std::string, std::vector<std::string>>;
using GGUFLoad = std::pair<std::unordered_map<std::string, array>,
                           std::unordered_map<std::string, GGUFMetaData>>;

/// Reads a GGUF file, version 2 or 3. Tensors of type Q4_0, Q4_1 and Q8_0 become packed matrices of
/// mode affine with groups of 32: words under the tensor's name, scales and biases (float16) under
/// the name without ".weight" and with ".scales" and ".biases" appended. Q5_0, Q5_1 and Q2_K to
/// Q6_K become float16 (io/gguf_blocks.h). Other block types throw FileError.
MLX_API GGUFLoad load_gguf(std::shared_ptr<io::Reader> in, StreamOrDevice s = {});
MLX_API GGUFLoad load_gguf(const std::string& file, StreamOrDevice s = {});
/// Writes named arrays of float32, float16, bfloat16, float64 or signed integers, and metadata:
/// scalars and vectors of any dtype except complex ones and 16-bit floats, strings, lists of
/// strings. ".gguf" is appended to a name without it.
MLX_API void save_gguf(std::string file, std::unordered_map<std::string, array> array_map,
                       std::unordered_map<std::string, GGUFMetaData> meta_data = {});

namespace io {
/// The array's elements in row-major order, evaluated and in host memory.
MLX_API array row_contiguous(const array& a);
}  // namespace io

}  // namespace mlx::core
