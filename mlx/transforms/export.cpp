// Exporting traced functions to files, and calling imported ones.
#include "mlx/transforms/export.h"

#include <algorithm>
#include <exception>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"
#include "mlx/io/io.h"
#include "mlx/ops/control.h"
#include "mlx/ops/loop.h"
#include "mlx/ops/matmul.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/view.h"
#include "mlx/runtime/evaluate.h"
#include "mlx/transforms/function_file.h"
#include "mlx/transforms/graph.h"
#include "mlx/transforms/names.h"
#include "mlx/transforms/published_ops.h"

namespace mlx::core {

namespace {

constexpr const char* kExport = "export_function";

/// Arguments in the order of a trace: positional ones, then keyword arguments, sorted by name.
struct FlatArguments {
  Arrays inputs;
  std::vector<std::string> names;
};
FlatArguments flatten(const Args& args, const Kwargs& kwargs) {
  FlatArguments f{args, {}};
  for (const auto& [name, a] : kwargs) f.names.push_back(name);
  std::sort(f.names.begin(), f.names.end());
  for (const std::string& name : f.names) f.inputs.push_back(kwargs.at(name));
  return f;
}

/// Evaluated captured arrays, by the node that the graph reads. The map keeps that node alive.
struct Captured {
  array given;
  array stored;  ///< broadcast axes reduced to length 1
};
/// The captured arrays of all traces of a file.
struct CapturedArrays {
  std::unordered_map<const Node*, Captured> by_node;
  std::unordered_multimap<size_t, array> by_content;  // stored arrays, by a hash of the bytes

  /// The array of the same dtype, shape and bytes that is stored already, or `a`. Each trace
  /// computes the parts of a function that depend on no argument.
  array stored_once(const array& a) {
    if (a.nbytes() == 0) return a;
    auto bytes = [](const array& x) {
      return std::string_view(static_cast<const char*>(x.raw(Access::read)), x.nbytes());
    };
    const size_t hash = std::hash<std::string_view>{}(bytes(a));
    for (auto [it, end] = by_content.equal_range(hash); it != end; ++it)
      if (const array& b = it->second;
          b.dtype() == a.dtype() && b.shape() == a.shape() && bytes(b) == bytes(a))
        return b;
    by_content.emplace(hash, a);
    return a;
  }
};

array distinct_elements(const array& a) {
  if (a.size() == 0) return io::row_contiguous(a);
  Shape start(a.ndim(), 0), stop = a.shape(), steps(a.ndim(), 1);
  const Strides& strides = a.strides();
  for (size_t i = 0; i < stop.size(); ++i)
    if (strides[i] == 0 && stop[i] > 1) stop[i] = 1;
  return io::row_contiguous(stop == a.shape() ? a : slice(a, start, stop, steps));
}

/// Converts a graph to a trace.
class TraceWriter {
 public:
  /// `closed`: the graph is the function of a control-flow op, which captures nothing.
  TraceWriter(const Graph& g, CapturedArrays& captured, bool closed = false)
      : graph_(g), captured_(captured), closed_(closed) {}

  void write(StoredTrace& t) {
    trace_ = &t;
    for (const array& in : graph_.inputs) {
      number_[in.node()] = static_cast<uint32_t>(t.inputs.size());
      t.inputs.push_back(type_of(in));
    }
    auto nodes = closed_ ? pending_nodes(graph_.outputs) : computed_nodes(graph_);
    find_constants(nodes);
    for (Node* n : nodes) add(*n);
    for (const array& o : graph_.outputs) t.outputs.push_back(number_.at(o.node()));
  }

 private:
  void find_constants(const std::vector<Node*>& nodes) {
    for (Node* n : nodes) number_[n] = 0;
    Arrays found, pending;
    auto visit = [&](Node* n) {
      if (number_.emplace(n, 0).second) found.emplace_back(n);
    };
    for (Node* n : nodes)
      for (Node* in : n->inputs()) visit(in);
    for (const array& o : graph_.outputs) visit(o.node());
    std::vector<Captured*> fresh;
    for (const array& a : found) {
      if (is_constant(a) || captured_.by_node.contains(a.node())) continue;
      array stored = a;
      while (stored.node()->status == Status::pending && repeats_input(stored.node()->op))
        stored = array(stored.node()->inputs()[0]);
      fresh.push_back(&(captured_.by_node[a.node()] = {a, stored}));
      if (!is_constant(stored)) pending.push_back(stored);
    }
    Evaluation(pending, false).run();
    for (Captured* c : fresh)
      if (!is_constant(c->stored)) c->stored = captured_.stored_once(distinct_elements(c->stored));
    next_ = static_cast<uint32_t>(trace_->inputs.size() + found.size());
    for (const array& a : found) {
      number_[a.node()] = static_cast<uint32_t>(trace_->inputs.size() + trace_->constants.size());
      trace_->constants.push_back(is_constant(a) ? a : captured_.by_node.at(a.node()).stored);
    }
    for (const array& a : found) {
      if (trace_->constants[number_[a.node()] - trace_->inputs.size()].shape() == a.shape())
        continue;
      uint32_t from = number_[a.node()];
      number_[a.node()] = next_++;
      trace_->steps.push_back({find_export_op(op_broadcast_to.name),
                               make_attrs(BroadcastAttrs{a.shape()}),
                               {from},
                               {type_of(a)}});
    }
  }

  void add(const Node& n) {
    if (n.op == &op_trace_input) {
      number_[&n] = number_.at(n.inputs()[0]);
      return;
    }
    if (n.op->kind == OpKind::part) {
      number_[&n] = number_.at(n.inputs()[0]) + n.part;
      return;
    }
    TraceStep step = step_of(n);
    for (Node* in : n.inputs()) step.inputs.push_back(number_.at(in));
    if (n.parts)
      for (const PartInfo& p : *n.parts) step.outputs.push_back({p.dtype, p.shape});
    else
      step.outputs.push_back({n.dtype, n.shape});
    number_[&n] = next_;
    next_ += static_cast<uint32_t>(step.outputs.size());
    trace_->steps.push_back(std::move(step));
  }

  /// The op of a node; for a loop op, the op inside.
  TraceStep step_of(const Node& n) const {
    TraceStep step{};
    const Node* one = &n;
    while (one->op == &op_loop || one->op == &op_loop_view) {
      const auto& map = static_cast<const LoopAttrs&>(*one->attrs);
      step.mapped.push_back(map.mapped);
      one = &map.node();
    }
    step.op = find_export_op(one->op->name);
    step.attrs = one->attrs;
    if (const auto* functions = functions_of(one->attrs.get()))
      for (const auto& f : *functions) {
        const Graph g = without_rules({f->inputs(), f->outputs(), {}});
        auto t = std::make_shared<StoredTrace>();
        TraceWriter(g, captured_, true).write(*t);
        step.functions.push_back(std::move(t));
      }
    if (one->op == &op_matmul) step.attrs = {};  // the program that imports it has a precision
    if (!step.op || step.op->op != one->op || bool(step.op->attrs) != bool(step.attrs))
      fail<ValueError>(kExport, "the op ", one->op->name,
                       " cannot be written to a file; ops of this library, and registered ones "
                       "without attributes, are accepted");
    return step;
  }

  const Graph& graph_;
  CapturedArrays& captured_;
  const bool closed_;
  StoredTrace* trace_ = nullptr;
  std::unordered_map<const Node*, uint32_t> number_;
  uint32_t next_ = 0;
};

using Types = std::vector<std::tuple<std::string, Shape, Dtype>>;

void report_op(const ExportCallback& callback, const PublishedOp& op, const Types& inputs,
               const Types& outputs) {
  callback({{"type", "primitive"},
            {"name", op.name},
            {"inputs", inputs},
            {"outputs", outputs},
            {"arguments", op.arguments}});
}

/// An op that runs at each position of a loop: first which inputs have each axis of the loop.
PublishedOp as_loop(const TraceStep& s, PublishedOp op) {
  std::vector<ExportAttribute> arguments;
  for (const auto& mapped : s.mapped) arguments.emplace_back(Shape(mapped.begin(), mapped.end()));
  arguments.insert(arguments.end(), op.arguments.begin(), op.arguments.end());
  return {"map " + op.name, std::move(arguments), {}};
}

/// Reports a trace to a callback.
void report(const StoredTrace& t, const ExportCallback& callback) {
  std::vector<ArrayType> types = t.inputs;
  for (const array& a : t.constants) types.push_back(type_of(a));
  for (const TraceStep& s : t.steps) types.insert(types.end(), s.outputs.begin(), s.outputs.end());
  std::vector<std::string> names(types.size());
  Letters letters;
  auto describe = [&](uint32_t i) {
    if (names[i].empty()) names[i] = letters.next();
    return std::tuple(names[i], types[i].shape, types[i].dtype);
  };
  Types inputs, outputs;
  std::vector<std::pair<std::string, std::string>> keywords;
  std::vector<std::pair<std::string, array>> constants;
  const auto n = static_cast<uint32_t>(t.inputs.size());
  for (uint32_t i = 0; i < n; ++i) inputs.push_back(describe(i));
  for (size_t k = 0; k < t.keywords.size(); ++k)
    keywords.emplace_back(t.keywords[k], names[n - t.keywords.size() + k]);
  for (uint32_t i : t.outputs) outputs.push_back(describe(i));
  for (uint32_t i = 0; i < t.constants.size(); ++i)
    constants.emplace_back(std::get<0>(describe(n + i)), t.constants[i]);
  callback({{"type", "inputs"}, {"inputs", inputs}});
  callback({{"type", "keyword_inputs"}, {"keywords", keywords}});
  callback({{"type", "outputs"}, {"outputs", outputs}});
  callback({{"type", "constants"}, {"constants", constants}});
  uint32_t at = n + static_cast<uint32_t>(t.constants.size());
  for (const TraceStep& s : t.steps) {
    Types in, out;
    for (uint32_t i : s.inputs) in.push_back(describe(i));
    for (size_t k = 0; k < s.outputs.size(); ++k) out.push_back(describe(at++));
    const size_t ndim = s.inputs.empty() ? 0 : types[s.inputs[0]].shape.size();
    PublishedOp op = published_op(*s.op->op, s.attrs.get(), ndim);
    if (!s.mapped.empty()) op = as_loop(s, std::move(op));
    if (op.squeezed.empty()) {
      report_op(callback, op, in, out);
      continue;
    }
    Types kept = {{letters.next(), std::get<1>(in[0]), std::get<2>(out[0])}};
    for (int axis : op.squeezed) std::get<1>(kept[0])[axis] = 1;
    report_op(callback, op, in, kept);
    report_op(callback, {"Squeeze", {op.squeezed}, {}}, kept, out);
  }
}

void describe(std::ostream& out, const FlatArguments& f, const StoredTrace* t) {
  size_t n = t ? t->inputs.size() : f.inputs.size();
  const auto& names = t ? t->keywords : f.names;
  out << "(";
  for (size_t i = 0; i < n; ++i) {
    ArrayType type = t ? t->inputs[i] : type_of(f.inputs[i]);
    if (i) out << ", ";
    if (i + names.size() >= n) out << names[i + names.size() - n] << "=";
    out << dtype_name(type.dtype) << " ";
    if (t && t->shapeless)
      out << "of " << type.shape.size() << " axes";
    else
      out << to_string(type.shape);
  }
  out << ")";
}

}  // namespace

struct FunctionExporter::State {
  ArgsKwargsFunction fun;
  bool shapeless = false, closed = false;
  int unwinding = std::uncaught_exceptions();  // of the scope that made the exporter
  std::shared_ptr<io::Writer> out;
  ExportCallback callback;
  StoredFunction made;
  CapturedArrays captured;

  void add(const Args& args, const Kwargs& kwargs) {
    if (closed) fail<ExecutionError>(kExport, "a call after the exporter was closed");
    FlatArguments f = flatten(args, kwargs);
    for (const StoredTrace& t : made.traces)
      if (t.accepts(f.inputs, f.names))
        fail<ExecutionError>(kExport,
                             "arguments that a trace made before serves already; one trace "
                             "for each form of the arguments is accepted");
    StoredTrace t;
    t.keywords = f.names;
    TraceWriter(traced(f, t), captured).write(t);
    t.check();
    if (callback)
      report(t, callback);
    else
      made.traces.push_back(std::move(t));
  }

  Graph traced(const FlatArguments& f, StoredTrace& t) const {
    auto call = [&](const Arrays& in) {
      const auto n = static_cast<int64_t>(f.inputs.size() - f.names.size());
      Kwargs named;
      for (size_t k = 0; k < f.names.size(); ++k) named.emplace(f.names[k], in[n + k]);
      return fun(Args(in.begin(), in.begin() + n), named);
    };
    auto forward = [&] { return without_rules(trace(call, f.inputs, "an exported function")); };
    if (!shapeless) return simplify(forward());
    ShapeWatch shapes;
    Graph g = forward();
    const OpDef* op = first_shape_dependent_op(g, shapes);
    t.shapeless = !shapes.shape_was_read() && !op;
    if (t.shapeless) return g;
    t.bound = op ? cat("the op ", op->name, " is bound to them") : "the function reads them";
    return simplify(g);
  }
};

FunctionExporter::FunctionExporter(std::unique_ptr<State> state) : state_(std::move(state)) {}
FunctionExporter::FunctionExporter(FunctionExporter&&) noexcept = default;
FunctionExporter::~FunctionExporter() {
  if (!state_ || std::uncaught_exceptions() > state_->unwinding) return;
  try {
    close();
  } catch (const std::exception&) {
    // Destructors cannot report errors; `close` does.
  }
}

void FunctionExporter::operator()(const std::initializer_list<array>& args) {
  state_->add(Args(args), {});
}
void FunctionExporter::operator()(const Args& args) { state_->add(args, {}); }
void FunctionExporter::operator()(const Kwargs& kwargs) { state_->add({}, kwargs); }
void FunctionExporter::operator()(const Args& args, const Kwargs& kwargs) {
  state_->add(args, kwargs);
}
void FunctionExporter::close() {
  if (state_->closed) return;
  state_->closed = true;
  if (state_->out) write_function(*state_->out, state_->made);
  discard();
}
void FunctionExporter::discard() {
  state_->closed = true;
  state_->out.reset();
  state_->made = {};
  state_->captured = {};
}

ImportedFunction::ImportedFunction(const std::string& file)
    : function_(std::make_shared<StoredFunction>(
          read_function(*io::open_reader(file, "import_function")))) {}

std::vector<array> ImportedFunction::operator()(const Args& args, const Kwargs& kwargs) const {
  FlatArguments f = flatten(args, kwargs);
  for (bool shapeless : {false, true}) {
    for (const StoredTrace& t : function_->traces) {
      if (t.shapeless != shapeless || !t.accepts(f.inputs, f.names)) continue;
      if (!shapeless)
        for (const array& a : f.inputs) note_shape_read(a);
      return t.run(f.inputs);
    }
  }
  std::ostringstream text;
  describe(text, f, nullptr);
  text << "; accepted are";
  size_t k = 0;
  for (const StoredTrace& t : function_->traces) {
    text << "\n  " << ++k << ". ";
    describe(text, f, &t);
    if (!t.bound.empty()) text << ", for these shapes only: " << t.bound;
  }
  if (k == 0) text << " none: the file holds no trace";
  fail<ValueError>("import_function", "arguments ", text.str());
}
std::vector<array> ImportedFunction::operator()(const std::initializer_list<array>& args) const {
  return (*this)(Args(args), {});
}
std::vector<array> ImportedFunction::operator()(const Args& args) const {
  return (*this)(args, {});
}
std::vector<array> ImportedFunction::operator()(const Kwargs& kwargs) const {
  return (*this)(Args{}, kwargs);
}
const std::string& ImportedFunction::metadata() const { return function_->metadata; }

ImportedFunction import_function(const std::string& file) { return ImportedFunction(file); }

namespace {

ArgsKwargsFunction general(ArgsFunction fun) {
  return [fun = std::move(fun)](const Args& args, const Kwargs& kwargs) {
    if (!kwargs.empty()) fail<ValueError>(kExport, "keywords for a function of positional arrays");
    return fun(args);
  };
}
ArgsKwargsFunction general(KwargsFunction fun) {
  return [fun = std::move(fun)](const Args& args, const Kwargs& kwargs) {
    if (!args.empty()) fail<ValueError>(kExport, "positional arrays for a function of keywords");
    return fun(kwargs);
  };
}
ArgsKwargsFunction general(ArgsKwargsFunction fun) { return fun; }

template <class F>
FunctionExporter to_file(const std::string& file, const F& fun, bool shapeless,
                         const std::string& metadata) {
  auto state = std::make_unique<FunctionExporter::State>();
  state->fun = general(fun);
  state->shapeless = shapeless;
  state->out = io::open_writer(file, kExport);
  state->made.metadata = metadata;
  return FunctionExporter(std::move(state));
}
template <class F>
FunctionExporter to_callback(const ExportCallback& callback, const F& fun, bool shapeless) {
  auto state = std::make_unique<FunctionExporter::State>();
  state->fun = general(fun);
  state->shapeless = shapeless;
  state->callback = callback;
  return FunctionExporter(std::move(state));
}
template <class... A>
void once(FunctionExporter e, const A&... args) {
  try {
    e(args...);
  } catch (...) {
    e.discard();  // the destructor counts no exceptions of another C++ runtime
    throw;
  }
  e.close();
}

}  // namespace

#define MLX_EXPORTERS(F)                                                                    \
  FunctionExporter exporter(const std::string& file, const F& fun, bool shapeless,          \
                            const std::string& metadata) {                                  \
    return to_file(file, fun, shapeless, metadata);                                         \
  }                                                                                         \
  FunctionExporter exporter(const ExportCallback& callback, const F& fun, bool shapeless) { \
    return to_callback(callback, fun, shapeless);                                           \
  }
MLX_EXPORTERS(ArgsFunction)
MLX_EXPORTERS(KwargsFunction)
MLX_EXPORTERS(ArgsKwargsFunction)
#undef MLX_EXPORTERS

void export_function(const std::string& file, const ArgsFunction& fun, const Args& args,
                     bool shapeless, const std::string& metadata) {
  once(exporter(file, fun, shapeless, metadata), args);
}
void export_function(const std::string& file, const KwargsFunction& fun, const Kwargs& kwargs,
                     bool shapeless, const std::string& metadata) {
  once(exporter(file, fun, shapeless, metadata), kwargs);
}
void export_function(const std::string& file, const ArgsKwargsFunction& fun, const Args& args,
                     const Kwargs& kwargs, bool shapeless, const std::string& metadata) {
  once(exporter(file, fun, shapeless, metadata), args, kwargs);
}
void export_function(const ExportCallback& callback, const ArgsFunction& fun, const Args& args,
                     bool shapeless) {
  once(exporter(callback, fun, shapeless), args);
}
void export_function(const ExportCallback& callback, const KwargsFunction& fun,
                     const Kwargs& kwargs, bool shapeless) {
  once(exporter(callback, fun, shapeless), kwargs);
}
void export_function(const ExportCallback& callback, const ArgsKwargsFunction& fun,
                     const Args& args, const Kwargs& kwargs, bool shapeless) {
  once(exporter(callback, fun, shapeless), args, kwargs);
}

}  // namespace mlx::core
