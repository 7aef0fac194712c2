// Python functions with user-defined derivative and vectorization rules, and checkpoints.
#include "lock.h"
#include "mlx/core/trace.h"
#include "mlx/ops/creation.h"
#include "mlx/transforms/transforms.h"
#include "module.h"
#include "pickle.h"
#include "transformed.h"
#include "tree.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

/// mlx.core.custom_function. Missing rules are null.
struct CustomFunction {
  nb::object fun, vjp, jvp, vmap;
};

/// One call: the structure of its trees. Graphs hold it, and may release it on any thread.
struct CallRecord {
  nb::object fun, vjp, jvp, vmap;
  nb::tuple args;
  nb::dict keywords;
  nb::object result;

  static std::shared_ptr<CallRecord> make() {
    return {new CallRecord, [](CallRecord* r) {
              release_with_lock([](void* o) { delete static_cast<CallRecord*>(o); }, r);
            }};
  }
  nb::object call(nb::handle f, const nb::object& positional) const {
    return call_object(f, positional, keywords);
  }
  /// The arguments as a rule receives them: a single one, or a tuple.
  nb::object arguments() const { return args.size() == 1 ? nb::object(args[0]) : nb::object(args); }
};
using Record = std::shared_ptr<CallRecord>;

Record make_record(nb::object fun, Star args, nb::dict keywords) {
  Record r = CallRecord::make();
  nb::list list;
  for (nb::handle a : args.items) list.append(a);
  r->fun = std::move(fun);
  r->args = nb::tuple(list);
  r->keywords = std::move(keywords);
  return r;
}

core::Function flat_call(const Record& r) {
  return [r](const Arrays& inputs) {
    r->result = r->call(r->fun, unflatten(r->args, inputs));
    Arrays outputs;
    collect_arrays(r->result, outputs);
    return outputs;
  };
}

/// The arrays that the derivative rule `op` gave for the arrays of `tree`, which are `like`. None
/// stands for zeros, and for leaves that are no arrays. A rule may give a flat tree of the arrays
/// alone; their number is checked by the caller.
Arrays given_by_rule(const char* op, nb::handle tree, const Arrays& like, const nb::object& given) {
  Arrays found;
  if (!pair_arrays(tree, given, found)) {
    found.clear();
    each_leaf(given, [&](nb::handle leaf) {
      if (!is_array(leaf.ptr()) && !(leaf.is_none() && found.size() < like.size()))
        fail<ValueError>(op, "the rule of a custom function gave ", class_name(leaf),
                         "; an array, or None for zeros, per array of its ",
                         op == std::string_view("vjp") ? "arguments" : "outputs", " is accepted");
      found.push_back(leaf.is_none() ? array() : checked(leaf.ptr()));
    });
  }
  for (size_t k = 0; k < std::min(found.size(), like.size()); ++k)
    if (!found[k]) found[k] = core::zeros(like[k].shape(), like[k].dtype());
  return found;
}

core::CustomVjp flat_vjp(const Record& r) {
  return [r](const Arrays& primals, const Arrays& cotangents, const Arrays& outputs) {
    nb::object args =
        nb::make_tuple(unflatten(r->arguments(), primals), unflatten(r->result, cotangents),
                       unflatten(r->result, outputs));
    return given_by_rule("vjp", r->arguments(), primals, r->call(r->vjp, args));
  };
}

core::CustomJvp flat_jvp(const Record& r) {
  return [r](const Arrays& primals, const Arrays& tangents, const std::vector<int>& argnums) {
    int seen = 0;
    size_t next = 0;
    nb::object known = map_tree(r->arguments(), [&](nb::handle leaf) -> nb::object {
      if (!is_array(leaf.ptr())) return nb::none();
      bool has = next < argnums.size() && argnums[next] == seen++;
      return has ? nb::steal(wrap(tangents[next++])) : nb::none();
    });
    Arrays outputs;
    collect_arrays(r->result, outputs);
    nb::object args = nb::make_tuple(unflatten(r->arguments(), primals), known);
    return given_by_rule("jvp", r->result, outputs, r->call(r->jvp, args));
  };
}

core::CustomVmap flat_vmap(const Record& r) {
  return [r](const Arrays& inputs, const std::vector<int>& axes) {
    size_t next = 0;
    nb::object mapped = map_tree(r->arguments(), [&](nb::handle leaf) -> nb::object {
      if (!is_array(leaf.ptr())) return nb::none();
      int axis = axes[next++];
      return axis < 0 ? nb::none() : nb::object(nb::int_(axis));
    });
    nb::object found = r->call(r->vmap, nb::make_tuple(unflatten(r->arguments(), inputs), mapped));
    if (!PyTuple_Check(found.ptr()) || nb::len(found) != 2)
      fail<ValueError>("vmap", "the rule of a custom function gave ", class_name(found),
                       "; a pair of outputs and their axes is accepted");
    std::pair<Arrays, std::vector<int>> out{flatten(found[0], "vmap"), {}};
    each_leaf(found[1], [&](nb::handle leaf) {
      int64_t axis = -1;
      size_t at = out.second.size();
      if (!leaf.is_none() && !load_integer(leaf.ptr(), axis))
        fail<ValueError>("vmap", "the rule of a custom function gave the axis ", class_name(leaf),
                         "; int and None are accepted");
      int n = at < out.first.size() ? static_cast<int>(out.first[at].ndim()) : 0;
      if (!leaf.is_none() && (axis < -n || axis >= n))
        fail<IndexError>("vmap", "the rule of a custom function gave the axis ", axis,
                         " for an output with ", n, " axes; -", n, " to ", n - 1, " are accepted");
      out.second.push_back(static_cast<int>(leaf.is_none() ? -1 : axis < 0 ? axis + n : axis));
    });
    return out;
  };
}

nb::object call_custom(const CustomFunction& f, Star args, nb::dict keywords) {
  bool has_rules = f.vjp.is_valid() || f.jvp.is_valid() || f.vmap.is_valid();
  // Without rules, transformations go through the function, which uses the caller's containers.
  if (!has_rules) {
    std::vector<nb::object> own;
    for (nb::handle a : args.items) own.push_back(nb::borrow(a));
    return call_python(f.fun, own, keywords);
  }
  Record r = make_record(f.fun, args, std::move(keywords));
  r->vjp = f.vjp;
  r->jvp = f.jvp;
  r->vmap = f.vmap;
  auto when = [&](const nb::object& rule, auto flat) {
    return rule.is_valid() ? std::optional(flat(r)) : std::nullopt;
  };
  Arrays inputs;
  collect_arrays(r->args, inputs);
  if (!core::any_trace_runs()) return r->call(r->fun, unflatten(r->args, inputs));
  Arrays outputs = core::custom_function(flat_call(r), when(f.vjp, flat_vjp), when(f.jvp, flat_jvp),
                                         when(f.vmap, flat_vmap))(inputs);
  return unflatten(r->result, outputs);
}

nb::object call_checkpoint(nb::handle fun, Star args, nb::dict keywords) {
  // Arrays given by keyword are inputs too.
  nb::list list;
  for (nb::handle a : args.items) list.append(a);
  nb::tuple given = nb::make_tuple(nb::tuple(list), keywords);
  Arrays inputs;
  collect_arrays(given, inputs);
  nb::object result;
  auto flat = [&](const Arrays& arrays) {
    nb::object fresh = unflatten(given, arrays);
    result = call_object(fun, nb::object(fresh[0]), nb::object(fresh[1]));
    Arrays outputs;
    collect_arrays(result, outputs);
    return outputs;
  };
  Arrays outputs = core::checkpoint(flat)(inputs);
  return unflatten(result, outputs);
}

int traverse_custom(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  CustomFunction& f = *nb::inst_ptr<CustomFunction>(self);
  for (const nb::object* o : {&f.fun, &f.vjp, &f.jvp, &f.vmap}) Py_VISIT(o->ptr());
  return 0;
}
int clear_custom(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  CustomFunction& f = *nb::inst_ptr<CustomFunction>(self);
  for (nb::object* o : {&f.fun, &f.vjp, &f.jvp, &f.vmap}) o->reset();
  return 0;
}
PyType_Slot custom_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_custom)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_custom)},
                              {0, nullptr}};

template <nb::object CustomFunction::* rule>
nb::object set_rule(nb::handle self, nb::callable f) {
  instance_of<CustomFunction>(self).*rule = f;
  return nb::borrow(self);
}

}  // namespace

template <>
struct From<CustomFunction> : FromBound<CustomFunction> {};

void bind_custom_functions(nb::module_& m) {
  nb::class_<CustomFunction> cls(
      m, "custom_function", nb::type_slots(custom_slots),
      "A function of trees of arrays with rules of its own: `f.vjp`, `f.jvp` and `f.vmap` set them "
      "and "
      "may be used as decorators. A transformation without a rule goes through the function.");
  cls.def(nb::new_([](nb::callable f) { return CustomFunction{f, {}, {}, {}}; }), nb::arg("f"));
  def(
      cls, "__call__(self, *args: Any, **kwargs: Any) -> Any",
      [](const CustomFunction& f, Star args, Keywords& kwargs) {
        return call_custom(f, args, kwargs.items);
      },
      "Calls the function. Keyword arguments go to the rules as they are, without derivatives.");
  def(
      cls, "vjp(self, f: Callable[..., Any]) -> custom_function",
      [](nb::handle self, nb::callable f) { return set_rule<&CustomFunction::vjp>(self, f); },
      "Sets `f(primals, cotangents, outputs)`, which gives cotangents of the arguments; None "
      "stands "
      "for a zero cotangent, and for an argument that is no array.");
  def(
      cls, "jvp(self, f: Callable[..., Any]) -> custom_function",
      [](nb::handle self, nb::callable f) { return set_rule<&CustomFunction::jvp>(self, f); },
      "Sets `f(primals, tangents)`, which gives tangents of the outputs; None stands for a zero "
      "tangent.");
  def(
      cls, "vmap(self, f: Callable[..., Any]) -> custom_function",
      [](nb::handle self, nb::callable f) { return set_rule<&CustomFunction::vmap>(self, f); },
      "Sets `f(inputs, axes)`, which gives the outputs for mapped inputs, and their axes.");
  def(
      cls, "__reduce__(self) -> tuple[Any, ...]",
      [](nb::handle self) {
        const auto& f = instance_of<CustomFunction>(self);
        nb::object name = reduce_to_name(f.fun, self);
        if (name.is_valid()) return name;
        auto known = [](const nb::object& o) { return o.is_valid() ? o : nb::none(); };
        return nb::object(
            nb::make_tuple(self.type(), nb::make_tuple(f.fun),
                           nb::make_tuple(known(f.vjp), known(f.jvp), known(f.vmap))));
      },
      "For pickling: by name where it stands in a module in place of its function.");
  def(
      cls, "__setstate__(self, rules: tuple[Any, ...], /) -> None",
      [](CustomFunction& f, nb::handle rules) {
        nb::object* of[] = {&f.vjp, &f.jvp, &f.vmap};
        for (size_t i = 0; i < 3; ++i)
          if (nb::object rule = rules[i]; !rule.is_none()) *of[i] = rule;
      },
      "Restores the rules.");
  def(m, "checkpoint(fun: Callable[P, R]) -> Callable[P, R]", [](nb::callable fun) {
    return make_transformed(fun, call_checkpoint, nb::make_tuple("checkpoint"));
  });
}

}  // namespace mlx::python
