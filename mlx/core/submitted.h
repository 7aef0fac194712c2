// Asynchronous work of each stream, in the order in which it was submitted: `synchronize` goes on
// with what was suspended, and throws errors that were not thrown yet.
#pragma once

#include <cstddef>
#include <exception>
#include <list>
#include <mutex>

#include "mlx/core/device.h"
#include "mlx/core/event.h"

namespace mlx::core {

struct SubmittedEntry {
  Event* end;                                ///< null: it is gone
  std::exception_ptr error;                  ///< of what is gone
  std::list<SubmittedEntry>::iterator self;  ///< its place in the list
};

/// The list of a stream. It owns none of the work: suspended work goes with its results. Of work
/// that failed and went, the error stays.
class Submitted {
 public:
  static Submitted& of(Stream stream);
  /// Adds work, of which the caller has a reference, at the end.
  void add(Event& end);
  /// Takes out work that is being freed.
  void leave(Event& end);
  /// Takes out work of which the caller has the only reference; false where there is another one.
  bool leave_unless_held(Event& end);
  /// Goes on with suspended work in order, and throws the first error that was not thrown yet. Work
  /// in flight is not waited for.
  void settle();

 private:
  void erase(Event& end);
  Ref<Event> first();

  std::mutex mutex_;  // nothing else is locked under it, and no event freed
  std::list<SubmittedEntry> entries_;
  size_t gone_ = 0;
};

}  // namespace mlx::core
