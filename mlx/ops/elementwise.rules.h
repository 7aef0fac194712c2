// Rules of the elementwise ops, one instance per row.
#pragma once

#include "mlx/backend/program.h"
#include "mlx/ops/elementwise.h"

namespace mlx::core::rules {

template <OpId id>
Arrays elementwise_vjp(const RuleArgs& r);
template <OpId id>
Arrays elementwise_jvp(const RuleArgs& r);
template <OpId id>
Batched elementwise_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);

}  // namespace mlx::core::rules
