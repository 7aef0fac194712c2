// The times of steps: a summary, and a trace for Chrome's viewer (chrome://tracing, Perfetto).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mlx/backend/backend.h"
#include "mlx/core/api.h"

namespace mlx::core {

/// Records the steps that run between `start` and `stop`. One records at a time.
class MLX_API Profile {
 public:
  using Time = Clock::time_point;
  struct Event {
    std::string name, origin, shape, dtype;
    double start, duration;  ///< microseconds
    size_t bytes;            ///< read and written
    size_t thread;
  };

  /// Throws ValueError where another one is recording.
  void start();
  void stop();
  const std::vector<Event>& events() const { return events_; }
  /// A table: per step name the calls, the time and its share, and bytes per second.
  std::string summary() const;
  /// Writes the events in the trace event format (JSON), whole or not at all. Throws FileError.
  void save(const std::string& path) const;

  /// Adds a step to the profile that records; called by the observer of steps.
  static void record(const Step& step, Time start, Time end);

 private:
  Time origin_;
  std::vector<Event> events_;
};

}  // namespace mlx::core
