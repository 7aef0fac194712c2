// Evaluation, as programs ask for it.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

struct Execution;

/// An evaluation whose graph has been planned, whose memory is there, and whose arrays already
/// count as evaluated; it has yet to run. Planning wants the caller's locks on the graph
/// (Python's GIL), running gives them back.
class MLX_API Evaluation {
 public:
  /// Plans the evaluation of `outputs`. Throws ValueError for placeholders, MemoryError where
  /// memory does not suffice; the graph is then unchanged.
  explicit Evaluation(Arrays outputs, bool blocking = true);
  Evaluation(Evaluation&&) noexcept;
  /// Planned work that was not run fails, with an error for its waiters.
  ~Evaluation();
  /// Launches the work; waits for it unless asynchronous. Rethrows its error.
  void run();
  /// True where nothing has to be launched or waited for.
  bool idle() const;

 private:
  void launch();
  bool is_brief() const;
  std::vector<std::unique_ptr<Execution>> executions_;
  std::exception_ptr error_;
  std::vector<Ref<Event>> waits_;  // of earlier evaluations
  bool blocking_;
};

/// Computes the arrays and waits.
MLX_API void eval(Arrays outputs);
/// Starts to compute the arrays; a read of one waits. Throws ValueError in a transformation.
MLX_API void async_eval(Arrays outputs);
MLX_API void refuse_in_trace();
template <class... A>
  requires(sizeof...(A) > 0 && (std::is_convertible_v<A, array> && ...))
void eval(A... arrays) {
  eval(Arrays{std::move(arrays)...});
}
template <class... A>
  requires(sizeof...(A) > 0 && (std::is_convertible_v<A, array> && ...))
void async_eval(A... arrays) {
  async_eval(Arrays{std::move(arrays)...});
}

/// Waits for everything launched on a stream (the default one where none is given).
MLX_API void synchronize();
MLX_API void synchronize(Stream s);
MLX_API void synchronize(ThreadLocalStream s);

/// Names of the steps that an evaluation would run.
MLX_API std::vector<std::string> plan_steps(const Arrays& outputs);
/// Launches since the start of the process.
MLX_API uint64_t launch_count();

}  // namespace mlx::core
