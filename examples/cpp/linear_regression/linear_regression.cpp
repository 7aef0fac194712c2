// Fits a line through noisy points by gradient descent.
#include <iostream>

#include "mlx/mlx.h"

namespace mx = mlx::core;

int main() {
  constexpr int features = 8, samples = 1000;
  mx::array truth = mx::random::normal({features});
  mx::array x = mx::random::normal({samples, features});
  mx::array noise = mx::multiply(mx::array(1e-2f), mx::random::normal({samples}));
  mx::array y = mx::add(mx::matmul(x, truth), noise);

  auto loss = [&](const mx::array& w) {
    return mx::mean(mx::square(mx::subtract(mx::matmul(x, w), y)));
  };
  auto loss_and_gradient = mx::value_and_grad(mx::UnaryFunction(loss));

  mx::array w = mx::zeros({features});
  for (int step = 0; step < 100; ++step) {
    auto [value, gradient] = loss_and_gradient(w);
    w = mx::subtract(w, mx::multiply(mx::array(0.1f), gradient));
    mx::eval(w);
    if (step % 25 == 0) std::cout << "step " << step << "  loss " << value.item<float>() << "\n";
  }
  float error = mx::max(mx::abs(mx::subtract(w, truth))).item<float>();
  std::cout << "largest error of a weight: " << error << "\n";
  return error < 1e-2f ? 0 : 1;
}
