// Checks, dtypes and rules of the Hadamard transform.
#include "mlx/ops/hadamard.h"

#include <cmath>

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/rules.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

array node(const array& a, const HadamardAttrs& attrs, Stream s) {
  return make_node(op_hadamard, a.shape(), a.dtype(), s, make_attrs(attrs), a);
}

void check_length(const array& a) {
  int64_t n = a.ndim() ? a.shape(-1) : 1;
  if (a.ndim() && hadamard_order(n).m == 0)
    fail<ValueError>("hadamard_transform", "a last axis of length ", n,
                     "; m * 2^k with m one of 1, 12, 20 and 28 is accepted");
}

Arrays build_hadamard_node(const Arrays& in, const Attrs* a, Stream s) {
  check_length(in[0]);
  return {node(in[0], attrs_as<HadamardAttrs>(a), s)};
}

Arrays hadamard_vjp(const RuleArgs& r) {
  HadamardAttrs attrs = attrs_as<HadamardAttrs>(r.attrs);
  attrs.transposed = !attrs.transposed;
  return {node(r.grads[0], attrs, r.stream)};
}

rules::Batched hadamard_vmap(const Arrays& in, const std::vector<int>& axes, const Attrs* a,
                             Stream s) {
  const array x = rules::to_front(in[0], axes[0], s);
  const auto& attrs = attrs_as<HadamardAttrs>(a);
  // Mapped scalars are transformed along an additional axis of length 1.
  if (x.ndim() == 1) return {{squeeze(node(expand_dims(x, 1, s), attrs, s), 1, s)}, {0}};
  return {{node(x, attrs, s)}, {0}};
}

}  // namespace

HadamardOrder hadamard_order(int64_t n) {
  if (n <= 0) return {0, 0};
  int64_t power = n & -n, odd = n / power;
  if (odd == 1) return {1, n};
  if ((odd == 3 || odd == 5 || odd == 7) && power >= 4) return {odd * 4, power / 4};
  return {0, 0};
}

constinit const OpDef op_hadamard{.name = "hadamard_transform",
                                  .kind = OpKind::kernel,
                                  .linearity = Linearity::linear,
                                  .build = build_hadamard_node,
                                  .vjp = hadamard_vjp,
                                  .vmap = hadamard_vmap};

array hadamard_transform(const array& a, std::optional<float> scale, StreamOrDevice stream) {
  Stream s = to_stream(stream);
  if (is_complex(a.dtype()))
    fail<ValueError>("hadamard_transform", "dtype ", dtype_name(a.dtype()),
                     "; real dtypes are accepted");
  check_length(a);
  array x = is_floating(a.dtype()) ? a : astype(a, float32, s);
  double n = a.ndim() ? static_cast<double>(a.shape(-1)) : 1;
  return node(x, {scale ? *scale : 1 / std::sqrt(n), false}, s);
}

}  // namespace mlx::core
