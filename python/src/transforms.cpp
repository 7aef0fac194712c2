// Evaluation and derivatives of Python functions: trees are flattened to lists of arrays for the
// engine, and its results are unflattened.
#include "mlx/transforms/transforms.h"

#include <algorithm>

#include "convert.h"
#include "linearize.h"
#include "mlx/transforms/jacobian.h"
#include "module.h"
#include "substitution.h"
#include "transformed.h"
#include "tree.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

/// The arguments that a gradient is taken with respect to.
struct Selection {
  std::vector<int> positions;
  std::vector<std::string> names;
  bool has_names = false;
};

Selection select(const char* op, const std::optional<std::variant<int, std::vector<int>>>& argnums,
                 const std::variant<std::string, std::vector<std::string>>& argnames) {
  Selection s;
  if (auto* one = std::get_if<std::string>(&argnames)) {
    s.names = {*one};
  } else {
    s.names = std::get<std::vector<std::string>>(argnames);
  }
  s.has_names = !s.names.empty();
  if (argnums) {
    if (auto* one = std::get_if<int>(&*argnums))
      s.positions = {*one};
    else
      s.positions = std::get<std::vector<int>>(*argnums);
    // Gradients are in the order of the arguments, not of argnums.
    std::sort(s.positions.begin(), s.positions.end());
  } else if (!s.has_names) {
    s.positions = {0};
  }
  if (s.positions.empty() && !s.has_names)
    fail<ValueError>(op, "no arguments to differentiate; argnums or argnames must name some");
  for (size_t i = 0; i < s.positions.size(); ++i) {
    if (s.positions[i] < 0)
      fail<ValueError>(op, "argnums contains ", s.positions[i], "; indices from 0 on are accepted");
    if (std::count(s.positions.begin(), s.positions.end(), s.positions[i]) > 1)
      fail<ValueError>(op, "argnums contains ", s.positions[i], " twice; once is accepted");
  }
  for (const std::string& name : s.names)
    if (std::count(s.names.begin(), s.names.end(), name) > 1)
      fail<ValueError>(op, "argnames contains '", name, "' twice; once is accepted");
  return s;
}

/// The call that makes the transformed function again.
nb::tuple recipe(const char* op, const Selection& s, bool has_aux) {
  nb::list positions, names;
  for (int i : s.positions) positions.append(i);
  for (const std::string& name : s.names) names.append(name);
  nb::object argnums = s.positions.empty() ? nb::none() : nb::object(positions);
  return nb::make_tuple(op, argnums, names, has_aux);
}

/// The trees that are differentiated, and their positions among the arguments.
struct Arguments {
  const Selection& selection;
  std::vector<nb::object> positional;
  nb::dict keywords;
  std::vector<nb::object> trees;  ///< selected ones: positional, then by name
  std::vector<nb::object> forms;  ///< copies of them: the function may change its containers
  std::vector<size_t> sizes;      ///< number of arrays in each
  Arrays primals;

  Arguments(const char* op, const Selection& s, Star args, nb::dict kwargs)
      : selection(s), keywords(std::move(kwargs)) {
    for (size_t i = 0; i < args.size(); ++i) positional.push_back(nb::borrow(args[i]));
    for (int i : s.positions) {
      if (i >= static_cast<int>(positional.size()))
        fail<ValueError>(op, "argnums contains ", i, " but the function is called with ",
                         positional.size(), " positional arguments");
      trees.push_back(positional[i]);
    }
    for (const std::string& name : s.names) {
      PyObject* v = PyDict_GetItemString(keywords.ptr(), name.c_str());
      if (!v)
        fail<ValueError>(op, "argnames contains '", name,
                         "' but the function is called without that keyword argument");
      trees.push_back(nb::borrow(v));
    }
    for (const nb::object& t : trees) {
      Arrays arrays = flatten(t, op);
      forms.push_back(unflatten(t, arrays));
      sizes.push_back(arrays.size());
      primals.insert(primals.end(), arrays.begin(), arrays.end());
    }
  }

  /// Calls `fun` with the arrays of the selected trees replaced in the caller's containers until it
  /// and `read`, which reads its result, have returned.
  void call(nb::handle fun, const Arrays& arrays,
            const std::function<void(const nb::object&)>& read) const {
    Substitution held;
    std::vector<nb::object> args(positional.size());
    nb::dict kwargs;
    for (auto [key, value] : keywords) kwargs[key] = value;
    size_t first = 0, n = selection.positions.size();
    for (size_t i = 0; i < trees.size(); ++i) {
      nb::object tree = held.replace(trees[i], arrays, first);
      if (i < n)
        args[selection.positions[i]] = tree;
      else
        kwargs[selection.names[i - n].c_str()] = tree;
    }
    for (size_t i = 0; i < args.size(); ++i)
      if (!args[i].is_valid()) args[i] = held.protect(positional[i]);
    nb::dict others;
    for (auto [key, value] : keywords) others[key] = value;
    for (const std::string& name : selection.names) nb::del(others[name.c_str()]);
    for (auto [key, value] : others) kwargs[key] = held.protect(value);
    read(call_python(fun, args, kwargs));
  }

  /// Gradients in the structure of the selection: one tree, a tuple of trees, (those, {name:
  /// tree}).
  nb::object gradients(const Arrays& grads) const {
    std::vector<nb::object> out;
    size_t first = 0, n = selection.positions.size();
    for (size_t i = 0; i < trees.size(); ++i) {
      out.push_back(unflatten(forms[i], grads, first));
      first += sizes[i];
    }
    nb::object by_position = nb::none();
    if (n == 1) {
      by_position = out[0];
    } else if (n > 1) {
      nb::list list;
      for (size_t i = 0; i < n; ++i) list.append(out[i]);
      by_position = nb::tuple(list);
    }
    if (!selection.has_names) return by_position;
    nb::dict by_name;
    for (size_t i = n; i < out.size(); ++i) by_name[selection.names[i - n].c_str()] = out[i];
    return nb::make_tuple(by_position, by_name);
  }
};

/// The values that a function returns beside the one that is differentiated: none, further items of
/// a tuple, or the second item of a pair.
enum class Aux : uint8_t { none, tuple, pair };

/// Throws unless the result can be differentiated: an array, or a tuple that starts with one.
void check_result(const char* op, nb::handle result, Aux aux) {
  nb::handle loss = result;
  if (aux == Aux::pair) loss = pair_with_aux(op, result).first;
  if (aux == Aux::tuple && PyTuple_Check(result.ptr())) {
    if (PyTuple_GET_SIZE(result.ptr()) == 0)
      fail<ValueError>(op,
                       "the function returned an empty tuple; the first value must be a scalar "
                       "array");
    loss = PyTuple_GET_ITEM(result.ptr(), 0);
  }
  if (!is_array(loss.ptr()))
    fail<ValueError>(op, "the function returned ", class_name(result), "; a scalar array",
                     aux == Aux::tuple ? ", or a tuple that starts with one," : "", " is accepted");
}

/// The tree of `result` with its arrays replaced.
nb::object with_values(nb::handle result, const Arrays& values) {
  return unflatten(result, values);
}

std::pair<nb::object, nb::object> run_value_and_grad(const char* op, const Selection& selection,
                                                     nb::handle fun, Star args, nb::dict kwargs,
                                                     Aux aux) {
  Arguments arguments(op, selection, args, std::move(kwargs));
  nb::object result;
  auto flat = [&](const Arrays& inputs) {
    Arrays outputs;
    arguments.call(fun, inputs, [&](const nb::object& returned) {
      result = returned;
      check_result(op, result, aux);
      collect_arrays(result, outputs);
    });
    return outputs;
  };
  std::vector<int> argnums(arguments.primals.size());
  for (size_t i = 0; i < argnums.size(); ++i) argnums[i] = static_cast<int>(i);
  auto [values, grads] = core::value_and_grad(core::Function(flat), argnums)(arguments.primals);
  return {with_values(result, values), arguments.gradients(grads)};
}

using MakeJacobians = core::Jacobians (*)(const core::Function&, const Arrays&);

/// The result of the function with each array replaced by its Jacobians, which have the form of
/// gradients. Where the function returns a pair with `aux`, a pair of this and the second item.
nb::object run_jacobian(const char* op, MakeJacobians make, const Selection& selection,
                        nb::handle fun, Star args, nb::dict kwargs, bool has_aux) {
  Arguments arguments(op, selection, args, std::move(kwargs));
  nb::object result, aux;
  auto flat = [&](const Arrays& inputs) {
    Arrays outputs;
    arguments.call(fun, inputs, [&](const nb::object& returned) {
      result = returned;
      if (has_aux) {
        auto [main, beside] = pair_with_aux(op, returned);
        result = main;
        // The first call is the one with the arguments themselves.
        if (!aux.is_valid()) aux = copied(beside);
      }
      outputs = flatten(result, op);
    });
    return outputs;
  };
  const core::Jacobians found = make(core::Function(flat), arguments.primals);
  auto matrices = found.matrices.begin();
  nb::object jacobians =
      map_tree(result, [&](nb::handle) { return arguments.gradients(*matrices++); });
  return has_aux ? nb::make_tuple(jacobians, aux) : jacobians;
}

/// The function that calls run_jacobian for `fun`.
nb::object jacobian_function(const char* op, MakeJacobians make, nb::handle fun, const Selection& s,
                             bool has_aux) {
  auto call = [=](nb::handle f, Star args, nb::dict kwargs) {
    return run_jacobian(op, make, s, f, args, std::move(kwargs), has_aux);
  };
  return make_transformed(fun, call, recipe(op, s, has_aux));
}

/// The arrays that a differentiated function returned: one array or a sequence of arrays.
Arrays outputs_of(const char* op, nb::handle result) {
  if (is_array(result.ptr())) return {to_array(result.ptr())};
  if (!PyList_Check(result.ptr()) && !PyTuple_Check(result.ptr()))
    fail<ValueError>(op, "the function returned ", class_name(result),
                     "; an array or a sequence of arrays is accepted");
  return flatten(result, op);
}

core::Function flat_function(const char* op, nb::handle fun) {
  return [op, fun](const Arrays& inputs) {
    std::vector<nb::object> args;
    for (const array& a : inputs) args.push_back(nb::steal(wrap(a)));
    return outputs_of(op, call_python(fun, args));
  };
}

Arrays arrays_in(Star trees) {
  Arrays out;
  for (nb::handle t : trees.items) collect_arrays(t, out);
  return out;
}

void bind_evaluation(nb::module_& m) {
  def(m, "eval(*args: Any) -> None", [](Star args) { evaluate(arrays_in(args)); });
  def(m, "async_eval(*args: Any) -> None", [](Star args) { core::async_eval(arrays_in(args)); });
}

using Argnums = std::optional<std::variant<int, std::vector<int>>>;
using Argnames = std::variant<std::string, std::vector<std::string>>;

void bind_derivatives(nb::module_& m) {
  def(m,
      "value_and_grad(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, "
      "argnames: str | Sequence[str] = [], has_aux: bool = False) -> "
      "Callable[P, tuple[R, Any]]",
      [](nb::callable fun, Argnums& argnums, Argnames& argnames, bool has_aux) {
        Selection s = select("value_and_grad", argnums, argnames);
        const Aux aux = has_aux ? Aux::pair : Aux::tuple;
        auto call = [=](nb::handle f, Star args, nb::dict kwargs) -> nb::object {
          auto [value, grad] =
              run_value_and_grad("value_and_grad", s, f, args, std::move(kwargs), aux);
          return nb::make_tuple(value, grad);
        };
        return make_transformed(fun, call, recipe("value_and_grad", s, has_aux));
      });
  def(m,
      "grad(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, "
      "argnames: str | Sequence[str] = [], has_aux: bool = False) -> Callable[P, Any]",
      [](nb::callable fun, Argnums& argnums, Argnames& argnames, bool has_aux) {
        Selection s = select("grad", argnums, argnames);
        const Aux aux = has_aux ? Aux::pair : Aux::none;
        auto call = [=](nb::handle f, Star args, nb::dict kwargs) -> nb::object {
          auto [value, grad] = run_value_and_grad("grad", s, f, args, std::move(kwargs), aux);
          return has_aux ? nb::make_tuple(grad, nb::object(value[1])) : grad;
        };
        return make_transformed(fun, call, recipe("grad", s, has_aux));
      });
  def(m,
      "vjp(fun: Callable[..., Any], primals: Sequence[array], cotangents: Sequence[array]) -> "
      "tuple[list[array], list[array]]",
      [](nb::callable fun, Arrays& primals, Arrays& cotangents) {
        return core::vjp(flat_function("vjp", fun), primals, cotangents);
      });
  def(m,
      "jvp(fun: Callable[..., Any], primals: Sequence[array], tangents: Sequence[array]) -> "
      "tuple[list[array], list[array]]",
      [](nb::callable fun, Arrays& primals, Arrays& tangents) {
        return core::jvp(flat_function("jvp", fun), primals, tangents);
      });
}

void bind_jacobians(nb::module_& m) {
#define MLX_JACOBIAN(NAME, ...)                                                  \
  def(m,                                                                         \
      #NAME                                                                      \
      "(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, "       \
      "argnames: str | Sequence[str] = [], has_aux: bool = False) -> "           \
      "Callable[P, Any]",                                                        \
      [](nb::callable fun, Argnums& argnums, Argnames& argnames, bool has_aux) { \
        const Selection s = select(#NAME, argnums, argnames);                    \
        return __VA_ARGS__;                                                      \
      });
  MLX_JACOBIAN(jacfwd, jacobian_function("jacfwd", core::jacfwd, fun, s, has_aux))
  MLX_JACOBIAN(jacrev, jacobian_function("jacrev", core::jacrev, fun, s, has_aux))
  MLX_JACOBIAN(hessian, make_transformed(
                            fun,
                            [s, has_aux](nb::handle f, Star args, nb::dict kwargs) {
                              const nb::object inner =
                                  jacobian_function("jacrev", core::jacrev, f, s, has_aux);
                              return run_jacobian("hessian", core::jacfwd, s, inner, args,
                                                  std::move(kwargs), has_aux);
                            },
                            recipe("hessian", s, has_aux)))
#undef MLX_JACOBIAN
}

/// Functions of NumPy that call a function.
void bind_callers(nb::module_& m) {
  def(m, "apply_along_axis(func1d: Callable[..., Any], axis: int, arr: array) -> array",
      [](nb::callable fun, int axis, const array& a) {
        axis = core::normalize_axis(axis, static_cast<int64_t>(a.ndim()), "apply_along_axis");
        Shape rows = a.shape();
        rows.erase(rows.begin() + axis);
        const array lines = core::reshape(core::moveaxis(a, axis, -1), {-1, a.shape(axis)});
        const auto one = [&](const Arrays& in) {
          Arrays out = flat_function("apply_along_axis", fun)(in);
          if (out.size() != 1)
            fail<ValueError>("apply_along_axis", out.size(), " results; one array is accepted");
          return out;
        };
        const array each = core::vmap(core::Function(one), {0}, {0})({lines})[0];
        Shape shape = rows;
        shape.insert(shape.end(), each.shape().begin() + 1, each.shape().end());
        array out = core::reshape(each, shape);
        // The axes of the function's result take the place of the axis.
        const auto inner = static_cast<int>(each.ndim()) - 1, n = static_cast<int>(out.ndim());
        for (int i = 0; i < inner; ++i) out = core::moveaxis(out, n - inner + i, axis + i);
        return out;
      });
  def(m,
      "fromfunction(function: Callable[..., Any], shape: Sequence[int], "
      "dtype: Dtype | None = float32) -> Any",
      [](nb::callable fun, Shape& shape, std::optional<Dtype> t) {
        std::vector<nb::object> args;
        for (size_t i = 0; i < shape.size(); ++i) {
          Shape along(shape.size(), 1);
          along[i] = shape[i];
          const array line = core::integer_range(0, shape[i], 1, core::int64);
          const array typed = core::astype(line, t.value_or(float32));
          args.push_back(nb::steal(wrap(core::broadcast_to(core::reshape(typed, along), shape))));
        }
        return call_python(fun, args);
      });
  def(m, "piecewise(x: array, condlist: Sequence[array], funclist: Sequence[Any]) -> array",
      [](const array& x, Arrays& conditions, nb::handle given) {
        const nb::list functions(given);
        const size_t n = functions.size();
        if (n != conditions.size() && n != conditions.size() + 1)
          fail<ValueError>("piecewise", n, " functions for ", conditions.size(),
                           " conditions; one for each, and one for the rest, are accepted");
        const auto value = [&](nb::handle f) {
          if (!PyCallable_Check(f.ptr())) return core::astype(to_array(f.ptr()), x.dtype());
          return core::astype(to_array(call_python(f, {nb::steal(wrap(x))}).ptr()), x.dtype());
        };
        const bool rest = n > conditions.size();
        array out = rest ? value(functions[n - 1]) : core::zeros_like(x);
        for (size_t i = 0; i < conditions.size(); ++i)
          out = core::where(conditions[i], value(functions[i]), out);
        return core::broadcast_to(out, x.shape());
      });
}

}  // namespace

void bind_transforms(nb::module_& m) {
  bind_evaluation(m);
  bind_derivatives(m);
  bind_jacobians(m);
  bind_callers(m);
}

}  // namespace mlx::python
