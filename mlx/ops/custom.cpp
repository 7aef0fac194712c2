// The op behind classes derived from Primitive: rules that call its virtual functions.
#include "mlx/ops/custom.h"

#include "mlx/backend/backend.h"
#include "mlx/core/error.h"
#include "mlx/ops/creation.h"

namespace mlx::core {

namespace {

Primitive& primitive_of(const Attrs* a) {
  return *static_cast<const PrimitiveAttrs*>(a)->primitive;
}

Arrays primitive_vjp(const RuleArgs& args) {
  std::vector<int> argnums;
  for (size_t k = 0; k < args.inputs.size(); ++k)
    if (args.requested[k]) argnums.push_back(static_cast<int>(k));
  Arrays cotangents = args.grads;
  cotangents.resize(args.outputs.size());
  for (size_t k = 0; k < cotangents.size(); ++k)
    if (!cotangents[k])
      cotangents[k] = zeros(args.outputs[k].shape(), args.outputs[k].dtype(), args.stream);
  Arrays found = primitive_of(args.attrs).vjp(args.inputs, cotangents, argnums, args.outputs);
  Arrays out(args.inputs.size());
  for (size_t k = 0; k < argnums.size() && k < found.size(); ++k) out[argnums[k]] = found[k];
  return out;
}

Arrays primitive_jvp(const RuleArgs& args) {
  std::vector<int> argnums;
  Arrays tangents;
  for (size_t k = 0; k < args.inputs.size(); ++k) {
    if (!args.grads[k]) continue;
    argnums.push_back(static_cast<int>(k));
    tangents.push_back(args.grads[k]);
  }
  return primitive_of(args.attrs).jvp(args.inputs, tangents, argnums);
}

std::pair<Arrays, std::vector<int>> primitive_vmap(const Arrays& inputs,
                                                   const std::vector<int>& axes, const Attrs* attrs,
                                                   Stream) {
  return primitive_of(attrs).vmap(inputs, axes);
}

[[noreturn]] void missing(const Primitive& p, const char* rule) {
  fail<ValueError>(rule, "the primitive ", p.name(), " does not define it; override ", rule);
}

}  // namespace

constinit const OpDef op_primitive{.name = "primitive",
                                   .kind = OpKind::kernel,
                                   .vjp = primitive_vjp,
                                   .jvp = primitive_jvp,
                                   .vmap = primitive_vmap};
constinit const OpDef op_primitive_bundle{.name = "primitive_bundle",
                                          .kind = OpKind::bundle,
                                          .vjp = primitive_vjp,
                                          .jvp = primitive_jvp,
                                          .vmap = primitive_vmap};

bool PrimitiveAttrs::equals(const Attrs& o) const {
  auto* other = dynamic_cast<const PrimitiveAttrs*>(&o);
  if (!other) return false;
  const auto &one = *primitive, &another = *other->primitive;
  return typeid(one) == typeid(another) && one.is_equivalent(another);
}
size_t PrimitiveAttrs::hash() const {
  const auto& one = *primitive;
  return typeid(one).hash_code();
}
void PrimitiveAttrs::visit(AttrVisitor&) {
  fail<ValueError>("export", "the primitive ", primitive->name(), " cannot be exported");
}

void Primitive::eval_gpu(const std::vector<array>&, std::vector<array>&) {
  fail<ExecutionError>(name(), "this primitive has no eval_gpu; stream=mx.cpu runs it");
}
std::vector<array> Primitive::jvp(const std::vector<array>&, const std::vector<array>&,
                                  const std::vector<int>&) {
  missing(*this, "jvp");
}
std::vector<array> Primitive::vjp(const std::vector<array>&, const std::vector<array>&,
                                  const std::vector<int>&, const std::vector<array>&) {
  missing(*this, "vjp");
}
std::pair<std::vector<array>, std::vector<int>> Primitive::vmap(const std::vector<array>&,
                                                                const std::vector<int>&) {
  return {};
}
std::vector<Shape> Primitive::output_shapes(const std::vector<array>&) {
  missing(*this, "output_shapes");
}

void check_outputs(const Primitive& p, const Arrays& outputs,
                   const std::vector<std::pair<Shape, Dtype>>& declared) {
  if (outputs.size() != declared.size())
    fail<ExecutionError>(p.name(), outputs.size(), " outputs; ", declared.size(), " are accepted");
  for (size_t k = 0; k < declared.size(); ++k) {
    const auto& [shape, dtype] = declared[k];
    if (outputs[k].shape() != shape || outputs[k].dtype() != dtype)
      fail<ExecutionError>(p.name(), "an output of shape ", to_string(outputs[k].shape()),
                           " and dtype ", dtype_name(outputs[k].dtype()), "; shape ",
                           to_string(shape), " and dtype ", dtype_name(dtype), " are accepted");
  }
}

namespace {

/// The results of an op of the library; none for a primitive of a program. Throws ValueError where
/// they are not as declared.
Arrays library_results(const Primitive& p, const Arrays& inputs, std::span<const Shape> shapes,
                       std::span<const Dtype> dtypes) {
  Arrays results = p.library_op(inputs);
  if (results.empty()) return results;
  if (results.size() != shapes.size())
    fail<ValueError>("array", shapes.size(), " results of ", p.name(), "; ", results.size(),
                     " are accepted");
  for (size_t k = 0; k < results.size(); ++k)
    if (results[k].shape() != shapes[k] || results[k].dtype() != dtypes[k])
      fail<ValueError>("array", "shape ", to_string(shapes[k]), " and dtype ",
                       dtype_name(dtypes[k]), " for a result of ", p.name(), "; shape ",
                       to_string(results[k].shape()), " and dtype ", dtype_name(results[k].dtype()),
                       " are accepted for these inputs");
  return results;
}

}  // namespace

array::array(Shape shape, Dtype dtype, std::shared_ptr<Primitive> primitive, Arrays inputs) {
  Arrays results = library_results(*primitive, inputs, {&shape, 1}, {&dtype, 1});
  if (!results.empty()) {
    *this = std::move(results[0]);
    return;
  }
  Stream s = primitive->stream();
  *this = make_node(op_primitive, std::move(shape), dtype, s, inputs,
                    Ref<const Attrs>(new PrimitiveAttrs(std::move(primitive))));
}

Arrays array::make_arrays(std::vector<Shape> shapes, const std::vector<Dtype>& dtypes,
                          const std::shared_ptr<Primitive>& primitive, const Arrays& inputs) {
  if (shapes.empty() || shapes.size() != dtypes.size())
    fail<ValueError>("make_arrays", shapes.size(), " shapes and ", dtypes.size(),
                     " dtypes; as many of each, at least one, are accepted");
  Arrays results = library_results(*primitive, inputs, shapes, dtypes);
  if (!results.empty()) return results;
  std::vector<std::pair<Shape, Dtype>> outputs;
  for (size_t k = 0; k < shapes.size(); ++k) outputs.emplace_back(std::move(shapes[k]), dtypes[k]);
  return make_bundle(op_primitive_bundle, std::move(outputs), primitive->stream(), inputs,
                     Ref<const Attrs>(new PrimitiveAttrs(primitive)));
}

namespace {

thread_local constinit bool in_primitive = false;

/// Memory that an array takes over, which keeps `owner`.
Ref<Storage> take_over(allocator::Buffer buffer, std::shared_ptr<void> owner, size_t needed) {
  const size_t bytes = static_cast<Buffer*>(buffer.ptr())->bytes;
  if (bytes < needed)
    fail<ValueError>("set_data", "a buffer of ", bytes, " bytes for an array of ", needed,
                     "; at least the array's size is accepted");
  return make_ref<Storage>(buffer.raw_ptr(), bytes, [owner = std::move(owner)] {});
}

}  // namespace

PrimitiveScope::PrimitiveScope() : before_(std::exchange(in_primitive, true)) {}
PrimitiveScope::~PrimitiveScope() { in_primitive = before_; }
bool PrimitiveScope::active() { return in_primitive; }

array::array(allocator::Data data, Shape shape, Dtype dtype) {
  const size_t bytes = num_elements(shape) * dtype.size();
  Strides strides = row_major(shape);
  *this = array(take_over(data.buffer_, std::move(data.owner_), bytes), std::move(shape),
                std::move(strides), 0, dtype);
}

void array::set_data(allocator::Data data) {
  node()->value = {take_over(data.buffer_, std::move(data.owner_), nbytes()), 0,
                   row_major(shape())};
}
void array::set_data(allocator::Buffer buffer) {
  set_data(allocator::Data(buffer, static_cast<void (*)(allocator::Buffer)>(allocator::free)));
}
void array::set_data(allocator::Data data, size_t data_size, Strides strides, Flags,
                     int64_t offset) {
  const int64_t size = itemsize();
  node()->value = {take_over(data.buffer_, std::move(data.owner_), data_size * size + offset),
                   offset / size, std::move(strides)};
}
void array::copy_shared_buffer(const array& other, const Strides& strides, Flags, size_t,
                               int64_t offset) {
  const Value& v = other.node()->value;
  node()->value = {v.storage, v.offset + offset, strides};
}
void array::copy_shared_buffer(const array& other) { node()->value = other.node()->value; }
allocator::Buffer array::buffer() const {
  raw(Access::read);
  return {node()->value.storage->replica(Space::host).get()};
}

namespace allocator {

void* Buffer::raw_ptr() { return ptr_ ? static_cast<core::Buffer*>(ptr_)->host : nullptr; }

Data::Data(Buffer buffer, Deleter deleter)
    : buffer_(buffer),
      owner_(buffer.ptr(), [buffer, deleter = std::move(deleter)](void*) { deleter(buffer); }) {}

Data malloc(size_t size) { return {allocator().malloc(size), static_cast<void (*)(Buffer)>(free)}; }
void free(Buffer buffer) {
  if (buffer.ptr()) Ref<core::Buffer>::adopt(static_cast<core::Buffer*>(buffer.ptr()));
}

namespace {

class HostAllocator final : public Allocator {
 public:
  Buffer malloc(size_t size) override {
    return {host_backend().alloc(size, Stream(0, Device::cpu)).release()};
  }
  void free(Buffer buffer) override { allocator::free(buffer); }
  size_t size(Buffer buffer) const override {
    return buffer.ptr() ? static_cast<core::Buffer*>(buffer.ptr())->bytes : 0;
  }
};

}  // namespace

Allocator& allocator() {
  static HostAllocator host;
  return host;
}

}  // namespace allocator

}  // namespace mlx::core
