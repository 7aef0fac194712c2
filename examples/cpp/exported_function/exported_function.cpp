// Calls a function that was exported to a file, by Python or by C++.
//
//   exported_function FILE   calls the function of one array with ones of shape (1, 4)
//   exported_function        writes such a file first
#include <filesystem>
#include <iostream>
#include <string>

#include "mlx/mlx.h"

namespace mx = mlx::core;

std::string write_file() {
  const std::string file = std::filesystem::temp_directory_path() / "predict.mlxfn";
  mx::array w = mx::reshape(mx::arange(8), {4, 2});
  auto predict = [&](const mx::Args& args) -> std::vector<mx::array> {
    return {mx::softmax(mx::matmul(args[0], w), -1)};
  };
  mx::export_function(file, predict, {mx::zeros({1, 4})});
  return file;
}

int main(int argc, char** argv) {
  mx::ImportedFunction predict = mx::import_function(argc > 1 ? argv[1] : write_file());
  std::vector<mx::array> out = predict({mx::ones({1, 4})});
  std::cout << out[0] << "\n";
  mx::array total = mx::sum(out[0]);
  return mx::allclose(total, mx::array(1.0f)).item<bool>() ? 0 : 1;
}
