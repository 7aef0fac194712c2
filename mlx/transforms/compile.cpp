// Compiled functions: traces by key, and calls of them.
#include "mlx/transforms/compile.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <unordered_map>

#include "mlx/backend/engine.h"
#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/ops/precision.h"
#include "mlx/runtime/evaluate.h"
#include "mlx/runtime/observe.h"
#include "mlx/transforms/custom_function.h"

namespace mlx::core {

namespace {

std::atomic<CompileMode>& mode() {
  static std::atomic<CompileMode> m =
      std::getenv("MLX_DISABLE_COMPILE") ? CompileMode::disabled : CompileMode::enabled;
  return m;
}

bool is_traced(const array& a) { return is_live(a.node()->trace); }
bool any_traced(const Arrays& list) { return std::any_of(list.begin(), list.end(), is_traced); }

/// State shared by all wrappers of one compiled function.
struct CompiledFunction {
  Function fun;
  TraceCache cache;

  Arrays call(const Arrays& inputs, bool shapeless) { return call(fun, inputs, shapeless); }
  /// `fun` is what is traced and, where traces cannot serve, called.
  Arrays call(const Function& fun, const Arrays& inputs, bool shapeless) {
    if (compile_mode() == CompileMode::disabled) return fun(inputs);
    std::string key = shapeless ? "s" : "";
    int stream = to_stream({}).index;  // the function's default stream
    key.append(reinterpret_cast<const char*>(&stream), sizeof stream);
    const uint64_t world = world_number();
    key.append(reinterpret_cast<const char*>(&world), sizeof world);
    key.push_back(static_cast<char>(watching_lines()));
    key.push_back(static_cast<char>(matmul_precision()));
    for (const array& a : inputs) append_to_key(key, a, shapeless);
    auto entry = std::static_pointer_cast<CompiledTrace>(cache.find(key));
    if (entry && !entry->any_shape() && shapeless) {
      for (const array& a : inputs) append_to_key(key, a, false);
      entry = std::static_pointer_cast<CompiledTrace>(cache.find(key));
    }
    count_trace_lookup(entry != nullptr);
    if (!entry) {
      entry = std::make_shared<CompiledTrace>(fun, inputs, "function", shapeless);
      if (entry->reusable()) cache.insert(key, entry);
    }
    return entry->needs_function(inputs) ? fun(inputs) : (*entry)(inputs);
  }
};

Function callable(std::shared_ptr<CompiledFunction> shared, bool shapeless) {
  return [shared, shapeless](const Arrays& inputs) { return shared->call(inputs, shapeless); };
}

}  // namespace

CompileMode compile_mode() { return mode(); }
void set_compile_mode(CompileMode m) { mode() = m; }
void disable_compile() { set_compile_mode(CompileMode::disabled); }
void enable_compile() { set_compile_mode(CompileMode::enabled); }

void append_to_key(std::string& key, const array& a, bool shapeless) {
  key.push_back(static_cast<char>(a.dtype().val()));
  key.push_back(static_cast<char>(a.ndim()));
  if (shapeless) return;
  for (int64_t d : a.shape()) key.append(reinterpret_cast<const char*>(&d), sizeof d);
}

namespace {
[[noreturn]] void refuse_null() { fail<ValueError>("compile", "null; a function is accepted"); }
}  // namespace

Function compile(Function fun, bool shapeless) {
  if (!fun) refuse_null();
  auto shared = std::make_shared<CompiledFunction>();
  shared->fun = std::move(fun);
  return callable(std::move(shared), shapeless);
}

Function compile(Arrays (*fun)(const Arrays&), bool shapeless) {
  if (!fun) refuse_null();
  static std::mutex mutex;
  static std::unordered_map<void*, std::weak_ptr<CompiledFunction>> known;
  std::lock_guard lock(mutex);
  auto& slot = known[reinterpret_cast<void*>(fun)];
  auto shared = slot.lock();
  if (!shared) {
    shared = std::make_shared<CompiledFunction>();
    shared->fun = fun;
    slot = shared;
  }
  return callable(std::move(shared), shapeless);
}

namespace detail {

namespace {

/// The traces of numbered functions, by number, then by `shapeless` and constants.
struct Numbered {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, std::map<std::pair<bool, std::vector<uint64_t>>,
                                              std::shared_ptr<CompiledFunction>>>
      functions;
};
Numbered& numbered() {
  static auto& all = *new Numbered;
  return all;
}

}  // namespace

Function compile(Function fun, std::uintptr_t fun_id, bool shapeless,
                 std::vector<uint64_t> constants) {
  if (!fun) refuse_null();
  Numbered& all = numbered();
  std::lock_guard lock(all.mutex);
  auto& shared = all.functions[fun_id][{shapeless, std::move(constants)}];
  if (!shared) shared = std::make_shared<CompiledFunction>();
  return [fun = std::move(fun), shared = shared, shapeless](const Arrays& inputs) {
    return shared->call(fun, inputs, shapeless);
  };
}

void compile_erase(std::uintptr_t fun_id) {
  Numbered& all = numbered();
  // Deleted outside of the lock: traces hold arrays, and these may hold functions.
  decltype(all.functions)::node_type gone;
  std::lock_guard lock(all.mutex);
  gone = all.functions.extract(fun_id);
}

void compile_clear_cache() {
  Numbered& all = numbered();
  decltype(all.functions) gone;
  std::lock_guard lock(all.mutex);
  gone.swap(all.functions);
}

}  // namespace detail

CompiledTrace::CompiledTrace(const Function& fun, const Arrays& inputs, const std::string& name,
                             bool shapeless)
    : mode_(compile_mode()) {
  ShapeWatch shapes;
  const uint64_t before = calls_with_rules();
  graph_ = trace(fun, inputs, name);
  auto rules = [](const Node* n) { return has_user_rules(*n); };
  has_rules_ = calls_with_rules() != before && std::ranges::any_of(computed_nodes(graph_), rules);
  if (!shapeless) {
    graph_ = simplify(graph_);
    return;
  }
  any_shape_ = !shapes.shape_was_read() && !first_shape_dependent_op(graph_, shapes);
  Graph simple = simplify(graph_);
  if (!any_shape_)
    graph_ = std::move(simple);
  else
    graph_.captured = std::move(simple.captured);
}

bool CompiledTrace::needs_function(const Arrays& inputs) const {
  return has_rules_ && any_traced(inputs);
}

bool CompiledTrace::reusable() const { return !any_traced(graph_.captured); }

Arrays CompiledTrace::operator()(const Arrays& inputs) {
  if (any_traced(inputs) || any_traced(graph_.captured))
    return any_shape_ ? rebuild(graph_, inputs) : instantiate(graph_, inputs);
  auto s = shaped(inputs);
  Arrays computed;
  if (s->body) computed = make_call(s->body, inputs);
  Arrays out;
  out.reserve(s->outputs.size());
  for (const auto& o : s->outputs)
    out.push_back(o.input >= 0 ? inputs[o.input] : o.part >= 0 ? computed[o.part] : o.captured);
  return out;
}

std::shared_ptr<CompiledTrace::Shaped> CompiledTrace::shaped(const Arrays& inputs) {
  std::lock_guard lock(mutex_);
  auto fits = [&](const std::shared_ptr<Shaped>& s) {
    if (!any_shape_) return true;
    return std::ranges::equal(s->shapes, inputs, {}, {}, [](const array& a) { return a.shape(); });
  };
  auto it = std::find_if(shaped_.begin(), shaped_.end(), fits);
  if (it != shaped_.end()) {
    std::rotate(shaped_.begin(), it, it + 1);
    return shaped_[0];
  }
  std::shared_ptr<Shaped> made;
  if (any_shape_) {
    Graph g;
    for (const array& a : inputs) {
      g.inputs.push_back(placeholder(a.shape(), a.dtype()));
      g.inputs.back().node()->stream = a.node()->stream;
      g.inputs.back().node()->trace = 0;
    }
    g.outputs = rebuild(graph_, g.inputs);
    made = lower(simplify(g));
  } else {
    made = lower(graph_);
  }
  for (const array& a : inputs) made->shapes.push_back(a.shape());
  if (shaped_.size() == kMaxShapes) shaped_.pop_back();
  shaped_.insert(shaped_.begin(), made);
  return made;
}

std::shared_ptr<CompiledTrace::Shaped> CompiledTrace::lower(Graph g) const {
  Evaluation(g.captured, false).run();
  auto s = std::make_shared<Shaped>();
  NodeMap<int> input, part;
  for (size_t k = 0; k < g.inputs.size(); ++k) input[g.inputs[k].node()] = static_cast<int>(k);
  NodeSet captured(g.captured.size());
  for (const array& a : g.captured) captured.emplace(a.node());
  Arrays results;
  for (const array& o : g.outputs) {
    auto& out = s->outputs.emplace_back();
    if (const int* k = input.find(o.node())) {
      out.input = *k;
    } else if (is_constant(o) || captured.contains(o.node())) {
      out.captured = o;
    } else {
      auto [place, fresh] = part.emplace(o.node(), static_cast<int>(results.size()));
      if (fresh) results.push_back(o);
      out.part = place;
    }
  }
  if (!results.empty())
    s->body = std::make_shared<Body>(g.inputs, results, g.captured, mode_ == CompileMode::enabled);
  s->graph = std::move(g);
  return s;
}

std::vector<std::string> CompiledTrace::steps() const {
  std::lock_guard lock(mutex_);
  if (shaped_.empty() || !shaped_[0]->body) return {};
  return shaped_[0]->body->steps();
}

}  // namespace mlx::core
