// The sum over the processes of a group, which may be this one alone.
#include <iostream>

#include "mlx/distributed/distributed.h"
#include "mlx/distributed/ops.h"
#include "mlx/mlx.h"

namespace mx = mlx::core;

int main() {
  if (!mx::distributed::is_available()) {
    std::cout << "no engine" << std::endl;
    return 1;
  }
  auto world = mx::distributed::init();
  std::cout << "rank " << world.rank() << " of " << world.size() << std::endl;
  mx::array x = mx::ones({10});
  mx::array sum = mx::distributed::all_sum(x, world);
  std::cout << mx::sum(sum) << "\n" << mx::distributed::all_gather(x, world).shape(0) << std::endl;
}
