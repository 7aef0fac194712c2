// Evaluation and derivatives of Python functions: trees are flattened to lists of arrays for the
// engine, and its results are unflattened.
#include "mlx/transforms/transforms.h"

#include <algorithm>

#include "convert.h"
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
nb::tuple recipe(const char* op, const Selection& s) {
  nb::list positions, names;
  for (int i : s.positions) positions.append(i);
  for (const std::string& name : s.names) names.append(name);
  nb::object argnums = s.positions.empty() ? nb::none() : nb::object(positions);
  return nb::make_tuple(op, argnums, names);
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

/// Throws unless the result can be differentiated: an array, or with `aux` a tuple that starts with
/// one.
void check_result(const char* op, nb::handle result, bool aux) {
  nb::handle loss = result;
  if (aux && PyTuple_Check(result.ptr())) {
    if (PyTuple_GET_SIZE(result.ptr()) == 0)
      fail<ValueError>(op,
                       "the function returned an empty tuple; the first value must be a scalar "
                       "array");
    loss = PyTuple_GET_ITEM(result.ptr(), 0);
  }
  if (!is_array(loss.ptr()))
    fail<ValueError>(op, "the function returned ", class_name(result), "; a scalar array",
                     aux ? ", or a tuple that starts with one," : "", " is accepted");
}

/// The tree of `result` with its arrays replaced.
nb::object with_values(nb::handle result, const Arrays& values) {
  return unflatten(result, values);
}

std::pair<nb::object, nb::object> run_value_and_grad(const char* op, const Selection& selection,
                                                     nb::handle fun, Star args, nb::dict kwargs,
                                                     bool aux) {
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
/// gradients.
nb::object run_jacobian(const char* op, MakeJacobians make, const Selection& selection,
                        nb::handle fun, Star args, nb::dict kwargs) {
  Arguments arguments(op, selection, args, std::move(kwargs));
  nb::object result;
  auto flat = [&](const Arrays& inputs) {
    Arrays outputs;
    arguments.call(fun, inputs, [&](const nb::object& returned) {
      result = returned;
      outputs = flatten(result, op);
    });
    return outputs;
  };
  const core::Jacobians found = make(core::Function(flat), arguments.primals);
  auto matrices = found.matrices.begin();
  return map_tree(result, [&](nb::handle) { return arguments.gradients(*matrices++); });
}

/// The function that calls run_jacobian for `fun`.
nb::object jacobian_function(const char* op, MakeJacobians make, nb::handle fun,
                             const Selection& s) {
  auto call = [=](nb::handle f, Star args, nb::dict kwargs) {
    return run_jacobian(op, make, s, f, args, std::move(kwargs));
  };
  return make_transformed(fun, call, recipe(op, s));
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
      "argnames: str | Sequence[str] = []) -> Callable[P, tuple[R, Any]]",
      [](nb::callable fun, Argnums& argnums, Argnames& argnames) {
        Selection s = select("value_and_grad", argnums, argnames);
        auto call = [s](nb::handle f, Star args, nb::dict kwargs) -> nb::object {
          auto [value, grad] =
              run_value_and_grad("value_and_grad", s, f, args, std::move(kwargs), true);
          return nb::make_tuple(value, grad);
        };
        return make_transformed(fun, call, recipe("value_and_grad", s));
      });
  def(m,
      "grad(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, "
      "argnames: str | Sequence[str] = []) -> Callable[P, Any]",
      [](nb::callable fun, Argnums& argnums, Argnames& argnames) {
        Selection s = select("grad", argnums, argnames);
        auto call = [s](nb::handle f, Star args, nb::dict kwargs) {
          return run_value_and_grad("grad", s, f, args, std::move(kwargs), false).second;
        };
        return make_transformed(fun, call, recipe("grad", s));
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
#define MLX_JACOBIAN(NAME, ...)                                            \
  def(m,                                                                   \
      #NAME                                                                \
      "(fun: Callable[P, R], argnums: int | Sequence[int] | None = None, " \
      "argnames: str | Sequence[str] = []) -> Callable[P, Any]",           \
      [](nb::callable fun, Argnums& argnums, Argnames& argnames) {         \
        const Selection s = select(#NAME, argnums, argnames);              \
        return __VA_ARGS__;                                                \
      });
  MLX_JACOBIAN(jacfwd, jacobian_function("jacfwd", core::jacfwd, fun, s))
  MLX_JACOBIAN(jacrev, jacobian_function("jacrev", core::jacrev, fun, s))
  MLX_JACOBIAN(hessian, make_transformed(
                            fun,
                            [s](nb::handle f, Star args, nb::dict kwargs) {
                              const nb::object inner =
                                  jacobian_function("jacrev", core::jacrev, f, s);
                              return run_jacobian("hessian", core::jacfwd, s, inner, args,
                                                  std::move(kwargs));
                            },
                            recipe("hessian", s)))
#undef MLX_JACOBIAN
}

}  // namespace

void bind_transforms(nb::module_& m) {
  bind_evaluation(m);
  bind_derivatives(m);
  bind_jacobians(m);
}

}  // namespace mlx::python
