// An op of one's own as a class: alpha · x + beta · y for float32, and a second class with two
// results.
#include <algorithm>
#include <iostream>
#include <memory>

#include "mlx/allocator.h"
#include "mlx/mlx.h"
#include "mlx/primitives.h"

namespace mx = mlx::core;

class Axpby : public mx::Primitive {
 public:
  Axpby(mx::Stream stream, float alpha, float beta)
      : mx::Primitive(stream), alpha_(alpha), beta_(beta) {}

  void eval_cpu(const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override {
    mx::array& out = outputs[0];
    out.set_data(mx::allocator::malloc(out.nbytes()));
    const float* x = inputs[0].data<float>();
    const float* y = inputs[1].data<float>();
    float* result = out.data<float>();
    for (size_t i = 0; i < out.size(); ++i) result[i] = alpha_ * x[i] + beta_ * y[i];
  }

  std::vector<mx::array> jvp(const std::vector<mx::array>&, const std::vector<mx::array>& tangents,
                             const std::vector<int>& argnums) override {
    mx::array sum = scaled(tangents[0], argnums[0]);
    for (size_t k = 1; k < argnums.size(); ++k)
      sum = mx::add(sum, scaled(tangents[k], argnums[k]), stream());
    return {sum};
  }
  std::vector<mx::array> vjp(const std::vector<mx::array>&,
                             const std::vector<mx::array>& cotangents,
                             const std::vector<int>& argnums,
                             const std::vector<mx::array>&) override {
    std::vector<mx::array> found;
    for (int k : argnums) found.push_back(scaled(cotangents[0], k));
    return found;
  }

  const char* name() const override { return "Axpby"; }
  bool is_equivalent(const mx::Primitive& other) const override {
    auto& o = static_cast<const Axpby&>(other);
    return alpha_ == o.alpha_ && beta_ == o.beta_;
  }

 private:
  mx::array scaled(const mx::array& a, int argnum) const {
    return mx::multiply(a, mx::array(argnum == 0 ? alpha_ : beta_), stream());
  }
  float alpha_, beta_;
};

mx::array axpby(const mx::array& x, const mx::array& y, float alpha, float beta,
                mx::StreamOrDevice s = {}) {
  auto inputs =
      mx::broadcast_arrays({mx::astype(x, mx::float32, s), mx::astype(y, mx::float32, s)}, s);
  auto primitive = std::make_shared<Axpby>(mx::to_stream(s), alpha, beta);
  return mx::array(inputs[0].shape(), mx::float32, primitive, inputs);
}

// Least and greatest element in one pass.
class Range : public mx::Primitive {
 public:
  using mx::Primitive::Primitive;
  void eval_cpu(const std::vector<mx::array>& inputs, std::vector<mx::array>& outputs) override {
    const float* x = inputs[0].data<float>();
    auto [least, greatest] = std::minmax_element(x, x + inputs[0].size());
    *outputs[0].data<float>() = *least;
    *outputs[1].data<float>() = *greatest;
  }
  const char* name() const override { return "Range"; }
};

int main() {
  mx::array x({1.0f, 2.0f, 3.0f}), y(10.0f);
  mx::array z = axpby(x, y, 2.0f, 0.5f);
  std::cout << z << "\n";

  mx::Function f = [](const mx::Arrays& a) { return mx::Arrays{axpby(a[0], a[1], 2.0f, 0.5f)}; };
  auto gradients = mx::vjp(f, {x, y}, {mx::ones({3})}).second;
  auto tangent = mx::jvp(f, {x, y}, {mx::ones({3}), mx::array(1.0f)}).second[0];
  std::cout << gradients[0] << " " << gradients[1] << " " << tangent << "\n";

  auto stream = mx::to_stream({});
  auto range = mx::array::make_arrays({{}, {}}, {mx::float32, mx::float32},
                                      std::make_shared<Range>(stream), {z});
  std::cout << range[0] << " " << range[1] << "\n";

  bool right = mx::array_equal(z, mx::array({7.0f, 9.0f, 11.0f})).item<bool>() &&
               mx::array_equal(gradients[0], mx::full({3}, 2.0f)).item<bool>() &&
               gradients[1].item<float>() == 1.5f &&
               mx::array_equal(tangent, mx::full({3}, 2.5f)).item<bool>() &&
               range[0].item<float>() == 7.0f && range[1].item<float>() == 11.0f;
  return right ? 0 : 1;
}
