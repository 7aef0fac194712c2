// Frames of the interpreter.
// clang-format off
#include <Python.h>
#include <frameobject.h>
// clang-format on

#include "lines.h"

#include <unordered_map>

#include "args.h"
#include "lock.h"
#include "mlx/core/lines.h"

namespace mlx::python {

namespace {

PyFrameObject* frame_of(const nb::object& o) { return reinterpret_cast<PyFrameObject*>(o.ptr()); }

nb::object code_of(PyFrameObject* frame) {
  return nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
}

std::string file_of(PyFrameObject* frame) { return text_of(code_of(frame).attr("co_filename")); }

std::string place_of(PyFrameObject* frame) {
  return file_of(frame) + ":" + std::to_string(PyFrame_GetLineNumber(frame)) + " in " +
         text_of(code_of(frame).attr("co_name"));
}

std::string short_place(const std::string& file, int line) {
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(line);
}

/// The directory of this package's Python files.
const std::string& package_directory() {
  static const std::string path = [] {
    std::string file = nb::cast<std::string>(nb::module_::import_("mlx.core").attr("__file__"));
    return file.substr(0, file.find_last_of('/') + 1);
  }();
  return path;
}

/// The innermost frame outside of this package, or the outermost one; and the innermost one where
/// that is another.
struct Frames {
  nb::object outer, inner;
};
Frames find_frames() {
  Frames found;
  found.outer = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  if (!found.outer.is_valid()) return found;
  while (file_of(frame_of(found.outer)).starts_with(package_directory())) {
    if (!found.inner.is_valid()) found.inner = found.outer;
    nb::object next =
        nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame_of(found.outer))));
    if (!next.is_valid()) break;
    found.outer = next;
  }
  return found;
}

/// The place in its code where a frame is: looking for its line would take longer than a short
/// message.
int place_in_code(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return PyFrame_GetLineNumber(frame);
#endif
}

/// The numbers of lines that asked before, by places in code, which is kept alive.
struct KnownLines {
  std::unordered_map<PyObject*, std::unordered_map<int, uint32_t>> numbers;
};

}  // namespace

std::string line_of_program() {
  const Frames f = find_frames();
  if (!f.outer.is_valid()) return "";
  std::string text = place_of(frame_of(f.outer));
  return f.inner.is_valid() ? text + " (by " + place_of(frame_of(f.inner)) + ")" : text;
}

uint32_t short_line_of_program() {
  if (!holds_lock()) return 0;
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return 0;
  static auto& known = *new KnownLines;  // guarded by the GIL
  const nb::object code = code_of(frame);
  const int place = place_in_code(frame);
  if (auto lines = known.numbers.find(code.ptr()); lines != known.numbers.end())
    if (auto at = lines->second.find(place); at != lines->second.end()) return at->second;
  const Frames f = find_frames();
  PyFrameObject* outer = frame_of(f.outer);
  const uint32_t number =
      mlx::core::number_of_line(short_place(file_of(outer), PyFrame_GetLineNumber(outer)));
  if (f.inner.is_valid()) return number;  // another line may call next time
  auto [lines, fresh] = known.numbers.try_emplace(code.ptr());
  if (fresh) Py_INCREF(code.ptr());
  lines->second[place] = number;
  return number;
}

std::string short_line_of(nb::handle exception) {
  nb::object trace = nb::getattr(exception, "__traceback__", nb::none());
  std::string text;
  while (!trace.is_none()) {
    const std::string file = text_of(trace.attr("tb_frame").attr("f_code").attr("co_filename"));
    if (text.empty() || !file.starts_with(package_directory()))
      text = short_place(file, nb::cast<int>(trace.attr("tb_lineno")));
    trace = trace.attr("tb_next");
  }
  return text;
}

}  // namespace mlx::python
