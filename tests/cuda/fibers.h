// The threads of a block as fibers that take turns at barriers and shuffles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "host_driver.h"
#include "metal-cpp/emulated/fiber.h"

using emulated::Fiber, emulated::StackPlace;

extern "C" {
extern thread_local MlxIndex threadIdx, blockIdx, blockDim, gridDim;
}

/// Where thread `t` of a block is.
inline MlxIndex thread_index(unsigned t, MlxIndex block) {
  return {t % block.x, t / block.x % block.y, t / block.x / block.y};
}

/// A thread of a block.
struct BlockThread {
  enum State { fresh, ready, at_block, at_warp, over } state = fresh;
  MlxIndex index;
  Fiber* fiber = nullptr;
  size_t exchanges = 0;               ///< with its warp, so far
  unsigned char brought[2][16] = {};  ///< to the last two of them
};

/// The threads of the block that runs on a thread of the host.
class Fibers {
 public:
  using Kernel = void (*)(const void*);
  /// Threads that will run the kernel.
  void set(Kernel kernel, const void* arguments, MlxIndex block) {
    kernel_ = kernel;
    arguments_ = arguments;
    threads_.resize(size_t{block.x} * block.y * block.z);
    for (unsigned t = 0; t < threads_.size(); ++t) threads_[t].index = thread_index(t, block);
  }
  /// Runs a block's threads. False where they wait for each other at different barriers.
  bool run() {
    for (BlockThread& t : threads_) t.state = BlockThread::fresh, t.exchanges = 0;
    current() = this;
    for (bool moved = true; moved;) {
      moved = false;
      for (next_ = 0; next_ < threads_.size();) {
        if (threads_[next_].state > BlockThread::ready) {
          ++next_;
          continue;
        }
        moved = true;
        resume();
      }
      for (size_t w = 0; w < threads_.size(); w += 32)
        moved = release(w, std::min(w + 32, threads_.size()), BlockThread::at_warp) || moved;
      moved = release(0, threads_.size(), BlockThread::at_block) || moved;
    }
    const bool ended = idle_.size() == all_.size();
    if (!ended) give_up();
    return ended;
  }

  /// Gives up the fibers if there are many: ThreadSanitizer knows 8,128 threads at a time.
  void finish() {
#ifdef __SANITIZE_THREAD__
    if (Fiber::alive > 4096) give_up();
#endif
  }

  /// The threads that run on the calling thread of the host.
  static Fibers*& current() {
    thread_local Fibers* fibers = nullptr;
    return fibers;
  }
  /// Stops the running thread until all that are not over have come there.
  void pause(BlockThread::State state) {
    BlockThread& t = threads_[running_];
    t.state = state;
    t.fiber->at.change_to(scheduler_);
  }
  /// Waits for the lanes of the running thread's warp. `value` becomes that of `lane`, unchanged
  /// where there is none.
  void exchange(void* value, size_t bytes, size_t lane) {
    const size_t mine = meet(value, bytes), from = running_ / 32 * 32 + lane;
    if (from < threads_.size()) std::memcpy(value, threads_[from].brought[mine % 2], bytes);
  }
  /// The lanes of the running thread's warp for which `predicate` holds.
  unsigned vote(bool predicate) {
    const size_t mine = meet(&predicate, sizeof(predicate)), warp = running_ / 32 * 32;
    unsigned votes = 0;
    for (size_t i = warp; i < std::min(warp + 32, threads_.size()); ++i) {
      const BlockThread& t = threads_[i];
      // A lane that was over does not take part.
      if (t.exchanges >= mine && t.brought[mine % 2][0]) votes |= 1u << (i - warp);
    }
    return votes;
  }

 private:
  static constexpr size_t kStackBytes = size_t{256} << 10;  // a sanitizer's frames are large

  /// Brings bytes to an exchange of the warp, and gives its number. A lane reads the others' before
  /// it comes to the next one, and they write the one after that only then: two places suffice.
  size_t meet(const void* value, size_t bytes) {
    BlockThread& t = threads_[running_];
    const size_t mine = ++t.exchanges;
    std::memcpy(t.brought[mine % 2], value, bytes);
    pause(BlockThread::at_warp);
    return mine;
  }

  void give_up() {
    idle_.clear();
    all_.clear();
  }

  /// Runs the next thread up to its stop, and fresh ones behind it where it ends without one.
  void resume() {
    BlockThread& t = threads_[next_];
    if (t.state == BlockThread::ready) {
      running_ = next_++;
      threadIdx = t.index;
      scheduler_.change_to(t.fiber->at);
      return;
    }
    if (idle_.empty())
      idle_.push_back(all_.emplace_back(std::make_unique<Fiber>(enter, kStackBytes)).get());
    Fiber* const fiber = idle_.back();
    idle_.pop_back();
    taken_ = fiber;
    scheduler_.change_to(fiber->at);
  }
  static void enter() {
    StackPlace::entered();
    for (;;) {
      Fibers& f = *current();
      Fiber* const mine = f.taken_;
      f.run_fresh(mine);
      f.idle_.push_back(mine);
      mine->at.change_to(f.scheduler_);
    }
  }
  /// Runs fresh threads that follow each other.
  void run_fresh(Fiber* fiber) {
    while (next_ < threads_.size() && threads_[next_].state == BlockThread::fresh) {
      running_ = next_++;
      BlockThread& t = threads_[running_];
      t.state = BlockThread::ready;
      t.fiber = fiber;
      threadIdx = t.index;
      kernel_(arguments_);
      t.state = BlockThread::over;
    }
  }
  /// Lets threads [first, end) go on that all wait at a barrier; false where one is not there yet.
  bool release(size_t first, size_t end, BlockThread::State at) {
    bool any = false;
    for (size_t i = first; i < end; ++i) {
      if (threads_[i].state == BlockThread::over) continue;
      if (threads_[i].state != at) return false;
      any = true;
    }
    for (size_t i = first; any && i < end; ++i)
      if (threads_[i].state == at) threads_[i].state = BlockThread::ready;
    return any;
  }

  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> idle_;
  std::vector<BlockThread> threads_;
  StackPlace scheduler_;
  size_t next_ = 0, running_ = 0;
  Fiber* taken_ = nullptr;
  Kernel kernel_ = nullptr;
  const void* arguments_ = nullptr;
};
