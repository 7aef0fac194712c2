// Objects that stand for the ops of nodes, of the class with the op's published name.
#include "mlx/compat/primitives.h"

#include <unordered_map>

#include "mlx/compat/op_primitives.h"
#include "mlx/core/error.h"
#include "mlx/transforms/published_ops.h"

namespace mlx::core {

OpPrimitive::OpPrimitive(const Node& n, std::string name, std::vector<ExportAttribute> arguments)
    : Primitive(stream_of(array(const_cast<Node*>(&n)))),
      op_(*n.op),
      attrs_(n.attrs),
      name_(std::move(name)),
      arguments_(std::move(arguments)) {}

bool OpPrimitive::is_equivalent(const Primitive& other) const {
  auto* o = dynamic_cast<const OpPrimitive*>(&other);
  if (!o || &o->op_ != &op_ || bool(o->attrs_) != bool(attrs_)) return false;
  return !attrs_ || attrs_->equals(*o->attrs_);
}

std::vector<Shape> OpPrimitive::output_shapes(const std::vector<array>& inputs) {
  if (!op_.build)
    fail<ValueError>("output_shapes", "the op ", op_.name, " is bound to the shapes that it has");
  std::vector<Shape> shapes;
  for (const array& a : op_.build(inputs, attrs_.get(), stream())) shapes.push_back(a.shape());
  return shapes;
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
#include "mlx/compat/primitives.def"
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
