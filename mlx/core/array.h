// The public array handle, and the functions with which ops make nodes.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <optional>

#include "mlx/core/api.h"
#include "mlx/core/node.h"

namespace mlx::core {

class Primitive;
namespace allocator {
struct Buffer;
}

/// An n-dimensional array that is computed when its value is first needed. It is a handle: copies
/// share the node, and assignment rebinds this handle only. A default-constructed handle is null
/// and has no properties.
class MLX_API array {
 public:
  array() = default;
  explicit array(Node* n) : n_(n) { Node::retain(n); }
  array(const array& o) : n_(o.n_) {
    if (n_) Node::retain(n_);
  }
  array(array&& o) noexcept : n_(std::exchange(o.n_, nullptr)) {}
  array& operator=(array o) noexcept {
    std::swap(n_, o.n_);
    return *this;
  }
  ~array() {
    if (n_) Node::release(n_);
  }

  /// A scalar of the dtype of T unless another one is given. Its value is known at once: it becomes
  /// a constant of kernels.
  template <class T>
    requires std::is_arithmetic_v<T>
  explicit(false) array(T v, Dtype dtype = TypeToDtype<T>());
  explicit(false) array(complex64_t v, Dtype dtype = complex64);
  explicit(false) array(float16_t v, Dtype dtype = float16);
  explicit(false) array(bfloat16_t v, Dtype dtype = bfloat16);
  /// Elements copied from a range, in row-major order.
  template <class It>
    requires std::input_iterator<It>
  array(It data, Shape shape, Dtype dtype = TypeToDtype<std::iter_value_t<It>>());
  template <class T>
  array(std::initializer_list<T> data, Dtype dtype = TypeToDtype<T>())
      : array(data.begin(), Shape{static_cast<int64_t>(data.size())}, dtype) {}
  template <class T>
  array(std::initializer_list<T> data, Shape shape, Dtype dtype = TypeToDtype<T>());
  /// Takes ownership of evaluated memory.
  array(Ref<Storage> storage, Shape shape, Strides strides, int64_t offset, Dtype dtype);
  /// Copies elements from host memory as `dtype`, in row-major order; nonzero bytes of bool become
  /// 1.
  static array copy_of(const void* data, Shape shape, Dtype dtype);
  /// The lazy result of a primitive, or its results if it has several: for ops defined by deriving
  /// from Primitive (ops/custom.h).
  array(Shape shape, Dtype dtype, std::shared_ptr<Primitive> primitive, Arrays inputs);
  static Arrays make_arrays(std::vector<Shape> shapes, const std::vector<Dtype>& dtypes,
                            const std::shared_ptr<Primitive>& primitive, const Arrays& inputs);
  /// Row-major host memory that the caller fills through `raw(Access::write)`.
  static array uninitialized(Shape shape, Dtype dtype);

  explicit operator bool() const { return n_; }
  Node* node() const { return n_; }
  const Shape& shape() const { return n_->shape; }
  /// Length of an axis; negative axes count from the end.
  int64_t shape(int axis) const;
  Dtype dtype() const { return n_->dtype; }
  size_t ndim() const { return n_->shape.size(); }
  size_t size() const;
  size_t itemsize() const { return n_->dtype.size(); }
  size_t nbytes() const { return size() * itemsize(); }
  std::uintptr_t id() const { return reinterpret_cast<std::uintptr_t>(n_); }
  bool is_placeholder() const { return n_->placeholder; }
  bool is_available() const;

  /// Computes the array, waits, and rethrows an error of the computation.
  void eval() const;
  /// Strides in elements; evaluates.
  const Strides& strides() const;
  /// Host address of the first element; evaluates and waits.
  template <class T>
  T* data() const {
    return static_cast<T*>(raw(Access::read));
  }
  void* raw(Access access) const;
  /// The only element; evaluates. Throws ValueError unless the array has exactly one element.
  template <class T>
  T item() const;
  Scalar item_scalar() const;

  /// Takes ownership of memory as the row-major elements of an output, inside a primitive's
  /// `eval_cpu`.
  void set_data(allocator::Buffer buffer);
  /// Memory order of the elements; evaluates.
  struct Flags {
    bool contiguous, row_contiguous, col_contiguous;
  };
  Flags flags() const;

  /// Rebinds this handle to the node of another one.
  void overwrite_descriptor(const array& other) { *this = other; }

 private:
  Node* n_ = nullptr;
};

/// Makes a node for the result of `op`. The caller has checked dtype, shape and attributes.
MLX_API array make_node(const OpDef& op, Shape shape, Dtype dtype, Stream s,
                        std::span<const array> inputs, Ref<const Attrs> attrs = {});
MLX_API array make_node(const OpDef& op, Shape shape, Dtype dtype, Stream s,
                        std::span<Node* const> inputs, Ref<const Attrs> attrs = {});
template <class... A>
array make_node(const OpDef& op, Shape shape, Dtype dtype, Stream s, Ref<const Attrs> attrs,
                const A&... inputs) {
  const std::array<Node*, sizeof...(A)> list{inputs.node()...};
  return make_node(op, std::move(shape), dtype, s, std::span<Node* const>(list), std::move(attrs));
}
/// Makes a bundle node and one node for each of its results.
MLX_API Arrays make_bundle(const OpDef& op, std::vector<std::pair<Shape, Dtype>> outputs, Stream s,
                           std::span<const array> inputs, Ref<const Attrs> attrs = {});
/// A scalar of a given dtype.
MLX_API array constant(const Scalar& value, Dtype dtype);
MLX_API array constant(double value, Dtype dtype);
/// An input of a traced function; `owner` names the function in error messages.
MLX_API array placeholder(Shape shape, Dtype dtype, const std::string& owner = "a function");
/// The name of the function that a placeholder is an input of.
const std::string& placeholder_owner(const Node& n);
/// Handles of the node's inputs.
MLX_API Arrays inputs_of(const array& a);
/// The stream that the node runs on.
MLX_API Stream stream_of(const array& a);
/// True for a scalar whose value is known without evaluation.
inline bool is_constant(const array& a) { return a.node()->op == &op_constant; }

// --- templates -----------------------------------------------------------------------------------

template <class T>
  requires std::is_arithmetic_v<T>
array::array(T v, Dtype dtype) {
  if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>) {
    *this = constant(Scalar::from(static_cast<int64_t>(v), dtype), dtype);
  } else {
    *this = constant(Scalar::from(static_cast<double>(v), dtype), dtype);
  }
}

template <class It>
  requires std::input_iterator<It>
array::array(It data, Shape shape, Dtype dtype) {
  int64_t n = num_elements(shape);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::unique_ptr<T[]> buffer(new T[n > 0 ? n : 1]);
    for (int64_t i = 0; i < n; ++i, ++data) {
      if constexpr (std::is_convertible_v<std::iter_value_t<It>, T>) {
        buffer[i] = static_cast<T>(*data);
      } else {
        buffer[i] = T(static_cast<float>(*data));
      }
    }
    *this = copy_of(buffer.get(), shape, dtype);
  });
}

template <class T>
array::array(std::initializer_list<T> data, Shape shape, Dtype dtype) {
  if (num_elements(shape) != static_cast<int64_t>(data.size()))
    throw std::invalid_argument("[array] " + std::to_string(data.size()) + " elements for shape " +
                                to_string(shape) + "; the counts must agree");
  *this = array(data.begin(), std::move(shape), dtype);
}

template <class T>
T array::item() const {
  Scalar s = item_scalar();
  return Scalar::convert(s, dtype(), TypeToDtype<T>()).template as<T>();
}

}  // namespace mlx::core
