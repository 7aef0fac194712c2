// A training step in a file, which another function trains with; arrays in files.
#include <iostream>
#include <string>
#include <unordered_map>

#include "mlx/mlx.h"

namespace mx = mlx::core;

int main(int, char** argv) {
  const std::string folder(argv[1]);
  auto step = [](const mx::Args& in) {
    auto loss = [&in](const std::vector<mx::array>& p) {
      return mx::mean(mx::square(mx::matmul(in[1], p[0]) - in[2]));
    };
    auto [value, grads] = mx::value_and_grad(loss, std::vector<int>{0})({in[0]});
    return std::vector<mx::array>{in[0] - mx::array(0.1f) * grads[0], value};
  };
  mx::random::seed(0);
  mx::array truth({1.0f, -2.0f, 0.5f}), x = mx::random::uniform({64, 3}), y = mx::matmul(x, truth);
  mx::array w = mx::zeros({3});
  mx::export_function(folder + "/step.mlxfn", step, {w, x, y});

  auto imported = mx::import_function(folder + "/step.mlxfn");
  float first = 0, last = 0;
  for (int it = 0; it < 300; ++it) {
    auto out = imported({w, x, y});
    w = out[0];
    last = out[1].item<float>();
    if (it == 0) first = last;
  }
  std::cout << (last < 0.01f * first ? "trained" : "not trained") << std::endl;
  mx::save_safetensors(folder + "/weights.safetensors", {{"w", w}}, {{"step", "300"}});
  auto [arrays, metadata] = mx::load_safetensors(folder + "/weights.safetensors");
  std::cout << metadata.at("step") << " " << arrays.at("w").shape(0) << " "
            << mx::array_equal(arrays.at("w"), w) << std::endl;
  mx::save(folder + "/x.npy", x);
  std::cout << mx::allclose(mx::load(folder + "/x.npy"), x).item<bool>() << std::endl;
}
