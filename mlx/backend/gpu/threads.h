// Threads of the room, and the stack that libraries of devices want.
#pragma once

#include <functional>
#include <thread>

namespace mlx::core::gpu {

/// A thread that gets no signals: they are for the threads of the program.
std::thread start_without_signals(std::function<void()> work);

/// Runs the work on a thread made for it, and waits: libraries of devices take more stack, in some
/// calls, than threads of a program may have.
void on_own_stack(const std::function<void()>& work);
/// True where the calling thread has too little stack for a device's driver.
bool has_small_stack();

}  // namespace mlx::core::gpu
