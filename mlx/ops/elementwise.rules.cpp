// Derivatives and batching of the elementwise ops, expanded from the partials column of the table.
//
// With y = f(a, ..): the tangent of y is the sum over the operands of partial * tangent, and the
// cotangent of an operand is conj(partial) * cotangent, summed over the broadcast axes.
#include "mlx/ops/elementwise.rules.h"

#include "mlx/ops/cast.h"
#include "mlx/ops/special.h"
#include "mlx/ops/view.h"

namespace mlx::core::rules {

namespace {

using A = const array&;

/// The partial derivative for one operand: a factor, or functions that map a tangent and a
/// cotangent (null: zero).
struct Partial {
  enum class Kind : uint8_t { none, identity, negated, factor, map } kind = Kind::none;
  array (*factor)(A a, A b, A c, A y) = nullptr;
  array (*tangent)(A a, A b, A c, A y, A g) = nullptr;
  array (*cotangent)(A a, A b, A c, A y, A g) = nullptr;
};

array zero_like(A g) { return zero(g.dtype()); }
/// Re(conj(a / |a|) g), which is sign(a) g for real numbers.
array abs_jvp(A a, A y, A g) {
  return is_complex(a.dtype()) ? real(multiply(conjugate(sign(a)), g)) : multiply(g, sign(a));
}
/// The component of g orthogonal to a, divided by |a|: the derivative of a / |a|. Zero for real
/// numbers.
array sign_change(A a, A y, A g) {
  if (!is_complex(a.dtype())) return {};
  array size = abs(a), none = equal(size, zero(size.dtype()));
  array inverse = where(none, zero(size.dtype()), divide(array(1.0f, size.dtype()), size));
  return multiply(subtract(g, multiply(y, real(multiply(conjugate(y), g)))), inverse);
}
array complex_of_real(A g, A a) { return astype(g, a.dtype()); }
array complex_of_imag(A g, A a) {
  if (!is_complex(a.dtype())) return zero_like(g);
  return multiply(astype(g, a.dtype()), array(complex64_t(0, 1), a.dtype()));
}
/// b * a^(b - 1), and 0 where b is 0.
array power_base(A a, A b) {
  if (is_constant(b)) {
    const Scalar exponent = b.node()->scalar();
    if (exponent == Scalar::from(0.0, b.dtype())) return b;
    // The same bits, and much less work than a power.
    return exponent == Scalar::from(2.0, b.dtype()) ? b * a : b * power(a, b - 1);
  }
  array nonzero = not_equal(b, weak(0, b));
  return b * power(a, where(nonzero, b - 1, b));
}
/// log(a) * a^b, and 0 where a is 0.
array power_exponent(A a, A y) {
  return where(equal(a, weak(0, a)), zero_like(y), y * log(astype(a, at_least_float(a.dtype()))));
}

#define ZERO \
  Partial {}
#define ID \
  Partial { .kind = Partial::Kind::identity }
#define NEG \
  Partial { .kind = Partial::Kind::negated }
#define P(...)                                                        \
  Partial {                                                           \
    .kind = Partial::Kind::factor,                                    \
    .factor = [](A a, A b, A c, A y) -> array { return __VA_ARGS__; } \
  }
#define R(forward, backward)                                               \
  Partial {                                                                \
    .kind = Partial::Kind::map,                                            \
    .tangent = [](A a, A b, A c, A y, A g) -> array { return forward; },   \
    .cotangent = [](A a, A b, A c, A y, A g) -> array { return backward; } \
  }
#define L(...) R((__VA_ARGS__), (__VA_ARGS__))
#define D1(first) {first}
#define D2(first, second) {first, second}
#define D3(first, second, third) {first, second, third}
#define E(name, arity, domain, result, signature, partials, ...) partials,
constexpr Partial kPartials[kElementwiseCount][3] = {
#include "mlx/ops/elementwise.def"
};
#undef E
#undef ZERO
#undef ID
#undef NEG
#undef P
#undef R
#undef L
#undef D1
#undef D2
#undef D3

struct Operands {
  explicit Operands(const RuleArgs& r)
      : a(r.inputs[0]),
        b(r.inputs.size() > 1 ? r.inputs[1] : none),
        c(r.inputs.size() > 2 ? r.inputs[2] : none),
        y(r.outputs[0]) {}
  array none;
  A a, b, c, y;
};

array tangent_of(const Partial& p, const Operands& x, A g) {
  switch (p.kind) {
    case Partial::Kind::identity:
      return g;
    case Partial::Kind::negated:
      return negative(g);
    case Partial::Kind::factor:
      return multiply(g, p.factor(x.a, x.b, x.c, x.y));
    case Partial::Kind::map:
      return p.tangent(x.a, x.b, x.c, x.y, g);
    default:
      return {};
  }
}

array cotangent_of(const Partial& p, const Operands& x, A g) {
  if (p.kind == Partial::Kind::map) return p.cotangent(x.a, x.b, x.c, x.y, g);
  if (p.kind != Partial::Kind::factor || !is_complex(g.dtype())) return tangent_of(p, x, g);
  return multiply(g, conjugate(p.factor(x.a, x.b, x.c, x.y)));
}

Arrays vjp(const Partial* partials, const RuleArgs& r) {
  Operands x(r);
  Arrays out(r.inputs.size());
  array g = broadcast_to(r.grads[0], x.y.shape(), r.stream);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!r.requested[i] || partials[i].kind == Partial::Kind::none) continue;
    const array& operand = r.inputs[i];
    array ct = cotangent_of(partials[i], x, g);
    if (!ct) continue;
    ct = broadcast_to(ct, x.y.shape(), r.stream);
    out[i] = cast_to(sum_to(ct, operand.shape(), r.stream), operand.dtype(), r.stream);
  }
  return out;
}

Arrays jvp(const Partial* partials, const RuleArgs& r) {
  Operands x(r);
  array out;
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    if (!r.grads[i] || partials[i].kind == Partial::Kind::none) continue;
    array term = tangent_of(partials[i], x, r.grads[i]);
    if (!term) continue;
    out = out ? add(out, term) : term;
  }
  if (out) out = broadcast_to(cast_to(out, x.y.dtype(), r.stream), x.y.shape(), r.stream);
  return {out};
}

/// Mapped axes move to the front, followed by axes of length 1 up to the common rank; unchanged if
/// all operands have the same mapped axis.
Batched vmap(const OpDef& op, const Arrays& inputs, const std::vector<int>& axes, Stream s) {
  size_t rank = 0;
  bool agree = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    rank = std::max(rank, inputs[i].ndim() - (axes[i] >= 0));
    bool scalar = axes[i] < 0 && inputs[i].ndim() == 0;
    agree = agree && (scalar ||
                      (axes[i] >= 0 && axes[i] == axes[0] && inputs[i].ndim() == inputs[0].ndim()));
  }
  if (agree && axes[0] >= 0) return {op.build(inputs, nullptr, s), {axes[0]}};
  Arrays aligned = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (axes[i] < 0) continue;
    aligned[i] = to_front(inputs[i], axes[i], s);
    if (inputs[i].ndim() - 1 < rank) {
      std::vector<int> fresh;
      for (size_t k = inputs[i].ndim() - 1; k < rank; ++k)
        fresh.push_back(static_cast<int>(fresh.size()) + 1);
      aligned[i] = expand_dims(aligned[i], fresh, s);
    }
  }
  return {op.build(aligned, nullptr, s), {0}};
}

}  // namespace

template <OpId id>
Arrays elementwise_vjp(const RuleArgs& r) {
  return vjp(kPartials[static_cast<int>(id)], r);
}
template <OpId id>
Arrays elementwise_jvp(const RuleArgs& r) {
  return jvp(kPartials[static_cast<int>(id)], r);
}

#define E(name, ...)                                                                   \
  template Arrays elementwise_vjp<OpId::name>(const RuleArgs&);                        \
  template Arrays elementwise_jvp<OpId::name>(const RuleArgs&);                        \
  template <>                                                                          \
  Batched elementwise_vmap<OpId::name>(const Arrays& in, const std::vector<int>& axes, \
                                       const Attrs*, Stream s) {                       \
    return vmap(op_##name, in, axes, s);                                               \
  }
#include "mlx/ops/elementwise.def"
#undef E

}  // namespace mlx::core::rules
