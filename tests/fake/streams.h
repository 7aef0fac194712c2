// Streams that run late and out of step: a thread each, which waits a little at random before each
// job.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "mlx/backend/backend.h"

namespace mlx::core::fake {

/// The end of a job, known by the stream that runs it.
class StreamCompletion final : public Completion {
 public:
  bool done() override;
  void wait() override;
  std::exception_ptr error() override;
  std::vector<const Buffer*> unwritten() override;
  /// `unwritten` as in Event::fail.
  void finish(std::exception_ptr error = {}, std::vector<const Buffer*> unwritten = {});

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr error_;
  std::vector<const Buffer*> unwritten_;
};

/// Runs the job on the stream's thread, after what was submitted before. The job does not throw.
void submit(Stream s, std::function<void()> job);
/// Waits until everything that was submitted to the stream is over.
void drain(Stream s);
/// The same of all streams, unless the caller is one, or one is held.
void drain_all();

/// Stops a stream before its next job; -2 stands for all streams.
void hold(int stream);
void release();

}  // namespace mlx::core::fake
