// Control flow over trees of arrays: functions are called once, with the trees of their arguments,
// and the engine runs what they built.
#include "mlx/transforms/control.h"

#include "convert.h"
#include "module.h"
#include "transformed.h"
#include "tree.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

/// A tree of arrays: Python's numbers become arrays, None stays what it is.
struct Tree {
  nb::object form;
  Arrays arrays;

  Tree(const char* op, const char* what, nb::handle given) {
    form = map_tree(given, [&](nb::handle leaf) -> nb::object {
      if (leaf.is_none()) return nb::borrow(leaf);
      if (is_array(leaf.ptr())) {
        arrays.push_back(checked(leaf.ptr()));
        return nb::borrow(leaf);
      }
      if (!is_scalar(leaf.ptr()))
        fail<ValueError>(op, what, " contains ", class_name(leaf),
                         "; trees of arrays, numbers and None are accepted");
      arrays.push_back(scalar_array(leaf.ptr()));
      return nb::steal(wrap(arrays.back()));
    });
  }
  nb::object with(const Arrays& others) const { return unflatten(form, others); }
  size_t size() const { return arrays.size(); }
};

bool same_form(nb::handle a, nb::handle b);

bool same_items(nb::handle a, nb::handle b) {
  const Py_ssize_t n = PySequence_Size(a.ptr());
  if (PySequence_Size(b.ptr()) != n) return false;
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!same_form(a[i], b[i])) return false;
  return true;
}

/// True where two trees differ in their arrays alone.
bool same_form(nb::handle a, nb::handle b) {
  if (PyDict_Check(a.ptr())) {
    if (!PyDict_Check(b.ptr()) || nb::len(a) != nb::len(b)) return false;
    for (const auto& [key, value] : pairs_of(a)) {
      const nb::object other = nb::borrow(PyDict_GetItemWithError(b.ptr(), key.ptr()));
      if (PyErr_Occurred()) throw nb::python_error();
      if (!other.is_valid() || !same_form(value, other)) return false;
    }
    return true;
  }
  if (PyList_Check(a.ptr()) || PyTuple_Check(a.ptr()))
    return PyList_Check(a.ptr()) == PyList_Check(b.ptr()) &&
           PyTuple_Check(a.ptr()) == PyTuple_Check(b.ptr()) && same_items(a, b);
  return is_array(a.ptr()) == is_array(b.ptr()) && a.is_none() == b.is_none();
}

void check_form(const char* op, const char* what, nb::handle given, const char* other,
                nb::handle expected) {
  if (same_form(expected, given)) return;
  auto form = [](nb::handle tree) {
    return text_of(map_tree(tree, [](nb::handle leaf) -> nb::object {
      return leaf.is_none() ? nb::borrow(leaf) : nb::object(nb::str("array"));
    }));
  };
  fail<ValueError>(op, what, " of the form ", form(given), ", and ", other, " has the form ",
                   form(expected), "; equal forms are accepted");
}

/// The arrays of a tree that a function returned, in the order of `expected`.
Arrays in_order(const Tree& given, nb::handle expected) {
  Arrays out;
  if (given.arrays.empty()) return out;
  pair_arrays(expected, given.form, out);
  return out;
}

std::pair<nb::object, nb::object> pair_of(const char* op, nb::handle result) {
  if (!PyTuple_Check(result.ptr()) || nb::len(result) != 2)
    fail<ValueError>(op, "a function that returned ", class_name(result),
                     "; a pair of the carry and a result is accepted");
  return {nb::object(result[0]), nb::object(result[1])};
}

nb::object scan_trees(nb::handle f, nb::handle init, nb::handle xs, std::optional<int64_t> length,
                      bool reverse, bool checkpoint) {
  const Tree carry("scan", "init", init), slices("scan", "xs", xs);
  std::optional<Tree> results;
  auto flat = [&](const Arrays& carried, const Arrays& at) {
    nb::object returned = call_python(f, {carry.with(carried), slices.with(at)});
    auto [next, result] = pair_of("scan", returned);
    const Tree after("scan", "the carry that the function returned", next);
    check_form("scan", "the function returned a carry", after.form, "init", carry.form);
    results.emplace("scan", "the result of the function", result);
    return std::pair(in_order(after, carry.form), results->arrays);
  };
  auto [last, stacked] =
      core::scan(flat, carry.arrays, slices.arrays,
                 {.length = length, .reverse = reverse, .checkpoint = checkpoint});
  return nb::make_tuple(carry.with(last), results->with(stacked));
}

nb::object map_trees(nb::handle f, nb::handle xs) {
  const Tree slices("map", "xs", xs);
  if (slices.size() == 0) fail<ValueError>("map", "no array in xs; at least one is accepted");
  std::optional<Tree> results;
  Arrays stacked = core::map(
      [&](const Arrays& at) {
        results.emplace("map", "the result of the function", call_python(f, {slices.with(at)}));
        return results->arrays;
      },
      slices.arrays);
  return results->with(stacked);
}

/// A function of one tree that returns a tree of the same form.
core::Function keeping(const char* op, nb::handle f, const Tree& tree) {
  return [=, &tree](const Arrays& a) {
    const Tree next(op, "the result of the body", call_python(f, {tree.with(a)}));
    check_form(op, "the body returned a value", next.form, "init", tree.form);
    return in_order(next, tree.form);
  };
}

nb::object while_trees(nb::handle condition, nb::handle body, nb::handle init) {
  const Tree tree("while_loop", "init", init);
  auto test = [&](const Arrays& a) {
    return Tree("while_loop", "the result of the condition", call_python(condition, {tree.with(a)}))
        .arrays;
  };
  return tree.with(core::while_loop(test, keeping("while_loop", body, tree), tree.arrays));
}

nb::object count_trees(nb::handle lower, nb::handle upper, nb::handle body, nb::handle init) {
  const Tree tree("fori_loop", "init", init);
  auto step = [&](const array& number, const Arrays& a) {
    const Tree next("fori_loop", "the result of the body",
                    call_python(body, {nb::steal(wrap(number)), tree.with(a)}));
    check_form("fori_loop", "the body returned a value", next.form, "init", tree.form);
    return in_order(next, tree.form);
  };
  int64_t first, last;
  if (!is_array(lower.ptr()) && !is_array(upper.ptr()) && load_integer(lower.ptr(), first) &&
      load_integer(upper.ptr(), last))
    return tree.with(core::fori_loop(first, last, step, tree.arrays));
  return tree.with(
      core::fori_loop(to_array(lower.ptr()), to_array(upper.ptr()), step, tree.arrays));
}

nb::object choose_trees(const char* op, const array& index, const std::vector<nb::object>& branches,
                        Star given, bool is_cond) {
  nb::list list;
  for (nb::handle a : given.items) list.append(a);
  const Tree operands(op, "an operand", nb::tuple(list));
  std::optional<Tree> result;
  std::vector<core::Function> functions;
  for (size_t b = 0; b < branches.size(); ++b)
    functions.push_back([&, b](const Arrays& a) {
      nb::tuple args(operands.with(a));
      Tree one(op, "the result of a branch", call_object(branches[b], args));
      if (!result) {
        result.emplace(std::move(one));
        return result->arrays;
      }
      check_form(op, "a branch returned a value", one.form, "that of another branch", result->form);
      return in_order(one, result->form);
    });
  Arrays out = is_cond ? core::cond(index, functions[0], functions[1], operands.arrays)
                       : core::switch_branch(index, functions, operands.arrays);
  return result->with(out);
}

nb::object combine_trees(nb::handle f, nb::handle elems, bool reverse, int axis) {
  const Tree tree("associative_scan", "elems", elems);
  auto combine = [&](const Arrays& a, const Arrays& b) {
    const Tree next("associative_scan", "the result of the function",
                    call_python(f, {tree.with(a), tree.with(b)}));
    check_form("associative_scan", "the function returned a value", next.form, "elems", tree.form);
    return in_order(next, tree.form);
  };
  return tree.with(core::associative_scan(combine, tree.arrays, reverse, axis));
}

}  // namespace

void bind_control(nb::module_& m) {
  def(m,
      "scan(f: Callable, init: object, xs: object = None, length: int | None = None, "
      "reverse: bool = False, *, checkpoint: bool = False) -> tuple[Any, Any]",
      [](nb::callable f, nb::handle init, nb::handle xs, std::optional<int64_t> length,
         bool reverse,
         bool checkpoint) { return scan_trees(f, init, xs, length, reverse, checkpoint); });
  def(m, "map(f: Callable, xs: object) -> Any",
      [](nb::callable f, nb::handle xs) { return map_trees(f, xs); });
  def(m,
      "associative_scan(fn: Callable, elems: object, reverse: bool = False, axis: int = 0) -> Any",
      [](nb::callable f, nb::handle elems, bool reverse, int axis) {
        return combine_trees(f, elems, reverse, axis);
      });
  def(m, "while_loop(cond_fun: Callable, body_fun: Callable, init_val: object) -> Any",
      [](nb::callable condition, nb::callable body, nb::handle init) {
        return while_trees(condition, body, init);
      });
  def(m,
      "fori_loop(lower: int | array, upper: int | array, body_fun: Callable, init_val: object) "
      "-> Any",
      [](nb::handle lower, nb::handle upper, nb::callable body, nb::handle init) {
        return count_trees(lower, upper, body, init);
      });
  def(m,
      "cond(pred: bool | array, true_fun: Callable, false_fun: Callable, *operands: object) -> Any",
      [](const array& pred, nb::callable true_fun, nb::callable false_fun, Star operands) {
        return choose_trees("cond", pred, {true_fun, false_fun}, operands, true);
      });
  def(m, "switch(index: int | array, branches: Sequence[Callable], *operands: object) -> Any",
      [](const array& index, nb::handle branches, Star operands) {
        std::vector<nb::object> list;
        constexpr size_t kMost = 1 << 20;  // objects may give items without an end
        for (nb::handle b : branches) {
          if (list.size() == kMost)
            fail<ValueError>("switch", "more than ", kMost, " branches; fewer are accepted");
          if (!PyCallable_Check(b.ptr()))
            fail<TypeError>("switch", "a branch of type ", class_name(b),
                            "; functions are accepted");
          list.push_back(nb::borrow(b));
        }
        return choose_trees("switch", index, list, operands, false);
      });
}

}  // namespace mlx::python
