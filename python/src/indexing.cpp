// Index expressions as data for mlx/ops/indexing.h, and the class behind `array.at`.
#include "indexing.h"

#include "convert.h"
#include "function.h"
#include "transformed.h"

namespace mlx::python {

namespace {

std::optional<int64_t> slice_bound(PyObject* o) {
  if (o == Py_None) return {};
  // As in Python, a bound larger than any length is clamped.
  if (PyLong_Check(o)) return PyNumber_AsSsize_t(o, nullptr);
  int64_t v;
  if (!load_integer(o, v))
    throw IndexError(
        cat("[index] a slice bound of type ", class_name(o), "; integers and None are accepted"));
  return v;
}

/// True for an object that states a shape with at least one axis.
bool has_axes(PyObject* o) {
  if (!has_attr(o, "shape")) return false;
  const Py_ssize_t axes = PyObject_Length(nb::object(nb::handle(o).attr("shape")).ptr());
  return axes < 0 ? not_of_kind() : axes > 0;
}

IndexItem parse_item(PyObject* o) {
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow)
      throw IndexError(
          cat("[index] index ", text_of(o), " is out of range; integers of 64 bits are accepted"));
    return IndexItem::integer(v);
  }
  if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    return IndexItem::slice(slice_bound(s->start), slice_bound(s->stop), slice_bound(s->step));
  }
  if (o == Py_None) return IndexItem::newaxis();
  if (o == Py_Ellipsis) return IndexItem::ellipsis();
  if (is_array(o)) return IndexItem::positions(to_array(o));
  if (PyBool_Check(o)) return IndexItem::positions(scalar_array(o));
  if (PyList_Check(o) || PyTuple_Check(o)) {
    bool empty = PySequence_Fast_GET_SIZE(o) == 0;
    return IndexItem::positions(to_array(o, empty ? std::optional<Dtype>(int32) : std::nullopt));
  }
  const bool buffer = is_array_like(o);
  if (int64_t v; PyIndex_Check(o) && !(buffer && has_axes(o)) && load_integer(o, v))
    return IndexItem::integer(v);
  if (buffer) return IndexItem::positions(to_array(o));
  throw IndexError(cat("[index] an index of type ", class_name(o),
                       "; integers, slices, None, ..., lists and arrays of integers or bool are "
                       "accepted"));
}

/// a.at[index]: the array and the index of an update.
struct ArrayAt {
  nb::object target;
  std::optional<IndexItems> items;

  array update(nb::handle value, UpdateKind kind) const {
    if (!items) throw ValueError("[at] no indices were given; a.at[indices] is accepted");
    const array& a = checked(target.ptr());
    return index_update(a, *items, update_value(a, value.ptr()), kind);
  }
};

}  // namespace

IndexItems parse_index(PyObject* index) {
  IndexItems items;
  if (PyTuple_Check(index)) {
    items.reserve(static_cast<size_t>(PyTuple_GET_SIZE(index)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); ++i)
      items.push_back(parse_item(PyTuple_GET_ITEM(index, i)));
  } else {
    items.push_back(parse_item(index));
  }
  return items;
}

array get_item(const array& a, PyObject* index) { return index_read(a, parse_index(index)); }

array update_value(const array& a, PyObject* value) {
  array v;
  if (weak_array(value, a.dtype(), v)) return v;
  return to_array(value, PyList_Check(value) || PyTuple_Check(value)
                             ? std::optional<Dtype>(a.dtype())
                             : std::nullopt);
}

template <>
struct From<ArrayAt> : FromBound<ArrayAt> {};

void bind_at(nb::module_& m, nb::handle array_class) {
  nb::class_<ArrayAt> cls(m, "ArrayAt",
                          "Updates at indexed positions that apply every repeated index.");
  def(
      cls, "__getitem__(self, indices: object | None) -> ArrayAt",
      [](const ArrayAt& at, nb::handle indices) -> nb::object {
        return nb::cast(ArrayAt{at.target, parse_index(indices.ptr())});
      },
      "Chooses the positions.");
  // Python would iterate by indices until one is refused, and here each index chooses positions.
  cls.attr("__iter__") = nb::none();
  cls.attr("__contains__") = nb::none();
#define MLX_UPDATE(NAME, DOC)                                                                 \
  def(                                                                                        \
      cls, #NAME "(self, value: ScalarOrArray) -> array",                                     \
      [](const ArrayAt& at, nb::handle value) { return at.update(value, UpdateKind::NAME); }, \
      DOC);
  MLX_UPDATE(
      set, "The array with the positions replaced by `value`; the last one of a repetition stays.")
  MLX_UPDATE(add, "The array with `value` added at the positions, once for each repetition.")
  MLX_UPDATE(subtract, "The array with `value` subtracted at the positions.")
  MLX_UPDATE(multiply, "The array with the positions multiplied by `value`.")
  MLX_UPDATE(divide, "The array with the positions divided by `value`.")
  MLX_UPDATE(maximum, "The array with the larger of the elements and `value` at the positions.")
  MLX_UPDATE(minimum, "The array with the smaller of the elements and `value` at the positions.")
#undef MLX_UPDATE
  def(
      cls, "get(self) -> array",
      [](const ArrayAt& at) {
        if (!at.items) throw ValueError("[at] no indices were given; a.at[indices] is accepted");
        return index_read(checked(at.target.ptr()), *at.items);
      },
      "The elements at the positions, as `a[indices]`.");
  def(
      cls, "apply(self, fn: Callable[[array], array]) -> array",
      [](const ArrayAt& at, nb::callable fn) {
        if (!at.items) throw ValueError("[at] no indices were given; a.at[indices] is accepted");
        const nb::object elements =
            nb::steal(wrap(index_read(checked(at.target.ptr()), *at.items)));
        return at.update(call_python(fn, {elements}), UpdateKind::set);
      },
      "The array with the elements at the positions replaced by `fn` of them.");
  def_property(
      array_class, "at(self) -> ArrayAt",
      [](ArrayObject self) -> nb::object {
        return nb::cast(ArrayAt{nb::borrow(self), std::nullopt});
      },
      "Updates at indexed positions: a.at[indices].add(value) and so on.");
}

}  // namespace mlx::python
