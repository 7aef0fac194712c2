// Further distributions of mlx.core.random.
#include "mlx/ops/distributions.h"

#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
namespace rnd = mlx::core::random;
using Key = std::optional<array>;
#define STREAM "stream: StreamOrDevice = None) -> array"
#define KEY "key: array | None = None, " STREAM
#define SHAPED "shape: Sequence[int] = [], dtype: Dtype | None = float32, "

/// The common shape of parameters, where none is given.
template <class... A>
Shape shape_of(const char* op, const std::optional<Shape>& given, const A&... parameters) {
  if (given) return *given;
  Shape shape;
  ((shape = core::broadcast_shapes(shape, parameters.shape(), op)), ...);
  return shape;
}

void bind_scaled(nb::module_& m) {
#define MLX_SCALED(NAME)                                                     \
  def(m, #NAME "(" SHAPED "scale: scalar | array = 1.0, " KEY,               \
      [](Shape& shape, std::optional<Dtype> t, const array& scale, Key& key, \
         const StreamOrDevice& s) {                                          \
        return rnd::NAME(shape, t.value_or(float32), scale, key, s);         \
      });
  MLX_SCALED(exponential)
  MLX_SCALED(rayleigh)
#undef MLX_SCALED
#define MLX_MOVED(NAME, LOC, SCALE)                                                            \
  def(m, #NAME "(" SHAPED LOC ": scalar | array = 0.0, " SCALE ": scalar | array = 1.0, " KEY, \
      [](Shape& shape, std::optional<Dtype> t, const array& loc, const array& scale, Key& key, \
         const StreamOrDevice& s) {                                                            \
        return rnd::NAME(shape, t.value_or(float32), loc, scale, key, s);                      \
      });
  MLX_MOVED(cauchy, "loc", "scale")
  MLX_MOVED(logistic, "loc", "scale")
  MLX_MOVED(lognormal, "mean", "sigma")
#undef MLX_MOVED
}

void bind_shaped(nb::module_& m) {
  def(m,
      "weibull(a: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = "
      "float32, " KEY,
      [](const array& a, std::optional<Shape>& shape, std::optional<Dtype> t, Key& key,
         const StreamOrDevice& s) {
        return rnd::weibull(a, shape_of("weibull", shape, a), t.value_or(float32), key, s);
      });
  def(m,
      "triangular(left: scalar | array, mode: scalar | array, right: scalar | array, "
      "shape: Sequence[int] | None = None, dtype: Dtype | None = float32, " KEY,
      [](const array& left, const array& mode, const array& right, std::optional<Shape>& shape,
         std::optional<Dtype> t, Key& key, const StreamOrDevice& s) {
        return rnd::triangular(left, mode, right, shape_of("triangular", shape, left, mode, right),
                               t.value_or(float32), key, s);
      });
  def(m,
      "geometric(p: scalar | array, shape: Sequence[int] | None = None, dtype: Dtype | None = "
      "int32, " KEY,
      [](const array& p, std::optional<Shape>& shape, std::optional<Dtype> t, Key& key,
         const StreamOrDevice& s) {
        return rnd::geometric(p, shape_of("geometric", shape, p), t.value_or(core::int32), key, s);
      });
  def(m, "rademacher(shape: Sequence[int] = [], dtype: Dtype | None = int32, " KEY,
      [](Shape& shape, std::optional<Dtype> t, Key& key, const StreamOrDevice& s) {
        return rnd::rademacher(shape, t.value_or(core::int32), key, s);
      });
}

/// Distributions of one or two parameters, and the common shape of these by default.
void bind_rejections(nb::module_& m) {
#define OF_SHAPE "shape: Sequence[int] | None = None, dtype: Dtype | None = "
#define MLX_ONE(NAME, A, TYPE)                                                          \
  def(m, #NAME "(" A ": scalar | array, " OF_SHAPE #TYPE ", " KEY,                      \
      [](const array& a, std::optional<Shape>& shape, std::optional<Dtype> t, Key& key, \
         const StreamOrDevice& s) {                                                     \
        return rnd::NAME(a, shape_of(#NAME, shape, a), t.value_or(core::TYPE), key, s); \
      });
#define MLX_TWO(NAME, A, B, TYPE)                                                             \
  def(m, #NAME "(" A ": scalar | array, " B ": scalar | array, " OF_SHAPE #TYPE ", " KEY,     \
      [](Operand x, Operand y, std::optional<Shape>& shape, std::optional<Dtype> t, Key& key, \
         const StreamOrDevice& s) {                                                           \
        BothOperands o(#NAME, x, y);                                                          \
        const array &a = *o.a, &b = *o.b;                                                     \
        return rnd::NAME(a, b, shape_of(#NAME, shape, a, b), t.value_or(core::TYPE), key, s); \
      });
  MLX_ONE(loggamma, "a", float32)
  MLX_ONE(chisquare, "df", float32)
  MLX_ONE(student_t, "df", float32)
  MLX_ONE(pareto, "a", float32)
  MLX_ONE(generalized_normal, "p", float32)
  MLX_ONE(poisson, "lam", int32)
  MLX_TWO(beta, "a", "b", float32)
  MLX_TWO(f, "dfnum", "dfden", float32)
  MLX_TWO(vonmises, "mu", "kappa", float32)
  MLX_TWO(wald, "mean", "scale", float32)
  MLX_TWO(double_sided_maxwell, "loc", "scale", float32)
  MLX_TWO(binomial, "n", "p", int32)
  MLX_TWO(negative_binomial, "n", "p", int32)
#undef MLX_ONE
#undef MLX_TWO
  def(m, "gamma(a: scalar | array, " OF_SHAPE "float32, scale: scalar | array = 1.0, " KEY,
      [](Operand x, std::optional<Shape>& shape, std::optional<Dtype> t, Operand y, Key& key,
         const StreamOrDevice& s) {
        BothOperands o("gamma", x, y);
        const array &a = *o.a, &scale = *o.b;
        return rnd::gamma(a, shape_of("gamma", shape, a, scale), t.value_or(float32), scale, key,
                          s);
      });
  alias(m, "t", "student_t");
  alias(m, "standard_t", "student_t");
}

/// The shape of a parameter without its last axis.
Shape without_last(const array& a) {
  return a.ndim() == 0 ? Shape() : Shape(a.shape().begin(), a.shape().end() - 1);
}

/// Distributions of vectors and matrices; `shape` is that of the result without their axes.
void bind_vectors(nb::module_& m) {
  def(m, "dirichlet(alpha: array, " OF_SHAPE "float32, " KEY,
      [](const array& alpha, std::optional<Shape>& shape, std::optional<Dtype> t, Key& key,
         const StreamOrDevice& s) {
        return rnd::dirichlet(alpha, shape.value_or(without_last(alpha)), t.value_or(float32), key,
                              s);
      });
  def(m, "multinomial(n: scalar | array, pvals: array, " OF_SHAPE "int32, " KEY,
      [](const array& n, const array& p, std::optional<Shape>& shape, std::optional<Dtype> t,
         Key& key, const StreamOrDevice& s) {
        const Shape common = core::broadcast_shapes(n.shape(), without_last(p), "multinomial");
        return rnd::multinomial(n, p, shape.value_or(common), t.value_or(core::int32), key, s);
      });
  def(m, "ball(d: int, p: float = 2.0, " SHAPED KEY,
      [](int64_t d, double p, Shape& shape, std::optional<Dtype> t, Key& key,
         const StreamOrDevice& s) { return rnd::ball(d, p, shape, t.value_or(float32), key, s); });
  def(m, "orthogonal(n: int, " SHAPED KEY,
      [](int64_t n, Shape& shape, std::optional<Dtype> t, Key& key, const StreamOrDevice& s) {
        return rnd::orthogonal(n, shape, t.value_or(float32), key, s);
      });
  def(m, "bits(shape: Sequence[int] = [], dtype: Dtype | None = None, " KEY,
      [](Shape& shape, std::optional<Dtype> t, Key& key, const StreamOrDevice& s) {
        const Dtype type = t.value_or(core::uint32);
        if (!core::is_unsigned(type) || type.size() > 4)
          fail<ValueError>("bits", "dtype ", dtype_name(type),
                           "; uint8, uint16 and uint32 are accepted");
        return rnd::bits(shape, static_cast<int>(type.size()), key, s);
      });
}

void bind_choice(nb::module_& m) {
  def(m,
      "choice(a: int | array, shape: Sequence[int] = [], replace: bool = True, "
      "p: array | None = None, axis: int = 0, " KEY,
      [](nb::handle a, Shape& shape, bool replace, const Key& p, int axis, Key& key,
         const StreamOrDevice& s) {
        if (int64_t n; PyLong_Check(a.ptr()) && load_integer(a.ptr(), n))
          return rnd::choice(n, shape, replace, p, key, s);
        const array x = to_array(a.ptr());
        axis = core::normalize_axis(axis, static_cast<int64_t>(x.ndim()), "choice");
        return core::take(x, rnd::choice(x.shape(axis), shape, replace, p, key, s), axis, s);
      });
  def(m, "fold_in(key: array, data: int, " STREAM,
      [](const array& key, uint64_t data, const StreamOrDevice& s) {
        return rnd::fold_in(key, data, s);
      });
}

}  // namespace

void bind_distributions(nb::module_& parent) {
  nb::module_ m = nb::borrow<nb::module_>(parent.attr("random"));
  bind_scaled(m);
  bind_shaped(m);
  bind_rejections(m);
  bind_vectors(m);
  bind_choice(m);
  alias(m, "shuffle", "permutation");
  alias(m, "PRNGKey", "key");
}

}  // namespace mlx::python
