// Two classes are told apart: several arguments are differentiated, the step is compiled.
#include <iostream>

#include "mlx/mlx.h"

namespace mx = mlx::core;

int main() {
  const int features = 10, examples = 400;
  mx::random::seed(1);
  auto truth = mx::random::normal({features});
  auto x = mx::random::normal({examples, features});
  auto y = mx::astype(mx::matmul(x, truth) > mx::array(0.0f), mx::float32);

  auto loss = [&](const std::vector<mx::array>& params) {
    auto logits = mx::matmul(x, params[0]) + params[1];
    return mx::mean(mx::logaddexp(mx::array(0.0f), logits) - y * logits);
  };
  auto value_and_grad = mx::value_and_grad(loss, std::vector<int>{0, 1});
  std::vector<mx::array> params{mx::zeros({features}), mx::array(0.0f)};
  auto step = mx::compile([&](const std::vector<mx::array>& p) {
    auto [value, grads] = value_and_grad(p);
    return std::vector<mx::array>{p[0] - 2.0f * grads[0], p[1] - 2.0f * grads[1], value};
  });
  float last = 0;
  for (int it = 0; it < 300; ++it) {
    auto out = step(params);
    params = {out[0], out[1]};
    mx::eval(out);
    last = out[2].item<float>();
  }
  auto right =
      mx::equal(mx::matmul(x, params[0]) + params[1] > mx::array(0.0f), y > mx::array(0.5f));
  std::cerr << "loss " << last << std::endl;
  std::cout << (mx::mean(mx::astype(right, mx::float32)).item<float>() > 0.95f ? "told apart"
                                                                               : "mixed")
            << std::endl;
}
