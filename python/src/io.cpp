// Saving and loading.
#include "mlx/io/io.h"

#include <map>
#include <unordered_set>

#include "archive.h"
#include "convert.h"
#include "files.h"
#include "module.h"
#include "tree.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

/// The file format, from the first bytes.
std::string sniff(std::string_view s) {
  if (s.starts_with("\x93NUMPY")) return "npy";
  if (s.starts_with("PK")) return "zip";
  if (s.starts_with("GGUF")) return "gguf";
  if (s.starts_with("\x80\x02\x8a\nl\xfc\x9c\x46")) return "pickle";
  return "safetensors";
}
std::string file_format(nb::handle file, const std::optional<std::string>& path) {
  if (path) {
    for (const char* format : {"npy", "npz", "safetensors", "gguf"})
      if (path->ends_with(std::string(".") + format)) return format;
    auto in = core::io::open_reader(*path);
    std::string head(std::min<size_t>(8, in->remaining()), 0);
    in->read(head.data(), head.size());
    const std::string format = sniff(head);
    // A pickle has no form that its first bytes tell.
    if (format == "safetensors")
      for (const char* ending : {".pt", ".pth", ".pkl", ".pickle"})
        if (path->ends_with(ending)) return "pickle";
    return format;
  }
  nb::object here = file.attr("tell")();
  nb::object head = file.attr("read")(8);
  file.attr("seek")(here);
  if (!PyBytes_Check(head.ptr())) throw TypeError("[load] the file is not opened in binary mode");
  return sniff({PyBytes_AS_STRING(head.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(head.ptr()))});
}

/// The entries by name.
template <class T>
std::map<std::string, T> sorted(std::unordered_map<std::string, T>&& entries) {
  return {std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end())};
}

nb::object load_gguf(nb::handle file, const std::optional<std::string>& path, bool return_metadata,
                     const StreamOrDevice& s) {
  auto [arrays, metadata] = path ? without_lock([&] { return core::load_gguf(*path, s); })
                                 : core::load_gguf(reader_of(file), s);
  const std::string label = path ? *path : "the file";
  auto text_of = [&](const std::string& bytes) { return text_from(label, bytes); };
  nb::dict out, meta;
  for (auto& [name, a] : sorted(std::move(arrays))) out[text_of(name)] = nb::steal(wrap(a));
  for (auto& [key, value] : sorted(std::move(metadata))) {
    if (auto* a = std::get_if<array>(&value)) {
      meta[text_of(key)] = nb::steal(wrap(*a));
    } else if (auto* text = std::get_if<std::string>(&value)) {
      meta[text_of(key)] = text_of(*text);
    } else {
      nb::list list;
      for (const std::string& item : std::get<std::vector<std::string>>(value))
        list.append(text_of(item));
      meta[text_of(key)] = list;
    }
  }
  if (return_metadata) return nb::make_tuple(out, meta);
  return out;
}

/// A value of GGUF metadata: a string, a list of strings, or an array.
core::GGUFMetaData gguf_value(const std::string& key, nb::handle value) {
  if (PyUnicode_Check(value.ptr())) return utf8_of("save_gguf", value);
  if (PyList_Check(value.ptr())) {
    std::vector<std::string> list;
    for (nb::handle item : value) list.push_back(utf8_of("save_gguf", item));
    return list;
  }
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
  for (const auto& [key, value] : pairs_of(arrays)) {
    From<array> from;
    if (!PyUnicode_Check(key.ptr()) || !from.load(value.ptr()))
      fail<TypeError>("save_gguf", "an item of types ", class_name(key), " and ", class_name(value),
                      "; strings and arrays are accepted");
    map.emplace(utf8_of("save_gguf", key), from.get());
    all.push_back(from.get());
  }
  if (metadata)
    for (const auto& [key, value] : pairs_of(*metadata)) {
      const auto name = utf8_of("save_gguf", nb::str(key));
      meta.emplace(name, gguf_value(name, value));
    }
  evaluate(std::move(all));
  without_lock([&] { core::save_gguf(*path, std::move(map), std::move(meta)); });
}

/// Refuses a pickle that is no archive, which only running it could read.
[[noreturn]] void refuse_pickle(const std::string& label) {
  fail<core::FileError>("load", label,
                        " is no archive; npy, npz, safetensors, gguf and the archives that "
                        "torch.save writes since PyTorch 1.6 are accepted: write it again with "
                        "torch.save(model.state_dict(), path)");
}

/// The object in a zip archive, of torch.save or NumPy, from its entries.
nb::object load_archive(nb::handle file, const std::optional<std::string>& path,
                        const StreamOrDevice& s) {
  return Archive::read(file, path, [&](Archive& archive) {
    for (nb::handle name : archive.zip().attr("namelist")())
      if (utf8_of("load", name).ends_with("/data.pkl")) return load_torch(archive, s);
    return load_npz(archive, s);
  });
}

nb::object load_any(nb::handle file, const std::optional<std::string>& given, bool return_metadata,
                    const StreamOrDevice& s) {
  auto path = path_of(file);
  if (!path) require_file("load", file, "read");
  if (path) core::io::open_reader(*path);  // a missing file is the same error for every format
  std::string format = given ? *given : file_format(file, path);
  if (format == "pickle") refuse_pickle(path ? *path : repr_of(file));
  if (return_metadata && (format == "npy" || format == "npz" || format == "pt" || format == "zip"))
    fail<ValueError>("load", "metadata of the format ", format == "zip" ? "npz" : format,
                     "; safetensors and gguf have it");
  if (format == "npy")
    return nb::steal(wrap(path ? without_lock([&] { return core::load(*path, s); })
                               : core::load(reader_of(file), s)));
  if (format == "zip" && !given) return load_archive(file, path, s);
  if (format == "npz")
    return Archive::read(file, path, [&](Archive& archive) { return load_npz(archive, s); });
  if (format == "pt")
    return Archive::read(file, path, [&](Archive& archive) { return load_torch(archive, s); });
  if (format == "gguf") return load_gguf(file, path, return_metadata, s);
  if (format != "safetensors")
    fail<ValueError>("load", "the format ", format,
                     "; npy, npz, safetensors, gguf and pt are accepted");
  auto [arrays, metadata] = path ? without_lock([&] { return core::load_safetensors(*path, s); })
                                 : core::load_safetensors(reader_of(file), s);
  const std::string label = path ? *path : "the file";
  nb::dict out, meta;
  for (auto& [name, a] : sorted(std::move(arrays)))
    out[text_from(label, name)] = nb::steal(wrap(a));
  for (auto& [key, value] : sorted(std::move(metadata)))
    meta[text_from(label, key)] = text_from(label, value);
  if (return_metadata) return nb::make_tuple(out, meta);
  return out;
}

void save_arrays(const char* op, nb::handle file, Star args, nb::dict kwargs, bool compressed) {
  constexpr size_t kLongestName = 65535 - 4;  // with ".npy"
  std::vector<std::pair<std::string, array>> arrays;
  std::unordered_set<std::string> names;
  auto add = [&](std::string name, nb::handle value) {
    // zipfile cuts names at a NUL.
    if (name.find('\0') != std::string::npos || name.size() > kLongestName)
      fail<ValueError>(op, "a name with a NUL character or of ", name.size(), " bytes; up to ",
                       kLongestName, " are accepted");
    if (!names.insert(name).second) fail<ValueError>(op, "two arrays of the name ", name);
    From<array> from;
    if (!from.load(value.ptr()))
      fail<TypeError>(op, "a value of type ", class_name(value), "; arrays are accepted");
    arrays.emplace_back(std::move(name), from.get());
  };
  for (auto [key, value] : kwargs) add(utf8_of(op, key), value);
  for (size_t i = 0; i < args.size(); ++i) add("arr_" + std::to_string(i), args[i]);
  Arrays all;
  for (const auto& [name, a] : arrays) all.push_back(a);
  evaluate(all);
  save_npz(op, file, arrays, compressed);
}

}  // namespace

void bind_io(nb::module_& m) {
  def(m, "save(file: file | str | pathlib.Path, arr: array) -> None", [](nb::handle file, array a) {
    evaluate({a});
    if (auto path = path_of(file))
      without_lock([&] { core::save(*path, a); });
    else
      core::save(writer_of(require_file("save", file, "write")), a);
  });
  def(m, "savez(file: file | str | pathlib.Path, *args: Any, **kwargs: Any) -> None",
      [](nb::handle file, Star args, Keywords& kwargs) {
        save_arrays("savez", file, args, kwargs.items, false);
      });
  def(m, "savez_compressed(file: file | str | pathlib.Path, *args: Any, **kwargs: Any) -> None",
      [](nb::handle file, Star args, Keywords& kwargs) {
        save_arrays("savez_compressed", file, args, kwargs.items, true);
      });
  def(m,
      "save_safetensors(file: file | str | pathlib.Path, arrays: dict[str, array], "
      "metadata: dict[str, str] | None = None) -> None",
      [](nb::handle file, const nb::dict& arrays, std::optional<nb::dict>& metadata) {
        constexpr const char* op = "save_safetensors";
        std::unordered_map<std::string, array> map;
        std::unordered_map<std::string, std::string> meta;
        Arrays all;
        for (const auto& [key, value] : pairs_of(arrays)) {
          From<array> from;
          if (!PyUnicode_Check(key.ptr()) || !from.load(value.ptr()))
            fail<TypeError>(op, "an item of types ", class_name(key), " and ", class_name(value),
                            "; strings and arrays are accepted");
          map.emplace(utf8_of(op, key), from.get());
          all.push_back(from.get());
        }
        if (metadata) {
          for (const auto& [key, value] : pairs_of(*metadata)) {
            if (!PyUnicode_Check(key.ptr()) || !PyUnicode_Check(value.ptr()))
              fail<TypeError>(op, "metadata of types ", class_name(key), " and ", class_name(value),
                              "; strings are accepted");
            meta[utf8_of(op, key)] = utf8_of(op, value);
          }
        }
        evaluate(std::move(all));
        if (auto path = path_of(file)) {
          without_lock([&] { core::save_safetensors(*path, std::move(map), std::move(meta)); });
        } else {
          require_file(op, file, "write");
          core::save_safetensors(writer_of(file), std::move(map), std::move(meta));
        }
      });
  def(m,
      "save_gguf(file: file | str | pathlib.Path, arrays: dict[str, array], "
      "metadata: dict[str, array | str | list[str]] | None = None) -> None",
      [](nb::handle file, const nb::dict& arrays, std::optional<nb::dict>& metadata) {
        save_gguf(file, arrays, metadata);
      });
  def(m,
      "load(file: file | str | pathlib.Path, /, format: str | None = None, "
      "return_metadata: bool = False, *, stream: StreamOrDevice = None) -> "
      "array | dict[str, array] | tuple[dict[str, array], dict[str, Any]]",
      [](nb::handle file, std::optional<std::string>& format, bool return_metadata,
         const StreamOrDevice& s) { return load_any(file, format, return_metadata, s); });
}

}  // namespace mlx::python
