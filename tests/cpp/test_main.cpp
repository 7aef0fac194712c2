// Runs the C++ tests; every case of test_engine and test_transforms runs on the CPU and on the
// second backend. Where MLX_TEST_BACKEND names a library, it is the default device of all others.
#define DOCTEST_CONFIG_IMPLEMENT
#include "support.h"

int main(int count, char** arguments) {
  using namespace mlx::core;
  if (std::getenv("MLX_TEST_BACKEND")) {
    use_second_backend();
    set_default_device(Device::gpu);
  }
  return doctest::Context(count, arguments).run();
}
