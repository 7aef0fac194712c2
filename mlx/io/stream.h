// Byte streams that arrays are read from and written to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mlx/core/api.h"

namespace mlx::core::io {

/// A source of bytes.
class Reader {
 public:
  virtual ~Reader() = default;
  /// Reads exactly `n` bytes; throws FileError where there are fewer.
  virtual void read(char* data, size_t n) = 0;
  /// Bytes from the current position to the end.
  virtual size_t remaining() = 0;
  virtual std::string label() const = 0;
};

/// A destination of bytes. Nothing is final before `commit`.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual void write(const char* data, size_t n) = 0;
  /// Makes the written bytes the content of the file.
  virtual void commit() {}
  virtual std::string label() const = 0;
};

MLX_API std::shared_ptr<Reader> open_reader(const std::string& path);
/// Writes to a temporary file beside `path`, which is renamed on commit: a failed save leaves an
/// existing file unchanged.
MLX_API std::shared_ptr<Writer> open_writer(const std::string& path);

}  // namespace mlx::core::io
