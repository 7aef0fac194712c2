// Objects of primitives that programs construct: they compute the public function of the op.
#include "mlx/compat/primitives.h"
#include "mlx/core/error.h"
#include "mlx/linalg.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

using Arguments = std::vector<ExportAttribute>;

Arrays listed(array a) { return {std::move(a)}; }
Arrays listed(Arrays a) { return a; }
Arrays listed(std::pair<array, array> a) { return {std::move(a.first), std::move(a.second)}; }

}  // namespace

#define MLX_PRIMITIVE(Name)
#define MLX_UNPACKED(...) __VA_ARGS__
#define MLX_MADE_PRIMITIVE(Name, parameters, inputs, arguments, ...)                       \
  Name::Name parameters : OpPrimitive(s, #Name, Arguments{MLX_UNPACKED arguments}, inputs, \
                                      [=]([[maybe_unused]] const Arrays& in, Stream on) {  \
                                        return listed(__VA_ARGS__);                        \
                                      }) {}
#define MLX_DEFAULT(value)
#include "mlx/compat/primitives.def"
#undef MLX_DEFAULT
#undef MLX_MADE_PRIMITIVE
#undef MLX_UNPACKED
#undef MLX_PRIMITIVE

Reduce::Reduce(Stream s, ReduceType kind, const std::vector<int>& axes)
    : OpPrimitive(s, "Reduce", {int64_t{kind}, axes}, 1,
                  [=](const Arrays& in, Stream on) -> Arrays {
                    const array& a = in[0];
                    switch (kind) {
                      case And:
                        return {all(a, axes, true, on)};
                      case Or:
                        return {any(a, axes, true, on)};
                      case Sum:
                        return {sum(a, axes, true, on)};
                      case Prod:
                        return {prod(a, axes, true, on)};
                      case Min:
                        return {min(a, axes, true, on)};
                      case Max:
                        return {max(a, axes, true, on)};
                    }
                    fail<ValueError>("Reduce", "kind ", int(kind),
                                     "; And, Or, Sum, Prod, Min and Max are accepted");
                  }) {}

ArgReduce::ArgReduce(Stream s, ReduceType kind, int axis)
    : OpPrimitive(
          s, "ArgReduce", {int64_t{kind}, int64_t{axis}}, 1,
          [=](const Arrays& in, Stream on) -> Arrays {
            return {kind == ArgMin ? argmin(in[0], axis, true, on) : argmax(in[0], axis, true, on)};
          }) {}

Scan::Scan(Stream s, ReduceType kind, int axis, bool reverse, bool inclusive)
    : OpPrimitive(s, "Scan", {int64_t{kind}, int64_t{axis}, reverse, inclusive}, 1,
                  [=](const Arrays& in, Stream on) -> Arrays {
                    const array& a = in[0];
                    switch (kind) {
                      case Max:
                        return {cummax(a, axis, reverse, inclusive, on)};
                      case Min:
                        return {cummin(a, axis, reverse, inclusive, on)};
                      case Sum:
                        return {cumsum(a, axis, reverse, inclusive, on)};
                      case Prod:
                        return {cumprod(a, axis, reverse, inclusive, on)};
                      case LogAddExp:
                        return {logcumsumexp(a, axis, reverse, inclusive, on)};
                    }
                    fail<ValueError>("Scan", "kind ", int(kind),
                                     "; Max, Min, Sum, Prod and LogAddExp are accepted");
                  }) {}

Log::Log(Stream s, Base base)
    : OpPrimitive(s, "Log", {int64_t{base}}, 1, [=](const Arrays& in, Stream on) -> Arrays {
        return {base == two ? log2(in[0], on) : base == ten ? log10(in[0], on) : log(in[0], on)};
      }) {}

BitwiseBinary::BitwiseBinary(Stream s, Op op)
    : OpPrimitive(s, "BitwiseBinary", {int64_t{op}}, 2, [=](const Arrays& in, Stream on) -> Arrays {
        switch (op) {
          case And:
            return {bitwise_and(in[0], in[1], on)};
          case Or:
            return {bitwise_or(in[0], in[1], on)};
          case Xor:
            return {bitwise_xor(in[0], in[1], on)};
          case LeftShift:
            return {left_shift(in[0], in[1], on)};
          case RightShift:
            return {right_shift(in[0], in[1], on)};
        }
        fail<ValueError>("BitwiseBinary", "op ", int(op),
                         "; And, Or, Xor, LeftShift and RightShift are accepted");
      }) {}

}  // namespace mlx::core
