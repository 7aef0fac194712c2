// What a thread does for its program while it waits for the engine: gives up the program's locks
// (Python's, for one) and looks whether the program wants the wait to end.
#pragma once

#include <stdexcept>

namespace mlx::core {

/// The program asked for the end of a wait (a signal). What was waited for goes on, or goes on when
/// it is waited for again.
struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a program sets once, at its start.
struct BlockingHooks {
  void* (*enter)() = nullptr;       ///< gives up the caller's locks; null where it holds none
  void (*leave)(void*) = nullptr;   ///< takes them back; called where `enter` gave something
  bool (*interrupted)() = nullptr;  ///< true where the wait shall end; called now and then
};
void set_blocking_hooks(const BlockingHooks& hooks);

/// Stands around whatever may take long: waits, and work done for the caller. Regions nest.
class BlockingRegion {
 public:
  BlockingRegion();
  ~BlockingRegion();
  BlockingRegion(const BlockingRegion&) = delete;

 private:
  void* token_;
};

/// Throws Interrupted where the program asked for the end of the wait.
void check_interrupt();

}  // namespace mlx::core
