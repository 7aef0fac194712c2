// The choice of code by the size of an item.
#pragma once

#include <cstdint>

#include "mlx/backend/cpu/isa/compact.h"

namespace mlx::core::cpu {

/// Calls `f` with an unsigned type of the item's size; gives what it returns.
template <class F>
auto dispatch_size(int itemsize, F&& f) {
  switch (itemsize) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Item16{});
  }
}

}  // namespace mlx::core::cpu
