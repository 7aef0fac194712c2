#include "mlx/core/blocking.h"

namespace mlx::core {

namespace {
constinit BlockingHooks hooks;
}  // namespace

void set_blocking_hooks(const BlockingHooks& h) { hooks = h; }

BlockingRegion::BlockingRegion() : token_(hooks.enter ? hooks.enter() : nullptr) {}
BlockingRegion::~BlockingRegion() {
  if (token_) hooks.leave(token_);
}

void check_interrupt() {
  if (hooks.interrupted && hooks.interrupted()) throw Interrupted("interrupted");
}

}  // namespace mlx::core
