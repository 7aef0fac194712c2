// The Python type of bound functions: binding of arguments, introspection.
#include "function.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>

#include "docstrings.h"
#include "lock.h"
#include "signature.h"
#include "signature_text.h"

namespace mlx::python {

namespace {

struct Function {
  PyObject_HEAD vectorcallfunc vectorcall;
  Overload* overload;
  PyObject *name, *qualname, *module;
};

Function* as_function(PyObject* o) { return reinterpret_cast<Function*>(o); }

/// The value of a default, evaluated in the namespace of mlx.core. Never freed: it is shared.
PyObject* evaluate_default(const std::string& text) {
  static auto* cache = new std::unordered_map<std::string, PyObject*>;
  if (auto it = cache->find(text); it != cache->end()) return it->second;
  nb::dict globals;
  globals["__builtins__"] = nb::module_::import_("builtins");
  nb::object module = owned(Py_XNewRef(PyImport_AddModule("mlx.core")));
  nb::object space = module.attr("__dict__");
  PyObject* v = PyRun_String(text.c_str(), Py_eval_input, globals.ptr(), space.ptr());
  if (!v) throw nb::python_error();
  return (*cache)[text] = v;
}

/// The array API standard's name for a parameter of a function, where it is another one.
PyObject* standard_name(std::string_view function, std::string_view parameter) {
  static constexpr std::string_view with_device[] = {
      "arange",    "astype",   "empty", "empty_like", "eye",      "fftfreq", "full",
      "full_like", "linspace", "ones",  "ones_like",  "rfftfreq", "zeros",   "zeros_like"};
  const char* name = nullptr;
  if (parameter == "stream" && std::ranges::find(with_device, function) != std::end(with_device))
    name = "device";
  if (parameter == "vals" && (function == "full" || function == "full_like")) name = "fill_value";
  return name ? PyUnicode_InternFromString(name) : nullptr;
}

std::string overload_name(const Overload& o) {
  return o.signature.substr(0, o.signature.find('('));
}

}  // namespace

Overload::Overload(const char* sig, const char* d, bool is_method)
    : signature(sig), doc(d), method(is_method) {
  SignatureText text = parse_signature(signature);
  star = text.star;
  star_star = text.star_star;
  for (SignatureText::Parameter& p : text.parameters) {
    PyObject* fallback = p.fallback.empty() ? nullptr : evaluate_default(p.fallback);
    PyObject* interned = PyUnicode_InternFromString(p.name.c_str());
    PyObject* standard = method ? nullptr : standard_name(text.name, p.name);
    parameters.push_back(
        {interned, fallback, standard, p.positional, p.keyword, std::move(p.annotation)});
    n_positional += p.positional;
    n_required += p.positional && !fallback;
  }
  for (Parameter& p : parameters)
    if (std::ranges::find(parameters, p.standard, &Parameter::name) != parameters.end())
      p.standard = nullptr;
  if (method && !parameters.empty()) parameters[0].keyword = false;
  if (parameters.size() > kMaxParameters)
    throw std::logic_error("too many parameters: " + signature);
}

std::vector<std::string> Overload::signatures() const {
  std::string other = signature;
  for (const Parameter& p : parameters) {
    if (!p.standard) continue;
    const std::string name = std::string(PyUnicode_AsUTF8(p.name)) + ":";
    other.replace(other.find(name), name.size(), PyUnicode_AsUTF8(p.standard) + std::string(":"));
  }
  return other == signature ? std::vector{signature} : std::vector{signature, other};
}

size_t Overload::find(PyObject* keyword) const {
  const size_t n = parameters.size();
  for (size_t i = 0; i < n; ++i)
    if (parameters[i].name == keyword && parameters[i].keyword) return i;
  auto is = [&](PyObject* name) { return name && PyUnicode_Compare(name, keyword) == 0; };
  for (size_t i = 0; i < n; ++i)
    if (parameters[i].keyword && (is(parameters[i].name) || is(parameters[i].standard))) return i;
  return n;
}

bool Overload::bind(PyObject* const* args, size_t nargs, PyObject* names, Call& call) const {
  size_t n = parameters.size(), positional = static_cast<size_t>(n_positional);
  size_t given = std::min(nargs, positional);
  for (size_t i = 0; i < given; ++i) call.values[i] = args[i];
  if (nargs > positional) {
    if (star.empty()) return false;
    call.star = {args + positional, nargs - positional};
  }
  for (size_t i = given; i < n; ++i) call.values[i] = parameters[i].fallback;
  size_t extra = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
  uint32_t named = 0;
  for (size_t k = 0; k < extra; ++k) {
    PyObject* name = PyTuple_GET_ITEM(names, k);
    const size_t i = find(name);
    if (i < n) {
      if (i < given || named >> i & 1) return false;  // given twice
      named |= 1u << i;
      call.values[i] = args[nargs + k];
    } else if (!star_star.empty()) {
      if (!call.keywords.is_valid()) call.keywords = nb::dict();
      call.keywords[nb::handle(name)] = nb::handle(args[nargs + k]);
    } else {
      return false;
    }
  }
  if (!star_star.empty() && !call.keywords.is_valid()) call.keywords = nb::dict();
  for (size_t i = given; i < n; ++i)
    if (!call.values[i]) return false;
  return true;
}

namespace {

/// "array" for array.__init__, as users call it.
PyObject* called_name(Function* f) {
  if (PyUnicode_CompareWithASCIIString(f->name, "__init__") != 0) return Py_NewRef(f->name);
  const std::string name = PyUnicode_AsUTF8(f->qualname);
  const std::string cls = name.substr(0, name.rfind('.'));
  return PyUnicode_FromString(cls.substr(cls.rfind('.') + 1).c_str());
}

/// For the first argument that names a dtype without being one: which dtype is meant.
std::string hint_of_dtype(const std::string& accepted, PyObject* const* args, size_t n) {
  if (accepted.find("Dtype") == std::string::npos) return "";
  for (size_t i = 0; i < n; ++i)
    if (auto t = dtype_meant(args[i])) {
      const std::string name = std::string(dtype_name(*t)) + (*t == bool_ ? "_" : "");
      return cat("; for the dtype ", repr_of(args[i]), " write mx.", name);
    }
  return "";
}

/// The sentence of mlx._names for arguments as other libraries take them, or nothing.
std::string hint_of_call(PyObject* called, const std::string& accepted, PyObject* const* args,
                         size_t nargs, PyObject* names) {
  nb::list positional;
  for (size_t i = 0; i < nargs; ++i) positional.append(nb::handle(args[i]));
  const nb::object keywords = names ? nb::borrow(names) : nb::object(nb::make_tuple());
  nb::object text =
      nb::module_::import_("mlx._names")
          .attr("call_hint")(nb::handle(called), accepted.c_str(), positional, keywords);
  return nb::cast<std::string>(text);
}

PyObject* report_mismatch(Function* f, PyObject* const* args, size_t nargs, PyObject* names) {
  std::string given;
  size_t extra = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
  for (size_t i = 0; i < nargs + extra; ++i) {
    if (i) given += ", ";
    if (i >= nargs) given += text_of(PyTuple_GET_ITEM(names, i - nargs)) + "=";
    given += class_name(args[i]);
  }
  const nb::object called = nb::steal(called_name(f));
  std::string accepted;
  for (Overload* o = f->overload; o; o = o->next.get())
    accepted += (accepted.empty() ? "" : " or ") + o->signature;
  const std::string call_hint = hint_of_call(called.ptr(), accepted, args, nargs, names);
  for (size_t k = 0; k < extra; ++k) {
    PyObject* name = PyTuple_GET_ITEM(names, k);
    bool known = false;
    for (Overload* o = f->overload; o && !known; o = o->next.get())
      known = !o->star_star.empty() || o->find(name) < o->parameters.size();
    if (known) continue;
    PyErr_Format(argument_error, "[%U] unexpected keyword argument '%U'; accepted: %s%s",
                 called.ptr(), name, accepted.c_str(), call_hint.c_str());
    return nullptr;
  }
  std::string hint = hint_of_dtype(accepted, args, nargs + extra);
  if (hint.empty()) hint = call_hint;
  PyErr_Format(argument_error, "[%U] incompatible function arguments (%s); accepted: %s%s",
               called.ptr(), given.c_str(), accepted.c_str(), hint.c_str());
  return nullptr;
}

PyObject* function_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  run_releases();
  Function* f = as_function(self);
  size_t nargs = PyVectorcall_NARGS(nargsf);
  return guarded([&] {
    for (const Overload* o = f->overload; o; o = o->next.get()) {
      Call call;
      if (!o->bind(args, nargs, names, call)) continue;
      PyObject* r = o->call(*o, call);
      if (r != kMismatch) return r;
    }
    return report_mismatch(f, args, nargs, names);
  });
}

PyObject* function_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || !as_function(self)->overload->method) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

/// __module__ belongs to the type as well, so it cannot be a descriptor.
PyObject* function_getattr(PyObject* self, PyObject* name) {
  if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "__module__") == 0)
    return Py_NewRef(as_function(self)->module);
  return PyObject_GenericGetAttr(self, name);
}

PyObject* function_repr(PyObject* self) {
  return PyUnicode_FromFormat("<function %U.%U>", as_function(self)->module,
                              as_function(self)->qualname);
}

PyObject* get_doc(PyObject* self, void*) {
  std::string out;
  for (Overload* o = as_function(self)->overload; o; o = o->next.get()) {
    for (const std::string& signature : o->signatures()) out += signature + "\n";
    if (!o->next) out += "\n" + o->doc;
  }
  return PyUnicode_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size()));
}

PyObject* get_signature(PyObject* self, void*) {
  return guarded([&] { return inspect_signature(*as_function(self)->overload).release().ptr(); });
}

/// ((signature, doc, defaults), …) as nanobind's own functions have it, for its stub generator.
PyObject* get_nb_signature(PyObject* self, void*) {
  return guarded([&] {
    nb::list out;
    for (Overload* o = as_function(self)->overload; o; o = o->next.get())
      for (const std::string& signature : o->signatures())
        out.append(nb::make_tuple("def " + signature, o->doc, nb::none()));
    return nb::tuple(out).release().ptr();
  });
}

PyObject* reduce_function(PyObject* self, PyObject*) {
  return Py_NewRef(as_function(self)->qualname);
}

PyGetSetDef function_getset[] = {{"__doc__", get_doc, nullptr, nullptr, nullptr},
                                 {"__signature__", get_signature, nullptr, nullptr, nullptr},
                                 {"__nb_signature__", get_nb_signature, nullptr, nullptr, nullptr},
                                 {}};
PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, nullptr},
    {"__name__", T_OBJECT, offsetof(Function, name), READONLY, nullptr},
    {"__qualname__", T_OBJECT, offsetof(Function, qualname), READONLY, nullptr},
    {}};
PyMethodDef function_methods[] = {{"__reduce__", reduce_function, METH_NOARGS, nullptr}, {}};
PyType_Slot function_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(function_get)},
                                {Py_tp_repr, reinterpret_cast<void*>(function_repr)},
                                {Py_tp_getattro, reinterpret_cast<void*>(function_getattr)},
                                {Py_tp_getset, function_getset},
                                {Py_tp_members, function_members},
                                {Py_tp_methods, function_methods},
                                {0, nullptr}};
PyType_Spec function_spec = {"mlx.core.function", sizeof(Function), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             function_slots};

}  // namespace

PyTypeObject* function_type() {
  static auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&function_spec));
  return type;
}

namespace {

/// Functions live as long as the process: they are never freed.
nb::object make_function(nb::handle scope, std::unique_ptr<Overload> overload) {
  PyTypeObject* type = function_type();
  if (!type) throw nb::python_error();
  Function* f = PyObject_New(Function, type);
  if (!f) throw nb::python_error();
  bool module = PyModule_Check(scope.ptr());
  std::string name = overload_name(*overload);
  std::string qualname =
      module ? name : nb::cast<std::string>(scope.attr("__qualname__")) + "." + name;
  f->vectorcall = function_call;
  f->name = PyUnicode_InternFromString(name.c_str());
  f->qualname = PyUnicode_InternFromString(qualname.c_str());
  f->module = nb::object(scope.attr(module ? "__name__" : "__module__")).release().ptr();
  f->overload = overload.release();
  Py_INCREF(f);
  return nb::steal(reinterpret_cast<PyObject*>(f));
}

}  // namespace

namespace {

/// The docstring of a function of mlx.core or a submodule. Methods of arrays repeat the first
/// sentence of the function of the same name; mlx.core.metal has functions of mlx.core.
std::string doc_of(nb::handle scope, const std::string& name, const std::string& otherwise) {
  const bool module = PyModule_Check(scope.ptr());
  std::string path = nb::cast<std::string>(scope.attr(module ? "__name__" : "__qualname__")) + ".";
  if (module) path = path == "mlx.core." ? "" : path.substr(path.find("core.") + 5);
  if (const char* text = docstring_of(path + name)) return text;
  if (!otherwise.empty()) return otherwise;
  const char* text = docstring_of(name);
  if (!text || path == "metal.") return text ? text : "";
  const std::string_view whole = text;
  return cat(whole.substr(0, whole.find("\n\n")), "\n\nSee `mlx.core.", name, "`.");
}

}  // namespace

namespace detail {

void add_function(nb::handle scope, std::unique_ptr<Overload> overload) {
  std::string name = overload_name(*overload);
  overload->doc = doc_of(scope, name, overload->doc);
  nb::object space = scope.attr("__dict__");
  if (nb::object own = space.attr("get")(name); Py_TYPE(own.ptr()) == function_type()) {
    Overload* last = as_function(own.ptr())->overload;
    while (last->next) last = last->next.get();
    last->next = std::move(overload);
  } else {
    scope.attr(name.c_str()) = make_function(scope, std::move(overload));
  }
}

void add_property(nb::handle scope, std::unique_ptr<Overload> getter,
                  std::unique_ptr<Overload> setter) {
  std::string name = overload_name(*getter);
  std::string doc = getter->doc;
  nb::object set = setter ? make_function(scope, std::move(setter)) : nb::none();
  nb::object property = nb::borrow(reinterpret_cast<PyObject*>(&PyProperty_Type));
  scope.attr(name.c_str()) =
      property(make_function(scope, std::move(getter)), set, nb::none(), doc);
}

}  // namespace detail

}  // namespace mlx::python
