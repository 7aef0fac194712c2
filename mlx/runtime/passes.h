// Which passes there are, which of them are on, and how long each one took. The list that runs them
// is in evaluate.cpp.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "mlx/core/api.h"

namespace mlx::core {

/// In the order in which they run. `communicate` is the part of `schedule` that starts collectives
/// early; its time counts there.
enum class Pass : uint8_t {
  schedule,
  communicate,
  place,
  fuse,
  lower,
  rows,
  assign,
  bind,
  publish,
  prepare,
  run
};
MLX_API const char* name_of(Pass pass);

/// Turns a pass that the result does not depend on (communicate, fuse, rows, assign's writes in
/// place) off and on. MLX_DISABLE_PASSES=communicate,fuse,rows,assign starts with them off.
void enable_pass(Pass pass, bool on);
bool is_enabled(Pass pass);
/// Throws std::runtime_error where MLX_DEBUG or MLX_DISABLE_PASSES has an unknown word.
void check_pass_variables();
/// True where each pass is checked after it ran: in debug builds and under MLX_DEBUG=verify.
bool is_verifying();

/// Called after a pass, with the seconds that it took.
using PassObserver = void (*)(Pass pass, double seconds);
/// Sets the observer, or none, and returns the one before. MLX_DEBUG=passes starts with one that
/// prints.
MLX_API PassObserver observe_passes(PassObserver observer);
/// The observer of passes; called by `run_pass`.
extern std::atomic<PassObserver> pass_observer;

/// Runs a pass.
template <class F>
void run_pass(Pass pass, F&& f) {
  const PassObserver observer = pass_observer.load(std::memory_order_relaxed);
  if (!observer) return f();
  const auto start = std::chrono::steady_clock::now();
  f();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  observer(pass, took.count());
}

}  // namespace mlx::core
