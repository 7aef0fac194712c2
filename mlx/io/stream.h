// Byte streams that arrays are read from and written to.
#pragma once

#include <cstdint>
#include <ios>
#include <memory>
#include <string>

#include "mlx/core/api.h"

namespace mlx::core::io {

class File;

/// A source of bytes, which programs may derive from. Bytes are read in order and from one thread;
/// a reader that cannot give them throws, or says so by `good`.
class MLX_API Reader {
 public:
  virtual ~Reader() = default;
  virtual bool is_open() const { return true; }
  /// False after a read that failed.
  virtual bool good() const { return true; }
  /// The position, counted from wherever the reader counts.
  virtual size_t tell() = 0;
  virtual void seek(int64_t offset, std::ios_base::seekdir from = std::ios_base::beg) = 0;
  /// Reads exactly `n` bytes; throws FileError where there are fewer.
  virtual void read(char* data, size_t n) = 0;
  /// Reads `n` bytes at a position, and stays where it is.
  virtual void read(char* data, size_t n, size_t offset);
  virtual std::string label() const = 0;
  /// Bytes from the current position to the end; found by `seek` unless overridden.
  virtual size_t remaining();
  /// The file whose bytes these are, with `tell` as the position in it, if arrays may be read from
  /// it later; else null.
  virtual std::shared_ptr<const File> file() const { return {}; }
  /// Goes on after the next `n` bytes, which are there.
  virtual void skip(size_t n);
};

/// A destination of bytes, which programs may derive from: bytes are written in order. Nothing is
/// final before `commit`.
class MLX_API Writer {
 public:
  virtual ~Writer() = default;
  virtual bool is_open() const { return true; }
  /// False after a write that failed.
  virtual bool good() const { return true; }
  /// The number of bytes written, or the position in a larger destination.
  virtual size_t tell() = 0;
  virtual void seek(int64_t offset, std::ios_base::seekdir from = std::ios_base::beg) = 0;
  virtual void write(const char* data, size_t n) = 0;
  /// Makes the written bytes the content of the file.
  virtual void commit() {}
  virtual std::string label() const = 0;
  /// A file that takes the bytes as well as `write`; -1 if there is none.
  virtual int descriptor() const { return -1; }
};

/// Reads exactly `n` bytes; throws FileError where the reader has failed.
MLX_API void take(Reader& in, char* data, size_t n);
/// Writes the bytes; throws FileError where the writer has failed.
MLX_API void put(Writer& out, const char* data, size_t n);

/// `op` is named in errors, also in those of arrays that are read later.
MLX_API std::shared_ptr<Reader> open_reader(const std::string& path, const char* op = "load");
/// Reads the bytes from `begin` to `end`; `label` names them in errors.
MLX_API std::shared_ptr<Reader> part_of(std::shared_ptr<const File> file, size_t begin, size_t end,
                                        std::string label);
/// Writes to a draft that takes the place of `path` on commit: a failed save leaves an existing
/// file unchanged. Symbolic links are followed; permissions are kept. `op` is named in errors.
MLX_API std::shared_ptr<Writer> open_writer(const std::string& path, const char* op = "save");

}  // namespace mlx::core::io
