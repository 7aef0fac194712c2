// Derivatives of functions of trees as functions of tangents and cotangents, and shapes of results.
#include "linearize.h"

#include "convert.h"
#include "mlx/core/print.h"
#include "mlx/ops/creation.h"
#include "mlx/transforms/linearize.h"
#include "module.h"
#include "tree.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

/// The shape and the dtype of an array that has no values.
struct ShapeDtype {
  Shape shape;
  Dtype dtype;
  bool operator==(const ShapeDtype&) const = default;
};

}  // namespace

template <>
struct From<ShapeDtype> : FromBound<ShapeDtype> {};

namespace {

/// A Python function of trees, called with the arrays of `primals` replaced.
struct TreeFunction {
  const char* op;
  nb::handle fun;
  nb::tuple primals;
  bool has_aux = false;
  nb::object result, aux;  ///< of the last call

  Arrays operator()(const Arrays& arrays) {
    nb::object returned = call_object(fun, unflatten(primals, arrays));
    if (has_aux) {
      auto [main, beside] = pair_with_aux(op, returned);
      returned = main;
      aux = copied(beside);
    }
    result = returned;
    return flatten(result, op);
  }
};

nb::tuple tuple_of_trees(Star given) {
  nb::list items;
  for (nb::handle tree : given.items) items.append(tree);
  return nb::tuple(items);
}

/// The arrays that a linear map is given: a tree like `form`, or its items as arguments. None
/// stands for zeros.
Arrays given_arrays(const char* op, nb::handle form, const Arrays& like, const nb::args& args) {
  Arrays out;
  const bool one = args.size() == 1 && pair_arrays(form, args[0], out);
  if (!one) out.clear();
  const bool several = PyList_Check(form.ptr()) || PyTuple_Check(form.ptr());
  if (!one && !(several && pair_arrays(form, args, out)))
    fail<ValueError>(op, args.size(), " arguments; trees like the ",
                     PyTuple_Check(form.ptr()) ? "arguments of the function" : "result",
                     " are accepted");
  for (size_t i = 0; i < out.size(); ++i)
    if (!out[i]) out[i] = core::zeros_like(like[i]);
  return out;
}

/// One item as itself, several as a tuple.
nb::object one_or_several(nb::object trees) {
  return nb::len(trees) == 1 ? nb::object(trees[0]) : trees;
}

/// The result of the function, the linear map, and what the function returned beside it.
nb::object with_map(const TreeFunction& f, const Arrays& outputs, nb::object map) {
  nb::object result = unflatten(f.result, outputs);
  return f.has_aux ? nb::make_tuple(result, map, f.aux) : nb::make_tuple(result, map);
}

void bind_linear_maps(nb::module_& m) {
  def(m, "vjp_fn(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]",
      [](nb::callable fun, Star given, bool has_aux) {
        TreeFunction f{"vjp_fn", fun, tuple_of_trees(given), has_aux, {}, {}};
        const Arrays primals = flatten(f.primals, f.op);
        const auto [outputs, pull] = core::vjp_function(std::ref(f), primals);
        nb::object map = nb::cpp_function(
            [pull, like = outputs, form = copied(f.result), to = f.primals](const nb::args& args) {
              const Arrays cotangents = given_arrays("vjp_fn", form, like, args);
              return one_or_several(unflatten(to, pull(cotangents)));
            });
        return with_map(f, outputs, map);
      });
  def(m,
      "linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> "
      "tuple[Any, ...]",
      [](nb::callable fun, Star given, bool has_aux) {
        TreeFunction f{"linearize", fun, tuple_of_trees(given), has_aux, {}, {}};
        const Arrays primals = flatten(f.primals, f.op);
        const auto [outputs, push] = core::linearize(std::ref(f), primals);
        nb::object map = nb::cpp_function(
            [push, like = primals, form = f.primals, to = copied(f.result)](const nb::args& args) {
              return unflatten(to, push(given_arrays("linearize", form, like, args)));
            });
        return with_map(f, outputs, map);
      });
  def(m, "linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[..., Any]",
      [](nb::callable fun, Star given) {
        TreeFunction f{"linear_transpose", fun, tuple_of_trees(given), false, {}, {}};
        Arrays zeros;
        for (const array& a : flatten(f.primals, f.op)) zeros.push_back(core::zeros_like(a));
        const auto [outputs, pull] = core::vjp_function(std::ref(f), zeros);
        return nb::object(nb::cpp_function(
            [pull, like = outputs, form = copied(f.result), to = f.primals](const nb::args& args) {
              const Arrays cotangents = given_arrays("linear_transpose", form, like, args);
              return one_or_several(unflatten(to, pull(cotangents)));
            }));
      });
}

void bind_hvp(nb::module_& m) {
  def(m,
      "hvp(fun: Callable[..., Any], primals: Sequence[array], tangents: Sequence[array]) -> "
      "tuple[list[array], list[array]]",
      [](nb::callable fun, Arrays& primals, Arrays& tangents) {
        TreeFunction f{"hvp", fun, nb::tuple(tuple_of(primals)), false, {}, {}};
        // The derivative of the gradient along the tangents.
        const auto gradient = [&](const Arrays& at) {
          std::vector<int> argnums(at.size());
          for (size_t i = 0; i < argnums.size(); ++i) argnums[i] = static_cast<int>(i);
          return core::value_and_grad(core::Function(std::ref(f)), argnums)(at).second;
        };
        return core::jvp(gradient, primals, tangents);
      });
}

/// A tree with arrays in the place of shapes; they are never computed.
nb::object with_arrays(nb::handle tree) {
  return map_tree(tree, [](nb::handle leaf) -> nb::object {
    if (!nb::isinstance<ShapeDtype>(leaf)) return nb::borrow(leaf);
    const auto& of = instance_of<ShapeDtype>(leaf);
    return nb::steal(wrap(core::zeros(of.shape, of.dtype)));
  });
}

void bind_result_shapes(nb::module_& m) {
  nb::class_<ShapeDtype> cls(m, "ShapeDtypeStruct",
                             "The shape and the dtype of an array, without its values.");
  cls.def("__init__", [](ShapeDtype* self, nb::handle shape, nb::handle dtype) {
    From<AnyShape> lengths;
    if (!lengths.load(shape.ptr()))
      fail<TypeError>("ShapeDtypeStruct", "a shape of type ", class_name(shape),
                      "; an int or a sequence of ints is accepted");
    From<Dtype> type;
    if (!type.load(dtype.ptr()))
      fail<TypeError>("ShapeDtypeStruct", "a dtype of type ", class_name(dtype),
                      "; a Dtype is accepted");
    new (self) ShapeDtype{lengths.get().shape, type.get()};
  });
  def_property(
      cls, "shape(self) -> tuple[int, ...]", [](const ShapeDtype& s) { return s.shape; },
      "The lengths of the axes.");
  def_property(
      cls, "dtype(self) -> Dtype", [](const ShapeDtype& s) { return s.dtype; },
      "The type of the elements.");
  def_property(
      cls, "ndim(self) -> int",
      [](const ShapeDtype& s) { return static_cast<int>(s.shape.size()); }, "The number of axes.");
  def(
      cls, "__eq__(self, other: object) -> bool",
      [](const ShapeDtype& s, nb::handle other) {
        return nb::isinstance<ShapeDtype>(other) && s == instance_of<ShapeDtype>(other);
      },
      "True for the same shape and dtype.");
  def(
      cls, "__hash__(self) -> int",
      [](const ShapeDtype& s) {
        nb::object shape = nb::steal(to_python(s.shape));
        const std::string text = cat(text_of(shape), " ", dtype_name(s.dtype));
        return static_cast<int64_t>(std::hash<std::string>{}(text));
      },
      "The hash of the shape and the dtype.");
  def(
      cls, "__repr__(self) -> str",
      [](const ShapeDtype& s) {
        nb::object shape = nb::steal(to_python(s.shape));
        return cat("ShapeDtypeStruct(shape=", text_of(shape), ", dtype=", dtype_name(s.dtype), ")");
      },
      "The shape and the dtype.");
  def(m, "eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any",
      [](nb::callable fun, Star args, Keywords keywords) {
        const nb::object given =
            with_arrays(nb::make_tuple(tuple_of_trees(args), nb::handle(keywords.items)));
        Arrays inputs;
        collect_arrays(given, inputs);
        nb::object result;
        const auto call = [&](const Arrays& arrays) {
          const nb::object fresh = unflatten(given, arrays);
          result = call_object(fun, nb::object(fresh[0]), nb::object(fresh[1]));
          Arrays outputs;
          collect_arrays(result, outputs);
          return outputs;
        };
        const Arrays outputs = core::eval_shape(call, inputs);
        size_t next = 0;
        return map_tree(result, [&](nb::handle leaf) -> nb::object {
          if (!is_array(leaf.ptr())) return nb::borrow(leaf);
          const array& a = outputs[next++];
          return nb::cast(ShapeDtype{a.shape(), a.dtype()});
        });
      });
}

}  // namespace

std::pair<nb::object, nb::object> pair_with_aux(const char* op, nb::handle result) {
  if (!PyTuple_Check(result.ptr()) || nb::len(result) != 2)
    fail<ValueError>(op, "a function with has_aux=True that returned ", class_name(result),
                     "; a tuple of the value and a second one is accepted");
  return {nb::object(result[0]), nb::object(result[1])};
}

nb::object copied(nb::handle tree) {
  Arrays arrays;
  collect_arrays(tree, arrays);
  return unflatten(tree, arrays);
}

void bind_linearize(nb::module_& m) {
  bind_linear_maps(m);
  bind_hvp(m);
  bind_result_shapes(m);
}

}  // namespace mlx::python
