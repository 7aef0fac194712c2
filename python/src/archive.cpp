// Zip archives, through Python's zipfile.
#include "archive.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace mlx::python {

namespace {

/// True for errors that a program raises in its file object: of classes that neither Python nor its
/// decompressors have, and what the system says.
bool is_of_object(const nb::python_error& e) {
  static constexpr std::string_view modules[] = {"builtins", "zipfile", "struct",
                                                 "zlib",     "lzma",    "_lzma"};
  const auto module = text_of(e.type().attr("__module__"));
  if (std::ranges::find(modules, module) == std::end(modules)) return true;
  // Decompressors raise OSError without a number.
  return e.matches(PyExc_OSError) && !e.value().attr("errno").is_none();
}

}  // namespace

void refuse(const char* op, const std::string& label, nb::python_error& e, bool object) {
  if (!e.matches(PyExc_Exception) || e.matches(PyExc_MemoryError) ||
      e.matches(nb::module_::import_("mlx.core").attr("FileError")) || (object && is_of_object(e)))
    throw;
  const std::string what = text_of(e.value());
  fail<core::FileError>(op, label, ": ", what);
}

nb::object object_of(int descriptor, const char* mode) {
  return nb::module_::import_("builtins")
      .attr("open")(descriptor, mode, nb::arg("closefd") = false);
}

Archive::Archive(nb::handle file, const std::optional<std::string>& path, std::string label)
    : label_(std::move(label)) {
  nb::object zipfile = nb::module_::import_("zipfile");
  if (path) {
    file_ = std::make_shared<const core::io::File>("load", *path);
    object_ = object_of(file_->descriptor(), "rb");
  }
  zip_ = zipfile.attr("ZipFile")(path ? object_ : nb::borrow(file));
}

nb::object Archive::read(nb::handle file, const std::optional<std::string>& path,
                         const std::function<nb::object(Archive&)>& f) {
  const std::string label = path ? *path : repr_of(file);
  try {
    Archive archive(file, path, label);
    nb::object out = f(archive);
    if (path) {
      archive.zip_.attr("close")();
      archive.object_.attr("close")();
    }
    return out;
  } catch (const std::bad_cast&) {
    fail<core::FileError>("load", label, ": a length or a position that is out of range");
  } catch (nb::python_error& e) {
    refuse("load", label, e, !path);
  }
}

std::shared_ptr<core::io::Reader> Archive::stored(const std::string& name, size_t header,
                                                  size_t size) {
  const std::string label = label_ + ": " + name;
  unsigned char local[30];
  file_->read(reinterpret_cast<char*>(local), sizeof(local), header, "the entry " + name);
  if (std::memcmp(local, "PK\3\4", 4) != 0 || (local[6] & 1) != 0)
    fail<core::FileError>("load", label, ": no entry of an archive at byte ", header);
  const size_t begin =
      header + sizeof(local) + (local[26] | local[27] << 8) + (local[28] | local[29] << 8);
  auto next = taken_.lower_bound(begin);
  if ((next != taken_.end() && next->first < begin + size) ||
      (next != taken_.begin() && std::prev(next)->second > begin))
    fail<core::FileError>("load", label, ": the entry at byte ", begin, " overlaps another one");
  auto reader = core::io::part_of(file_, begin, begin + size, label);
  taken_.emplace(begin, begin + size);
  return reader;
}

core::array Archive::entry(
    nb::handle info,
    const std::function<core::array(const std::shared_ptr<core::io::Reader>&)>& f) {
  const std::string name = utf8_of("load", info.attr("filename"));
  const auto size = nb::cast<size_t>(info.attr("file_size"));
  if (file_ && nb::cast<int>(info.attr("compress_type")) == 0) {
    if (nb::cast<size_t>(info.attr("compress_size")) != size)
      fail<core::FileError>("load", label_, ": ", name, " has two lengths");
    return f(stored(name, nb::cast<size_t>(info.attr("header_offset")), size));
  }
  nb::object entry = zip_.attr("open")(info);
  core::array a = f(reader_of(entry, size, label_ + ": " + name));
  entry.attr("read")(1);  // at the end, where the checksum is compared
  entry.attr("close")();
  return a;
}

}  // namespace mlx::python
