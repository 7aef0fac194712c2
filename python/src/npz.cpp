// .npz archives, through Python's zipfile.
#include "archive.h"
#include "convert.h"
#include "files.h"
#include "mlx/io/io.h"
#include "mlx/runtime/evaluate.h"
#include "module.h"

namespace mlx::python {

namespace {

array load_entry(const std::shared_ptr<core::io::Reader>& in, const core::StreamOrDevice& s) {
  array a = core::load(in, s);
  if (const size_t rest = in->remaining())
    fail<core::FileError>("load", in->label(), ": ", rest, " bytes after the array");
  return a;
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

nb::object load_npz(Archive& archive, const core::StreamOrDevice& s) {
  nb::dict out;
  for (nb::handle info : archive.zip().attr("infolist")()) {
    std::string name = utf8_of("load", info.attr("filename"));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    nb::object key = text_from(archive.label(), name);
    if (out.contains(key))
      fail<core::FileError>("load", archive.label(), ": two arrays of the name ", name);
    out[key] = nb::steal(wrap(archive.entry(
        info, [&](const std::shared_ptr<core::io::Reader>& in) { return load_entry(in, s); })));
  }
  return out;
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
