// A line is fitted by gradient descent: written for MLX, with its headers alone.
#include <chrono>
#include <iostream>

#include "mlx/mlx.h"

using namespace mlx::core;

int main() {
  const int features = 20, examples = 500, steps = 400;
  const float rate = 0.05;
  random::seed(3);
  array truth = random::normal({features});
  array inputs = random::normal({examples, features});
  array noise = random::normal({examples}) * array(1e-2f);
  array outputs = matmul(inputs, truth) + noise;
  array weights = 1e-2 * random::normal({features});

  auto loss = [&](const array& w) {
    return (0.5f / examples) * sum(square(matmul(inputs, w) - outputs));
  };
  auto gradient = grad(loss);
  auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    weights = weights - rate * gradient(weights);
    eval(weights);
  }
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  auto error = sqrt(sum(square(weights - truth)));
  std::cerr << steps / time.count() << " steps/s, loss " << loss(weights) << std::endl;
  std::cout << (error.item<float>() < 0.05f ? "fitted" : "not fitted") << std::endl;
}
