// The primitives of graphs under their published names: the class of the object says which op an
// array is the result of.
//
//   if (typeid(y.primitive()) == typeid(Exp)) ...
//   if (auto* r = dynamic_cast<Reduce*>(&y.primitive())) r->state().first == Reduce::Sum;
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/ops/custom.h"
#include "mlx/transforms/export.h"

namespace mlx::core {

/// An op of the engine with its attributes. Ops that MLX does not have are objects of this class;
/// the others are of a class with their published name. Arrays of it are evaluated by `eval` alone.
class MLX_API OpPrimitive : public Primitive {
 public:
  /// The results for inputs, on a stream.
  using Build = std::function<Arrays(const Arrays& inputs, Stream s)>;
  /// The op of a node, as `name`; `arguments` are those that MLX publishes.
  OpPrimitive(const Node& n, std::string name, std::vector<ExportAttribute> arguments);
  const char* name() const override { return name_.c_str(); }
  /// True for the same op with equal attributes.
  bool is_equivalent(const Primitive& other) const override;
  /// Throws ValueError for an op that is bound to the shapes that it has.
  std::vector<Shape> output_shapes(const std::vector<array>& inputs) override;
  /// Throws ExecutionError.
  void eval_cpu(const std::vector<array>& inputs, std::vector<array>& outputs) override;
  /// The derivatives and the batching of the op. Inputs that are not mapped have the axis -1;
  /// outputs are mapped along the first one.
  std::vector<array> jvp(const std::vector<array>& primals, const std::vector<array>& tangents,
                         const std::vector<int>& argnums) override;
  std::vector<array> vjp(const std::vector<array>& primals, const std::vector<array>& cotangents,
                         const std::vector<int>& argnums,
                         const std::vector<array>& outputs) override;
  std::pair<std::vector<array>, std::vector<int>> vmap(const std::vector<array>& inputs,
                                                       const std::vector<int>& axes) override;
  std::vector<array> library_op(const std::vector<array>& inputs) const override;

 protected:
  /// The object of a program, of an op with so many inputs; -1: any number.
  OpPrimitive(Stream s, std::string name, std::vector<ExportAttribute> arguments, int inputs,
              Build build);
  /// A published argument as a number or as axes; throws ValueError where this op has none.
  int64_t number(size_t argument) const;
  std::vector<int> axes(size_t argument) const;

 private:
  const OpDef* op_ = nullptr;  ///< null for objects of programs
  Ref<const Attrs> attrs_;
  std::string name_;
  std::vector<ExportAttribute> arguments_;
  int inputs_ = -1;
  Build build_;  ///< null for an op that is bound to the shapes that it has
};

#define MLX_PRIMITIVE(Name)                 \
  class MLX_API Name : public OpPrimitive { \
   public:                                  \
    using OpPrimitive::OpPrimitive;         \
  };
#define MLX_MADE_PRIMITIVE(Name, parameters, inputs, arguments, ...) \
  class MLX_API Name : public OpPrimitive {                          \
   public:                                                           \
    using OpPrimitive::OpPrimitive;                                  \
    explicit Name parameters;                                        \
  };
#define MLX_DEFAULT(value) = value
#include "mlx/compat/primitives.def"
#undef MLX_DEFAULT
#undef MLX_PRIMITIVE
#undef MLX_MADE_PRIMITIVE

class MLX_API Reduce : public OpPrimitive {
 public:
  enum ReduceType { And, Or, Sum, Prod, Min, Max };
  using OpPrimitive::OpPrimitive;
  /// The result keeps the axes, with length 1.
  Reduce(Stream s, ReduceType kind, const std::vector<int>& axes);
  /// The kind and the axes, counted from the front.
  std::pair<ReduceType, std::vector<int>> state() const { return {ReduceType(number(0)), axes(1)}; }
};

class MLX_API ArgReduce : public OpPrimitive {
 public:
  enum ReduceType { ArgMin, ArgMax };
  using OpPrimitive::OpPrimitive;
  /// The result keeps the axis, with length 1.
  ArgReduce(Stream s, ReduceType kind, int axis);
  /// The kind and the axis.
  std::pair<ReduceType, int> state() const { return {ReduceType(number(0)), int(number(1))}; }
};

class MLX_API Scan : public OpPrimitive {
 public:
  enum ReduceType { Max, Min, Sum, Prod, LogAddExp };
  using OpPrimitive::OpPrimitive;
  Scan(Stream s, ReduceType kind, int axis, bool reverse, bool inclusive);
  /// The kind, the axis, whether it runs from the end, and whether it includes each element.
  std::tuple<ReduceType, int, bool, bool> state() const {
    return {ReduceType(number(0)), int(number(1)), number(2) != 0, number(3) != 0};
  }
};

class MLX_API Scatter : public OpPrimitive {
 public:
  enum ReduceType { Max, Min, Sum, Prod, None };
  using OpPrimitive::OpPrimitive;
  /// How updates and elements are combined, and the axes that the indices count along.
  std::pair<ReduceType, std::vector<int>> state() const { return {ReduceType(number(0)), axes(1)}; }
};

class MLX_API ScatterAxis : public OpPrimitive {
 public:
  enum ReduceType { Sum, None };
  using OpPrimitive::OpPrimitive;
  std::pair<ReduceType, int> state() const { return {ReduceType(number(0)), int(number(1))}; }
};

class MLX_API Log : public OpPrimitive {
 public:
  enum Base { two, ten, e };
  using OpPrimitive::OpPrimitive;
  Log(Stream s, Base base);
  Base state() const { return Base(number(0)); }
};

class MLX_API BitwiseBinary : public OpPrimitive {
 public:
  enum Op { And, Or, Xor, LeftShift, RightShift };
  using OpPrimitive::OpPrimitive;
  BitwiseBinary(Stream s, Op op);
  Op state() const { return Op(number(0)); }
};

}  // namespace mlx::core

// Macros that declare members of classes derived from Primitive, as in MLX's headers.

/// The class's name is the op's.
#define DEFINE_NAME(Class) \
  const char* name() const override { return #Class; }
/// Declares `vmap`, which the program defines.
#define DEFINE_VMAP()                                                \
  std::pair<std::vector<::mlx::core::array>, std::vector<int>> vmap( \
      const std::vector<::mlx::core::array>& inputs, const std::vector<int>& axes) override;
/// Declares `jvp` and `vjp`, which the program defines.
#define DEFINE_GRADS()                                                                   \
  std::vector<::mlx::core::array> jvp(const std::vector<::mlx::core::array>& primals,    \
                                      const std::vector<::mlx::core::array>& tangents,   \
                                      const std::vector<int>& argnums) override;         \
  std::vector<::mlx::core::array> vjp(const std::vector<::mlx::core::array>& primals,    \
                                      const std::vector<::mlx::core::array>& cotangents, \
                                      const std::vector<int>& argnums,                   \
                                      const std::vector<::mlx::core::array>& outputs) override;
/// All objects of the class compute the same.
#define DEFINE_DEFAULT_IS_EQUIVALENT() \
  bool is_equivalent(const ::mlx::core::Primitive&) const override { return true; }
/// The output has the shape of the first input.
#define DEFINE_INPUT_OUTPUT_SHAPE()                                                            \
  std::vector<::mlx::core::Shape> output_shapes(const std::vector<::mlx::core::array>& inputs) \
      override {                                                                               \
    return {inputs[0].shape()};                                                                \
  }
