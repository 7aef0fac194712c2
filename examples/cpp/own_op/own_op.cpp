// An op of one's own: its definition with derivatives, and its kernel for the CPU.
//
// `softclip(x, limit)` is limit · tanh(x / limit) for float32.
#include <cmath>
#include <iostream>

#include "mlx/backend/cpu/kernel.h"
#include "mlx/mlx.h"

namespace mx = mlx::core;

// The attributes, listed once: equality, hashing and printing follow.
struct SoftclipAttrs {
  double limit;
  template <class F>
  void each(F&& f) {
    f("limit", limit);
  }
};

mx::array softclip(const mx::array& x, double limit, mx::StreamOrDevice s = {});

// The derivative, in terms of the result: 1 - (y / limit)².
mx::array slope(const mx::array& y, const mx::Attrs* attrs, mx::Stream s) {
  float limit = mx::attrs_as<SoftclipAttrs>(attrs).limit;
  return mx::subtract(mx::array(1.0f), mx::square(mx::divide(y, mx::array(limit), s), s), s);
}

const mx::OpDef op_softclip{
    .name = "softclip",
    .kind = mx::OpKind::kernel,
    .build = [](const mx::Arrays& in, const mx::Attrs* attrs, mx::Stream s) -> mx::Arrays {
      return {softclip(in[0], mx::attrs_as<SoftclipAttrs>(attrs).limit, s)};
    },
    .vjp = [](const mx::RuleArgs& r) -> mx::Arrays {
      return {mx::multiply(r.grads[0], slope(r.outputs[0], r.attrs, r.stream), r.stream)};
    },
    .jvp = [](const mx::RuleArgs& r) -> mx::Arrays {
      return {mx::multiply(r.grads[0], slope(r.outputs[0], r.attrs, r.stream), r.stream)};
    },
};

mx::array softclip(const mx::array& x, double limit, mx::StreamOrDevice s) {
  mx::Stream stream = mx::to_stream(s);
  return mx::make_node(op_softclip, x.shape(), mx::float32, stream,
                       mx::make_attrs(SoftclipAttrs{limit}), mx::astype(x, mx::float32, stream));
}

void run_softclip(const mx::cpu::KernelArgs& args) {
  float limit = mx::attrs_as<SoftclipAttrs>(args.attrs).limit;
  const float* x = args.in[0].as<float>();
  float* y = args.out[0].as<float>();
  for (int64_t i = 0; i < args.out[0].size(); ++i) y[i] = limit * std::tanh(x[i] / limit);
}

int main() {
  mx::register_op(op_softclip);
  mx::cpu::register_kernel(
      {.op = &op_softclip, .run = run_softclip, .contiguous = 1, .in_place = 1});

  mx::array x = mx::linspace(-3.0, 3.0, 5);
  auto f = [](const mx::array& v) { return softclip(v, 2.0); };
  auto sum_of = [&](const mx::array& v) { return mx::sum(f(v)); };
  auto expected = [](const mx::array& v) {
    mx::array two(2.0f);
    return mx::multiply(two, mx::tanh(mx::divide(v, two)));
  };
  mx::array y = f(mx::transpose(x));
  mx::array gradient = mx::grad(mx::UnaryFunction(sum_of))(x);
  mx::array tangent = mx::jvp(mx::UnaryFunction(f), x, mx::ones_like(x)).second;
  mx::array curvature = mx::grad(mx::UnaryFunction(
      [&](const mx::array& v) { return mx::sum(mx::grad(mx::UnaryFunction(sum_of))(v)); }))(x);
  std::cout << y << "\n" << gradient << "\n" << curvature << "\n";
  auto exact =
      mx::grad(mx::UnaryFunction([&](const mx::array& v) { return mx::sum(expected(v)); }));
  bool right = mx::allclose(y, expected(x)).item<bool>() &&
               mx::allclose(gradient, exact(x)).item<bool>() &&
               mx::allclose(gradient, tangent).item<bool>();
  return right ? 0 : 1;
}
