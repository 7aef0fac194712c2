// The class mlx.core.array: construction, properties, conversions, protocols. Its operators are in
// operators.cpp; methods that repeat a function of the module are bound beside that function.
#include "convert.h"
#include "device_memory.h"
#include "indexing.h"
#include "mlx/backend/interop.h"
#include "mlx/core/print.h"
#include "mlx/core/trace.h"
#include "mlx/ops.h"
#include "module.h"
#include "operators.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

struct ArrayIterator {
  nb::object target;  ///< another handle: later changes of the array do not affect it
  int64_t next = 0;
};

/// An object with `__mlx_array__`, for annotations and explicit conversion.
struct ArrayLike {
  nb::object object;
};

/// Instances hold a null handle until __init__ has run.
PyObject* new_array(PyTypeObject* type, PyObject*, PyObject*) {
  nb::object o = nb::inst_alloc(nb::handle(reinterpret_cast<PyObject*>(type)));
  if (!o.is_valid()) return nullptr;
  new (nb::inst_ptr<void>(o)) array();
  nb::inst_mark_ready(o);
  return o.release().ptr();
}

/// Records a shape access by user code: its control flow may depend on the shape.
const array& record_shape_read(const array& a) {
  core::note_shape_read(a);
  return a;
}
Py_ssize_t length(PyObject* self) {
  return guarded<Py_ssize_t>(-1, [&] {
    const array& a = record_shape_read(checked(self));
    if (a.ndim() == 0)
      throw TypeError("[len] an array without axes; at least one axis is accepted");
    return static_cast<Py_ssize_t>(a.shape()[0]);
  });
}
PyObject* subscript(PyObject* self, PyObject* index) {
  return guarded([&] {
    const array a = checked(self);  // the index may run code that assigns another value
    return wrap(get_item(a, index));
  });
}
/// For protocols of sequences: `reversed`, `bisect`, extensions that take sequences.
PyObject* sequence_item(PyObject* self, Py_ssize_t i) {
  return guarded([&] {
    const array a = checked(self);
    if (a.ndim() == 0)
      throw TypeError("[index] an array without axes; at least one axis is accepted");
    if (i < 0 || i >= a.shape()[0])
      throw IndexError(cat("[index] ", i, " of an axis of length ", a.shape()[0]));
    return wrap(index_read(a, {IndexItem::integer(i)}));
  });
}
int assign_subscript(PyObject* self, PyObject* index, PyObject* value) {
  return guarded(-1, [&] {
    const array a = checked(self);
    if (!value) throw TypeError("[index] elements of an array cannot be deleted");
    array updated = index_update(a, parse_index(index), update_value(a, value));
    array_of(self) = std::move(updated);
    return 0;
  });
}
PyObject* array_repr(PyObject* self) {
  return guarded([&] {
    const array a = checked(self);
    if (!is_constant(a) && (a.node()->trace == 0 || core::is_open(a.node()->trace))) evaluate({a});
    return to_python(core::to_python_string(a));
  });
}
PyObject* iterate(PyObject* self) {
  return guarded([&] {
    if (record_shape_read(checked(self)).ndim() == 0)
      throw TypeError("[iter] an array without axes; at least one axis is accepted");
    return nb::cast(ArrayIterator{nb::steal(wrap(checked(self)))}).release().ptr();
  });
}

PyType_Slot* class_slots() {
  static std::vector<PyType_Slot> slots = [] {
    std::vector<PyType_Slot> s = operator_slots();
    auto add = [&](int id, auto* f) { s.push_back({id, reinterpret_cast<void*>(f)}); };
    add(Py_tp_new, new_array);
    add(Py_tp_repr, array_repr);
    add(Py_tp_iter, iterate);
    add(Py_mp_length, length);
    add(Py_sq_length, length);
    add(Py_sq_item, sequence_item);
    add(Py_mp_subscript, subscript);
    add(Py_mp_ass_subscript, assign_subscript);
    add(Py_bf_getbuffer, array_buffer_procs()->bf_getbuffer);
    add(Py_bf_releasebuffer, array_buffer_procs()->bf_releasebuffer);
    s.push_back({0, nullptr});
    return s;
  }();
  return slots.data();
}

void bind_array_properties(nb::handle c) {
  def_property(
      c, "shape(self) -> tuple[int, ...]",
      [](const array& a) { return record_shape_read(a).shape(); }, "Lengths of the axes.");
  def_property(
      c, "dtype(self) -> Dtype", [](const array& a) { return a.dtype(); }, "Type of the elements.");
  def_property(c, "ndim(self) -> int", [](const array& a) { return a.ndim(); }, "Number of axes.");
  def_property(
      c, "size(self) -> int", [](const array& a) { return record_shape_read(a).size(); },
      "Number of elements.");
  def_property(
      c, "itemsize(self) -> int", [](const array& a) { return a.itemsize(); },
      "Bytes of an element.");
  def_property(
      c, "nbytes(self) -> int", [](const array& a) { return record_shape_read(a).nbytes(); },
      "Bytes of all elements.");
  def_property(
      c, "T(self) -> array", [](const array& a) { return core::transpose(a); },
      "The array with its axes reversed.");
  def_property(
      c, "mT(self) -> array", [](const array& a) { return core::matrix_transpose(a); },
      "The array with its last two axes exchanged.");
  def_property(
      c, "real(self) -> array", [](const array& a) { return core::real(a); }, "The real parts.");
  def_property(
      c, "imag(self) -> array", [](const array& a) { return core::imag(a); },
      "The imaginary parts.");
}

nb::object format(nb::handle self, nb::handle spec) {
  if (!PyUnicode_Check(spec.ptr()))
    fail<TypeError>("__format__", "a format of type ", class_name(spec), "; a string is accepted");
  const array& a = checked(self.ptr());
  if (a.ndim() == 0) {
    nb::object value = owned(item(a));
    return nb::steal(PyObject_Format(value.ptr(), spec.ptr()));
  }
  const int formatted = PyObject_IsTrue(spec.ptr());
  if (formatted < 0) throw nb::python_error();
  if (formatted)
    throw TypeError("[__format__] a format for an array with axes; format its elements");
  return nb::str(self);
}

/// `values(a)`, of which a derivative that is lost is told.
nb::object exported_values(array a, PyObject* values(const array&)) {
  nb::object found = owned(values(a));
  note_export(a);
  return found;
}

/// The elements for Python, NumPy and other libraries.
void bind_exports(nb::handle c) {
  def(
      c, "item(self) -> Any", [](const array& a) { return exported_values(a, item); },
      "The only element as a Python scalar. Computes the array; raises ValueError where it has not "
      "exactly one element.");
  def(
      c, "tolist(self) -> Any", [](const array& a) { return exported_values(a, tolist); },
      "The elements as nested lists of Python scalars. Computes the array.");
  def(
      c,
      "__array__(self, dtype: object | None = None, copy: object | None = None) -> numpy.ndarray",
      [](ArrayObject self, nb::handle dtype, nb::handle copy) {
        return to_numpy(self, dtype, copy);
      },
      "The array as a NumPy array that shares its memory where it can.");
  def(
      c, "__array_namespace__(self, api_version: str | None = None) -> types.ModuleType",
      [](const array&, std::optional<std::string> version) -> nb::object {
        if (version && (*version < "2021.12" || *version > "2025.12"))
          fail<ValueError>("__array_namespace__", "version ", *version,
                           "; 2021.12 to 2025.12 are accepted");
        return nb::module_::import_("mlx.core");
      },
      "The module that has the functions for arrays.");
  def(
      c,
      "__dlpack__(self, *, stream: object | None = None, max_version: object | None = None, "
      "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any",
      [](ArrayObject self, nb::handle stream, nb::handle version, nb::handle device,
         std::optional<bool> copy) {
        checked(self.ptr());
        return nb::steal(to_dlpack(self, stream, version, device, copy));
      },
      "A DLPack capsule that shares the array's memory: a GPU's for consumers that give a "
      "stream or ask for it, else the host's.");
  def(
      c, "__dlpack_device__(self) -> tuple[int, int]",
      [](const array& a) -> nb::object {
        const std::optional<Device> on = shared_device(a);
        if (!on) return nb::make_tuple(1, 0);
        return nb::make_tuple(interop_of(*on)->dlpack_type(), on->index);
      },
      "The DLPack device of the memory: (1, 0) for the CPU, (2, k) for the NVIDIA GPU k.");
  def_property(
      c, "__cuda_array_interface__(self) -> dict[str, object]",
      [](ArrayObject self) { return to_cuda_interface(self); },
      "The array's memory on an NVIDIA GPU (version 3); AttributeError where it is not on one.");
}

void bind_conversions(nb::handle c) {
  def(
      c, "__complex__(self) -> complex",
      [](const array& a) {
        nb::object v = exported_values(a, item);
        Py_complex z = PyComplex_AsCComplex(v.ptr());
        if (PyErr_Occurred()) throw nb::python_error();
        return nb::steal(PyComplex_FromCComplex(z));
      },
      "The only element as a complex number.");
  def(
      c, "__format__(self, arg: object, /) -> str",
      [](ArrayObject self, nb::handle spec) { return format(self, spec); },
      "Formats the element of an array without axes; others take no format.");
  def(
      c, "__bytes__(self) -> bytes",
      [](ArrayObject self) {
        const array a = exported(checked(self.ptr()));
        const array bits = a.dtype() == bfloat16 ? core::view(a, uint16) : a;
        nb::object dense = nb::steal(wrap(core::contiguous(bits)));
        return nb::steal(PyBytes_FromObject(dense.ptr()));
      },
      "The bytes of the elements in row-major order.");
  def(c, "copy(self, *, stream: StreamOrDevice = None) -> array",
      [](const array& a, const StreamOrDevice& s) { return core::copy(a, s); });
  def(
      c, "__copy__(self) -> array", [](const array& a) { return a; },
      "Another handle of the array.");
  def(
      c, "__deepcopy__(self, memo: dict[int, Any]) -> array",
      [](const array& a, nb::handle) { return a; }, "Another handle of the array.");
  def(
      c, "__div__(self, other: ScalarOrArray) -> array",
      [](ArrayObject self, nb::handle other) { return self / other; }, "The same as self / other.");
  def(
      c, "__rdiv__(self, other: ScalarOrArray) -> array",
      [](ArrayObject self, nb::handle other) { return other / self; }, "The same as other / self.");
}

}  // namespace

template <>
struct From<ArrayIterator> : FromBound<ArrayIterator> {};
template <>
struct From<ArrayLike> : FromBound<ArrayLike> {};

void bind_array(nb::module_& m) {
  nb::class_<array> cls(m, "array", nb::type_slots(class_slots()), nb::pooled(256),
                        nb::is_weak_referenceable(),
                        "An n-dimensional array, computed when its elements are first needed.");
  array_type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  def(
      cls,
      "__init__(self: array, val: ArrayInput, "
      "dtype: Dtype | None = None) -> None",
      [](ArrayObject self, nb::handle val, std::optional<Dtype> dtype) {
        array_of(self.ptr()) = to_array(val.ptr(), dtype);
      },
      "Makes an array of a scalar, nested lists or tuples, or another array. Integers become int32 "
      "(int64 where needed), floats float32, complex numbers complex64; arrays keep their dtype, "
      "but "
      "foreign float64 and complex128 become float32 and complex64; `dtype` overrides all that.");
  bind_array_properties(cls);
  bind_exports(cls);
  bind_conversions(cls);
  bind_at(m, cls);

  nb::class_<ArrayLike> like(m, "ArrayLike", "An object that has `__mlx_array__`.");
  like.def(nb::new_([](nb::object o) {
    if (!has_attr(o.ptr(), "__mlx_array__"))
      fail<TypeError>("ArrayLike", "an object of type ", class_name(o),
                      "; objects with __mlx_array__ are accepted");
    return ArrayLike{o};
  }));
  def(
      like, "__mlx_array__(self) -> array",
      [](const ArrayLike& a) { return nb::object(a.object.attr("__mlx_array__")()); },
      "The array that the object gives.");

  nb::class_<ArrayIterator> iterator(m, "ArrayIterator",
                                     "Iterates over the first axis of an array.");
  def(
      iterator, "__iter__(self) -> ArrayIterator",
      [](nb::handle self) { return nb::object(nb::borrow(self)); }, "The iterator itself.");
  def(
      iterator, "__next__(self) -> array",
      [](ArrayIterator& it) {
        const array& a = checked(it.target.ptr());
        if (a.ndim() == 0 || it.next >= a.shape()[0]) throw nb::stop_iteration();
        return index_read(a, {IndexItem::integer(it.next++)});
      },
      "The next slice.");
}

}  // namespace mlx::python
