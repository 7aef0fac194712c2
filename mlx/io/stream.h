// Byte streams that arrays are read from and written to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mlx/core/api.h"

namespace mlx::core::io {

/// Where bytes come from.
class Reader {
 public:
  virtual ~Reader() = default;
  /// Reads exactly `n` bytes; throws FileError where there are fewer.
  virtual void read(char* data, size_t n) = 0;
  /// Bytes from here to the end.
  virtual size_t remaining() = 0;
  virtual std::string label() const = 0;
};

/// Where bytes go to. Nothing is final before `commit`.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual void write(const char* data, size_t n) = 0;
  /// Makes what was written the content of the file.
  virtual void commit() {}
  virtual std::string label() const = 0;
};

MLX_API std::shared_ptr<Reader> open_reader(const std::string& path);
/// Writes to a new file beside `path`, which takes its name at commit: a failed save leaves the old
/// file whole.
MLX_API std::shared_ptr<Writer> open_writer(const std::string& path);

}  // namespace mlx::core::io
