// Pickling and copying: arrays, with their memory out of band in protocol 5; devices and limits.
#include "pickle.h"

#include "convert.h"
#include "lock.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

// Dtype numbers in pickles, independent of the order of the enumeration.
constexpr Dtype pickled_dtypes[] = {bool_,   uint8,   uint16,   uint32,    uint64,
                                    int8,    int16,   int32,    int64,     float16,
                                    float32, float64, bfloat16, complex64, complex128};

int number_of(Dtype t) {
  int number = 0;
  while (pickled_dtypes[number] != t) ++number;
  return number;
}

/// (elements, number of the dtype, shape): the elements as bytes, or in the array's own memory.
nb::object get_state(nb::handle self, bool out_of_band) {
  const array a = exported(checked(self.ptr()));
  array bits = a.dtype() == bfloat16 ? core::view(a, uint16) : a;
  nb::object view = nb::steal(wrap(core::contiguous(bits)));
  nb::object elements = nb::steal(out_of_band ? PyPickleBuffer_FromObject(view.ptr())
                                              : PyBytes_FromObject(view.ptr()));
  if (!elements.is_valid()) throw nb::python_error();
  return nb::make_tuple(elements, number_of(a.dtype()), nb::steal(to_python(a.shape())));
}

void refuse_state(const char* reason) {
  fail<ValueError>("__setstate__", reason, "; the state of a pickled array is accepted");
}

void release_view(void* view) {
  PyBuffer_Release(static_cast<Py_buffer*>(view));
  delete static_cast<Py_buffer*>(view);
}

/// The array in a buffer: memory that may be written to is shared, other memory copied, since views
/// of arrays can be written to.
array from_elements(PyObject* buffer, Shape shape, Dtype t) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(buffer, view.get(), PyBUF_SIMPLE) != 0) throw nb::python_error();
  std::unique_ptr<Py_buffer, decltype(&release_view)> held(view.release(),
                                                           [](void* v) { release_view(v); });
  const auto bytes = static_cast<size_t>(held->len);
  for (int64_t n : shape)
    if (n < 0) refuse_state("a negative length");
  if (static_cast<size_t>(num_elements(shape)) * t.size() != bytes)
    refuse_state("a size that does not fit the shape");
  const bool aligned = reinterpret_cast<uintptr_t>(held->buf) % t.size() == 0;
  if (held->readonly || !aligned || bytes == 0 || (t == bool_ && !are_bools(held->buf, bytes)))
    return array::copy_of(held->buf, std::move(shape), t);
  void* data = held->buf;
  auto release = [v = held.release()] { release_with_lock(release_view, v); };
  auto storage = make_ref<Storage>(data, bytes, release);
  storage->pin();
  Strides strides = row_major(shape);
  return array(std::move(storage), std::move(shape), std::move(strides), 0, t);
}

void set_state(nb::handle self, nb::handle state) {
  if (!PyTuple_Check(state.ptr()) || PyTuple_GET_SIZE(state.ptr()) < 2)
    refuse_state("another object");
  From<int64_t> number;
  if (!number.load(nb::object(state[1]).ptr())) refuse_state("another object");
  if (number.value < 0 || number.value >= kNumDtypes) refuse_state("an unknown dtype");
  const Dtype t = pickled_dtypes[number.value];
  nb::object data = state[0];
  From<Shape> shape;
  if (PyTuple_GET_SIZE(state.ptr()) >= 3) {
    if (!shape.load(nb::object(state[2]).ptr())) refuse_state("another object");
    array_of(self.ptr()) = from_elements(data.ptr(), std::move(shape.value), t);
    return;
  }
  // The published package's state holds a NumPy array.
  array a = to_array(data.ptr(), t == bfloat16 ? uint16 : t);
  array_of(self.ptr()) = t == bfloat16 ? core::view(a, bfloat16) : a;
}

nb::object named_attribute(nb::handle fun, const char* name) {
  nb::object value = nb::steal(PyObject_GetAttrString(fun.ptr(), name));
  if (!value.is_valid()) PyErr_Clear();
  return value.is_valid() && PyUnicode_Check(value.ptr()) ? value : nb::object();
}

}  // namespace

nb::object reduce_to_name(nb::handle outer, nb::handle object) {
  nb::object fun = nb::borrow(outer);
  constexpr int kMost = 1000;  // functions may wrap each other in a circle
  for (int i = 0; has_attr(fun, "__wrapped__"); ++i) {
    if (i == kMost) return {};
    fun = fun.attr("__wrapped__");
  }
  nb::object name = named_attribute(fun, "__qualname__");
  nb::object module = named_attribute(fun, "__module__");
  if (!name.is_valid() || !module.is_valid()) return {};
  nb::object resolve = nb::module_::import_("pkgutil").attr("resolve_name");
  nb::object path = nb::str("{}:{}").attr("format")(module, name);
  try {
    if (!resolve(path).is(object)) return {};
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;
    return {};  // a function of a function, or of a module that is not imported by its name
  }
  return nb::make_tuple(resolve, nb::make_tuple(path));
}

void bind_pickling(nb::module_& m, nb::handle c) {
  def(
      c, "__getstate__(self) -> tuple[Any, ...]",
      [](ArrayObject self) { return get_state(self, false); }, "The state for pickling.");
  def(
      c, "__setstate__(self, arg: tuple[Any, ...], /) -> None",
      [](ArrayObject self, nb::handle state) { set_state(self, state); },
      "Restores a pickled state.");
  def(
      c, "__reduce_ex__(self, protocol: Any, /) -> tuple[Any, ...]",
      [](ArrayObject self, int protocol) {
        nb::object state = get_state(self, protocol >= 5);
        nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(nb::handle(self).ptr())));
        return nb::make_tuple(nb::module_::import_("copyreg").attr("__newobj__"),
                              nb::make_tuple(type), state);
      },
      "For pickling. In protocol 5 the elements are a buffer, which may be sent out of band.");
  // Values that name what they stand for.
  auto same = [](nb::handle self, nb::handle) { return nb::borrow(self); };
  auto copies = [](nb::handle self) { return nb::borrow(self); };
  for (const char* name : {"Stream", "ThreadLocalStream"}) {
    def(m.attr(name), "__copy__(self) -> Any", copies, "The stream itself.");
    def(m.attr(name), "__deepcopy__(self, memo: dict[int, Any]) -> Any", same,
        "The stream itself.");
  }
  def(
      m.attr("Device"), "__reduce__(self) -> tuple[Any, ...]",
      [](nb::handle self) {
        return nb::make_tuple(self.type(), nb::make_tuple(self.attr("type"), self.attr("index")));
      },
      "For pickling.");
  for (const char* name : {"finfo", "iinfo"})
    def(
        m.attr(name), "__reduce__(self) -> tuple[Any, ...]",
        [](nb::handle self) {
          return nb::make_tuple(self.type(), nb::make_tuple(self.attr("dtype")));
        },
        "For pickling.");
}

}  // namespace mlx::python
