// The buffer protocol in both directions, and NumPy views. Imported memory is copied; on export,
// the consumer uses the array's own memory, which is pinned while the export exists.
#include <cstring>

#include "convert.h"
#include "device_memory.h"
#include "lock.h"
#include "mlx/backend/backend.h"
#include "mlx/core/trace.h"
#include "mlx/ops.h"
#include "mlx/runtime/evaluate.h"
#include "mlx/transforms/graph.h"

namespace mlx::python {

namespace {

/// The dtype of a struct-style format; none for other element types and byte orders.
bool is_big_endian(std::string_view f) { return !f.empty() && (f[0] == '>' || f[0] == '!'); }

std::optional<Dtype> parse_format(std::string_view f, Py_ssize_t itemsize) {
  if (f == "bfloat16") return bfloat16;
  if (is_big_endian(f)) {
    f.remove_prefix(1);
  } else if (!f.empty() && (f[0] == '@' || f[0] == '=' || f[0] == '<')) {
    f.remove_prefix(1);
  }
  if (f == "Zf") return complex64;
  if (f == "Zd") return complex128;
  if (f.size() != 1) return {};
  constexpr Dtype signed_of[] = {int8, int16, int32, int64};
  constexpr Dtype unsigned_of[] = {uint8, uint16, uint32, uint64};
  int log2 = itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : -1;
  if (log2 < 0) return {};
  switch (f[0]) {
    case '?':
      return bool_;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return signed_of[log2];
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
    case 'c':
      return unsigned_of[log2];
    case 'e':
      return float16;
    case 'f':
      return float32;
    case 'd':
      return float64;
    default:
      return {};
  }
}

const char* buffer_format(Dtype t) {
  switch (t.val()) {
    case Dtype::Val::bool_:
      return "?";
    case Dtype::Val::uint8:
      return "B";
    case Dtype::Val::uint16:
      return "H";
    case Dtype::Val::uint32:
      return "I";
    case Dtype::Val::uint64:
      return "Q";
    case Dtype::Val::int8:
      return "b";
    case Dtype::Val::int16:
      return "h";
    case Dtype::Val::int32:
      return "i";
    case Dtype::Val::int64:
      return "q";
    case Dtype::Val::float16:
      return "e";
    case Dtype::Val::bfloat16:
      return "bfloat16";
    case Dtype::Val::float32:
      return "f";
    case Dtype::Val::float64:
      return "d";
    case Dtype::Val::complex64:
      return "Zf";
    case Dtype::Val::complex128:
      return "Zd";
  }
  return nullptr;
}

struct BufferGuard {
  Py_buffer view{};
  ~BufferGuard() {
    if (view.obj) PyBuffer_Release(&view);
  }
};

/// NumPy arrays of ml_dtypes' bfloat16 do not support the buffer protocol; their bits do. Other
/// objects may give such an array.
nb::object bits_of_bfloat16(PyObject* o) {
  if (!has_attr(o, "dtype")) return {};
  if (!has_attr(o, "view")) {
    if (!has_attr(o, "__array__")) return {};
    nb::object made = nb::handle(o).attr("__array__")();
    return has_attr(made, "view") ? bits_of_bfloat16(made.ptr()) : nb::object();
  }
  nb::object dtype = nb::handle(o).attr("dtype");
  if (text_of(dtype) != "bfloat16") return {};
  return nb::handle(o).attr("view")("uint16");
}

void copy_elements(char*& dst, const char* src, const Shape& shape, const Strides& strides,
                   size_t itemsize, size_t axis) {
  if (axis == shape.size()) {
    std::memcpy(dst, src, itemsize);
    dst += itemsize;
    return;
  }
  for (int64_t i = 0; i < shape[axis]; ++i)
    copy_elements(dst, src + i * strides[axis], shape, strides, itemsize, axis + 1);
}

/// Converts dense memory to an array of another dtype without an intermediate copy.
array convert_dense(const void* data, const Shape& shape, Dtype source, Dtype dtype) {
  size_t bytes = static_cast<size_t>(num_elements(shape)) * source.size();
  auto storage = make_ref<Storage>(const_cast<void*>(data), bytes, [] {});
  storage->pin();
  array borrowed(storage, shape, row_major(shape), 0, source);
  array out = astype(borrowed, dtype);
  {
    BlockingRegion waiting;
    UninterruptedRegion reading;  // the memory is valid until this returns
    eval(out);
  }
  storage->unpin();
  return out;
}

}  // namespace

array copy_strided(const void* data, Shape shape, const Strides& byte_strides, Dtype source,
                   std::optional<Dtype> dtype) {
  Dtype t = dtype                  ? *dtype
            : source == float64    ? float32
            : source == complex128 ? complex64
                                   : source;
  Strides dense = row_major(shape);
  bool contiguous = true;
  for (size_t i = 0; i < shape.size(); ++i)
    contiguous = contiguous && (shape[i] <= 1 || byte_strides[i] == dense[i] * source.size());
  int64_t n = num_elements(shape);
  LargeRegion copying(static_cast<size_t>(n) * source.size());
  std::unique_ptr<char[]> packed;
  bool aligned = reinterpret_cast<uintptr_t>(data) % source.size() == 0;
  // For other dtypes the elements are converted in place, which requires valid elements.
  bool foreign = source == bool_ && t != source && n > 0;
  if (n > 0 && (!contiguous || (!aligned && t != source) || foreign)) {
    packed.reset(new char[static_cast<size_t>(n) * source.size()]);
    char* dst = packed.get();
    copy_elements(dst, static_cast<const char*>(data), shape, byte_strides, source.size(), 0);
    data = packed.get();
    if (foreign) make_bools(packed.get(), static_cast<size_t>(n));
  }
  if (t == source || n == 0) return array::copy_of(data, std::move(shape), t);
  if (shape.empty()) {
    Scalar s;
    std::memcpy(s.bytes, data, source.size());
    return constant(Scalar::convert(s, source, t), t);
  }
  return convert_dense(data, shape, source, t);
}

namespace {

/// An array of elements whose bytes are in the other order.
array copy_swapped(const char* data, const Shape& shape, const Strides& byte_strides, Dtype source,
                   std::optional<Dtype> dtype) {
  const size_t bytes = static_cast<size_t>(num_elements(shape)) * source.size();
  const std::unique_ptr<char[]> packed(new char[bytes + 1]);
  char* end = packed.get();
  if (bytes) copy_elements(end, data, shape, byte_strides, source.size(), 0);
  const size_t number = source.size() / (core::is_complex(source) ? 2 : 1);
  for (size_t i = 0; i < bytes; i += number)
    std::reverse(packed.get() + i, packed.get() + i + number);
  Strides dense = row_major(shape);
  for (int64_t& s : dense) s *= source.size();
  return copy_strided(packed.get(), shape, dense, source, dtype);
}

}  // namespace

namespace {

/// Clears the error of an object that has no buffer for its elements; throws others.
void clear_refusal() {
  for (PyObject* kind : {PyExc_BufferError, PyExc_ValueError, PyExc_TypeError})
    if (PyErr_ExceptionMatches(kind)) return PyErr_Clear();
  throw nb::python_error();
}

/// The array of an object that refuses the buffer protocol for its elements or their order, and has
/// DLPack for them; none where it refuses that as well.
std::optional<array> instead_of_buffer(PyObject* o, std::optional<Dtype> dtype) {
  if (!has_attr(o, "__dlpack__") || !has_attr(o, "__array__")) return {};
  try {
    return from_dlpack(o, dtype, false, {});
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;
    return {};
  }
}

}  // namespace

std::optional<array> from_buffer(PyObject* o, std::optional<Dtype> dtype) {
  if (!PyObject_CheckBuffer(o)) return {};
  BufferGuard guard;
  std::optional<Dtype> source;
  if (PyObject_GetBuffer(o, &guard.view, PyBUF_RECORDS_RO) != 0) {
    clear_refusal();
    nb::object bits = bits_of_bfloat16(o);
    if (!bits.is_valid() || PyObject_GetBuffer(bits.ptr(), &guard.view, PyBUF_RECORDS_RO) != 0) {
      if (bits.is_valid()) clear_refusal();
      if (auto a = instead_of_buffer(o, dtype)) return *a;
      if (has_attr(o, "__dlpack__") && !has_attr(o, "__array__")) return {};
      throw TypeError(cat("[array] elements of ", class_name(o),
                          " have no dtype here; bool, integers, floats and complex are accepted"));
    }
    source = bfloat16;
  } else {
    source = parse_format(guard.view.format ? guard.view.format : "B", guard.view.itemsize);
  }
  const Py_buffer& v = guard.view;
  if (!source || source->size() != v.itemsize)
    throw TypeError(cat("[array] elements of format '", v.format ? v.format : "B", "' (",
                        v.itemsize,
                        " bytes); native bool, integers, floats and complex are accepted"));
  Shape shape(v.shape, v.shape + v.ndim);
  Strides strides;
  if (v.strides)
    strides.assign(v.strides, v.strides + v.ndim);
  else
    for (int64_t s : row_major(shape)) strides.push_back(s * v.itemsize);
  if (v.format && is_big_endian(v.format) && v.itemsize > 1)
    return copy_swapped(static_cast<const char*>(v.buf), shape, strides, *source, dtype);
  return copy_strided(v.buf, std::move(shape), strides, *source, dtype);
}

// --- exports -------------------------------------------------------------------------------------

void materialize(array& a) {
  if (!is_constant(a)) return;
  Ref<Buffer> buffer = host_backend().alloc(a.itemsize(), Stream(0, Device::cpu));
  auto memory = make_ref<Storage>(std::move(buffer), a.itemsize());
  std::memcpy(memory->map(Access::write), a.node()->scalar().bytes, a.itemsize());
  a = array(std::move(memory), a.shape(), {}, 0, a.dtype());
}

namespace {

/// How many frames above the calling one the program's line is: NumPy and this package export for
/// their callers.
Py_ssize_t frames_to_program() {
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  for (Py_ssize_t level = 1; frame.is_valid() && !frame.is_none(); ++level) {
    nb::object name = frame.attr("f_globals").attr("get")("__name__", "");
    const std::string module = text_of(name), root = module.substr(0, module.find('.'));
    if (root != "numpy" && root != "mlx") return level;
    frame = nb::object(frame.attr("f_back"));
  }
  return 1;
}

}  // namespace

void note_export(const array& a) {
  static const bool strict = core::exports_are_strict();
  if (!core::is_live(a.node()->trace) || !core::may_have_derivative(a)) return;
  if (strict)
    fail<ValueError>(
        "export",
        "Not allowed inside a graph transformation: what NumPy and others compute with "
        "the memory of an array has no derivative; use functions of mlx.core, or "
        "export stop_gradient(a)");
  constexpr const char* text =
      "[export] values of an array leave a function that is being differentiated: what is computed "
      "from them has no derivative. Use functions of mlx.core, or export stop_gradient(a) where "
      "that is meant.";
  if (PyErr_WarnEx(PyExc_UserWarning, text, frames_to_program()) < 0) throw nb::python_error();
}

array exported(array a) {
  if (is_constant(a)) return a;
  evaluate({a});
  if (!core::is_live(a.node()->trace)) return a;
  note_export(a);
  const Value& v = a.node()->value;
  return array(v.storage, a.shape(), v.strides, v.offset, a.dtype());
}

Export::Export(array& a) {
  materialize(a);
  owner = exported(a);  // another thread may assign another value to `a`
  const Storage& bytes = *owner.node()->value.storage;
  if (bytes.pinned() && !(bytes.present() & spaces(Space::host))) {
    // Another library uses the memory of a device; this one gets what is there now.
    array dense = contiguous(owner);
    owner = array::copy_of(host_data(dense), dense.shape(), dense.dtype());
  }
  data = static_cast<char*>(owner.raw(Access::write));
  storage = owner.node()->value.storage;
  shape = owner.shape();
  strides = owner.node()->value.strides;
  for (size_t k = 0; k < shape.size(); ++k) repeats |= shape[k] > 1 && strides[k] == 0;
  storage->pin();
}

namespace {

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded(-1, [&] {
    array& a = checked(self);
    auto x = std::make_unique<Export>(a);
    if (x->owner.dtype() == bfloat16 && (flags & PyBUF_FORMAT))
      throw nb::buffer_error("bfloat16 has no format of a buffer; convert with astype(float32)");
    Py_ssize_t itemsize = static_cast<Py_ssize_t>(x->owner.itemsize());
    if (x->repeats && (flags & PyBUF_WRITABLE))
      throw nb::buffer_error("elements of the array share memory; the consumer asks to write");
    bool dense = is_row_contiguous(x->shape, x->strides);
    if (!dense && ((flags & PyBUF_STRIDES) != PyBUF_STRIDES ||
                   (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS))
      throw nb::buffer_error("the array is strided; the consumer asks for contiguous memory");
    view->buf = x->data;
    view->len = static_cast<Py_ssize_t>(x->owner.nbytes());
    view->itemsize = itemsize;
    view->readonly = x->repeats;
    view->ndim = static_cast<int>(x->shape.size());
    view->format =
        flags & PyBUF_FORMAT ? const_cast<char*>(buffer_format(x->owner.dtype())) : nullptr;
    for (int64_t& s : x->strides) s *= itemsize;
    view->shape = flags & PyBUF_ND ? reinterpret_cast<Py_ssize_t*>(x->shape.data()) : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES
                        ? reinterpret_cast<Py_ssize_t*>(x->strides.data())
                        : nullptr;
    view->suboffsets = nullptr;
    view->internal = x.release();
    view->obj = Py_NewRef(self);
    return 0;
  });
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Export*>(view->internal); }

}  // namespace

PyBufferProcs* array_buffer_procs() {
  static PyBufferProcs procs = {get_buffer, release_buffer};
  return &procs;
}

namespace {

nb::object numpy_view(nb::handle numpy, nb::handle a) {
  nb::object memory = nb::steal(PyMemoryView_FromObject(a.ptr()));
  if (!memory.is_valid()) throw nb::python_error();
  return numpy.attr("asarray")(memory);
}

/// NumPy has bfloat16 where ml_dtypes is installed.
nb::object bfloat16_to_numpy(nb::handle a) {
  nb::object types;
  try {
    types = nb::module_::import_("ml_dtypes");
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_ImportError)) throw;
    throw TypeError(
        "[__array__] bfloat16 is no dtype of NumPy's without ml_dtypes; convert with "
        ".astype(mx.float32), or install ml_dtypes");
  }
  nb::object bits = nb::steal(wrap(core::view(exported(checked(a.ptr())), uint16)));
  return numpy_view(nb::module_::import_("numpy"), bits).attr("view")(types.attr("bfloat16"));
}

}  // namespace

nb::object to_numpy(nb::handle a, nb::handle dtype, nb::handle copy) {
  nb::object numpy = nb::module_::import_("numpy");
  nb::object view =
      checked(a.ptr()).dtype() == bfloat16 ? bfloat16_to_numpy(a) : numpy_view(numpy, a);
  bool same = dtype.is_none() || numpy.attr("dtype")(dtype).equal(view.attr("dtype"));
  if (!same) {
    if (copy.is(Py_False))
      throw ValueError("[__array__] another dtype needs a copy; copy=None or True is accepted");
    return view.attr("astype")(dtype);
  }
  return copy.is(Py_True) ? view.attr("copy")() : view;
}

}  // namespace mlx::python
