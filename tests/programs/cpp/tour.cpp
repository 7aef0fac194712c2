// Arrays, laziness, transformations of functions: written for MLX, with its headers alone.
#include <cassert>
#include <cmath>
#include <iostream>

#include "mlx/mlx.h"

namespace mx = mlx::core;

void arrays() {
  mx::array x(1.0);
  assert(x.item<float>() == 1.0f);
  assert(x.size() == 1 && x.ndim() == 0 && x.shape().empty() && x.dtype() == mx::float32);
  mx::array grid({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2});
  assert(grid.shape(0) == 2 && grid.shape(-1) == 2);
  mx::array ones = mx::ones({2, 2});
  mx::array sums = mx::add(grid, ones);
  assert(sums.status() == mx::array::Status::unscheduled);
  mx::eval(sums);
  assert(sums.status() != mx::array::Status::unscheduled);
  const float* values = sums.data<float>();
  assert(values[3] == 5.0f);
  std::cout << grid + 1.0f << std::endl;
  mx::array part = mx::slice(grid, {0, 1}, {2, 2});
  std::cout << part << "\n" << mx::matmul(grid, mx::transpose(grid)) << std::endl;
  std::vector<float> numbers{0.5f, 1.5f};
  std::cout << mx::array(numbers.data(), {2}, mx::float16) << std::endl;
}

void transformations() {
  auto square = [](const mx::array& x) { return mx::square(x); };
  auto slope = mx::grad(square);
  auto curvature = mx::grad(slope);
  assert(slope(mx::array(1.5)).item<float>() == 3.0f);
  assert(curvature(mx::array(1.5)).item<float>() == 2.0f);
  auto [value, tangent] = mx::jvp(square, mx::array(3.0f), mx::array(1.0f));
  std::cout << "value " << value << ", tangent " << tangent << std::endl;
  auto rows = mx::vmap([](const mx::array& row) { return mx::sum(row); });
  std::cout << "sums " << rows(mx::array({1, 2, 3, 4}, {2, 2})) << std::endl;
  auto compiled = mx::compile([](const std::vector<mx::array>& in) {
    return std::vector<mx::array>{mx::exp(mx::negative(in[0])) * in[1]};
  });
  std::cout << "compiled " << compiled({mx::array(0.0f), mx::array(2.0f)})[0] << std::endl;
}

int main() {
  arrays();
  transformations();
}
