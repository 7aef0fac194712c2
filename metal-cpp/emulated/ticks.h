// Interruptions of a thread that computes, by its processor time.
#pragma once

#include <ctime>

namespace emulated {

/// While one exists, its thread is interrupted after each `kSeconds` of its processor time: a
/// signal handler calls the function with the place of the next instruction. The function may
/// change to another stack and not come back, where it interrupted code that keeps nothing locked.
class Ticks {
 public:
  static constexpr double kSeconds = 0.01;
  using Function = void (*)(const char* place);
  explicit Ticks(Function function);
  Ticks(const Ticks&) = delete;
  ~Ticks();

 private:
  timer_t timer_;
};

}  // namespace emulated
