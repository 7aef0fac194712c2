// Compiled Python functions: arguments and captured state become a key and a flat list of arrays;
// the result of a trace becomes a template for the results of later calls.
#include "mlx/transforms/compile.h"

#include <map>
#include <mutex>

#include "captured.h"
#include "convert.h"
#include "lock.h"
#include "mlx/backend/engine.h"
#include "mlx/ops/precision.h"
#include "mlx/runtime/observe.h"
#include "module.h"
#include "state.h"
#include "trace_key.h"
#include "transformed.h"
#include "tree.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

/// A trace of a Python function, and the template for its results.
struct PythonTrace : core::CacheEntry {
  std::unique_ptr<core::CompiledTrace> graph;
  nb::object result;              ///< the function's result, with `place` instead of arrays
  StateForm state;                ///< of the captured outputs
  std::vector<nb::object> named;  ///< keeps the objects that the key contains by address alive
  bool watched = false;           ///< whether replaced arrays are looked for while it is made
  std::vector<std::string> lost;  ///< arrays that were replaced and that no output names
  ~PythonTrace() override {
    struct Objects {
      nb::object result;
      StateForm state;
      std::vector<nb::object> named;
    };
    auto* objects = new Objects{std::move(result), std::move(state), std::move(named)};
    release_with_lock([](void* o) { delete static_cast<Objects*>(o); }, objects);
  }
  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(result.ptr());
    for (const nb::object& o : named) Py_VISIT(o.ptr());
    return state.traverse(visit, arg);
  }
};

/// The placeholder for an array in a stored result.
nb::handle place() {
  static nb::handle marker = nb::module_::import_("builtins").attr("object")().release();
  return marker;
}

/// "args[0]: array of shape (2,), float32", one line per leaf, for the warning about repeated
/// tracing.
void describe(nb::handle tree, const std::string& path, std::vector<std::string>& out) {
  if (PyList_Check(tree.ptr()) || PyTuple_Check(tree.ptr())) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tree.ptr()); ++i)
      describe(nb::borrow(PySequence_Fast_GET_ITEM(tree.ptr(), i)),
               path + "[" + std::to_string(i) + "]", out);
  } else if (PyDict_Check(tree.ptr())) {
    for (const auto& [key, value] : pairs_of(tree))
      describe(value, path + "[" + repr_of(key) + "]", out);
  } else if (is_array(tree.ptr())) {
    const array& a = checked(tree.ptr());
    out.push_back(path + ": an array of shape " + core::to_string(a.shape()) + ", " +
                  std::string(dtype_name(a.dtype())));
  } else {
    out.push_back(path + ": " + repr_of(tree));
  }
}

/// Nesting depth of traces of compiled functions on this thread.
thread_local int tracing_depth = 0;
struct Depth {
  Depth() { ++tracing_depth; }
  ~Depth() { --tracing_depth; }
};

/// False for functions that take each keyword by its name: the order of a call's says nothing.
bool sees_order_of_keywords(nb::handle fun) {
  static nb::handle partial =
      nb::object(nb::module_::import_("functools").attr("partial")).release();
  nb::object f = nb::borrow(fun);
  for (;;) {
    if (nb::object within = function_within(f); within.is_valid())
      f = std::move(within);
    else if (f.type().is(partial))
      f = nb::object(f.attr("func"));
    else
      break;
  }
  if (!PyFunction_Check(f.ptr()) && !PyMethod_Check(f.ptr())) f = f.type().attr("__call__");
  if (PyMethod_Check(f.ptr())) f = nb::borrow(PyMethod_GET_FUNCTION(f.ptr()));
  if (!PyFunction_Check(f.ptr())) return true;
  return reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(f.ptr()))->co_flags & CO_VARKEYWORDS;
}

nb::dict sorted_keywords(const nb::dict& keywords) {
  nb::list names = keywords.keys();
  names.sort();
  nb::dict out;
  for (nb::handle name : names) out[name] = keywords[name];
  return out;
}

/// A compiled function with its captures; shared by all wrappers of the same function.
class PythonFunction {
 public:
  PythonFunction(std::string name, bool shapeless)
      : name_(std::move(name)), shapeless_(shapeless) {}

  /// Reports the objects held by the traces to the garbage collector.
  int traverse(visitproc visit, void* arg) const {
    int stop = 0;
    cache_.each([&](core::CacheEntry& e) {
      if (!stop) stop = static_cast<PythonTrace&>(e).traverse(visit, arg);
    });
    return stop;
  }
  void forget() { cache_.clear(); }

  nb::object call(nb::handle fun, nb::handle inputs, nb::handle outputs, Star args,
                  nb::dict kwargs) {
    // While another thread traces, captured containers hold placeholders.
    std::unique_lock<std::recursive_mutex> held;
    if (!inputs.is_none() || !outputs.is_none()) held = lock();
    if (PyDict_GET_SIZE(kwargs.ptr()) > 1 && !sees_order_of_keywords(fun))
      kwargs = sorted_keywords(kwargs);
    TraceKey key(shapeless_);
    key.put('t', core::to_stream({}).index);
    key.put('W', core::world_number());
    key.put('w', core::watching_lines());
    key.put('p', static_cast<int>(core::matmul_precision()));
    for (nb::handle a : args.items) key.read(a, false);
    key.put('k');
    if (PyDict_GET_SIZE(kwargs.ptr())) key.read(kwargs, false);
    if (!inputs.is_none()) key.read(inputs, true);
    auto entry = find(key);
    if (!entry) {
      if (!held) held = lock(tracing_depth > 0);
      entry = find(key);
    }
    core::count_trace_lookup(entry != nullptr);
    if (!entry) entry = trace(key, fun, inputs, outputs, args, kwargs);
    Arrays results;
    if (entry->graph->needs_function(key.arrays())) {
      auto call = std::make_shared<PythonTrace>();
      unchanged(inputs, outputs,
                [&] { results = run(*call, key.arrays(), fun, inputs, outputs, args, kwargs); });
      entry = call;
    } else {
      results = (*entry->graph)(key.arrays());
    }
    size_t next = 0;
    nb::object out = results_in(entry->result, results, next);
    if (!outputs.is_none()) {
      Setter nowhere = [](nb::object) {};
      entry->state.fill(outputs, nowhere, results, next);
    }
    return out;
  }

 private:
  /// Waits for a trace on another thread without the GIL, which that thread needs. With `try_only`
  /// it does not wait: the function may then be traced twice, which is harmless, whereas two
  /// threads that trace functions which call each other would deadlock.
  std::unique_lock<std::recursive_mutex> lock(bool try_only = false) {
    std::unique_lock held(tracing_, std::try_to_lock);
    if (!held && !try_only) {
      BlockingRegion region;
      held.lock();
    }
    return held;
  }

  std::shared_ptr<PythonTrace> find(const TraceKey& key) {
    auto entry = std::static_pointer_cast<PythonTrace>(cache_.find(key.text()));
    if (!entry || !shapeless_ || entry->graph->any_shape()) return entry;
    return std::static_pointer_cast<PythonTrace>(cache_.find(key.text_with_shapes()));
  }

  std::shared_ptr<PythonTrace> trace(const TraceKey& key, nb::handle fun, nb::handle inputs,
                                     nb::handle outputs, Star args, nb::dict kwargs) {
    auto entry = std::make_shared<PythonTrace>();
    entry->named = key.named();
    entry->watched = !warned_of_loss_ && tracing_depth == 0;
    auto flat = [&](const Arrays& placeholders) {
      return run(*entry, placeholders, fun, inputs, outputs, args, kwargs);
    };
    Depth inside;
    unchanged(inputs, outputs, [&] {
      entry->graph = std::make_unique<core::CompiledTrace>(core::Function(flat), key.arrays(),
                                                           name_, shapeless_);
    });
    if (!entry->lost.empty()) warn_of_loss(entry->lost);
    if (entry->graph->reusable()) {
      warn_of_repetition(inputs, args, kwargs);
      cache_.insert(key.text(), entry);
      if (shapeless_ && !entry->graph->any_shape()) cache_.insert(key.text_with_shapes(), entry);
    }
    return entry;
  }

  /// Calls `f`, which runs the function, and restores the captured containers, except those among
  /// `outputs` if there was no error.
  static void unchanged(nb::handle inputs, nb::handle outputs, const std::function<void()>& f) {
    StateSnapshot before;
    if (!inputs.is_none()) before.add(inputs);
    if (!outputs.is_none()) before.add(outputs);
    try {
      f();
    } catch (...) {
      before.restore();
      throw;
    }
    before.restore(outputs.is_none() ? nb::handle() : outputs);
  }

  /// Calls the function on placeholders; returns its arrays, then those of the captured outputs.
  static Arrays run(PythonTrace& entry, const Arrays& placeholders, nb::handle fun,
                    nb::handle inputs, nb::handle outputs, Star args, nb::dict kwargs) {
    size_t next = 0;
    std::vector<nb::object> positional;
    for (nb::handle a : args.items) positional.push_back(replaced(a, placeholders, next));
    nb::object named = replaced(kwargs, placeholders, next);
    if (!inputs.is_none())
      visit_state(inputs, [&](nb::handle leaf, const Setter& set) {
        if (is_array(leaf.ptr())) set(nb::steal(wrap(placeholders.at(next++))));
      });
    std::optional<Captured> around;
    if (entry.watched) around.emplace(fun);
    nb::object result = call_python(fun, positional, named);
    if (around) entry.lost = around->replaced(fun, outputs);
    Arrays all;
    entry.result = map_tree(result, [&](nb::handle leaf) -> nb::object {
      if (!is_array(leaf.ptr())) return nb::borrow(leaf);
      all.push_back(checked(leaf.ptr()));
      return nb::borrow(place());
    });
    if (!outputs.is_none()) {
      visit_state(outputs, [&](nb::handle leaf, const Setter&) {
        if (is_array(leaf.ptr())) all.push_back(checked(leaf.ptr()));
      });
      entry.state = StateForm::of(outputs);
    }
    return all;
  }

  static nb::object replaced(nb::handle tree, const Arrays& arrays, size_t& next) {
    return map_tree(tree, [&](nb::handle leaf) -> nb::object {
      if (!is_array(leaf.ptr())) return nb::borrow(leaf);
      return nb::steal(wrap(arrays.at(next++)));
    });
  }

  static nb::object results_in(const nb::object& form, const Arrays& arrays, size_t& next) {
    if (form.is(place())) return nb::steal(wrap(arrays.at(next++)));
    return map_tree(form, [&](nb::handle leaf) -> nb::object {
      if (!leaf.is(place())) return nb::borrow(leaf);
      return nb::steal(wrap(arrays.at(next++)));
    });
  }

  /// Warns once that a function is traced repeatedly, which costs more than compilation saves.
  void warn_of_repetition(nb::handle inputs, Star args, nb::dict kwargs) {
    ++traces_;
    if (traces_ < kManyTraces || traces_ > kManyTraces + 1) return;
    std::vector<std::string> now;
    for (size_t i = 0; i < args.size(); ++i)
      describe(args[i], "args[" + std::to_string(i) + "]", now);
    describe(kwargs, "kwargs", now);
    if (!inputs.is_none()) describe(inputs, "inputs", now);
    std::swap(now, described_);
    if (traces_ == kManyTraces) return;
    size_t k = 0;
    while (k < now.size() && k < described_.size() && now[k] == described_[k]) ++k;
    std::string changed = k < now.size() && k < described_.size()
                              ? now[k] + " became " + described_[k]
                              : "the number of arrays or constants";
    std::string text = "[compile] " + name_ + " was traced " + std::to_string(kManyTraces + 1) +
                       " times; what changed last: " + changed +
                       ". Pass what varies as arrays of one shape, or use shapeless=True.";
    if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) < 0) throw nb::python_error();
  }

  /// Warns once of arrays that a call replaces in the trace alone: later calls do not.
  void warn_of_loss(const std::vector<std::string>& paths) {
    warned_of_loss_ = true;
    std::string list;
    for (size_t i = 0; i < paths.size() && i < 3; ++i) list += (i ? ", " : "") + paths[i];
    if (paths.size() > 3) list += " and " + std::to_string(paths.size() - 3) + " more";
    const std::string text =
        "[compile] " + name_ + " replaces " + list +
        ", which `outputs` does not contain: the new values are lost, and later calls do not see "
        "them. Pass inputs=state, outputs=state with a list such as state = [model.state, "
        "optimizer.state, mx.random.state].";
    if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) < 0) throw nb::python_error();
  }

  static constexpr uint64_t kManyTraces = 16;
  bool warned_of_loss_ = false;
  uint64_t traces_ = 0;  ///< that were made, including those that the cache has dropped
  std::string name_;
  bool shapeless_;
  core::TraceCache cache_;
  std::recursive_mutex tracing_;
  std::vector<std::string> described_;
};

std::string name_of(nb::handle fun) {
  for (const char* attribute : {"__qualname__", "__name__"})
    if (has_attr(fun, attribute)) return text_of(fun.attr(attribute));
  return repr_of(fun);
}

/// The identity of a compiled function.
using FunctionKey = std::tuple<PyObject*, PyObject*, PyObject*, bool>;

/// The Python object that owns a PythonFunction. All wrappers of the same function hold it, so that
/// the garbage collector counts the objects of its traces once.
struct Traces {
  PyObject_HEAD PythonFunction* function;
  PyObject *fun, *inputs, *outputs;
  bool shapeless;

  FunctionKey key() const { return {fun, inputs, outputs, shapeless}; }
  static Traces* of(PyObject* o) { return reinterpret_cast<Traces*>(o); }
  /// All live objects; they remove themselves.
  static std::map<FunctionKey, PyObject*>& known() {
    static auto& map = *new std::map<FunctionKey, PyObject*>;
    return map;
  }
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(of(self)->fun);
    Py_VISIT(of(self)->inputs);
    Py_VISIT(of(self)->outputs);
    return of(self)->function ? of(self)->function->traverse(visit, arg) : 0;
  }
  static int clear(PyObject* self) {
    Traces* t = of(self);
    auto it = known().find(t->key());
    if (it != known().end() && it->second == self) known().erase(it);
    t->function->forget();
    Py_CLEAR(t->fun);
    Py_CLEAR(t->inputs);
    Py_CLEAR(t->outputs);
    return 0;
  }
  static void dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    clear(self);
    delete of(self)->function;
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
  }
};

PyType_Slot traces_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(Traces::traverse)},
                              {Py_tp_clear, reinterpret_cast<void*>(Traces::clear)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(Traces::dealloc)},
                              {0, nullptr}};
PyType_Spec traces_spec = {
    "mlx.core.traces", sizeof(Traces), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, traces_slots};

/// The object for a function and its captures, while it is in use.
nb::object shared_traces(nb::handle fun, nb::handle inputs, nb::handle outputs, bool shapeless) {
  static auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&traces_spec));
  if (!type) throw nb::python_error();
  FunctionKey key{fun.ptr(), inputs.ptr(), outputs.ptr(), shapeless};
  auto it = Traces::known().find(key);
  if (it != Traces::known().end()) return nb::borrow(it->second);
  auto function = std::make_unique<PythonFunction>(name_of(fun), shapeless);
  Traces* t = PyObject_GC_New(Traces, type);
  if (!t) throw nb::python_error();
  t->function = function.release();
  t->fun = Py_NewRef(fun.ptr());
  t->inputs = Py_NewRef(inputs.ptr());
  t->outputs = Py_NewRef(outputs.ptr());
  t->shapeless = shapeless;
  auto* self = reinterpret_cast<PyObject*>(t);
  Traces::known()[key] = self;
  PyObject_GC_Track(self);
  return nb::steal(self);
}

nb::object call_as_written(nb::handle fun, Star args, nb::handle kwargs) {
  std::vector<nb::object> positional;
  for (nb::handle a : args.items) positional.push_back(nb::borrow(a));
  return call_python(fun, positional, kwargs);
}

nb::object compile(nb::handle fun, nb::handle inputs, nb::handle outputs, bool shapeless) {
  nb::object traces = shared_traces(fun, inputs, outputs, shapeless);
  return make_transformed(
      fun,
      [t = Traces::of(traces.ptr())](nb::handle f, Star args, nb::dict kwargs) {
        if (core::compile_mode() == core::CompileMode::disabled)
          return call_as_written(f, args, kwargs);
        return t->function->call(f, t->inputs, t->outputs, args, std::move(kwargs));
      },
      nb::make_tuple("compile", inputs, outputs, shapeless), traces);
}

}  // namespace

void bind_compile(nb::module_& m) {
  def(m,
      "compile(fun: Callable[P, R], inputs: object | None = None, outputs: object | None = None, "
      "shapeless: bool = False) -> Callable[P, R]",
      [](nb::callable fun, nb::handle inputs, nb::handle outputs, bool shapeless) {
        return compile(fun, inputs, outputs, shapeless);
      });
  def(m, "disable_compile() -> None", [] { core::disable_compile(); });
  def(m, "enable_compile() -> None", [] { core::enable_compile(); });
  def(m, "compile_cache_info() -> dict[str, int]", [] {
    auto info = core::compile_cache_info();
    nb::dict d;
    d["hits"] = info.hits;
    d["misses"] = info.misses;
    d["size"] = info.size;
    d["max_size"] = info.max_size;
    return d;
  });
  def(m, "set_compile_cache_size(n: int) -> int",
      [](uint64_t n) -> uint64_t { return core::set_compile_cache_size(n); });
  def(m, "clear_compile_cache() -> None", [] { core::clear_compile_cache(); });
}

}  // namespace mlx::python
