// Saving and loading: paths and Python file objects as byte streams, and .npz archives through
// Python's zipfile.
#include "mlx/io/io.h"

#include <map>

#include "convert.h"
#include "files.h"
#include "lock.h"
#include "module.h"

namespace mlx::python {

std::optional<std::string> path_of(nb::handle file) {
  if (!PyUnicode_Check(file.ptr()) && !has_attr(file.ptr(), "__fspath__")) return {};
  return nb::cast<std::string>(nb::object(nb::module_::import_("os").attr("fspath")(file)));
}
nb::handle require_file(const char* op, nb::handle file, const char* method) {
  if (!has_attr(file.ptr(), method))
    fail<ValueError>(op, "a file of type ", class_name(file),
                     "; paths and file objects are accepted");
  return file;
}

namespace {

namespace core = mlx::core;

/// Reads from a Python file object. Requires the GIL.
class FileReader final : public core::io::Reader {
 public:
  explicit FileReader(nb::handle file) : file_(nb::borrow(file)) {}
  void read(char* data, size_t n) override {
    while (n > 0) {
      nb::object chunk = file_.attr("read")(n);
      char* bytes = nullptr;
      Py_ssize_t size = 0;
      if (!PyBytes_Check(chunk.ptr()) || PyBytes_AsStringAndSize(chunk.ptr(), &bytes, &size) < 0)
        throw TypeError("[load] the file is not opened in binary mode");
      if (size == 0) throw core::FileError("[load] the file ends too early");
      if (static_cast<size_t>(size) > n) throw core::FileError("[load] the file returned too much");
      {
        LargeRegion copying(static_cast<size_t>(size));
        std::memcpy(data, bytes, static_cast<size_t>(size));
      }
      data += size;
      n -= static_cast<size_t>(size);
    }
  }
  size_t remaining() override {
    auto here = nb::cast<size_t>(file_.attr("tell")());
    auto end = nb::cast<size_t>(file_.attr("seek")(0, 2));
    file_.attr("seek")(here);
    return end - here;
  }
  std::string label() const override { return nb::cast<std::string>(nb::repr(file_)); }

 private:
  nb::object file_;
};

class FileWriter final : public core::io::Writer {
 public:
  explicit FileWriter(nb::handle file) : file_(nb::borrow(file)) {}
  void write(const char* data, size_t n) override {
    file_.attr("write")(nb::steal(
        PyMemoryView_FromMemory(const_cast<char*>(data), static_cast<Py_ssize_t>(n), PyBUF_READ)));
  }
  std::string label() const override { return nb::cast<std::string>(nb::repr(file_)); }

 private:
  nb::object file_;
};

/// Calls `f`, which does not use Python, without the GIL.
template <class F>
auto without_lock(F&& f) {
  BlockingRegion region;
  return f();
}

std::string with_extension(std::string path, const char* extension) {
  return path.ends_with(extension) ? path : path + extension;
}
/// The file format, from the first bytes.
std::string sniff(nb::handle bytes) {
  std::string_view s(PyBytes_AsString(bytes.ptr()), static_cast<size_t>(PyBytes_Size(bytes.ptr())));
  if (s.starts_with("\x93NUMPY")) return "npy";
  if (s.starts_with("PK")) return "npz";
  if (s.starts_with("GGUF")) return "gguf";
  return "safetensors";
}
std::string format_of(nb::handle file, const std::optional<std::string>& path) {
  if (path) {
    for (const char* format : {"npy", "npz", "safetensors", "gguf"})
      if (path->ends_with(std::string(".") + format)) return format;
    if (!path->ends_with("/")) {
      nb::object f = nb::module_::import_("builtins").attr("open")(*path, "rb");
      nb::object head = f.attr("read")(8);
      f.attr("close")();
      return sniff(head);
    }
    fail<ValueError>("load", "the format of ", *path, " is unknown; format= names it");
  }
  nb::object here = file.attr("tell")();
  nb::object head = file.attr("read")(8);
  file.attr("seek")(here);
  if (!PyBytes_Check(head.ptr())) throw TypeError("[load] the file is not opened in binary mode");
  return sniff(head);
}

nb::object load_npz(nb::handle file, const StreamOrDevice& s) {
  nb::object zip, bytes_io = nb::module_::import_("io").attr("BytesIO");
  try {
    zip = nb::module_::import_("zipfile").attr("ZipFile")(file);
  } catch (nb::python_error& e) {
    if (!e.matches(nb::module_::import_("zipfile").attr("BadZipFile"))) throw;
    throw core::FileError(std::string("[load] not an .npz archive: ") + e.what());
  }
  nb::dict out;
  for (nb::handle item : zip.attr("namelist")()) {
    std::string name = nb::cast<std::string>(item);
    auto reader = std::make_shared<FileReader>(bytes_io(zip.attr("read")(item)));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    out[name.c_str()] = nb::steal(wrap(core::load(reader, s)));
  }
  zip.attr("close")();
  return out;
}

/// The entries by name.
template <class T>
std::map<std::string, T> sorted(std::unordered_map<std::string, T>&& entries) {
  return {std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end())};
}

nb::object load_gguf(nb::handle file, const std::optional<std::string>& path, bool return_metadata,
                     const StreamOrDevice& s) {
  auto [arrays, metadata] =
      path ? without_lock([&] { return core::load_gguf(io::open_reader(*path), s); })
           : core::load_gguf(std::make_shared<FileReader>(file), s);
  nb::dict out, meta;
  for (auto& [name, a] : sorted(std::move(arrays))) out[name.c_str()] = nb::steal(wrap(a));
  for (auto& [key, value] : sorted(std::move(metadata))) {
    if (auto* a = std::get_if<array>(&value)) {
      meta[key.c_str()] = nb::steal(wrap(*a));
    } else if (auto* text = std::get_if<std::string>(&value)) {
      meta[key.c_str()] = *text;
    } else {
      nb::list list;
      for (const std::string& item : std::get<std::vector<std::string>>(value)) list.append(item);
      meta[key.c_str()] = list;
    }
  }
  if (return_metadata) return nb::make_tuple(out, meta);
  return out;
}

/// A value of GGUF metadata: a string, a list of strings, or an array.
core::GGUFMetaData gguf_value(const std::string& key, nb::handle value) {
  From<std::string> text;
  if (text.load(value.ptr())) return text.get();
  From<std::vector<std::string>> list;
  if (PyList_Check(value.ptr()) && list.load(value.ptr())) return list.get();
  From<array> numbers;
  if (!numbers.load(value.ptr()))
    fail<TypeError>("save_gguf", "metadata ", key, " of type ", class_name(value),
                    "; strings, lists of strings and arrays are accepted");
  return numbers.get();
}

void save_gguf(nb::handle file, const nb::dict& arrays, const std::optional<nb::dict>& metadata) {
  auto path = path_of(file);
  if (!path)
    fail<TypeError>("save_gguf", "a file of type ", class_name(file), "; paths are accepted");
  std::unordered_map<std::string, array> map;
  std::unordered_map<std::string, core::GGUFMetaData> meta;
  Arrays all;
  for (auto [key, value] : arrays) {
    From<array> from;
    if (!PyUnicode_Check(key.ptr()) || !from.load(value.ptr()))
      fail<TypeError>("save_gguf", "an item of types ", class_name(key), " and ", class_name(value),
                      "; strings and arrays are accepted");
    map.emplace(nb::cast<std::string>(key), from.get());
    all.push_back(from.get());
  }
  if (metadata)
    for (auto [key, value] : *metadata) {
      const auto name = nb::cast<std::string>(nb::str(key));
      meta.emplace(name, gguf_value(name, value));
    }
  evaluate(std::move(all));
  without_lock([&] { core::save_gguf(*path, std::move(map), std::move(meta)); });
}

nb::object load_any(nb::handle file, const std::optional<std::string>& given, bool return_metadata,
                    const StreamOrDevice& s) {
  auto path = path_of(file);
  if (!path) require_file("load", file, "read");
  if (path)
    io::open_reader(*path);  // a missing file is reported by the same error for every format
  std::string format = given ? *given : format_of(file, path);
  if (return_metadata && (format == "npy" || format == "npz"))
    fail<ValueError>("load", "metadata of the format ", format, "; safetensors and gguf have it");
  if (format == "npy")
    return nb::steal(wrap(path ? without_lock([&] { return core::load(*path, s); })
                               : core::load(std::make_shared<FileReader>(file), s)));
  if (format == "npz") return load_npz(file, s);
  if (format == "gguf") return load_gguf(file, path, return_metadata, s);
  if (format != "safetensors")
    fail<ValueError>("load", "the format ", format,
                     "; npy, npz, safetensors and gguf are accepted");
  auto [arrays, metadata] = path ? without_lock([&] { return core::load_safetensors(*path, s); })
                                 : core::load_safetensors(std::make_shared<FileReader>(file), s);
  nb::dict out, meta;
  for (auto& [name, a] : sorted(std::move(arrays))) out[name.c_str()] = nb::steal(wrap(a));
  for (auto& [key, value] : sorted(std::move(metadata))) meta[key.c_str()] = value;
  if (return_metadata) return nb::make_tuple(out, meta);
  return out;
}

/// Writes an archive to a temporary file, which is renamed to `path` when complete.
void write_npz(nb::handle file, const std::vector<std::pair<std::string, array>>& arrays,
               bool compressed) {
  nb::object zipfile = nb::module_::import_("zipfile"), os = nb::module_::import_("os");
  auto path = path_of(file);
  nb::object target = nb::borrow(file);
  std::string final_name, draft;
  if (path) {
    final_name = with_extension(*path, ".npz");
    draft = final_name + ".draft" + std::to_string(nb::cast<int>(os.attr("getpid")()));
    target = nb::str(draft.c_str());
  } else {
    require_file("savez", file, "write");
  }
  try {
    nb::object zip = zipfile.attr("ZipFile")(
        target, "w", zipfile.attr(compressed ? "ZIP_DEFLATED" : "ZIP_STORED"));
    for (const auto& [name, a] : arrays) {
      nb::object entry = zip.attr("open")(name + ".npy", "w", nb::arg("force_zip64") = true);
      core::save(std::make_shared<FileWriter>(entry), a);
      entry.attr("close")();
    }
    zip.attr("close")();
    if (path) os.attr("replace")(draft, final_name);
  } catch (...) {
    std::exception_ptr error = std::current_exception();
    if (path && nb::cast<bool>(os.attr("path").attr("exists")(draft))) os.attr("unlink")(draft);
    std::rethrow_exception(error);
  }
}

void save_npz(const char* op, nb::handle file, Star args, nb::dict kwargs, bool compressed) {
  std::vector<std::pair<std::string, array>> arrays;
  auto add = [&](std::string name, nb::handle value) {
    for (const auto& [other, a] : arrays)
      if (other == name) fail<ValueError>(op, "two arrays of the name ", name);
    From<array> from;
    if (!from.load(value.ptr()))
      fail<TypeError>(op, "a value of type ", class_name(value), "; arrays are accepted");
    arrays.emplace_back(std::move(name), from.get());
  };
  for (auto [key, value] : kwargs) add(nb::cast<std::string>(key), value);
  for (size_t i = 0; i < args.size(); ++i) add("arr_" + std::to_string(i), args[i]);
  Arrays all;
  for (const auto& [name, a] : arrays) all.push_back(a);
  evaluate(all);
  write_npz(file, arrays, compressed);
}

}  // namespace

void bind_io(nb::module_& m) {
  def(
      m, "save(file: file | str | pathlib.Path, arr: array) -> None",
      [](nb::handle file, array a) {
        evaluate({a});
        if (auto path = path_of(file))
          without_lock([&] { core::save(*path, a); });
        else
          core::save(std::make_shared<FileWriter>(require_file("save", file, "write")), a);
      },
      "Writes an array in NumPy's format; .npy is added to a name without it.");
  def(
      m, "savez(file: file | str | pathlib.Path, *args: Any, **kwargs: Any) -> None",
      [](nb::handle file, Star args, Keywords& kwargs) {
        save_npz("savez", file, args, kwargs.items, false);
      },
      "Writes arrays to an .npz archive, under their keywords or as arr_0, arr_1, ..");
  def(
      m, "savez_compressed(file: file | str | pathlib.Path, *args: Any, **kwargs: Any) -> None",
      [](nb::handle file, Star args, Keywords& kwargs) {
        save_npz("savez_compressed", file, args, kwargs.items, true);
      },
      "Like savez, compressed.");
  def(
      m,
      "save_safetensors(file: file | str | pathlib.Path, arrays: dict[str, array], "
      "metadata: dict[str, str] | None = None) -> None",
      [](nb::handle file, const nb::dict& arrays, std::optional<nb::dict>& metadata) {
        std::unordered_map<std::string, array> map;
        std::unordered_map<std::string, std::string> meta;
        Arrays all;
        for (auto [key, value] : arrays) {
          From<array> from;
          if (!PyUnicode_Check(key.ptr()) || !from.load(value.ptr()))
            fail<TypeError>("save_safetensors", "an item of types ", class_name(key), " and ",
                            class_name(value), "; strings and arrays are accepted");
          map.emplace(nb::cast<std::string>(key), from.get());
          all.push_back(from.get());
        }
        if (metadata) {
          for (auto [key, value] : *metadata) {
            if (!PyUnicode_Check(key.ptr()) || !PyUnicode_Check(value.ptr()))
              fail<TypeError>("save_safetensors", "metadata of types ", class_name(key), " and ",
                              class_name(value), "; strings are accepted");
            meta[nb::cast<std::string>(key)] = nb::cast<std::string>(value);
          }
        }
        evaluate(std::move(all));
        if (auto path = path_of(file)) {
          without_lock([&] { core::save_safetensors(*path, std::move(map), std::move(meta)); });
        } else {
          require_file("save_safetensors", file, "write");
          core::save_safetensors(std::make_shared<FileWriter>(file), std::move(map),
                                 std::move(meta));
        }
      },
      "Writes named arrays in the safetensors format; .safetensors is added to a name without it.");
  def(
      m,
      "save_gguf(file: file | str | pathlib.Path, arrays: dict[str, array], "
      "metadata: dict[str, array | str | list[str]] | None = None) -> None",
      [](nb::handle file, const nb::dict& arrays, std::optional<nb::dict>& metadata) {
        save_gguf(file, arrays, metadata);
      },
      "Writes named arrays and metadata in the GGUF format; .gguf is added to a name without it.");
  def(
      m,
      "load(file: file | str | pathlib.Path, /, format: str | None = None, "
      "return_metadata: bool = False, *, stream: StreamOrDevice = None) -> "
      "array | dict[str, array] | tuple[dict[str, array], dict[str, Any]]",
      [](nb::handle file, std::optional<std::string>& format, bool return_metadata,
         const StreamOrDevice& s) { return load_any(file, format, return_metadata, s); },
      "Reads an array (.npy) or arrays by name (.npz, .safetensors, .gguf). The format follows "
      "from the "
      "name or the content. Raises an exception that is both RuntimeError and ValueError for files "
      "that cannot be read.");
}

}  // namespace mlx::python
