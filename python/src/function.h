// Python functions and methods over C++ callables. A function is declared once, by the text of its
// signature:
//
//   def(m, "round(a: array, /, decimals: int = 0, stream: StreamOrDevice = None) -> array",
//       [](const array& a, int decimals, StreamOrDevice s) { return round(a, decimals, s); });
//
// The text gives the names, the kinds and the defaults of the parameters (evaluated once, in the
// namespace of mlx.core); the C++ parameter types say how arguments convert (args.h). The docstring
// is the entry of that name in python/docstrings. A call costs an array look-up per argument: no
// tuple, no dict, no overload search.
#pragma once

#include <memory>
#include <vector>

#include "args.h"

namespace mlx::python {

/// One signature and the C++ function behind it.
struct Overload {
  struct Parameter {
    PyObject* name;            ///< interned
    PyObject* fallback;        ///< the default, or null where an argument is required
    PyObject* standard;        ///< another name that the array API standard has for it, or null
    bool positional, keyword;  ///< how it may be given
    std::string annotation;    ///< its type, as declared
  };
  static constexpr int kMaxParameters = 16;

  std::string signature;  ///< as declared
  std::string doc;
  std::vector<Parameter> parameters;
  int n_positional = 0;
  int n_required = 0;     ///< leading positional parameters without a default
  std::string star;       ///< the name of *args, if there are any
  std::string star_star;  ///< the name of **kwargs, if there are any
  bool method = false;    ///< the first parameter is self
  PyObject* (*call)(const Overload&, const Call&) = nullptr;
  std::unique_ptr<Overload> next;

  /// The signature, and with the standard's names of parameters a second one.
  std::vector<std::string> signatures() const;
  /// The parameter that a keyword names, or the number of parameters.
  size_t find(PyObject* keyword) const;

  /// Parses the signature; defaults are looked up in mlx.core.
  Overload(const char* signature, const char* doc, bool method);
  /// Assigns arguments to parameters; false where they do not fit.
  bool bind(PyObject* const* args, size_t nargs, PyObject* names, Call& call) const;
};

/// Returned by `Overload::call` where an argument does not convert.
inline PyObject* const kMismatch = reinterpret_cast<PyObject*>(alignof(std::max_align_t));

/// The type of functions that `def` declares, `mlx.core.function`; null with an error of Python.
PyTypeObject* function_type();

namespace detail {

void add_function(nb::handle scope, std::unique_ptr<Overload> overload);
void add_property(nb::handle scope, std::unique_ptr<Overload> getter,
                  std::unique_ptr<Overload> setter);

template <class F>
struct CallableTraits : CallableTraits<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct CallableTraits<R (C::*)(A...) const> {
  template <class F>
  static PyObject* invoke(const Overload&, const Call& call) {
    return apply<F>(call, std::index_sequence_for<A...>());
  }
  static constexpr size_t arity = sizeof...(A);

 private:
  template <class F, size_t... I>
  static PyObject* apply(const Call& call, std::index_sequence<I...>) {
    return guarded([&]() -> PyObject* {
      std::tuple<From<std::remove_cvref_t<A>>...> from;
      if (!(load<I>(std::get<I>(from), call) && ...)) {
        not_of_kind();
        return kMismatch;
      }
      if constexpr (std::is_void_v<R>) {
        F{}(std::get<I>(from).get()...);
        return Py_NewRef(Py_None);
      } else {
        return to_python(F{}(std::get<I>(from).get()...));
      }
    });
  }
  /// *args and **kwargs take no parameter of their own.
  template <class T>
  static constexpr bool is_rest = std::is_same_v<T, Star> || std::is_same_v<T, Keywords>;
  template <size_t I>
  static constexpr size_t parameter_of() {
    constexpr bool rest[] = {is_rest<std::remove_cvref_t<A>>..., false};
    size_t n = 0;
    for (size_t i = 0; i < I; ++i) n += !rest[i];
    return n;
  }
  template <size_t I, class T>
  static bool load(From<T>& from, const Call& call) {
    if constexpr (is_rest<T>) {
      return from.load(call);
    } else {
      return from.load(call.values[parameter_of<I>()]);
    }
  }
};

template <class F>
std::unique_ptr<Overload> make_overload(const char* signature, const char* doc, bool method) {
  auto o = std::make_unique<Overload>(signature, doc, method);
  o->call = CallableTraits<F>::template invoke<F>;
  if (o->parameters.size() + !o->star.empty() + !o->star_star.empty() != CallableTraits<F>::arity)
    throw std::logic_error(std::string("parameters of ") + signature);
  return o;
}

}  // namespace detail

/// Adds a function to a module, or a method to a class (its first parameter is then `self`). A
/// second one of the same name is tried where the arguments do not fit the first. `doc` is the
/// docstring if python/docstrings has none.
template <class F>
void def(nb::handle scope, const char* signature, F, const char* doc = "") {
  detail::add_function(scope, detail::make_overload<F>(signature, doc, PyType_Check(scope.ptr())));
}
/// Adds a read-only property; the signature reads "name(self) -> type".
template <class F>
void def_property(nb::handle cls, const char* signature, F, const char* doc) {
  detail::add_property(cls, detail::make_overload<F>(signature, doc, true), nullptr);
}
/// Adds a property that can be set; the setter's signature reads "name(self, value: type) -> None".
template <class F, class G>
void def_property(nb::handle cls, const char* getter, F, const char* setter, G, const char* doc) {
  detail::add_property(cls, detail::make_overload<F>(getter, doc, true),
                       detail::make_overload<G>(setter, doc, true));
}
/// Another name for a member of the scope.
inline void alias(nb::handle scope, const char* name, const char* of) {
  scope.attr(name) = scope.attr(of);
}

}  // namespace mlx::python
