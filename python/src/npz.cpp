// .npz archives, through Python's zipfile.
#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "convert.h"
#include "files.h"
#include "mlx/io/file.h"
#include "mlx/io/io.h"
#include "mlx/runtime/evaluate.h"
#include "module.h"

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

/// The error of Python that is being handled, as FileError, if it is one that a damaged archive may
/// cause; else the error itself. `object`: the file is an object of the program.
[[noreturn]] void refuse(const char* op, const std::string& label, nb::python_error& e,
                         bool object) {
  if (!e.matches(PyExc_Exception) || e.matches(PyExc_MemoryError) || (object && is_of_object(e)))
    throw;
  const std::string what = text_of(e.value());
  fail<core::FileError>(op, label, ": ", what);
}

/// The bytes of stored entries must not overlap: few bytes would become many arrays.
class Entries {
 public:
  Entries(std::shared_ptr<const core::io::File> file, const std::string& label)
      : file_(std::move(file)), label_(label) {}

  /// A stream over an entry that is stored as it is.
  std::shared_ptr<core::io::Reader> open(const std::string& name, size_t header, size_t size) {
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

 private:
  std::shared_ptr<const core::io::File> file_;
  const std::string& label_;
  std::map<size_t, size_t> taken_;
};

array load_entry(const std::shared_ptr<core::io::Reader>& in, const core::StreamOrDevice& s) {
  array a = core::load(in, s);
  if (const size_t rest = in->remaining())
    fail<core::FileError>("load", in->label(), ": ", rest, " bytes after the array");
  return a;
}

nb::dict load_entries(nb::handle zip, Entries* stored, const std::string& label,
                      const core::StreamOrDevice& s) {
  nb::dict out;
  for (nb::handle info : zip.attr("infolist")()) {
    const std::string file = utf8_of("load", info.attr("filename"));
    const auto size = nb::cast<size_t>(info.attr("file_size"));
    std::string name = file;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    nb::object key = text_from(label, name);
    if (out.contains(key)) fail<core::FileError>("load", label, ": two arrays of the name ", name);
    if (stored && nb::cast<int>(info.attr("compress_type")) == 0) {
      if (nb::cast<size_t>(info.attr("compress_size")) != size)
        fail<core::FileError>("load", label, ": ", file, " has two lengths");
      auto in = stored->open(file, nb::cast<size_t>(info.attr("header_offset")), size);
      out[key] = nb::steal(wrap(load_entry(in, s)));
      continue;
    }
    nb::object entry = zip.attr("open")(info);
    array a = load_entry(reader_of(entry, size, label + ": " + file), s);
    entry.attr("read")(1);  // at the end, where the checksum is compared
    entry.attr("close")();
    out[key] = nb::steal(wrap(a));
  }
  return out;
}

/// A Python file object over a descriptor, which stays open when the object is closed.
nb::object object_of(int descriptor, const char* mode) {
  return nb::module_::import_("builtins")
      .attr("open")(descriptor, mode, nb::arg("closefd") = false);
}

void write_entries(nb::handle target, const std::vector<std::pair<std::string, array>>& arrays,
                   bool compressed) {
  nb::object zipfile = nb::module_::import_("zipfile");
  nb::object zip = zipfile.attr("ZipFile")(
      target, "w", zipfile.attr(compressed ? "ZIP_DEFLATED" : "ZIP_STORED"));
  for (const auto& [name, a] : arrays) {
    nb::object entry =
        zip.attr("open")(text_from("savez", name + ".npy"), "w", nb::arg("force_zip64") = true);
    core::save(writer_of(entry), a);
    entry.attr("close")();
  }
  zip.attr("close")();
}

}  // namespace

nb::dict load_npz(nb::handle file, const std::optional<std::string>& path,
                  const core::StreamOrDevice& s) {
  const std::string label = path ? *path : repr_of(file);
  try {
    nb::object zipfile = nb::module_::import_("zipfile");
    if (!path) {
      nb::object zip = zipfile.attr("ZipFile")(file);
      return load_entries(zip, nullptr, label, s);
    }
    auto open = std::make_shared<const core::io::File>("load", *path);
    Entries stored(open, label);
    nb::object object = object_of(open->descriptor(), "rb");
    nb::object zip = zipfile.attr("ZipFile")(object);
    nb::dict out = load_entries(zip, &stored, label, s);
    zip.attr("close")();
    object.attr("close")();
    return out;
  } catch (const std::bad_cast&) {
    fail<core::FileError>("load", label, ": a length or a position that is out of range");
  } catch (nb::python_error& e) {
    refuse("load", label, e, !path);
  }
}

void save_npz(const char* op, nb::handle file,
              const std::vector<std::pair<std::string, array>>& arrays, bool compressed) {
  auto path = path_of(file);
  if (!path) require_file(op, file, "write");
  core::Arrays all;
  for (const auto& [name, a] : arrays) all.push_back(a);
  without_lock([&] { core::eval(all); });  // at once, with their common inputs once
  if (!path) {
    nb::object io = nb::module_::import_("io");
    if (!nb::isinstance(file, io.attr("RawIOBase"))) return write_entries(file, arrays, compressed);
    // zipfile takes no notice of writes that are cut short, as those of unbuffered files may be.
    nb::object whole = io.attr("BufferedWriter")(file);
    write_entries(whole, arrays, compressed);
    whole.attr("detach")();
    return;
  }
  const std::string name = path->ends_with(".npz") ? *path : *path + ".npz";
  try {
    auto out = without_lock([&] { return core::io::open_writer(name, op); });
    nb::object object = object_of(out->descriptor(), "wb");
    write_entries(object, arrays, compressed);
    object.attr("close")();
    without_lock([&] { out->commit(); });
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_OSError)) throw;
    refuse(op, name, e, false);
  }
}

}  // namespace mlx::python
