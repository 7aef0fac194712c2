// The same in C++.
#include <iostream>

#include "mlx/mlx.h"

int main(int argc, char** argv) {
  auto f = mlx::core::import_function(argv[argc - 1]);
  auto results = f({mlx::core::array({1.0f, 2.0f, 3.0f})});
  std::cout << results.size() << " result: " << results[0] << std::endl;
}
