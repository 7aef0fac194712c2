// Ops defined by deriving from a class, as in the published headers. An adapter: all of them are
// one op of this engine, whose attribute is the object.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// Derive from it to add an op; construct its arrays with array(shape, dtype, primitive, inputs),
/// or with array::make_arrays for several outputs. `eval_cpu` receives evaluated row-contiguous
/// inputs, and outputs with allocated memory: write through `data<T>()`. Elements given to an
/// output by `set_data` or `copy_shared_buffer` are copied there afterwards.
class MLX_API Primitive {
 public:
  explicit Primitive(Stream stream) : stream_(stream) {}
  virtual ~Primitive() = default;
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  const Device& device() const { return stream_.device; }
  const Stream& stream() const { return stream_; }

  virtual void eval_cpu(const std::vector<array>& inputs, std::vector<array>& outputs) = 0;
  /// As `eval_cpu`, on a device: the arrays are in the device's memory (mlx/cuda.h gives addresses
  /// and the stream). Runs on a thread of the engine, and may return before the work that it
  /// enqueues is over. An output whose host address it asks for is what it writes there. Throws
  /// unless overridden.
  virtual void eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs);

  /// Tangents of the outputs; `argnums` are the indices of the primals that have `tangents`.
  virtual std::vector<array> jvp(const std::vector<array>& primals,
                                 const std::vector<array>& tangents,
                                 const std::vector<int>& argnums);
  /// Cotangents of the primals with the indices `argnums`.
  virtual std::vector<array> vjp(const std::vector<array>& primals,
                                 const std::vector<array>& cotangents,
                                 const std::vector<int>& argnums,
                                 const std::vector<array>& outputs);
  /// Outputs and their batch axes, for inputs mapped over `axes` (-1: not mapped). If it returns no
  /// outputs, which is the default, the primitive becomes a loop op.
  virtual std::pair<std::vector<array>, std::vector<int>> vmap(const std::vector<array>& inputs,
                                                               const std::vector<int>& axes);
  virtual const char* name() const = 0;
  /// True if `other`, of the same class, computes the same: plans are then shared.
  virtual bool is_equivalent(const Primitive& other) const { return this == &other; }
  /// Shapes of the outputs for other inputs.
  virtual std::vector<Shape> output_shapes(const std::vector<array>& inputs);
  /// The results of an op of the library, of which this is an object (mlx/primitives.h); none for
  /// primitives of programs.
  virtual std::vector<array> library_op(const std::vector<array>&) const { return {}; }

 private:
  Stream stream_;
};

/// A primitive with one output.
class UnaryPrimitive : public Primitive {
 public:
  using Primitive::Primitive;
  virtual void eval_cpu(const std::vector<array>& inputs, array& output) = 0;
  void eval_cpu(const std::vector<array>& inputs, std::vector<array>& outputs) final {
    eval_cpu(inputs, outputs[0]);
  }
  virtual void eval_gpu(const std::vector<array>& inputs, array& output) {
    std::vector<array> outputs{output};
    Primitive::eval_gpu(inputs, outputs);
  }
  void eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) final {
    eval_gpu(inputs, outputs[0]);
  }
};

/// Throws ExecutionError unless a primitive left its outputs as they were declared.
MLX_API void check_outputs(const Primitive& p, const std::vector<array>& outputs,
                           const std::vector<std::pair<Shape, Dtype>>& declared);

/// Attributes of op_primitive.
struct PrimitiveAttrs final : Attrs {
  std::shared_ptr<Primitive> primitive;
  explicit PrimitiveAttrs(std::shared_ptr<Primitive> p) : primitive(std::move(p)) {}
  bool equals(const Attrs& o) const override;
  size_t hash() const override;
  void visit(AttrVisitor& v) override;
  Attrs* clone() const override { return new PrimitiveAttrs(primitive); }
};

/// While it lives, the calling thread runs a primitive: work handed to a CPU stream by it runs at
/// once.
class PrimitiveScope {
 public:
  PrimitiveScope();
  ~PrimitiveScope();
  PrimitiveScope(const PrimitiveScope&) = delete;
  static bool active();

 private:
  bool before_;
};

extern MLX_API const OpDef op_primitive;
extern MLX_API const OpDef op_primitive_bundle;

/// Memory for the outputs of a primitive.
namespace allocator {

struct MLX_API Buffer {
  Buffer(void* ptr) : ptr_(ptr) {}
  /// Host address of the bytes.
  void* raw_ptr();
  /// The backend's own pointer.
  void* ptr() const { return ptr_; }

 private:
  void* ptr_;
};

/// Memory for an array, shared between copies of the object and the arrays that take it over.
class MLX_API Data {
 public:
  using Deleter = std::function<void(Buffer)>;
  Data(Buffer buffer, Deleter deleter);
  Buffer buffer() const { return buffer_; }
  /// Host address of the bytes.
  void* raw_ptr() const { return buffer().raw_ptr(); }
  void* ptr() const { return buffer_.ptr(); }
  bool is_owned() const { return owner_ != nullptr; }

 private:
  friend class core::array;
  Buffer buffer_;
  std::shared_ptr<void> owner_;  ///< deletes the buffer
};

/// Throws MemoryError above the hard limit.
MLX_API Data malloc(size_t size);
/// Gives memory back that no array has taken over. `Data` does so by itself, with its last copy.
MLX_API void free(Buffer buffer);
inline void free(const Data&) {}

/// The functions of an allocator as an object.
class MLX_API Allocator {
 public:
  virtual ~Allocator() = default;
  virtual Buffer malloc(size_t size) = 0;
  virtual void free(Buffer buffer) = 0;
  /// The bytes of the buffer.
  virtual size_t size(Buffer buffer) const = 0;
  /// A buffer over memory of the program's; one without an address where that is not possible.
  virtual Buffer make_buffer(void*, size_t) { return {nullptr}; }
  /// Ends the use of a buffer from `make_buffer`.
  virtual void release(Buffer) {}
};
/// The allocator of host memory.
MLX_API Allocator& allocator();

}  // namespace allocator

}  // namespace mlx::core
