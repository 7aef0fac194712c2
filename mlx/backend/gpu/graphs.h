// Graphs of calls that repeat: the calls that a launch gives its queue are recorded, and those
// between two uses of the queue's stream are made as one, where the same kernels and libraries came
// before.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "mlx/backend/gpu/device.h"

namespace mlx::core::gpu {

class Queue;

/// Calls in order; their arguments lie in `words`.
struct DeviceCalls {
  void add(const DeviceCall& call);
  void clear();
  /// Lets the calls find their arguments, which move while more are added.
  void place();

  std::vector<DeviceCall> list;
  std::vector<int64_t> words;
};

/// The graphs of a queue, for jobs that run. A graph is found by its form: the kernels, and the
/// arguments of libraries. Kernels get other arguments.
class GraphCache {
 public:
  explicit GraphCache(Hardware& hardware) : hardware_(hardware) {}
  ~GraphCache() { clear(); }
  GraphCache(const GraphCache&) = delete;
  /// Makes the calls of `pending` as a graph. False where there is none: a form that is new, or one
  /// that the device makes no graph of.
  bool launch(StreamHandle stream);
  /// Destroys the graphs.
  void clear() noexcept;

  DeviceCalls pending;

 private:
  struct Graph {
    uint64_t form;
    std::unique_ptr<DeviceGraph> graph;  ///< null: the device makes none
    DeviceCalls calls;                   ///< with the arguments that the graph has
  };
  using Graphs = std::list<Graph>;
  Graphs::iterator make(uint64_t form, StreamHandle stream);
  void erase(Graphs::iterator graph) noexcept;

  Hardware& hardware_;
  Graphs graphs_;  ///< used last: first
  std::unordered_map<uint64_t, Graphs::iterator> by_form_;
  size_t calls_ = 0;                      ///< in all graphs
  std::array<uint64_t, 1024> seen_ = {};  ///< forms that came once, each at a place of its number
};

/// While one exists, the calls that its thread gives a queue are recorded. They are made when the
/// thread uses the queue's stream for something else, and by `flush`.
class Recorder {
 public:
  /// Records nothing on devices without graphs. `calls`: about how many follow.
  Recorder(Queue& queue, size_t calls);
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
  /// How often the device was called.
  size_t calls() const { return calls_; }

 private:
  static constexpr size_t kMostCalls = 2048;  ///< of a graph
  /// The device begins with so many of many calls while the next are recorded, four times as many
  /// each time.
  static constexpr size_t kFirstCalls = 8, kMany = 48, kGrowth = 4;
  void call_one_by_one();

  const Queue& queue_;
  GraphCache& graphs_;
  DeviceCalls& pending_;
  Hardware& hardware_;
  const StreamHandle stream_;
  const bool records_;
  Recorder* const outer_;  ///< a step may launch work on another queue
  size_t calls_ = 0, step_ = 0;
  size_t most_;                ///< of the next graph
  std::vector<size_t> steps_;  ///< of the pending calls
  std::exception_ptr failure_;
};

}  // namespace mlx::core::gpu
