// Vectorization of Python functions: which axes of the arrays in argument and result trees are
// mapped.
#include "mlx/transforms/transforms.h"
#include "module.h"
#include "transformed.h"
#include "tree.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

bool is_sequence(nb::handle o) { return PyList_Check(o.ptr()) || PyTuple_Check(o.ptr()); }

/// Assigns an axis to each array of `tree` from `axes`, a tree of ints and None, in which a leaf
/// applies to a whole subtree.
void match_axes(const char* what, nb::handle axes, nb::handle tree, core::MappedAxes& out) {
  auto mismatch = [&] {
    fail<ValueError>("vmap", what, " of type ", class_name(axes), " for ", class_name(tree),
                     "; an int, None, or a tree of them with the form of the arrays is accepted");
  };
  if (is_sequence(axes)) {
    if (!is_sequence(tree) || nb::len(tree) != nb::len(axes)) mismatch();
    for (size_t i = 0; i < nb::len(axes); ++i) match_axes(what, axes[i], tree[i], out);
  } else if (PyDict_Check(axes.ptr())) {
    if (!PyDict_Check(tree.ptr()) || nb::len(tree) != nb::len(axes)) mismatch();
    for (const auto& [key, value] : pairs_of(tree)) {
      const nb::object axis = nb::borrow(PyDict_GetItemWithError(axes.ptr(), key.ptr()));
      if (PyErr_Occurred()) throw nb::python_error();
      if (!axis.is_valid()) mismatch();
      match_axes(what, axis, value, out);
    }
  } else {
    int64_t axis = 0;
    bool none = axes.is_none();
    if (!none && (PyBool_Check(axes.ptr()) || !load_integer(axes.ptr(), axis)))
      fail<ValueError>("vmap", what, " contains ", class_name(axes), "; int and None are accepted");
    if (axis != static_cast<int>(axis))
      fail<IndexError>("vmap", what, " contains ", axis, "; axes of the arrays are accepted");
    each_leaf(tree, [&](nb::handle leaf) {
      if (is_array(leaf.ptr())) {
        out.push_back(none ? std::nullopt : std::optional(static_cast<int>(axis)));
      } else if (!none) {
        fail<ValueError>("vmap", "a leaf of type ", class_name(leaf),
                         " is mapped; arrays are accepted, "
                         "and other values where ",
                         what, " has None");
      }
    });
  }
}

/// A tree of axes matches the tuple of arguments, or a single argument.
core::MappedAxes input_axes(nb::handle in_axes, nb::handle args) {
  core::MappedAxes out;
  bool for_one = nb::len(args) == 1 && !(is_sequence(in_axes) && nb::len(in_axes) == 1);
  match_axes("in_axes", in_axes, for_one ? nb::object(args[0]) : nb::borrow(args), out);
  return out;
}

nb::object call_vectorized(nb::handle fun, nb::handle in_axes, nb::handle out_axes, Star given,
                           nb::handle keywords) {
  nb::list list;
  for (nb::handle a : given.items) list.append(a);
  nb::tuple args(list);
  Arrays inputs;
  core::MappedAxes axes;
  if (nb::len(args) > 0 || nb::len(keywords) == 0) axes = input_axes(in_axes, args);
  // As in JAX, arrays in keyword arguments are mapped over their first axis.
  match_axes("a keyword argument", nb::int_(0), keywords, axes);
  const nb::object both = nb::make_tuple(args, keywords);
  collect_arrays(both, inputs);
  nb::object result;
  auto flat = [&](const Arrays& arrays) {
    nb::object fresh = unflatten(both, arrays);
    result = call_object(fun, nb::object(fresh[0]), nb::object(fresh[1]));
    return flatten(result, "vmap");
  };
  Arrays outputs = core::vmap_call(flat, inputs, axes, [&](size_t) {
    core::MappedAxes to;
    // A sequence with one axis matches a function that returns one array.
    bool for_one = is_array(result.ptr()) && is_sequence(out_axes) && nb::len(out_axes) == 1;
    match_axes("out_axes", for_one ? nb::object(out_axes[0]) : nb::borrow(out_axes), result, to);
    return to;
  });
  return unflatten(result, outputs);
}

}  // namespace

void bind_vmap(nb::module_& m) {
  def(m, "vmap(fun: Callable[P, R], in_axes: object = 0, out_axes: object = 0) -> Callable[P, R]",
      [](nb::callable fun, nb::handle in_axes, nb::handle out_axes) {
        if (in_axes.is_none() || out_axes.is_none())
          fail<TypeError>("vmap", in_axes.is_none() ? "in_axes" : "out_axes",
                          " None; ints and trees of ints and None are accepted");
        auto call = [=](nb::handle f, Star args, nb::dict kwargs) {
          return call_vectorized(f, in_axes, out_axes, args, kwargs);
        };
        return make_transformed(fun, call, nb::make_tuple("vmap", in_axes, out_axes));
      });
}

}  // namespace mlx::python
