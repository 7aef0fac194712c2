// The functions that extensions written with other tools use (mlx/python.h).
#include "convert.h"
#include "mlx/core/node.h"
#include "mlx/core/op.h"
#include "mlx/python.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

// A changed size is another ABI: then kAbi of mlx/python.h increases.
static_assert(core::python::kAbi == 3 && sizeof(array) == 8 && sizeof(Dtype) == 2);
#ifdef __GLIBCXX__  // of GCC and Clang with this standard library
static_assert(sizeof(Node) == 192 && sizeof(Shape) == 40 && sizeof(StreamOrDevice) == 16 &&
              sizeof(OpDef) == 104);
#endif

/// False where `load` throws: callers take the object for one of another type.
template <class F>
bool loads(F&& load) noexcept {
  const bool loaded = guarded(false, load);
  PyErr_Clear();
  return loaded;
}

constexpr core::python::ExtensionApi api = {
    core::python::kAbi,
    [](const array& a) -> PyObject* {
      return guarded([&] {
        if (!a) throw ValueError("[array] a null handle; an initialised array is accepted");
        return wrap(a);
      });
    },
    [](PyObject* o) -> const array* { return is_array(o) && array_of(o) ? &array_of(o) : nullptr; },
    [](Dtype t) { return to_python(t); },
    [](PyObject* o, Dtype& t) {
      return loads([&] { return nb::isinstance<Dtype>(o) && load_dtype(o, t); });
    },
    [](PyObject* o, StreamOrDevice& s) { return loads([&] { return load_stream(o, s); }); }};

}  // namespace

void bind_extension_api(nb::module_&, nb::handle array_class) {
  PyObject* capsule =
      PyCapsule_New(const_cast<core::python::ExtensionApi*>(&api), core::python::kCapsule, nullptr);
  if (!capsule) throw nb::python_error();
  array_class.attr("_extension_api") = nb::steal(capsule);
}

}  // namespace mlx::python
