// A trace of Metal where there is Metal, and the computation alone elsewhere.
#include <cassert>
#include <iostream>

#include "mlx/backend/metal/metal.h"
#include "mlx/mlx.h"

namespace mx = mlx::core;

int main() {
  assert(!mx::metal::is_available() || mx::is_available(mx::Device::gpu));
  const bool traced = mx::metal::is_available();
  if (traced) mx::metal::start_capture("mlx.gputrace");
  auto stream = mx::new_stream(mx::default_device());
  auto a = mx::full({4}, 1.5f, mx::float32), b = mx::ones({4});
  auto c = mx::multiply(mx::add(a, b, stream), mx::array(2.0f), stream);
  mx::eval(c);
  mx::synchronize(stream);
  if (traced) mx::metal::stop_capture();
  std::cout << c << std::endl;
}
