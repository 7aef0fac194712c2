// Zip archives, through Python's zipfile.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "files.h"
#include "mlx/io/file.h"

namespace mlx::python {

/// An archive that is open for reading. Arrays of entries that are stored as they are, in a file
/// that is named by a path, are read when they are used.
class Archive {
 public:
  /// Calls `f` with an archive. An error of Python that a damaged archive may cause becomes
  /// FileError.
  static nb::object read(nb::handle file, const std::optional<std::string>& path,
                         const std::function<nb::object(Archive&)>& f);
  Archive(const Archive&) = delete;

  nb::handle zip() const { return zip_; }
  const std::string& label() const { return label_; }
  /// Calls `f` with a stream over an entry, a ZipInfo.
  core::array entry(nb::handle info,
                    const std::function<core::array(const std::shared_ptr<core::io::Reader>&)>& f);

 private:
  Archive(nb::handle file, const std::optional<std::string>& path, std::string label);
  std::shared_ptr<core::io::Reader> stored(const std::string& name, size_t header, size_t size);

  std::string label_;
  std::shared_ptr<const core::io::File> file_;
  nb::object object_, zip_;
  /// The bytes of stored entries must not overlap: few bytes would become many arrays.
  std::map<size_t, size_t> taken_;
};

/// A Python file object over a descriptor, which stays open when the object is closed.
nb::object object_of(int descriptor, const char* mode);
/// The error of Python that is being handled, as FileError, if it is one that a damaged archive may
/// cause; else the error itself. `object`: the file is an object of the program.
[[noreturn]] void refuse(const char* op, const std::string& label, nb::python_error& e,
                         bool object);

/// The arrays of an .npz archive by name.
nb::object load_npz(Archive& archive, const core::StreamOrDevice& s);
/// The object in an archive of PyTorch's torch.save: containers of arrays, numbers and strings.
nb::object load_torch(Archive& archive, const core::StreamOrDevice& s);

}  // namespace mlx::python
