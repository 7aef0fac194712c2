// Passes that are turned off, observed or verified.
#include "mlx/runtime/passes.h"

#include <cstdlib>
#include <iostream>

#include "mlx/core/environment.h"

namespace mlx::core {

namespace {

constexpr const char* names[] = {"schedule", "communicate", "place",   "fuse",    "lower", "rows",
                                 "assign",   "bind",        "publish", "prepare", "run"};

void print(Pass pass, double seconds) {
  std::cerr << "pass " << name_of(pass) << " " << seconds * 1e6 << " us\n";
}

uint32_t bit(Pass pass) { return 1u << static_cast<int>(pass); }

std::atomic<uint32_t>& disabled() {
  static std::atomic<uint32_t> mask = [] {
    check_variable("MLX_DISABLE_PASSES", {"communicate", "fuse", "rows", "assign"});
    uint32_t m = std::getenv("MLX_DISABLE_FUSION") ? bit(Pass::fuse) : 0;
    for (Pass p : {Pass::communicate, Pass::fuse, Pass::rows, Pass::assign})
      if (variable_has("MLX_DISABLE_PASSES", name_of(p))) m |= bit(p);
    return m;
  }();
  return mask;
}

#ifdef MLX_VERIFY_PASSES  // debug builds, and those of the sanitizers
const bool verifying = true;
#else
const bool verifying = variable_has("MLX_DEBUG", "verify");
#endif

}  // namespace

std::atomic<PassObserver> pass_observer{variable_has("MLX_DEBUG", "passes") ? print : nullptr};

const char* name_of(Pass pass) { return names[static_cast<int>(pass)]; }

PassObserver observe_passes(PassObserver observer) { return pass_observer.exchange(observer); }

void enable_pass(Pass pass, bool on) {
  on ? disabled().fetch_and(~bit(pass)) : disabled().fetch_or(bit(pass));
}
bool is_enabled(Pass pass) { return !(disabled().load(std::memory_order_relaxed) & bit(pass)); }
void check_pass_variables() {
  static const bool checked = [] {
    check_variable("MLX_DEBUG", {"plan", "passes", "verify"});
    disabled();
    return true;
  }();
  (void)checked;
}
bool is_verifying() { return verifying; }

}  // namespace mlx::core
