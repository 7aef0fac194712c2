// Passes that are turned off, observed or verified.
#include "mlx/runtime/passes.h"

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace mlx::core {

namespace {

constexpr const char* names[] = {"schedule", "place", "fuse",    "lower",   "rows",
                                 "assign",   "bind",  "publish", "prepare", "run"};

bool debug_has(std::string_view word) {
  const char* v = std::getenv("MLX_DEBUG");
  return v && std::string_view(v).find(word) != std::string_view::npos;
}

void print(Pass pass, double seconds) {
  std::cerr << "pass " << name_of(pass) << " " << seconds * 1e6 << " us\n";
}

uint32_t bit(Pass pass) { return 1u << static_cast<int>(pass); }

std::atomic<uint32_t>& disabled() {
  static std::atomic<uint32_t> mask = [] {
    const char* v = std::getenv("MLX_DISABLE_PASSES");
    std::string_view list = v ? v : "";
    uint32_t m = std::getenv("MLX_DISABLE_FUSION") ? bit(Pass::fuse) : 0;
    for (Pass p : {Pass::fuse, Pass::rows, Pass::assign})
      if (list.find(name_of(p)) != std::string_view::npos) m |= bit(p);
    return m;
  }();
  return mask;
}

#ifdef MLX_VERIFY_PASSES  // debug builds, and those of the sanitizers
const bool verifying = true;
#else
const bool verifying = debug_has("verify");
#endif

}  // namespace

std::atomic<PassObserver> pass_observer{debug_has("passes") ? print : nullptr};

const char* name_of(Pass pass) { return names[static_cast<int>(pass)]; }

PassObserver observe_passes(PassObserver observer) { return pass_observer.exchange(observer); }

void enable_pass(Pass pass, bool on) {
  on ? disabled().fetch_and(~bit(pass)) : disabled().fetch_or(bit(pass));
}
bool is_enabled(Pass pass) { return !(disabled().load(std::memory_order_relaxed) & bit(pass)); }
bool is_verifying() { return verifying; }

}  // namespace mlx::core
