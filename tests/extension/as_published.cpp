// An extension as MLX's users write it: nanobind's headers first, no casters of this library's own,
// and a primitive that declares its members by macros.
#include <nanobind/nanobind.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "mlx/allocator.h"
#include "mlx/ops.h"
#include "mlx/primitives.h"
#include "mlx/utils.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mx = mlx::core;

namespace {

/// alpha * x + y
class Axpy : public mx::Primitive {
 public:
  Axpy(mx::Stream stream, float alpha) : mx::Primitive(stream), alpha_(alpha) {}
  void eval_cpu(const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override {
    auto& out = outputs[0];
    out.set_data(mx::allocator::malloc(out.nbytes()));
    const float *x = inputs[0].data<float>(), *y = inputs[1].data<float>();
    for (size_t i = 0; i < out.size(); ++i) out.data<float>()[i] = alpha_ * x[i] + y[i];
  }
  void eval_gpu(const std::vector<mx::array>&, std::vector<mx::array>&) override {
    throw std::runtime_error("no kernel for GPUs");
  }
  DEFINE_NAME(Axpy)
  DEFINE_GRADS()
  DEFINE_VMAP()
  DEFINE_INPUT_OUTPUT_SHAPE()
  bool is_equivalent(const mx::Primitive& other) const override {
    return alpha_ == static_cast<const Axpy&>(other).alpha_;
  }

 private:
  float alpha_;
};

mx::array axpy(const mx::array& x, const mx::array& y, float alpha, mx::StreamOrDevice s = {}) {
  auto dtype = mx::promote_types(x.dtype(), y.dtype());
  auto inputs = mx::broadcast_arrays({mx::astype(x, dtype, s), mx::astype(y, dtype, s)}, s);
  return mx::array(inputs[0].shape(), dtype, std::make_shared<Axpy>(mx::to_stream(s), alpha),
                   inputs);
}

std::vector<mx::array> Axpy::jvp(const std::vector<mx::array>&,
                                 const std::vector<mx::array>& tangents,
                                 const std::vector<int>& argnums) {
  auto part = [&](size_t i) {
    return argnums[i] == 0 ? tangents[i] * mx::array(alpha_) : tangents[i];
  };
  return {tangents.size() > 1 ? part(0) + part(1) : part(0)};
}
std::vector<mx::array> Axpy::vjp(const std::vector<mx::array>&,
                                 const std::vector<mx::array>& cotangents,
                                 const std::vector<int>& argnums, const std::vector<mx::array>&) {
  std::vector<mx::array> found;
  for (int k : argnums) found.push_back(k == 0 ? cotangents[0] * mx::array(alpha_) : cotangents[0]);
  return found;
}
std::pair<std::vector<mx::array>, std::vector<int>> Axpy::vmap(const std::vector<mx::array>& inputs,
                                                               const std::vector<int>& axes) {
  if (axes[0] != axes[1]) throw std::runtime_error("axes of one position are accepted");
  return {{axpy(inputs[0], inputs[1], alpha_, stream())}, {axes[0]}};
}

}  // namespace

NB_MODULE(made, m) {
  m.def("axpy", &axpy, "x"_a, "y"_a, "alpha"_a, nb::kw_only(), "stream"_a = nb::none());
}
