// The public array handle, and the functions with which ops make nodes.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>

#include "mlx/core/api.h"
#include "mlx/core/node.h"

namespace mlx::core {

class Primitive;
class ArrayIterator;
namespace allocator {
struct Buffer;
class Data;
}  // namespace allocator

/// An n-dimensional array that is computed when its value is first needed. It is a handle: copies
/// share the node, and assignment rebinds this handle only. A default-constructed handle is null:
/// it may be tested and assigned to, and throws ValueError otherwise.
class MLX_API array {
 public:
  using ArrayIterator = ::mlx::core::ArrayIterator;

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
  explicit(false) array(T v, Dtype dtype = default_dtype<T>);
  explicit(false) array(complex64_t v, Dtype dtype = complex64);
  explicit(false) array(float16_t v, Dtype dtype = float16);
  explicit(false) array(bfloat16_t v, Dtype dtype = bfloat16);
  /// Elements copied from a range, in row-major order.
  template <class It>
    requires std::input_iterator<It>
  array(It data, Shape shape, Dtype dtype = default_dtype<std::iter_value_t<It>>);
  template <class T>
  array(std::initializer_list<T> data, Dtype dtype = default_dtype<T>)
      : array(data.begin(), Shape{static_cast<int64_t>(data.size())}, dtype) {}
  /// float32 elements, also of braces without elements or with numbers of several types.
  array(std::initializer_list<float> data);
  array(std::initializer_list<int> data, Dtype dtype);
  template <class T>
  array(std::initializer_list<T> data, Shape shape, Dtype dtype = default_dtype<T>);
  /// Borrows row-major host memory, which `deleter` gets back when it is no longer used, on
  /// whichever thread that is. It must not be written meanwhile. (bool elements must be 0 or 1.)
  array(void* data, Shape shape, Dtype dtype, const std::function<void(void*)>& deleter);
  /// Takes over memory with row-major elements.
  using Data = allocator::Data;
  array(allocator::Data data, Shape shape, Dtype dtype);
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
  const Shape& shape() const { return checked()->shape; }
  /// Length of an axis; negative axes count from the end.
  int64_t shape(int axis) const;
  Dtype dtype() const { return checked()->dtype; }
  size_t ndim() const { return checked()->shape.size(); }
  size_t size() const;
  size_t itemsize() const { return dtype().size(); }
  size_t nbytes() const { return size() * itemsize(); }
  std::uintptr_t id() const { return reinterpret_cast<std::uintptr_t>(n_); }
  bool is_placeholder() const { return checked()->placeholder; }
  bool is_available() const;
  /// Waits until the elements are computed, where they are being computed; rethrows errors.
  void wait() const { eval(); }

  /// Computes the array, waits, and rethrows an error of the computation.
  void eval() const;
  /// Strides in elements; evaluates.
  const Strides& strides() const;
  int64_t strides(int axis) const;
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

  /// The slices along the first axis; throws ValueError for a scalar.
  ArrayIterator begin() const;
  ArrayIterator end() const;

  /// Takes ownership of memory as the row-major elements of an output, inside a primitive's
  /// `eval_cpu`.
  void set_data(allocator::Data data);
  void set_data(allocator::Buffer buffer);
  /// Memory order of the elements; evaluates.
  struct Flags {
    bool contiguous, row_contiguous, col_contiguous;
  };
  Flags flags() const;
  /// The same for elements in another order: strides in elements, `offset` in bytes.
  void set_data(allocator::Data data, size_t data_size, Strides strides, Flags flags,
                int64_t offset = 0);
  /// The memory of the elements, from its start; evaluates. The array keeps it.
  allocator::Buffer buffer() const;
  /// The same as an object that keeps the memory too; null for an array that is not evaluated.
  std::shared_ptr<Data> data_shared_ptr() const;
  /// True where nothing else refers to the array or its elements, so that an op may write its
  /// result over them.
  bool is_donatable() const;
  /// Gives an output the elements of another array, `offset` elements after its first; the other
  /// one is evaluated.
  void copy_shared_buffer(const array& other, const Strides& strides, Flags flags, size_t data_size,
                          int64_t offset = 0);
  void copy_shared_buffer(const array& other);
  /// The number of elements of memory that the array's elements lie in, from the first to the last;
  /// evaluates.
  size_t data_size() const;
  /// Bytes from the start of the memory to the first element; evaluates.
  int64_t offset() const;
  /// Bytes of the memory that the elements lie in, which other arrays may share; evaluates.
  size_t buffer_size() const;

  /// Rebinds this handle to the node of another one.
  void overwrite_descriptor(const array& other) { *this = other; }
  /// An array of the same elements without the graph behind them; evaluates. It keeps the memory.
  static array unsafe_weak_copy(const array& other);

  // --- the graph behind the array, for programs that inspect it

  /// True until the array is evaluated, unless it is data or a scalar.
  bool has_primitive() const;
  /// The primitive that computes the array, or null. Its `name()` and equality are the op's. The
  /// object stays where it is as long as the array does, and is null once the array is evaluated.
  std::shared_ptr<Primitive>& primitive_ptr() const;
  /// The same; throws ValueError where there is none. Valid until the array is evaluated or gone.
  Primitive& primitive() const;
  std::uintptr_t primitive_id() const;
  /// The arrays that it is computed from. The list stays where it is as long as the array does, and
  /// is empty once the array is evaluated.
  const Arrays& inputs() const;
  /// The other results of a primitive with several, in such a list; and all of them.
  const Arrays& siblings() const;
  Arrays outputs() const;
  int sibling_position() const { return checked()->part; }
  /// Accepts the siblings and the position that the array has; throws ValueError for others, which
  /// `make_arrays` gives to arrays when it makes them.
  void set_siblings(Arrays siblings, uint16_t position);
  /// Forgets the graph behind the array, which is evaluated first: a derivative that is being
  /// computed takes the array as a constant. Does nothing for an input of a function that is
  /// traced.
  void detach();
  enum Status { unscheduled, evaluated, available };
  /// unscheduled: described by its graph; evaluated: being computed; available: computed.
  Status status() const;
  /// Accepts the status that the array has, and any inside of a primitive's `eval_cpu`, after which
  /// the engine sets it; throws ValueError otherwise.
  void set_status(Status s) const;
  /// The end of the work that writes the array: `valid()` and `is_signaled()` never wait. Not valid
  /// for arrays that no work writes. Stays where it is until `event` or `detach_event` is called
  /// again.
  Event& event() const;
  /// Makes the array wait for an event of another array as well. Throws ValueError for an array
  /// that is not evaluated, and for an event that is not `array::event`'s.
  void attach_event(Event& e) const;
  /// Undoes `attach_event`: the array waits for its own work alone.
  void detach_event() const;
  /// Makes the array one that the innermost transformation of the thread keeps the graph of, or
  /// not.
  void set_tracer(bool is_tracer);
  /// True while a transformation may still ask for the graph behind the array.
  bool is_tracer() const;

 private:
  Node* checked() const {
    if (!n_) [[unlikely]]
      fail_null();
    return n_;
  }
  [[noreturn]] static void fail_null();
  Node* n_ = nullptr;
};

/// Iterates over the slices of an array along its first axis.
class MLX_API ArrayIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using difference_type = int64_t;
  using value_type = array;
  using reference = array;
  using pointer = void;

  explicit ArrayIterator(array of, int64_t at = 0) : of_(std::move(of)), at_(at) {}
  array operator*() const;
  ArrayIterator& operator+=(difference_type n) {
    at_ += n;
    return *this;
  }
  ArrayIterator& operator++() { return *this += 1; }
  ArrayIterator& operator--() { return *this += -1; }
  ArrayIterator operator++(int) {
    ArrayIterator before = *this;
    ++*this;
    return before;
  }
  friend ArrayIterator operator+(ArrayIterator it, difference_type n) { return it += n; }
  friend ArrayIterator operator-(ArrayIterator it, difference_type n) { return it += -n; }
  friend difference_type operator-(const ArrayIterator& a, const ArrayIterator& b) {
    return a.at_ - b.at_;
  }
  friend bool operator==(const ArrayIterator& a, const ArrayIterator& b) {
    return a.at_ == b.at_ && a.of_.id() == b.of_.id();
  }

 private:
  array of_;
  int64_t at_;
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
/// Where the calling thread computes what is derived from the array: the stream of the array's op,
/// or this thread's default stream on that device if the stream belongs to another thread. The
/// thread's default stream for data, which no stream computes.
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

namespace detail {
/// The element type of an iterator. Bytes of bool in memory may differ from 0 and 1, and reading
/// them as bool is undefined.
template <class It>
std::iter_value_t<It> element_at(const It& it) {
  if constexpr (std::contiguous_iterator<It> && std::is_same_v<std::iter_value_t<It>, bool>) {
    return *reinterpret_cast<const unsigned char*>(std::to_address(it)) != 0;
  } else {
    return *it;
  }
}
/// An element as another type; complex numbers give their real part to real types.
template <class T, class From>
T converted(const From& v) {
  if constexpr (std::is_convertible_v<From, T>) {
    return static_cast<T>(v);
  } else if constexpr (requires { v.real(); }) {
    return converted<T>(v.real());
  } else {
    return T(static_cast<float>(v));
  }
}
}  // namespace detail

template <class It>
  requires std::input_iterator<It>
array::array(It data, Shape shape, Dtype dtype) {
  int64_t n = num_elements(shape);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::unique_ptr<T[]> buffer(new T[n > 0 ? n : 1]);
    for (int64_t i = 0; i < n; ++i, ++data) {
      buffer[i] = detail::converted<T>(detail::element_at(data));
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
