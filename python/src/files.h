// File arguments of Python functions: paths, and file objects as byte streams.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bind.h"
#include "mlx/core/array.h"
#include "mlx/core/blocking.h"
#include "mlx/io/stream.h"

namespace mlx::python {

/// The path of a str or os.PathLike, in the bytes of the file system; none for other objects.
std::optional<std::string> path_of(nb::handle file);
/// The file object; throws ValueError naming `op` if it lacks the method.
nb::handle require_file(const char* op, nb::handle file, const char* method);

/// Streams over Python file objects. They require the GIL.
std::shared_ptr<core::io::Reader> reader_of(nb::handle file);
/// `size`: bytes that the object gives, where it cannot seek.
std::shared_ptr<core::io::Reader> reader_of(nb::handle file, size_t size, std::string label);
std::shared_ptr<core::io::Writer> writer_of(nb::handle file);

/// A str as UTF-8; throws TypeError naming `op` for other objects, ValueError for surrogates.
std::string utf8_of(const char* op, nb::handle text);
/// A string of a file; throws FileError if it is not UTF-8.
nb::object text_from(const std::string& file, const std::string& bytes);

/// Calls `f`, which does not use Python, without the GIL.
template <class F>
auto without_lock(F&& f) {
  core::BlockingRegion region;
  return f();
}

/// Writes an archive of evaluated arrays.
void save_npz(const char* op, nb::handle file,
              const std::vector<std::pair<std::string, core::array>>& arrays, bool compressed);

}  // namespace mlx::python
