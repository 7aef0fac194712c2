// The passes from a graph to its execution.
#pragma once

#include "mlx/core/api.h"
#include "mlx/runtime/execute.h"
#include "mlx/runtime/fuse.h"

namespace mlx::core {

/// An evaluation on its way through the passes. Threads plan at once, each with its own.
struct Evaluation {
  explicit Evaluation(Claims& claims) : claims(claims) {}

  Claims& claims;
  Arrays outputs;
  bool tracing = false;  ///< placeholders may stand for inputs
  bool fused = true;     ///< several nodes may become one kernel
  bool blocking = true;  ///< the caller waits

  Schedule items;
  Targets targets;
  Groups groups;
  std::shared_ptr<Plan> made;
  std::shared_ptr<const Plan> plan;  ///< `made`, or one of an earlier evaluation
  std::unique_ptr<Execution> execution;
};

/// In the order in which they run.
enum class Pass : uint8_t { schedule, place, fuse, lower, assign, bind, publish };

/// Runs the passes from one to another.
MLX_API void run_passes(Evaluation& e, Pass first, Pass last);
/// The last two, `prepare` and `run`, once nothing is claimed any more.
void run_execution(Execution& x);

/// Turns a pass that the result does not depend on (fuse, assign's writes in place) off and on.
/// MLX_DISABLE_PASSES=fuse,assign starts with them off.
void enable_pass(Pass pass, bool on);
bool is_enabled(Pass pass);

}  // namespace mlx::core
