// Byte streams that arrays are read from and written to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mlx/core/api.h"

namespace mlx::core::io {

class File;

/// A source of bytes.
class MLX_API Reader {
 public:
  virtual ~Reader() = default;
  /// Reads exactly `n` bytes; throws FileError where there are fewer.
  virtual void read(char* data, size_t n) = 0;
  /// Bytes from the current position to the end.
  virtual size_t remaining() = 0;
  virtual std::string label() const = 0;
  /// The file whose bytes these are, and the current position in it, if arrays may be read from it
  /// later; else null.
  virtual std::shared_ptr<const File> file() const { return {}; }
  virtual size_t position() const { return 0; }
  /// Goes on after the next `n` bytes, which are there.
  virtual void skip(size_t n);
};

/// A destination of bytes. Nothing is final before `commit`.
class MLX_API Writer {
 public:
  virtual ~Writer() = default;
  virtual void write(const char* data, size_t n) = 0;
  /// Makes the written bytes the content of the file.
  virtual void commit() {}
  virtual std::string label() const = 0;
  /// A file that takes the bytes as well as `write`; -1 if there is none.
  virtual int descriptor() const { return -1; }
};

/// `op` is named in errors, also in those of arrays that are read later.
MLX_API std::shared_ptr<Reader> open_reader(const std::string& path, const char* op = "load");
/// Reads the bytes from `begin` to `end`; `label` names them in errors.
MLX_API std::shared_ptr<Reader> part_of(std::shared_ptr<const File> file, size_t begin, size_t end,
                                        std::string label);
/// Writes to a draft that takes the place of `path` on commit: a failed save leaves an existing
/// file unchanged. Symbolic links are followed; permissions are kept. `op` is named in errors.
MLX_API std::shared_ptr<Writer> open_writer(const std::string& path, const char* op = "save");

}  // namespace mlx::core::io
