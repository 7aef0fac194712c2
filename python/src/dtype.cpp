// Element types: the class Dtype and its constants, categories, limits, promotion.
#include <limits>

#include "convert.h"
#include "mlx/core/print.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
using Category = Dtype::Category;

/// One Python object for each dtype.
PyObject* dtype_objects[kNumDtypes];

struct FloatInfo {
  Dtype dtype;
  int bits;
  double min, max, eps, smallest_normal;
};
struct IntInfo {
  Dtype dtype;
  nb::int_ min, max;
};

FloatInfo float_info(Dtype given) {
  if (!is_inexact(given))
    fail<ValueError>("finfo", dtype_name(given), "; floating and complex dtypes are accepted");
  Dtype t = real_dtype(given);
  auto info = [&](double max, double eps, double tiny) {
    return FloatInfo{t, 8 * t.size(), -max, max, eps, tiny};
  };
  if (t == float16) return info(65504, 0x1p-10, 0x1p-14);
  if (t == bfloat16) return info(0x1.fep127, 0x1p-7, 0x1p-126);
  return dispatch(t, [&]<class T>(TypeTag<T>) {
    using L = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>) return info(L::max(), L::epsilon(), L::min());
    return info(0, 0, 0);
  });
}

IntInfo int_info(Dtype t) {
  if (is_inexact(t) || t == bool_)
    fail<ValueError>("iinfo", dtype_name(t), "; integer dtypes are accepted");
  return dispatch(t, [&]<class T>(TypeTag<T>) -> IntInfo {
    if constexpr (std::is_integral_v<T>) {
      using L = std::numeric_limits<T>;
      return {t, nb::int_(L::min()), nb::int_(L::max())};
    } else {
      return {t, nb::int_(0), nb::int_(0)};
    }
  });
}

std::optional<Category> as_category(nb::handle o) {
  Category c = Category::generic;
  if (nb::try_cast(o, c)) return c;
  return {};
}

bool is_subtype(nb::handle a, nb::handle b) {
  Dtype s = float32, t = float32;
  bool sub = load_dtype(a.ptr(), s), super = load_dtype(b.ptr(), t);
  auto c = sub ? std::nullopt : as_category(a), d = super ? std::nullopt : as_category(b);
  if ((!sub && !c) || (!super && !d))
    fail<ValueError>("issubdtype", class_name(a), " and ", class_name(b),
                     "; dtypes and dtype categories are accepted");
  if (sub) return super ? issubdtype(s, t) : issubdtype(s, *d);
  return super ? issubdtype(*c, t) : issubdtype(*c, *d);
}

Dtype dtype_of(nb::handle o, const char* op) {
  Dtype t = float32;
  if (load_dtype(o.ptr(), t)) return t;
  if (is_array(o.ptr())) return to_array(o.ptr()).dtype();
  fail<ValueError>(op, "an argument of type ", class_name(o), "; arrays and dtypes are accepted");
}

bool is_of_kind(Dtype t, nb::handle kind) {
  Dtype other = float32;
  if (load_dtype(kind.ptr(), other)) return t == other;
  std::string name;
  if (!load_string(kind.ptr(), name))
    fail<TypeError>("isdtype", "a kind of type ", class_name(kind),
                    "; dtypes, strings and tuples of them are accepted");
  if (name == "bool") return t == bool_;
  if (name == "signed integer") return issubdtype(t, signedinteger);
  if (name == "unsigned integer") return issubdtype(t, unsignedinteger);
  if (name == "integral") return issubdtype(t, integer);
  if (name == "real floating") return issubdtype(t, floating);
  if (name == "complex floating") return issubdtype(t, complexfloating);
  if (name == "numeric") return issubdtype(t, number);
  fail<ValueError>("isdtype", "the kind '", name,
                   "'; bool, signed integer, unsigned integer, integral, real floating, complex "
                   "floating and numeric are accepted");
}

}  // namespace

template <>
struct From<FloatInfo> : FromBound<FloatInfo> {};
template <>
struct From<IntInfo> : FromBound<IntInfo> {};

bool load_dtype(PyObject* o, Dtype& out) {
  if (Py_TYPE(o) != Py_TYPE(dtype_objects[0])) return false;
  out = instance_of<Dtype>(o);
  return true;
}

std::optional<Dtype> dtype_meant(PyObject* o) {
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return float32;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return int32;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return bool_;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return complex64;
  std::string name;
  const std::string kind = Py_TYPE(o)->tp_name;
  if (PyUnicode_Check(o)) {
    load_string(o, name);
  } else if (PyType_Check(o)) {
    name = reinterpret_cast<PyTypeObject*>(o)->tp_name;  // numpy.float32
  } else if (kind.starts_with("numpy.dtype") || kind == "torch.dtype") {
    name = text_of(o);
  }
  name = name.substr(name.rfind('.') + 1);
  if (name == "bool_") return bool_;
  for (int i = 0; i < kNumDtypes; ++i)
    if (Dtype t(static_cast<Dtype::Val>(i)); dtype_name(t) == name) return t;
  return {};
}

PyObject* to_python(Dtype t) { return Py_NewRef(dtype_objects[static_cast<int>(t.val())]); }

namespace {

void bind_class(nb::module_& m) {
  nb::class_<Dtype> cls(m, "Dtype", "The type of an array's elements.");
  for (int i = 0; i < kNumDtypes; ++i) {
    Dtype t(static_cast<Dtype::Val>(i));
    dtype_objects[i] = nb::cast(t).release().ptr();
    m.attr((std::string(dtype_name(t)) + (t == bool_ ? "_" : "")).c_str()) =
        nb::handle(dtype_objects[i]);
  }
  def_property(
      cls, "size(self) -> int", [](Dtype t) { return int{t.size()}; }, "Bytes of an element.");
  def(
      cls, "__repr__(self) -> str",
      [](Dtype t) { return "mlx.core." + std::string(dtype_name(t)); }, "The qualified name.");
  def(
      cls, "__eq__(self, arg: object, /) -> bool",
      [](Dtype t, nb::handle o) {
        Dtype u = float32;
        return load_dtype(o.ptr(), u) && t == u;
      },
      "True for the same dtype.");
  def(
      cls, "__hash__(self) -> int", [](Dtype t) { return static_cast<int64_t>(t.val()); },
      "A number by dtype.");
  def_property(
      cls, "__numpy_dtype__(self) -> Any",
      [](Dtype t) {
        const char* module = t == bfloat16 ? "ml_dtypes" : "numpy";
        const std::string name = std::string(dtype_name(t)) + (t == bool_ ? "_" : "");
        nb::object type = nb::module_::import_(module).attr(name.c_str());
        return nb::object(nb::module_::import_("numpy").attr("dtype")(type));
      },
      "The dtype of NumPy that numpy.dtype(...) gives, from version 2.4 on.");
  def(
      cls, "__reduce__(self) -> str",
      [](Dtype t) { return std::string(dtype_name(t)) + (t == bool_ ? "_" : ""); },
      "The name in mlx.core, for pickling.");
}

void bind_categories(nb::module_& m) {
  nb::enum_<Category> cls(m, "DtypeCategory", "Families of dtypes, for issubdtype.");
#define MLX_CATEGORY(NAME) cls.value(#NAME, Category::NAME);
  MLX_CATEGORY(complexfloating)
  MLX_CATEGORY(floating)
  MLX_CATEGORY(inexact)
  MLX_CATEGORY(signedinteger)
  MLX_CATEGORY(unsignedinteger)
  MLX_CATEGORY(integer)
  MLX_CATEGORY(number)
  MLX_CATEGORY(generic)
#undef MLX_CATEGORY
  cls.export_values();
}

void bind_limits(nb::module_& m) {
  nb::class_<FloatInfo> f(m, "finfo", "Limits of a floating dtype, or of a complex dtype's parts.");
  f.def(nb::new_([](nb::object t) { return float_info(dtype_of(t, "finfo")); }));
  def_property(
      f, "bits(self) -> int", [](const FloatInfo& i) { return i.bits; }, "Bits of an element.");
  def_property(f, "dtype(self) -> Dtype", [](const FloatInfo& i) { return i.dtype; }, "The dtype.");
#define MLX_LIMIT(NAME, DOC) \
  def_property(f, #NAME "(self) -> float", [](const FloatInfo& i) { return i.NAME; }, DOC);
  MLX_LIMIT(min, "Smallest finite number.")
  MLX_LIMIT(max, "Largest finite number.")
  MLX_LIMIT(eps, "Distance from 1 to the next number.")
  MLX_LIMIT(smallest_normal, "Smallest positive normal number.")
#undef MLX_LIMIT
  def(
      f, "__repr__(self) -> str",
      [](const FloatInfo& i) {
        return cat("finfo(min=", i.min, ", max=", i.max, ", dtype=", dtype_name(i.dtype), ")");
      },
      "The limits.");
  nb::class_<IntInfo> n(m, "iinfo", "Limits of an integer dtype.");
  n.def(nb::new_([](nb::object t) { return int_info(dtype_of(t, "iinfo")); }));
  def_property(
      n, "bits(self) -> int", [](const IntInfo& i) { return 8 * i.dtype.size(); },
      "Bits of an element.");
  def_property(n, "dtype(self) -> Dtype", [](const IntInfo& i) { return i.dtype; }, "The dtype.");
  def_property(
      n, "min(self) -> int", [](const IntInfo& i) { return nb::object(i.min); },
      "Smallest number.");
  def_property(
      n, "max(self) -> int", [](const IntInfo& i) { return nb::object(i.max); }, "Largest number.");
  def(
      n, "__repr__(self) -> str",
      [](const IntInfo& i) {
        return cat("iinfo(min=", text_of(i.min), ", max=", text_of(i.max),
                   ", dtype=", dtype_name(i.dtype), ")");
      },
      "The limits.");
}

void bind_queries(nb::module_& m) {
  def(m, "issubdtype(arg1: Dtype | DtypeCategory, arg2: Dtype | DtypeCategory) -> bool",
      [](nb::handle a, nb::handle b) { return is_subtype(a, b); });
  def(m, "result_type(*arrays_and_dtypes: array | Dtype | scalar) -> Dtype", [](Star items) {
    if (items.size() == 0)
      fail<ValueError>("result_type", "no arguments; at least one array or dtype is accepted");
    // Python scalars are weakly typed: only their kind counts beside operands with a dtype.
    std::optional<Dtype> t;
    for (size_t i = 0; i < items.size(); ++i)
      if (!is_scalar(items[i].ptr())) {
        const Dtype next = dtype_of(items[i], "result_type");
        t = t ? promote_types(*t, next) : next;
      }
    for (size_t i = 0; i < items.size(); ++i)
      if (is_scalar(items[i].ptr())) {
        array x = scalar_array(items[i].ptr());
        if (t) weak_array(items[i].ptr(), *t, x);
        t = t ? promote_types(*t, x.dtype()) : x.dtype();
      }
    return *t;
  });
  def(m, "can_cast(from_: array | Dtype, to: Dtype) -> bool", [](nb::handle from, Dtype to) {
    return promote_types(dtype_of(from, "can_cast"), to) == to;
  });
  def(m, "isdtype(dtype: Dtype, kind: Dtype | str | tuple[Dtype | str, ...]) -> bool",
      [](Dtype t, nb::handle kind) {
        if (!PyTuple_Check(kind.ptr())) return is_of_kind(t, kind);
        bool any = false;
        for (nb::handle k : nb::borrow<nb::tuple>(kind)) any = is_of_kind(t, k) || any;
        return any;
      });
}

}  // namespace

void bind_dtypes(nb::module_& m) {
  bind_class(m);
  bind_categories(m);
  bind_limits(m);
  bind_queries(m);
}

}  // namespace mlx::python
