// Helpers of the C++ tests: the second backend as the GPU of the process.
#include "support.h"

#include <dlfcn.h>

#include <cstdlib>

namespace mlx::core {

void use_second_backend() {
  static bool loaded = [] {
    const char* given = std::getenv("MLX_TEST_BACKEND");
    load_backend(given ? given : MLX_FAKE_BACKEND);
    return true;
  }();
  (void)loaded;
}

void fail_next_fake_launch() {
  use_second_backend();
  void* library = dlopen(MLX_FAKE_BACKEND, RTLD_NOW);
  constexpr int kLaunch = 1;
  reinterpret_cast<void (*)(int, int64_t)>(dlsym(library, "mlx_fake_fail"))(kLaunch, 1);
}

}  // namespace mlx::core
