// Array handles and node construction.
#include "mlx/core/array.h"

#include "mlx/backend/backend.h"
#include "mlx/core/error.h"
#include "mlx/core/trace.h"

namespace mlx::core {

namespace {
struct OwnerAttrs {
  std::string name;
  template <class F>
  void each(F&& f) {
    f("function", name);
  }
};
}  // namespace

array make_node(const OpDef& op, Shape shape, Dtype dtype, Stream s, std::span<Node* const> inputs,
                Ref<const Attrs> attrs) {
  check_rank(shape.size(), op.name);
  Node* n = Node::make(op, dtype);
  array out(n);
  n->shape = std::move(shape);
  n->stream = s.index;
  n->attrs = std::move(attrs);
  for (Node* in : inputs) n->trace = std::max(n->trace, in->trace);
  n->set_inputs(inputs);
  return out;
}

array make_node(const OpDef& op, Shape shape, Dtype dtype, Stream s, std::span<const array> inputs,
                Ref<const Attrs> attrs) {
  SmallVector<Node*, 8> nodes;
  for (const array& a : inputs) nodes.push_back(a.node());
  return make_node(op, std::move(shape), dtype, s,
                   std::span<Node* const>(nodes.data(), nodes.size()), std::move(attrs));
}

Arrays make_bundle(const OpDef& op, std::vector<std::pair<Shape, Dtype>> outputs, Stream s,
                   std::span<const array> inputs, Ref<const Attrs> attrs) {
  if (outputs.size() > 65535)
    fail<ValueError>(op.name, outputs.size(), " results; up to 65535 are accepted");
  array bundle = make_node(op, {}, outputs.at(0).second, s, inputs, std::move(attrs));
  bundle.node()->parts = new std::vector<PartInfo>;
  Arrays parts;
  for (auto& [shape, dtype] : outputs) {
    bundle.node()->parts->push_back({shape, dtype, {}});
    parts.push_back(make_node(op_part, shape, dtype, s, std::span<const array>(&bundle, 1)));
    parts.back().node()->part = static_cast<uint16_t>(parts.size() - 1);
  }
  return parts;
}

array constant(const Scalar& value, Dtype dtype) {
  Node* n = Node::make(op_constant, dtype);
  n->set_scalar(value);
  return array(n);
}
array constant(double value, Dtype dtype) { return constant(Scalar::from(value, dtype), dtype); }

array placeholder(Shape shape, Dtype dtype, const std::string& owner) {
  check_rank(shape.size(), "placeholder");
  Node* n = Node::make(op_placeholder, dtype);
  n->shape = std::move(shape);
  n->placeholder = true;
  n->trace = current_trace();
  n->attrs = make_attrs(OwnerAttrs{owner});
  return array(n);
}

const std::string& placeholder_owner(const Node& n) {
  return attrs_as<OwnerAttrs>(n.attrs.get()).name;
}

Arrays inputs_of(const array& a) {
  Arrays out;
  for (Node* n : a.node()->inputs()) out.emplace_back(n);
  return out;
}

Stream stream_of(const array& a) {
  const int32_t index = a.node()->stream;
  return index == kNoStream || a.node()->op->communicates ? to_stream({}) : usable_stream(index);
}

array::array(complex64_t v, Dtype dtype) {
  *this = constant(Scalar::from(std::complex<double>(v), dtype), dtype);
}
array::array(float16_t v, Dtype dtype) { *this = constant(static_cast<double>(float(v)), dtype); }
array::array(bfloat16_t v, Dtype dtype) { *this = constant(static_cast<double>(float(v)), dtype); }

array::array(std::initializer_list<float> data)
    : array(data.begin(), Shape{static_cast<int64_t>(data.size())}, float32) {}
array::array(std::initializer_list<int> data, Dtype dtype)
    : array(data.begin(), Shape{static_cast<int64_t>(data.size())}, dtype) {}

array::array(Ref<Storage> storage, Shape shape, Strides strides, int64_t offset, Dtype dtype) {
  check_rank(shape.size(), "array");
  Node* n = Node::make(op_data, dtype);
  *this = array(n);
  n->shape = std::move(shape);
  n->value = {std::move(storage), offset, std::move(strides)};
  n->status = core::Status::available;
}

array array::uninitialized(Shape shape, Dtype dtype) {
  check_rank(shape.size(), "array");
  int64_t bytes;
  if (__builtin_mul_overflow(num_elements(shape), int64_t{dtype.size()}, &bytes))
    throw SizeError(
        cat("[array] ", to_string(shape), " of ", dtype_name(dtype), " has too many bytes"));
  auto storage = make_ref<Storage>(host_backend().alloc(bytes, Stream(0, Device::cpu)), bytes);
  Strides strides = row_major(shape);
  return array(std::move(storage), std::move(shape), std::move(strides), 0, dtype);
}

array array::copy_of(const void* data, Shape shape, Dtype dtype) {
  if (shape.empty()) {
    Scalar s;
    std::memcpy(s.bytes, data, dtype.size());
    if (dtype == bool_) make_bools(s.bytes, 1);
    return constant(s, dtype);
  }
  array out = uninitialized(std::move(shape), dtype);
  const size_t n = out.nbytes();
  if (n == 0) return out;
  void* to = out.raw(Access::write);
  std::memcpy(to, data, n);
  if (dtype == bool_) make_bools(to, n);
  return out;
}

array::array(void* data, Shape shape, Dtype dtype, const std::function<void(void*)>& deleter) {
  Strides strides = row_major(shape);
  const size_t bytes = num_elements(shape) * dtype.size();
  auto storage = make_ref<Storage>(data, bytes, [data, deleter] { deleter(data); });
  *this = array(std::move(storage), std::move(shape), std::move(strides), 0, dtype);
}

void array::fail_null() {
  fail<ValueError>("array", "a null handle, as the default constructor makes it; assign an array");
}

int64_t array::shape(int axis) const { return shape()[normalize_axis(axis, ndim(), "shape")]; }
size_t array::size() const { return num_elements(shape()); }

bool array::is_available() const {
  checked();
  if (n_->status != core::Status::available) return is_constant(*this);
  const Ref<Event>& ready = n_->value.storage->ready;
  return !ready || ready->done();
}

const Strides& array::strides() const {
  eval();
  return n_->value.strides;
}
int64_t array::strides(int axis) const {
  return strides()[normalize_axis(axis, ndim(), "strides")];
}

size_t array::data_size() const {
  const Strides& st = strides();
  if (size() == 0) return 0;
  int64_t span = 1;
  for (size_t i = 0; i < ndim(); ++i) span += (shape()[i] - 1) * std::abs(st[i]);
  return static_cast<size_t>(span);
}
int64_t array::offset() const {
  eval();
  return n_->value.offset * static_cast<int64_t>(itemsize());
}
size_t array::buffer_size() const {
  eval();
  return n_->value.storage->bytes();
}

array::Flags array::flags() const {
  const Strides& st = strides();
  Shape lengths;  // of the axes along which elements differ
  Strides steps;
  for (size_t i = 0; i < ndim(); ++i) {
    if (st[i] == 0) continue;
    lengths.push_back(shape()[i]);
    steps.push_back(st[i]);
  }
  Shape reversed(shape().rbegin(), shape().rend());
  return {is_dense(lengths, steps), is_row_contiguous(shape(), st),
          is_row_contiguous(reversed, Strides(st.rbegin(), st.rend()))};
}

void* array::raw(Access access) const {
  eval();
  auto* base = static_cast<char*>(n_->value.storage->map(access));
  return base + n_->value.offset * static_cast<int64_t>(itemsize());
}

Scalar array::item_scalar() const {
  if (size() != 1)
    fail<ValueError>("item", "an array of shape ", to_string(shape()),
                     "; an array with one element is accepted");
  if (is_constant(*this)) return n_->scalar();
  Scalar s;
  eval();
  const Value& v = n_->value;
  v.storage->read(s.bytes, v.offset * static_cast<int64_t>(itemsize()), itemsize());
  return s;
}

}  // namespace mlx::core
