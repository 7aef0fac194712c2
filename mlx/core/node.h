// The node of the lazy graph: small and reference-counted. Every op that user code calls makes one,
// so construction is one allocation from a free list and no lookup.
#pragma once

#include <atomic>
#include <complex>
#include <span>

#include "mlx/core/api.h"
#include "mlx/core/op.h"
#include "mlx/core/storage.h"

namespace mlx::core {

/// One element of any dtype.
struct MLX_API Scalar {
  alignas(16) unsigned char bytes[16] = {};
  template <class T>
  T as() const {
    T v;
    std::memcpy(&v, bytes, sizeof(T));
    return v;
  }
  template <class T>
  static Scalar of(T v) {
    Scalar s;
    std::memcpy(s.bytes, &v, sizeof(T));
    return s;
  }
  /// `v` converted to `t`.
  static Scalar from(double v, Dtype t);
  static Scalar from(int64_t v, Dtype t);
  static Scalar from(std::complex<double> v, Dtype t);
  /// The element of dtype `from` converted to `to`.
  static Scalar convert(const Scalar& v, Dtype from, Dtype to);
  /// The real part as a double.
  double to_double(Dtype t) const;
  friend bool operator==(const Scalar& a, const Scalar& b) {
    return std::memcmp(a.bytes, b.bytes, 16) == 0;
  }
};

/// Location of an evaluated array's elements.
struct Value {
  Ref<Storage> storage;
  int64_t offset = 0;  ///< elements
  Strides strides;     ///< elements
};

/// Type and, once computed, value of one result of a bundle.
struct PartInfo {
  Shape shape;
  Dtype dtype;
  Value value;
};

enum class Status : uint8_t {
  pending,    ///< described by op and inputs only
  available,  ///< has a value; the event of its storage says whether it is computed
};

/// A status published by an evaluation: a thread that reads `available` also sees the value.
class PublishedStatus {
 public:
  operator Status() const { return status_.load(std::memory_order_acquire); }
  void operator=(Status s) { status_.store(s, std::memory_order_release); }

 private:
  std::atomic<Status> status_{Status::pending};
};

/// The stream index of nodes that no op computes.
inline constexpr int32_t kNoStream = -1;

struct MLX_API Node {
  std::atomic<uint32_t> refs{0};
  PublishedStatus status;
  bool placeholder = false;  ///< input of a traced function; has no value
  Dtype dtype;
  uint16_t part = 0;   ///< index of this result in its bundle (op kind `part`)
  uint16_t watch = 0;  ///< number of the ShapeWatch that it was made under (trace.h); 0: none
  int32_t stream = kNoStream;  ///< index of the stream of its op; none for data
  const OpDef* op;
  Ref<const Attrs> attrs;
  Shape shape;
  Value value;
  uint64_t trace = 0;                      ///< innermost transformation it depends on (trace.h)
  std::vector<PartInfo>* parts = nullptr;  ///< bundles only
  std::atomic<uint64_t> mark{0};           ///< claiming evaluation and position in its schedule
  uint32_t origin = 0;  ///< source line that made the node, if lines are recorded; else 0

  explicit Node(const OpDef& op, Dtype dtype) : dtype(dtype), op(&op) {}

  std::span<Node* const> inputs() const { return {n_inputs_ > kFew ? many_ : few_, n_inputs_}; }
  /// The value of a constant.
  const Scalar& scalar() const { return scalar_; }
  void set_scalar(const Scalar& s) { scalar_ = s; }
  /// Stores the inputs and takes a reference to each.
  void set_inputs(std::span<Node* const> inputs);
  /// Drops op, inputs and attributes of an evaluated node, so that its inputs can be freed.
  void detach();

  static Node* make(const OpDef& op, Dtype dtype);
  static void retain(Node* n) { n->refs.fetch_add(1, std::memory_order_relaxed); }
  /// Drops a reference; frees without recursion, for chains of any length.
  static void release(Node* n) {
    if (n->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) [[unlikely]]
      destroy(n);
  }

 private:
  static void destroy(Node* n);
  static constexpr uint32_t kFew = 3;
  uint32_t n_inputs_ = 0;
  union {
    Node* few_[kFew];
    Node** many_;
    Scalar scalar_;
  };
};

/// The place of a node in the order of communication (OpDef::order), or 0.
inline uint64_t order_of(const Node* n) { return n->op->order ? n->op->order(n->attrs.get()) : 0; }

/// Returns the number of the source line that is making a node; null while lines are not recorded.
extern std::atomic<uint32_t (*)()> node_origin;

/// Nodes that the calling thread makes from now on have this `watch`; returns the one before.
uint16_t set_node_watch(uint16_t number);
/// Called with each node that loses its op and inputs, once objects are kept beside nodes; else
/// null.
extern std::atomic<void (*)(const Node*)> node_listener;

/// Ops of nodes without inputs.
extern const OpDef op_data;              ///< evaluated memory
extern MLX_API const OpDef op_constant;  ///< one scalar, known when the graph is built
extern const OpDef op_placeholder;       ///< an input of a traced function
/// Reads one result of a bundle.
extern const OpDef op_part;

}  // namespace mlx::core
