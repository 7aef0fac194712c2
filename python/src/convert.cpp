// Conversions between Python values and arrays: scalars, nested lists, operands.
#include "convert.h"

#include <complex>

#include "device_memory.h"
#include "lock.h"
#include "mlx/ops.h"
#include "mlx/runtime/evaluate.h"

namespace mlx::python {

namespace {

/// Rank of the kinds of dtypes in promotion.
int kind_rank(Dtype t) { return is_complex(t) ? 3 : is_floating(t) ? 2 : t == bool_ ? 0 : 1; }

[[noreturn]] void throw_range(PyObject* o, Dtype dtype) {
  throw SizeError(cat("[array] ", text_of(o), " is out of the range of ", dtype_name(dtype)));
}

/// An integer with the dtype that holds it.
struct Integer {
  int64_t value;  ///< bits of the number
  Dtype dtype;
};
Integer read_integer(PyObject* o) {
  int overflow = 0;
  int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow == 0) return {v, v == static_cast<int32_t>(v) ? int32 : int64};
  if (overflow > 0) {
    uint64_t u = PyLong_AsUnsignedLongLong(o);
    if (!PyErr_Occurred()) return {static_cast<int64_t>(u), uint64};
    PyErr_Clear();
  }
  throw_range(o, overflow > 0 ? uint64 : int64);
}

/// A Python int as an element of `t`. If `checked`, throws if it is out of range, except that
/// negative numbers wrap in uint64; otherwise numbers of up to 32 bits (64 for wider dtypes) wrap.
Scalar integer_scalar(PyObject* o, Dtype t, bool checked) {
  if (is_inexact(t)) {
    double v = PyLong_AsDouble(o);
    if (v == -1 && PyErr_Occurred()) throw nb::python_error();
    return Scalar::from(v, t);
  }
  Integer i = read_integer(o);
  Scalar s = Scalar::from(i.value, t);
  if (t != bool_) {
    bool big = i.dtype == uint64;
    bool fits = dispatch(t, [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        if (!checked && sizeof(T) <= 4 && !big)
          return std::in_range<int32_t>(i.value) || std::in_range<uint32_t>(i.value);
        if (!checked || (std::is_same_v<T, uint64_t> && !big)) return true;
        return big ? std::in_range<T>(static_cast<uint64_t>(i.value)) : std::in_range<T>(i.value);
      } else {
        return true;
      }
    });
    if (!fits) throw_range(o, t);
  }
  return s;
}

Scalar scalar_as(PyObject* o, Dtype t, bool checked) {
  if (PyFloat_Check(o)) return Scalar::from(PyFloat_AS_DOUBLE(o), t);
  if (PyBool_Check(o)) return Scalar::from(static_cast<int64_t>(o == Py_True), t);
  if (PyLong_Check(o)) return integer_scalar(o, t, checked);
  Py_complex c = PyComplex_AsCComplex(o);
  return Scalar::from(std::complex<double>(c.real, c.imag), t);
}

Dtype default_dtype(PyObject* o) {
  if (PyFloat_Check(o)) return float32;
  if (PyBool_Check(o)) return bool_;
  return PyLong_Check(o) ? read_integer(o).dtype : complex64;
}

bool has_attribute(PyObject* o, const char* name) {
  return has_attr(reinterpret_cast<PyObject*>(Py_TYPE(o)),
                  name);  // looked up on the type, not on the instance
}

}  // namespace

bool is_array_like(PyObject* o) {
  if (is_array(o)) return true;
  if (PyUnicode_Check(o) || PyBytes_Check(o) || PyByteArray_Check(o) || PyList_Check(o) ||
      PyTuple_Check(o) || PyDict_Check(o) || PyType_Check(o) || o == Py_None)
    return false;
  return PyObject_CheckBuffer(o) || has_attribute(o, "__dlpack__") ||
         has_attribute(o, "__mlx_array__");
}

array scalar_array(PyObject* o, std::optional<Dtype> dtype) {
  Dtype t = dtype ? *dtype : default_dtype(o);
  return constant(scalar_as(o, t, false), t);
}

bool weak_array(PyObject* o, Dtype other, array& out) {
  if (PyFloat_Check(o)) {
    Dtype t = is_inexact(other) ? other : float32;
    out = constant(Scalar::from(PyFloat_AS_DOUBLE(o), t), t);
    return true;
  }
  if (PyLong_Check(o)) {
    Dtype t = PyBool_Check(o) || other != bool_ ? other : read_integer(o).dtype;
    out = constant(scalar_as(o, t, true), t);
    return true;
  }
  if (PyComplex_Check(o)) {
    Dtype t = promote_types(other, complex64);
    out = constant(scalar_as(o, t, true), t);
    return true;
  }
  if (!is_array_like(o)) return false;
  out = to_array(o);
  if (!is_array(o) && out.dtype() != other && kind_rank(out.dtype()) <= kind_rank(other))
    out = astype(out, other);
  return true;
}

bool to_operands(PyObject* x, PyObject* y, const array*& a, const array*& b, array& storage_a,
                 array& storage_b) {
  a = &storage_a;
  b = &storage_b;
  if (is_array(x)) a = &checked(x);
  if (is_array(y)) b = &checked(y);
  if (a != &storage_a) return b != &storage_b || weak_array(y, a->dtype(), storage_b);
  if (b != &storage_b) return weak_array(x, b->dtype(), storage_a);
  if (is_scalar(x) && is_scalar(y)) {
    storage_a = scalar_array(x);
    storage_b = scalar_array(y);
    return true;
  }
  bool first = !is_scalar(x);
  PyObject* lead = first ? x : y;
  if (!is_array_like(lead)) return false;
  array& led = first ? storage_b : storage_a;
  (first ? storage_a : storage_b) = to_array(lead);
  return weak_array(first ? y : x, (first ? storage_a : storage_b).dtype(), led);
}

namespace {

bool is_double(Dtype t) { return t == float64 || t == complex128; }

[[noreturn]] void refuse(const char* op, PyObject* o) {
  std::string message =
      cat("[", op, "] an operand of type ", class_name(o), "; scalars and arrays are accepted");
  PyErr_SetString(argument_error, message.c_str());
  throw nb::python_error();
}

}  // namespace

BothOperands::BothOperands(const char* op, Operand x, Operand y) {
  if (!to_operands(x.object, y.object, a, b, storage_a_, storage_b_))
    refuse(op, is_scalar(x.object) || is_array_like(x.object) ? y.object : x.object);
}

array convert_operand(const char* op, const array& other, Operand o) {
  array out;
  if (is_array(o.object)) return checked(o.object);
  if (!weak_array(o.object, other.dtype(), out)) refuse(op, o.object);
  return out;
}

array for_dtype(const char* op, Operand o, std::optional<Dtype> t) {
  if (t && is_double(*t) && is_scalar(o.object)) return scalar_array(o.object, t);
  array out;
  if (!load_array(o.object, out)) refuse(op, o.object);
  return out;
}

// --- lists ---------------------------------------------------------------------------------------

namespace {

bool is_list(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

/// Reads nested lists of scalars; reports if they contain arrays, which must be stacked instead.
/// Objects that stand for scalars run their own code, which may change the lists: from the first of
/// them on, what is read has references here.
class ListReader {
 public:
  Shape shape;
  bool has_arrays = false;

  explicit ListReader(PyObject* list) {
    collect(list, 0);
    if (leaf_depth_ < 0) leaf_depth_ = static_cast<int>(shape.size());
  }

  array read(std::optional<Dtype> dtype) const {
    Dtype t = dtype ? *dtype : common_dtype();
    return dispatch(t, [&]<class T>(TypeTag<T>) {
      std::unique_ptr<T[]> out(new T[leaves_.size() + 1]);
      for (size_t i = 0; i < leaves_.size(); ++i) out[i] = element<T>(leaves_[i], t);
      return array::copy_of(out.get(), shape, t);
    });
  }

 private:
  static constexpr int kMaxDepth = 64;

  void collect(PyObject* o, int depth) {
    if (is_list(o))
      collect_list(o, depth);
    else if (is_scalar(o))
      add_leaf(o, depth);
    else
      collect_object(o, depth);
  }

  void collect_list(PyObject* o, int depth) {
    const nb::object own = nb::borrow(o);
    if (depth >= kMaxDepth) throw ValueError("[array] lists nested over 64 deep; at most 64 axes");
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    if (depth == leaf_depth_) fail_shape("a list where a scalar stood before");
    if (depth == static_cast<int>(shape.size())) {
      shape.push_back(n);
    } else if (shape[depth] != n) {
      fail_shape(cat("lists of ", shape[depth], " and ", n, " items at depth ", depth));
    }
    for (Py_ssize_t i = 0; i < n && !has_arrays; ++i) {
      collect(PySequence_Fast_GET_ITEM(o, i), depth + 1);
      if (PySequence_Fast_GET_SIZE(o) != n) fail_changed("array");
    }
  }

  void collect_object(PyObject* o, int depth) {
    const nb::object own = nb::borrow(o);
    if (!owns_) {
      owned_.reserve(leaves_.size() + 1);
      for (PyObject* leaf : leaves_) owned_.push_back(nb::borrow(leaf));
      owns_ = true;
    }
    const nb::object leaf = as_scalar(o);
    if (!has_arrays) add_leaf(leaf.ptr(), depth);
  }

  void add_leaf(PyObject* leaf, int depth) {
    if (leaf_depth_ < 0 && depth == static_cast<int>(shape.size())) leaf_depth_ = depth;
    if (depth != leaf_depth_) fail_shape("a scalar where a list stood before");
    leaves_.push_back(leaf);
    if (owns_) owned_.push_back(nb::borrow(leaf));
  }

  [[noreturn]] static void fail_shape(const std::string& what) {
    fail<ValueError>("array", what, "; lists at one depth must have equal lengths");
  }

  /// Converts NumPy's scalars to Python's; notes arrays.
  nb::object as_scalar(PyObject* o) {
    if (is_array(o) || has_attribute(o, "__mlx_array__")) {
      has_arrays = true;
      return {};
    }
    if (PyObject_CheckBuffer(o) || has_attribute(o, "__dlpack__")) {
      if (has_attr(o, "item") && has_attr(o, "ndim") &&
          nb::cast<int>(nb::handle(o).attr("ndim")) == 0) {
        nb::object item = nb::handle(o).attr("item")();
        if (is_scalar(item.ptr())) return item;
      }
      has_arrays = true;
      return {};
    }
    throw ValueError(cat("[array] an element of type ", class_name(o),
                         "; scalars, lists, tuples and arrays are accepted"));
  }

  Dtype common_dtype() const {
    if (leaves_.empty()) return float32;
    Dtype t = bool_;
    for (PyObject* o : leaves_) {
      Dtype u = default_dtype(o);
      if (u == t) continue;
      if (kind_rank(u) != kind_rank(t) || !is_integer_pair(t, u)) {
        if (kind_rank(u) > kind_rank(t)) t = u;
      } else {
        t = wider(t, u);
      }
    }
    if (t == uint64)
      for (PyObject* o : leaves_)
        if (PyLong_Check(o) && is_negative(o)) throw_range(o, uint64);
    return t;
  }
  static bool is_integer_pair(Dtype a, Dtype b) { return kind_rank(a) == 1 && kind_rank(b) == 1; }
  static Dtype wider(Dtype a, Dtype b) {
    if (a == uint64 || b == uint64) return uint64;
    return a == int64 || b == int64 ? int64 : int32;
  }
  static bool is_negative(PyObject* o) {
    int overflow = 0;
    return PyLong_AsLongLongAndOverflow(o, &overflow) < 0 && overflow <= 0;
  }

  template <class T>
  static T element(PyObject* o, Dtype t) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      if (PyFloat_Check(o)) return static_cast<T>(PyFloat_AS_DOUBLE(o));
    }
    return scalar_as(o, t, false).template as<T>();
  }

  std::vector<PyObject*> leaves_;
  std::vector<nb::object> owned_;  ///< the leaves, once `owns_`
  bool owns_ = false;
  int leaf_depth_ = -1;
};

/// Lists that contain arrays: the items of each level are stacked.
array stack_items(PyObject* o, std::optional<Dtype> dtype, int depth) {
  if (!is_list(o)) return to_array(o, dtype);
  if (depth >= 64) throw ValueError("[array] lists nested over 64 deep; at most 64 axes");
  Arrays items;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n; ++i) {
    const nb::object item = nb::borrow(PySequence_Fast_GET_ITEM(o, i));
    items.push_back(stack_items(item.ptr(), dtype, depth + 1));
    if (PySequence_Fast_GET_SIZE(o) != n) fail_changed("array");
  }
  if (items.empty()) return array(static_cast<float*>(nullptr), Shape{0}, dtype.value_or(float32));
  Dtype t = items[0].dtype();
  for (const array& a : items) t = promote_types(t, a.dtype());
  // Repeated with double precision if numbers occur beside float64 or complex128 arrays.
  if (!dtype && is_double(t)) return stack_items(o, t, depth);
  for (array& a : items) a = astype(a, t);
  return stack(items, 0);
}

/// A range may be longer than any list.
nb::object list_of_range(PyObject* range) {
  constexpr Py_ssize_t kMost = Py_ssize_t{1} << 31;
  const Py_ssize_t n = PyObject_Size(range);
  if (n < 0) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw nb::python_error();
    PyErr_Clear();
  }
  if (n < 0 || n > kMost)
    fail<ValueError>("array", "a sequence of ", n < 0 ? "over 2^63" : std::to_string(n),
                     " elements; up to ", kMost, " are accepted, and mx.arange makes more");
  return owned(PySequence_List(range));
}

/// The array of what `__array__` returns; none for other objects, and after a refusal also where
/// the method fails.
std::optional<array> from_array_method(PyObject* o, std::optional<Dtype> dtype,
                                       const nb::python_error* refusal) {
  if (refusal && !refusal->matches(PyExc_Exception)) return {};
  if (!has_attribute(o, "__array__")) return {};
  try {
    nb::object made = nb::handle(o).attr("__array__")();
    return from_buffer(made.ptr(), dtype);
  } catch (nb::python_error& e) {
    if (!refusal || !e.matches(PyExc_Exception)) throw;
    return {};
  }
}

}  // namespace

array to_array(PyObject* o, std::optional<Dtype> dtype) {
  if (is_array(o)) {
    const array& a = checked(o);
    return dtype ? astype(a, *dtype) : a;
  }
  if (is_scalar(o)) return scalar_array(o, dtype);
  if (is_list(o)) {
    ListReader reader(o);
    return reader.has_arrays ? stack_items(o, dtype, 0) : reader.read(dtype);
  }
  if (PyRange_Check(o)) return to_array(list_of_range(o).ptr(), dtype);
  if (has_attribute(o, "__mlx_array__")) {
    nb::object made = nb::handle(o).attr("__mlx_array__")();
    if (!is_array(made.ptr()))
      throw TypeError(
          cat("[array] __mlx_array__ returned ", class_name(made), "; an array is accepted"));
    return to_array(made.ptr(), dtype);
  }
  if (auto a = from_buffer(o, dtype)) return *a;
  if (has_attribute(o, "__dlpack__")) {
    try {
      return from_dlpack(o, dtype, false, {});
    } catch (nb::python_error& refusal) {
      // Columns with missing values or bits for bool refuse, and convert themselves for NumPy.
      if (auto a = from_array_method(o, dtype, &refusal)) return *a;
      throw;
    }
  }
  if (has_attribute(o, "__cuda_array_interface__")) return from_cuda_interface(o, dtype);
  if (auto a = from_array_method(o, dtype, nullptr)) return *a;
  if (has_attribute(o, "__array_interface__")) {
    nb::object made = nb::module_::import_("numpy").attr("asarray")(nb::handle(o));
    if (auto a = from_buffer(made.ptr(), dtype)) return *a;
  }
  if (has_attribute(o, "__float__") && !has_attribute(o, "__len__")) {  // fractions, decimals
    nb::object number = nb::steal(PyNumber_Float(o));
    if (!number.is_valid()) throw nb::python_error();
    return scalar_array(number.ptr(), dtype);
  }
  std::string message = cat("[array] an object of type ", class_name(o),
                            "; scalars, lists, tuples, arrays, buffers and DLPack are accepted");
  PyErr_SetString(argument_error, message.c_str());
  throw nb::python_error();
}

// --- arrays to Python values ---------------------------------------------------------------------

void evaluate(Arrays arrays) {
  eval(std::move(arrays));
  run_releases();
}

const char* host_data(const array& a) {
  if (is_constant(a)) return reinterpret_cast<const char*>(a.node()->scalar().bytes);
  evaluate({a});
  return static_cast<const char*>(a.raw(Access::read));
}

template <class T>
static PyObject* python_number(T v) {
  if constexpr (std::is_same_v<T, bool>) {
    return PyBool_FromLong(v);
  } else if constexpr (std::is_unsigned_v<T>) {
    return PyLong_FromUnsignedLongLong(v);
  } else if constexpr (std::is_integral_v<T>) {
    return PyLong_FromLongLong(v);
  } else if constexpr (requires { v.real(); }) {
    return PyComplex_FromDoubles(v.real(), v.imag());
  } else if constexpr (std::is_same_v<T, double>) {
    return PyFloat_FromDouble(v);
  } else {
    return PyFloat_FromDouble(static_cast<float>(v));
  }
}

PyObject* scalar_to_python(const void* p, Dtype dtype) {
  return dispatch(dtype, [&]<class T>(TypeTag<T>) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return python_number(v);
  });
}

PyObject* item(const array& given) {
  const array a = given;  // other threads may assign to the array during the wait
  if (a.size() != 1)
    throw ValueError(cat("[convert] an array of shape ", to_string(a.shape()),
                         "; only arrays with one element convert to Python scalars"));
  if (!is_constant(a)) evaluate({a});
  Scalar s = a.item_scalar();
  return scalar_to_python(s.bytes, a.dtype());
}

namespace {

/// Makes nested lists of an array's elements; releases the GIL from time to time.
template <class T>
class ListWriter {
 public:
  /// The array has at least one axis.
  explicit ListWriter(const array& a) : a_(a) {}

  PyObject* write(const char* data, size_t axis) {
    const int64_t n = a_.shape()[axis];
    const int64_t step = a_.node()->value.strides[axis] * static_cast<int64_t>(sizeof(T));
    const bool last = axis + 1 == a_.ndim();
    nb::object list = nb::steal(PyList_New(n));
    if (!list.is_valid()) throw nb::python_error();
    PyObject_GC_UnTrack(
        list.ptr());  // hides the list from the garbage collector until it is complete
    for (int64_t i = 0; i < n; ++i) {
      PyObject* v = last ? number(data + i * step) : write(data + i * step, axis + 1);
      if (!v) throw nb::python_error();
      PyList_SET_ITEM(list.ptr(), i, v);
    }
    PyObject_GC_Track(list.ptr());
    return list.release().ptr();
  }

 private:
  PyObject* number(const char* data) {
    constexpr size_t kTurn = 1 << 16;  // about a millisecond
    if (++made_ % kTurn == 0) yield_lock();
    T v;
    std::memcpy(&v, data, sizeof v);
    return python_number(v);
  }

  const array& a_;
  size_t made_ = 0;
};

}  // namespace

PyObject* tolist(const array& given) {
  const array a = given;
  if (a.ndim() == 0) return item(a);
  const char* data = host_data(a);
  return dispatch(a.dtype(), [&]<class T>(TypeTag<T>) { return ListWriter<T>(a).write(data, 0); });
}

}  // namespace mlx::python
