// How Python arguments become C++ values (From) and results become Python objects (to_python).
// `load` returns false where the object is of another type; it throws where the type is right but
// the value is not, and what the object's own code raises, unless that is a TypeError.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "bind.h"

namespace mlx::python {

/// The arguments of a call, by parameter. References are borrowed.
struct Call {
  PyObject* values[16];
  std::span<PyObject* const> star;
  nb::object keywords;
};
/// *args.
struct Star {
  std::span<PyObject* const> items;
  size_t size() const { return items.size(); }
  nb::handle operator[](size_t i) const { return items[i]; }
};
/// **kwargs.
struct Keywords {
  nb::dict items;
};
/// A scalar, an array, or an object that converts to an array (convert.h).
struct Operand {
  PyObject* object;
};
/// The Python object of an array, for methods that need more than its handle. May hold a null
/// array.
struct ArrayObject : nb::handle {};
/// The axes of a reduction: none, one, or several.
using Axes = std::variant<std::monostate, int, std::vector<int>>;
/// `int | Sequence[int]`: an int is a shape with one axis.
struct AnyShape {
  Shape shape;
};

/// The array for an object passed to an array parameter; false for lists, strings, ….
bool load_array(PyObject* o, array& out);
/// The integer of an object with __index__; false for others. Throws SizeError beyond 64 bits.
bool load_integer(PyObject* o, int64_t& out);
bool load_real(PyObject* o, double& out);
bool load_bool(PyObject* o, bool& out);
bool load_string(PyObject* o, std::string& out);
bool load_dtype(PyObject* o, Dtype& out);
/// The dtype that an object of another kind stands for elsewhere: "float32", float, np.float32.
std::optional<Dtype> dtype_meant(PyObject* o);
bool load_stream(PyObject* o, StreamOrDevice& out);
bool load_device(PyObject* o, Device& out);
/// Calls `each` on the items of a list, tuple or other sequence; false for other objects. Throws
/// ValueError for a sequence that changes meanwhile, and for one with too many items to be read.
template <class F>
bool each_item(PyObject* o, F&& each);
/// Throws ValueError: the code of an item changed the list that holds it.
[[noreturn]] void fail_changed(const char* op);

template <class T>
struct From {
  static_assert(sizeof(T) == 0, "no conversion from Python");
};
/// A value that a free function loads.
template <class T, bool (*fn)(PyObject*, T&)>
struct FromValue {
  T value{};
  bool load(PyObject* o) { return fn(o, value); }
  T& get() { return value; }
};

template <>
struct From<array> {
  const array* given = nullptr;
  array converted;
  bool load(PyObject* o) {
    if (is_array(o)) {
      given = &checked(o);
      return true;
    }
    given = &converted;
    return load_array(o, converted);
  }
  const array& get() { return *given; }
};
template <>
struct From<bool> : FromValue<bool, load_bool> {};
template <>
struct From<double> : FromValue<double, load_real> {};
template <>
struct From<int64_t> : FromValue<int64_t, load_integer> {};
template <>
struct From<std::string> : FromValue<std::string, load_string> {};
template <>
struct From<StreamOrDevice> : FromValue<StreamOrDevice, load_stream> {};
template <>
struct From<Device> : FromValue<Device, load_device> {};

template <>
struct From<Dtype> {
  Dtype value = float32;
  bool load(PyObject* o) { return load_dtype(o, value); }
  Dtype get() { return value; }
};
template <>
struct From<float> {
  double value = 0;
  bool load(PyObject* o) { return load_real(o, value); }
  float get() { return static_cast<float>(value); }
};
template <>
struct From<int> {
  int64_t value = 0;
  bool load(PyObject* o) {
    if (!load_integer(o, value)) return false;
    if (value != static_cast<int>(value))
      throw SizeError(cat("[int] ", value, " does not fit 32 bits"));
    return true;
  }
  int get() { return static_cast<int>(value); }
};
/// Unsigned 64-bit numbers: memory limits and seeds.
template <>
struct From<uint64_t> {
  uint64_t value = 0;
  bool load(PyObject* o);
  uint64_t get() { return value; }
};
template <>
struct From<Operand> {
  Operand value{};
  bool load(PyObject* o) {
    value.object = o;
    return o != Py_None;
  }
  Operand get() { return value; }
};
template <>
struct From<ArrayObject> {
  ArrayObject value;
  bool load(PyObject* o) {
    value = {nb::handle(o)};
    return is_array(o);
  }
  ArrayObject get() { return value; }
};
template <>
struct From<nb::handle> {
  nb::handle value;
  bool load(PyObject* o) {
    value = o;
    return true;
  }
  nb::handle get() { return value; }
};
template <>
struct From<nb::callable> {
  nb::handle value;
  bool load(PyObject* o) {
    value = o;
    return PyCallable_Check(o);
  }
  nb::callable get() { return nb::borrow<nb::callable>(value); }
};
template <>
struct From<nb::dict> {
  nb::handle value;
  bool load(PyObject* o) {
    value = o;
    return PyDict_Check(o);
  }
  nb::dict get() { return nb::borrow<nb::dict>(value); }
};
/// An instance of a class bound by nanobind.
template <class T>
struct FromBound {
  T* value = nullptr;
  bool load(PyObject* o) { return nb::try_cast(nb::handle(o), value) && value; }
  T& get() { return *value; }
};
template <>
struct From<Star> {
  Star value;
  bool load(const Call& call) {
    value.items = call.star;
    return true;
  }
  Star get() { return value; }
};
template <>
struct From<Keywords> {
  Keywords value;
  bool load(const Call& call) {
    value.items = nb::borrow<nb::dict>(call.keywords);
    return true;
  }
  Keywords& get() { return value; }
};

template <class T>
struct From<std::optional<T>> {
  std::optional<T> value;
  bool load(PyObject* o) {
    if (o == Py_None) return true;
    From<T> inner;
    if (!inner.load(o)) return false;
    value.emplace(inner.get());
    return true;
  }
  std::optional<T>& get() { return value; }
};
template <class C>
struct FromSequence {
  C value;
  bool load(PyObject* o) {
    return each_item(o, [&](PyObject* item) {
      From<typename C::value_type> inner;
      if (!inner.load(item)) return false;
      value.push_back(inner.get());
      return true;
    });
  }
  C& get() { return value; }
};
template <class T>
struct From<std::vector<T>> : FromSequence<std::vector<T>> {};
template <>
struct From<Shape> : FromSequence<Shape> {};
template <>
struct From<AnyShape> {
  AnyShape value;
  bool load(PyObject* o) {
    From<Shape> list;
    if (int64_t n; load_integer(o, n)) {
      value.shape = {n};
    } else if (list.load(o)) {
      value.shape = std::move(list.value);
    } else {
      return false;
    }
    return true;
  }
  AnyShape& get() { return value; }
};
/// The first alternative that the object converts to.
template <class... T>
struct From<std::variant<T...>> {
  std::variant<T...> value;
  bool load(PyObject* o) { return (try_one<T>(o) || ...); }
  std::variant<T...>& get() { return value; }

 private:
  template <class U>
  bool try_one(PyObject* o) {
    if constexpr (std::is_same_v<U, std::monostate>) {
      return o == Py_None;
    } else {
      From<U> inner;
      if (!inner.load(o)) return false;
      value = U(inner.get());
      return true;
    }
  }
};
template <class A, class B>
struct From<std::pair<A, B>> {
  std::pair<A, B> value;
  bool load(PyObject* o) {
    int i = 0;
    return each_item(o,
                     [&](PyObject* item) {
                       return ++i == 1 ? part(item, value.first)
                                       : i == 2 && part(item, value.second);
                     }) &&
           i == 2;
  }
  std::pair<A, B>& get() { return value; }

 private:
  template <class T>
  static bool part(PyObject* o, T& out) {
    From<T> inner;
    if (!inner.load(o)) return false;
    out = inner.get();
    return true;
  }
};

template <class F>
bool each_item(PyObject* o, F&& each) {
  if (PyList_Check(o) || PyTuple_Check(o)) {
    // Conversions may run Python code that changes the list: items need references, and the size
    // is read every time.
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < n; ++i) {
      const nb::object item = nb::borrow(PySequence_Fast_GET_ITEM(o, i));
      if (!each(item.ptr())) return false;
      if (PySequence_Fast_GET_SIZE(o) != n) fail_changed("sequence");
    }
    return true;
  }
  if (is_array(o)
          ? array_of(o).ndim() == 0
          : !PySequence_Check(o) || PyUnicode_Check(o) || PyBytes_Check(o) || PyDict_Check(o))
    return false;
  Py_ssize_t n = PyObject_Size(o);
  if (n < 0) return not_of_kind();
  constexpr Py_ssize_t kMost = 1 << 20;  // a sequence that computes its items may claim any length
  if (n > kMost)
    throw ValueError(
        cat("[sequence] ", n, " items of a ", class_name(o), "; up to ", kMost, ", or a list"));
  for (Py_ssize_t i = 0; i < n; ++i) {
    nb::object item = nb::steal(PyObject_GetItem(o, nb::int_(i).ptr()));
    if (!item.is_valid()) return not_of_kind();
    if (!each(item.ptr())) return false;
  }
  return true;
}

// --- results -------------------------------------------------------------------------------------

inline PyObject* to_python(array&& a) { return wrap(std::move(a)); }
inline PyObject* to_python(const array& a) { return wrap(a); }
inline PyObject* to_python(nb::object&& o) { return o.release().ptr(); }
PyObject* to_python(Dtype t);
PyObject* to_python(const Stream& s);
PyObject* to_python(const Device& d);
inline PyObject* to_python(bool v) { return PyBool_FromLong(v); }
inline PyObject* to_python(double v) { return PyFloat_FromDouble(v); }
template <std::integral T>
PyObject* to_python(T v) {
  if constexpr (std::is_signed_v<T>) return PyLong_FromLongLong(v);
  return PyLong_FromUnsignedLongLong(v);
}
inline PyObject* to_python(const std::string& s) {
  return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}
PyObject* to_python(const Arrays& list);  ///< a list
PyObject* to_python(const Shape& shape);  ///< a tuple of ints
/// A tuple of arrays.
nb::object tuple_of(const Arrays& list);
/// The arrays in *args; throws TypeError naming `op` for other objects.
Arrays arrays_of(Star items, const char* op);
template <class A, class B>
PyObject* to_python(std::pair<A, B>&& p) {
  return PyTuple_Pack(2, owned(to_python(std::move(p.first))).ptr(),
                      owned(to_python(std::move(p.second))).ptr());
}

}  // namespace mlx::python
