// How primitives of extensions hand work to a stream of the CPU.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "mlx/compat/scheduler.h"
#include "mlx/core/array.h"

namespace mlx::core::cpu {

/// Hands work to one stream. Inputs, outputs and temporaries of a primitive live while its
/// `eval_cpu` runs, and `dispatch` runs at once there: the functions about them do nothing.
class CommandEncoder {
 public:
  CommandEncoder(Stream s) : stream_(s) {}
  void set_input_array(const array&) {}
  void set_output_array(array&) {}
  void add_temporary(array) {}
  void add_temporaries(std::vector<array>) {}
  /// Runs `f(args...)` on the stream, with copies of the arguments.
  template <class F, class... Args>
  void dispatch(F&& f, Args&&... args) {
    scheduler::enqueue(stream_, std::bind(std::forward<F>(f), std::forward<Args>(args)...));
  }

 private:
  Stream stream_;
};

/// The calling thread's encoder of a stream.
MLX_API CommandEncoder& get_command_encoder(Stream s);

}  // namespace mlx::core::cpu
