// Python file objects as byte streams.
#include "files.h"

#include <algorithm>
#include <cstring>

#include "args.h"
#include "lock.h"
#include "module.h"

namespace mlx::python {

namespace {

/// Bytes per call of a file object: few enough that they and their copy do not count.
constexpr size_t kChunk = 1 << 20;

class ObjectReader final : public core::io::Reader {
 public:
  using Reader::read;
  ObjectReader(nb::handle file, std::optional<size_t> size, std::string label)
      : file_(nb::borrow(file)), size_(size), label_(std::move(label)) {}
  void read(char* data, size_t n) override {
    while (n > 0) {
      nb::object chunk = file_.attr("read")(std::min(n, kChunk));
      char* bytes = nullptr;
      Py_ssize_t size = 0;
      if (!PyBytes_Check(chunk.ptr()) || PyBytes_AsStringAndSize(chunk.ptr(), &bytes, &size) < 0)
        throw TypeError("[load] the file is not opened in binary mode");
      const auto got = static_cast<size_t>(size);
      if (got == 0)
        fail<core::FileError>("load", label_, ": expected ", n, " bytes at offset ", at_,
                              ", found none");
      if (got > n)
        fail<core::FileError>("load", label_, " returned more bytes than were asked for");
      std::memcpy(data, bytes, got);
      data += got;
      at_ += got;
      n -= got;
      if (n > 0) yield_lock();
    }
  }
  size_t remaining() override {
    if (size_) return *size_ - at_;
    const size_t here = position_from(file_.attr("tell")());
    const size_t end = position_from(file_.attr("seek")(0, 2));
    file_.attr("seek")(here);
    return end > here ? end - here : 0;
  }
  size_t tell() override { return at_; }
  /// Positions count from where the object was when the reading began.
  void seek(int64_t offset, std::ios_base::seekdir from) override {
    if (from == std::ios_base::beg) offset -= static_cast<int64_t>(at_);
    const size_t before = position_from(file_.attr("tell")());
    file_.attr("seek")(offset, from == std::ios_base::end ? 2 : 1);
    at_ += position_from(file_.attr("tell")()) - before;
  }
  std::string label() const override { return label_; }

 private:
  size_t position_from(nb::handle answer) const {
    From<uint64_t> position;
    if (!position.load(answer.ptr()))
      fail<TypeError>("load", label_, " gives its position as ", class_name(answer),
                      "; integers are accepted");
    return position.value;
  }

  nb::object file_;
  std::optional<size_t> size_;
  std::string label_;
  size_t at_ = 0;
};

class ObjectWriter final : public core::io::Writer {
 public:
  explicit ObjectWriter(nb::handle file)
      : file_(nb::borrow(file)),
        raw_(nb::isinstance(file_, nb::module_::import_("io").attr("RawIOBase"))) {}
  void write(const char* data, size_t n) override {
    while (n > 0) {
      // A copy: the object may keep what it is given.
      const auto size = static_cast<Py_ssize_t>(std::min(n, kChunk));
      const size_t put = written(file_.attr("write")(owned(PyBytes_FromStringAndSize(data, size))),
                                 static_cast<size_t>(size));
      data += put;
      at_ += put;
      n -= put;
      if (n > 0) yield_lock();
    }
  }
  size_t tell() override { return at_; }
  void seek(int64_t, std::ios_base::seekdir) override {
    fail<core::FileError>("save", label(), " is written in order");
  }
  std::string label() const override { return repr_of(file_); }

 private:
  /// How many of the bytes a call took. Unbuffered files may take a part of them; objects that say
  /// nothing take all.
  size_t written(nb::handle answer, size_t n) const {
    if (answer.is_none() && raw_)
      fail<core::FileError>("save", label(), " takes no bytes now; files that block are accepted");
    if (!PyLong_Check(answer.ptr())) return n;
    const Py_ssize_t put = PyLong_AsSsize_t(answer.ptr());
    if (put == -1) PyErr_Clear();
    if (put < 1 || static_cast<size_t>(put) > n)
      fail<core::FileError>("save", label(), " says that it wrote ", put, " of ", n, " bytes");
    return static_cast<size_t>(put);
  }
  nb::object file_;
  bool raw_;
  size_t at_ = 0;
};

}  // namespace

std::optional<std::string> path_of(nb::handle file) {
  if (!PyUnicode_Check(file.ptr()) && !has_attr(file.ptr(), "__fspath__")) return {};
  nb::object bytes = nb::module_::import_("os").attr("fsencode")(file);
  return std::string(PyBytes_AS_STRING(bytes.ptr()),
                     static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
}
nb::handle require_file(const char* op, nb::handle file, const char* method) {
  if (!has_attr(file.ptr(), method))
    fail<ValueError>(op, "a file of type ", class_name(file),
                     "; paths and file objects are accepted");
  return file;
}

std::shared_ptr<core::io::Reader> reader_of(nb::handle file) {
  return std::make_shared<ObjectReader>(file, std::nullopt, repr_of(file));
}
std::shared_ptr<core::io::Reader> reader_of(nb::handle file, size_t size, std::string label) {
  return std::make_shared<ObjectReader>(file, size, std::move(label));
}
std::shared_ptr<core::io::Writer> writer_of(nb::handle file) {
  return std::make_shared<ObjectWriter>(file);
}

std::string utf8_of(const char* op, nb::handle text) {
  if (!PyUnicode_Check(text.ptr()))
    fail<TypeError>(op, "a name of type ", class_name(text), "; strings are accepted");
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!bytes) {
    PyErr_Clear();
    fail<ValueError>(
        op, "the string ",
        nb::cast<std::string>(
            nb::str(nb::repr(text).attr("encode")("ascii", "backslashreplace").attr("decode")())),
        ", which UTF-8 cannot express");
  }
  return {bytes, static_cast<size_t>(size)};
}
nb::object text_from(const std::string& file, const std::string& bytes) {
  PyObject* text =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), nullptr);
  if (text) return nb::steal(text);
  PyErr_Clear();
  fail<core::FileError>("load", file, ": the string ", bytes, " is not UTF-8");
}

}  // namespace mlx::python
