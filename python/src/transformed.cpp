// The Python type of transformed functions.
#include "transformed.h"

#include <structmember.h>

#include "pickle.h"

namespace mlx::python {

namespace {

struct Transformed {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *fun, *held, *recipe, *weak;
  TransformedCall* call;
};
Transformed* self_of(PyObject* o) { return reinterpret_cast<Transformed*>(o); }

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  return guarded([&] {
    nb::object keep = nb::borrow(self);
    size_t n = PyVectorcall_NARGS(nargsf);
    nb::dict kwargs;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
      kwargs[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(args[n + i]);
    Transformed* t = self_of(self);
    return (*t->call)(t->fun, Star{{args, n}}, std::move(kwargs)).release().ptr();
  });
}

int traverse_transformed(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(self_of(self)->fun);
  Py_VISIT(self_of(self)->held);
  Py_VISIT(self_of(self)->recipe);
  return 0;
}
int clear_transformed(PyObject* self) {
  Py_CLEAR(self_of(self)->fun);
  Py_CLEAR(self_of(self)->held);
  Py_CLEAR(self_of(self)->recipe);
  return 0;
}
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (self_of(self)->weak) PyObject_ClearWeakRefs(self);
  clear_transformed(self);
  delete self_of(self)->call;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

/// Attributes that the transformed function shares with the original.
PyObject* get_shared(PyObject* self, void* name) {
  PyObject* v = PyObject_GetAttrString(self_of(self)->fun, static_cast<const char*>(name));
  return v;
}
PyObject* get_wrapped(PyObject* self, void*) { return Py_NewRef(self_of(self)->fun); }
PyObject* transformed_repr(PyObject* self) {
  return PyUnicode_FromFormat("<transformed %R>", self_of(self)->fun);
}

/// Pickles by name where it stands in a module in place of its function, otherwise as the call that
/// makes it.
PyObject* reduce_transformed(PyObject* self, PyObject*) {
  return guarded([&] {
    if (nb::object name = reduce_to_name(self_of(self)->fun, self); name.is_valid())
      return name.release().ptr();
    nb::handle recipe = self_of(self)->recipe;
    nb::object maker = nb::module_::import_("mlx.core").attr(nb::object(recipe[0]));
    nb::list args;
    args.append(nb::handle(self_of(self)->fun));
    for (size_t i = 1; i < nb::len(recipe); ++i) args.append(nb::object(recipe[i]));
    return nb::make_tuple(maker, nb::tuple(args)).release().ptr();
  });
}

/// Functions are copied as themselves, and so is what they are transformed to: the containers that
/// `compile` was given are those that the function uses.
PyObject* deep_copy(PyObject* self, PyObject* memo) {
  return guarded([&] {
    nb::object copy = nb::module_::import_("copy").attr("deepcopy");
    nb::object fun = copy(nb::handle(self_of(self)->fun), nb::handle(memo));
    if (fun.is(nb::handle(self_of(self)->fun))) return Py_NewRef(self);
    nb::object recipe = copy(nb::handle(self_of(self)->recipe), nb::handle(memo));
    nb::object maker = nb::module_::import_("mlx.core").attr(nb::object(recipe[0]));
    nb::list args;
    args.append(fun);
    for (size_t i = 1; i < nb::len(recipe); ++i) args.append(nb::object(recipe[i]));
    return maker(*nb::tuple(args)).release().ptr();
  });
}

char shared_names[][16] = {"__name__", "__qualname__", "__doc__", "__annotations__"};
PyGetSetDef transformed_getset[] = {
    {shared_names[0], get_shared, nullptr, nullptr, shared_names[0]},
    {shared_names[1], get_shared, nullptr, nullptr, shared_names[1]},
    {shared_names[2], get_shared, nullptr, nullptr, shared_names[2]},
    {shared_names[3], get_shared, nullptr, nullptr, shared_names[3]},
    {"__wrapped__", get_wrapped, nullptr, nullptr, nullptr},
    {}};
PyMethodDef transformed_methods[] = {{"__reduce__", reduce_transformed, METH_NOARGS, nullptr},
                                     {"__deepcopy__", deep_copy, METH_O, nullptr},
                                     {}};
PyMemberDef transformed_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Transformed, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Transformed, weak), READONLY, nullptr},
    {}};
PyType_Slot transformed_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                   {Py_tp_traverse, reinterpret_cast<void*>(traverse_transformed)},
                                   {Py_tp_clear, reinterpret_cast<void*>(clear_transformed)},
                                   {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                                   {Py_tp_repr, reinterpret_cast<void*>(transformed_repr)},
                                   {Py_tp_getset, transformed_getset},
                                   {Py_tp_members, transformed_members},
                                   {Py_tp_methods, transformed_methods},
                                   {0, nullptr}};
PyType_Spec transformed_spec = {"mlx.core.transformed_function", sizeof(Transformed), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                    Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                transformed_slots};

PyTypeObject* transformed_type() {
  static auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&transformed_spec));
  if (!type) throw nb::python_error();
  return type;
}

}  // namespace

nb::object function_within(nb::handle transformed) {
  if (Py_TYPE(transformed.ptr()) != transformed_type()) return {};
  return nb::borrow(self_of(transformed.ptr())->fun);
}

nb::object make_transformed(nb::handle fun, TransformedCall f, nb::tuple recipe, nb::object held) {
  PyTypeObject* type = transformed_type();
  Transformed* t = PyObject_GC_New(Transformed, type);
  if (!t) throw nb::python_error();
  t->vectorcall = call;
  t->fun = Py_NewRef(fun.ptr());
  t->held = held.release().ptr();
  t->recipe = recipe.release().ptr();
  t->weak = nullptr;
  t->call = new TransformedCall(std::move(f));
  PyObject_GC_Track(reinterpret_cast<PyObject*>(t));
  return nb::steal(reinterpret_cast<PyObject*>(t));
}

nb::object call_object(nb::handle fun, nb::handle args, nb::handle kwargs) {
  try {
    nb::object r = nb::steal(PyObject_Call(fun.ptr(), args.ptr(), kwargs.ptr()));
    if (!r.is_valid()) throw nb::python_error();
    return r;
  } catch (ThreadEnds&) {
    stay_forever();
  }
}

nb::object call_python(nb::handle fun, const std::vector<nb::object>& args, nb::handle kwargs) {
  nb::object tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(args.size())));
  for (size_t i = 0; i < args.size(); ++i)
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(args[i].ptr()));
  return call_object(fun, tuple, kwargs);
}

}  // namespace mlx::python
