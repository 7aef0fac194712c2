// Objects that stand for the ops of nodes, of the class with the op's published name.
#include "mlx/compat/primitives.h"

#include <unordered_map>

#include "mlx/compat/op_primitives.h"
#include "mlx/core/error.h"
#include "mlx/transforms/published_ops.h"
#include "mlx/transforms/transforms.h"

namespace mlx::core {

OpPrimitive::OpPrimitive(const Node& n, std::string name, std::vector<ExportAttribute> arguments)
    : Primitive(stream_of(array(const_cast<Node*>(&n)))),
      op_(n.op),
      attrs_(n.attrs),
      name_(std::move(name)),
      arguments_(std::move(arguments)),
      inputs_(static_cast<int>(n.inputs().size())) {
  if (op_->build)
    build_ = [op = op_, attrs = attrs_](const Arrays& inputs, Stream s) {
      return op->build(inputs, attrs.get(), s);
    };
}

OpPrimitive::OpPrimitive(Stream s, std::string name, std::vector<ExportAttribute> arguments,
                         int inputs, Build build)
    : Primitive(s),
      name_(std::move(name)),
      arguments_(std::move(arguments)),
      inputs_(inputs),
      build_(std::move(build)) {}

bool OpPrimitive::is_equivalent(const Primitive& other) const {
  auto* o = dynamic_cast<const OpPrimitive*>(&other);
  if (!o) return false;
  if (!op_ || !o->op_) return name_ == o->name_ && arguments_ == o->arguments_;
  if (o->op_ != op_ || bool(o->attrs_) != bool(attrs_)) return false;
  return !attrs_ || attrs_->equals(*o->attrs_);
}

std::vector<array> OpPrimitive::library_op(const std::vector<array>& inputs) const {
  if (!build_)
    fail<ValueError>(name_.c_str(),
                     "other inputs for an op that is bound to the shapes that it "
                     "has; the function of the op makes another one");
  if (inputs_ >= 0 && inputs.size() != static_cast<size_t>(inputs_))
    fail<ValueError>(name_.c_str(), inputs.size(), " inputs; ", inputs_, " are accepted");
  return build_(inputs, stream());
}

std::vector<Shape> OpPrimitive::output_shapes(const std::vector<array>& inputs) {
  std::vector<Shape> shapes;
  for (const array& a : library_op(inputs)) shapes.push_back(a.shape());
  return shapes;
}

namespace {

/// The op as a function of the inputs at `argnums`; the others are `primals`.
std::function<Arrays(const Arrays&)> function_of(const OpPrimitive& p, const Arrays& primals,
                                                 const std::vector<int>& argnums) {
  return [&](const Arrays& chosen) {
    Arrays inputs = primals;
    for (size_t k = 0; k < argnums.size(); ++k) inputs[argnums[k]] = chosen[k];
    return p.library_op(inputs);
  };
}

Arrays chosen(const OpPrimitive& p, const Arrays& primals, const std::vector<int>& argnums) {
  Arrays out;
  for (int k : argnums) {
    if (k < 0 || k >= static_cast<int>(primals.size()))
      fail<ValueError>(p.name(), "argnum ", k, " of ", primals.size(),
                       " inputs; an index is accepted");
    out.push_back(primals[k]);
  }
  return out;
}

}  // namespace

std::vector<array> OpPrimitive::jvp(const std::vector<array>& primals,
                                    const std::vector<array>& tangents,
                                    const std::vector<int>& argnums) {
  return core::jvp(function_of(*this, primals, argnums), chosen(*this, primals, argnums), tangents)
      .second;
}

std::vector<array> OpPrimitive::vjp(const std::vector<array>& primals,
                                    const std::vector<array>& cotangents,
                                    const std::vector<int>& argnums, const std::vector<array>&) {
  return core::vjp(function_of(*this, primals, argnums), chosen(*this, primals, argnums),
                   cotangents)
      .second;
}

std::pair<std::vector<array>, std::vector<int>> OpPrimitive::vmap(const std::vector<array>& inputs,
                                                                  const std::vector<int>& axes) {
  auto [traced, results] =
      detail::vmap_trace([this](const Arrays& in) { return library_op(in); }, inputs, axes);
  const std::vector<int> first(results.size(), 0);
  return {detail::vmap_replace(inputs, traced, results, axes, first), first};
}

void OpPrimitive::eval_cpu(const std::vector<array>&, std::vector<array>&) {
  fail<ExecutionError>(name(), "an op of this library, evaluated by `eval` alone");
}

namespace {
[[noreturn]] void fail_argument(const char* name, size_t argument) {
  fail<ValueError>("state", "the op ", name, ", which has no published argument ", argument);
}
}  // namespace

int64_t OpPrimitive::number(size_t argument) const {
  if (argument < arguments_.size()) {
    if (auto* v = std::get_if<int64_t>(&arguments_[argument])) return *v;
    if (auto* v = std::get_if<bool>(&arguments_[argument])) return *v;
  }
  fail_argument(name(), argument);
}

std::vector<int> OpPrimitive::axes(size_t argument) const {
  if (argument < arguments_.size())
    if (auto* v = std::get_if<std::vector<int>>(&arguments_[argument])) return *v;
  fail_argument(name(), argument);
}

namespace {

using Make = std::shared_ptr<Primitive> (*)(const Node& n, std::string name,
                                            std::vector<ExportAttribute> arguments);
template <class Class>
std::shared_ptr<Primitive> make(const Node& n, std::string name,
                                std::vector<ExportAttribute> arguments) {
  return std::make_shared<Class>(n, std::move(name), std::move(arguments));
}

/// The classes by name.
const std::unordered_map<std::string_view, Make>& classes() {
  static const auto& all = *new std::unordered_map<std::string_view, Make>{
#define MLX_PRIMITIVE(Name) {#Name, make<Name>},
#define MLX_MADE_PRIMITIVE(Name, ...) MLX_PRIMITIVE(Name)
#include "mlx/compat/primitives.def"
#undef MLX_MADE_PRIMITIVE
      MLX_PRIMITIVE(Reduce) MLX_PRIMITIVE(ArgReduce) MLX_PRIMITIVE(Scan) MLX_PRIMITIVE(Scatter)
          MLX_PRIMITIVE(ScatterAxis) MLX_PRIMITIVE(Log) MLX_PRIMITIVE(BitwiseBinary)
#undef MLX_PRIMITIVE
  };
  return all;
}

/// The classes of ops that are not published under their class's name with all attributes.
constexpr std::pair<std::string_view, std::string_view> others[] = {
    {"arange", "Arange"},
    {"arg_reduce", "ArgReduce"},
    {"dynamic_slice", "DynamicSlice"},
    {"dynamic_slice_update", "DynamicSliceUpdate"},
    {"eig", "Eig"},
    {"fft", "FFT"},
    {"fft_planes", "FFT"},
    {"spectrum", "FFT"},  // the end of the transform of a real signal
    {"file_read", "Load"},
    {"file_read_parts", "Load"},
    {"full", "Full"},
    {"gather", "Gather"},
    {"gather_mm", "GatherMM"},
    {"gather_qmm", "GatherQMM"},
    {"logsumexp", "LogSumExp"},
    {"lu", "LUF"},
    {"masked_scatter", "MaskedScatter"},
    {"scan", "Scan"},
    {"segmented_mm", "SegmentedMM"},
    {"softmax", "Softmax"},
    {"stop_gradient", "StopGradient"},
    {"svd", "SVD"},
};

}  // namespace

std::shared_ptr<Primitive> op_primitive_of(const Node& n) {
  // Functions as attributes are nothing that can be published.
  if (n.op->name == std::string_view("call"))
    return std::make_shared<Compiled>(n, "Compiled", std::vector<ExportAttribute>());
  if (n.op->name == std::string_view("custom_function"))
    return std::make_shared<CustomTransforms>(n, "CustomTransforms",
                                              std::vector<ExportAttribute>());
  const size_t ndim = n.inputs().empty() ? 0 : n.inputs()[0]->shape.size();
  PublishedOp op = published_op(*n.op, n.attrs.get(), ndim);
  std::string_view name = op.name;
  for (const auto& [ours, published] : others)
    if (name == ours) name = published;
  auto it = classes().find(name);
  if (it == classes().end())
    return std::make_shared<OpPrimitive>(n, std::move(op.name), std::move(op.arguments));
  return it->second(n, std::string(name), std::move(op.arguments));
}

}  // namespace mlx::core
