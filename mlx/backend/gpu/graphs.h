// Graphs of launches that repeat: the calls of the device that a launch makes are recorded, and
// those between two uses of its stream become one call.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "mlx/backend/gpu/device.h"

namespace mlx::core::gpu {

class Queue;

/// The graphs of an executable. Its second launch makes them; each later one gives their kernels
/// the arguments that have changed.
class LaunchGraphs {
 public:
  explicit LaunchGraphs(Hardware& hardware) : hardware_(hardware) {}
  ~LaunchGraphs();
  LaunchGraphs(const LaunchGraphs&) = delete;
  /// How often the last launch that was recorded called the device; SIZE_MAX before the first.
  size_t calls() const { return calls_; }

 private:
  friend class Recorder;
  /// Calls in order; their arguments lie in `words`.
  struct Calls {
    void add(const DeviceCall& call);
    void clear();
    /// Lets the calls find their arguments, which move while more are added.
    void place();

    std::vector<DeviceCall> list;
    std::vector<int64_t> words;
  };
  struct Graph {
    std::unique_ptr<DeviceGraph> graph;
    uint64_t queue;  ///< whose temporary memory libraries use
    Calls calls;     ///< with the arguments that the graph has
  };
  struct Segment {
    std::vector<Graph> graphs;
    bool plain = false;
  };
  /// Around a launch; whether it is recorded. `calls`: of the device.
  bool begin();
  void end(size_t calls);
  /// Launches `pending` as a graph of the segment, if it can.
  bool launch(Segment& segment, const Queue& queue, StreamHandle stream);
  Graph* find(Segment& segment, uint64_t queue);
  Graph* make(Segment& segment, uint64_t queue, StreamHandle stream);
  void drop(Graph& graph);
  void drop_all(Segment& segment);

  Hardware& hardware_;
  std::mutex mutex_;  ///< of a launch that is recorded
  bool launched_ = false, missed_ = false;
  int misses_ = 0, unrecorded_ = 0;
  int64_t in_graphs_ = 0;  ///< calls
  std::atomic<size_t> calls_ = SIZE_MAX;
  std::vector<std::unique_ptr<Segment>> segments_;
  Calls pending_;
};

/// While one exists, the calls that its thread gives a queue are recorded. They are made when the
/// thread uses the queue's stream for something else, and by `flush`.
class Recorder {
 public:
  /// Records nothing on devices without graphs, and in the first launch of an executable.
  Recorder(const Queue& queue, LaunchGraphs& graphs);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  /// The one of this thread that records a queue's calls, or null.
  static Recorder* of(const Queue& queue);
  /// The calls that follow are those of a step.
  void begin_step(size_t step) { step_ = step; }
  void add(const DeviceCall& call);
  /// Throws the error of a call, from then on each time.
  void flush();
  /// Flushes, unless a call has failed. Gives its error.
  std::exception_ptr finish() noexcept;
  /// The error of a call, and its step: neither this step nor a later one is done.
  const std::exception_ptr& failure() const { return failure_; }
  size_t failed_step() const { return step_; }

 private:
  static constexpr size_t kMostCalls = 2048;  ///< of a segment
  void call_one_by_one();

  const Queue& queue_;
  LaunchGraphs& graphs_;
  std::unique_lock<std::mutex> lock_;
  bool records_ = false;
  Recorder* const outer_;  ///< a step may launch work on another queue
  const StreamHandle stream_;
  size_t next_ = 0, calls_ = 0, step_ = 0;
  std::vector<size_t> steps_;  ///< of the pending calls
  std::exception_ptr failure_;
};

}  // namespace mlx::core::gpu
