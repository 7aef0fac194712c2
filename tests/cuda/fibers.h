// The threads of a block as fibers that take turns at barriers and shuffles. AddressSanitizer and
// ThreadSanitizer are told of each change of stacks.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>

#include <atomic>
#endif

struct MlxIndex {
  unsigned x, y, z;
};
extern "C" {
extern thread_local MlxIndex threadIdx, blockIdx, blockDim, gridDim;
}

/// Where thread `t` of a block is.
inline MlxIndex thread_index(unsigned t, MlxIndex block) {
  return {t % block.x, t / block.x % block.y, t / block.x / block.y};
}

/// Memory of a stack: pages that are not touched cost nothing.
class FiberStack {
 public:
  static constexpr size_t kBytes = size_t{256} << 10;  // a sanitizer's frames are large
  FiberStack()
      : data_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  FiberStack(const FiberStack&) = delete;
  ~FiberStack() { munmap(data_, kBytes); }
  void* data() const { return data_; }

 private:
  void* const data_;
};

/// Where a stack stands while another one runs.
struct FiberContext {
  ucontext_t context;
  const void* lowest = nullptr;
  size_t bytes = 0;
  void* fake = nullptr;
#ifdef __SANITIZE_THREAD__
  void* thread = nullptr;  // the fiber of ThreadSanitizer
#endif

  /// Runs `to`, and comes back when another fiber changes to this one.
  void change_to(FiberContext& to, [[maybe_unused]] bool for_good = false) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(for_good ? nullptr : &fake, to.lowest, to.bytes);
#endif
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(to.thread, 0);
#endif
    swapcontext(&context, &to.context);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }
};

struct Fiber {
  enum State { ready, at_block, at_warp, over } state = ready;
  FiberContext at;
  MlxIndex index;
  FiberStack stack;
  unsigned char slot[16];
#ifdef __SANITIZE_THREAD__
  static inline std::atomic<int> alive{0};
  Fiber() { at.thread = __tsan_create_fiber(0), ++alive; }
  ~Fiber() { __tsan_destroy_fiber(at.thread), --alive; }
#endif
};

/// The threads of the block that runs on a thread of the host.
class Fibers {
 public:
  using Kernel = void (*)(const void*);
  /// Threads that will run the kernel.
  void set(Kernel kernel, const void* arguments, MlxIndex block) {
    kernel_ = kernel;
    arguments_ = arguments;
    count_ = size_t{block.x} * block.y * block.z;
    while (all_.size() < count_) all_.push_back(std::make_unique<Fiber>());
    for (unsigned t = 0; t < count_; ++t) all_[t]->index = thread_index(t, block);
  }
  /// Runs a block's threads. False where they wait for each other at different barriers.
  bool run() {
    for (size_t i = 0; i < count_; ++i) start(*all_[i]);
    current() = this;
#ifdef __SANITIZE_THREAD__
    scheduler_.thread = __tsan_get_current_fiber();
#endif
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 0; i < count_; ++i) {
        if (all_[i]->state != Fiber::ready) continue;
        running_ = i;
        threadIdx = all_[i]->index;
        scheduler_.change_to(all_[i]->at);
        moved = true;
      }
      for (size_t w = 0; w < count_; w += 32)
        moved = release(w, std::min(w + 32, count_), Fiber::at_warp) || moved;
      moved = release(0, count_, Fiber::at_block) || moved;
    }
    return std::all_of(all_.begin(), all_.begin() + static_cast<ptrdiff_t>(count_),
                       [](const auto& f) { return f->state == Fiber::over; });
  }

  /// Gives up the fibers if there are many: ThreadSanitizer knows 8,128 threads at a time.
  void finish() {
#ifdef __SANITIZE_THREAD__
    if (Fiber::alive > 4096) all_.clear();
#endif
  }

  /// The threads that run on the calling thread of the host.
  static Fibers*& current() {
    thread_local Fibers* fibers = nullptr;
    return fibers;
  }
  size_t size() const { return count_; }
  size_t running() const { return running_; }
  Fiber& operator[](size_t i) { return *all_[i]; }
  void pause(Fiber::State state) {
    Fiber& f = *all_[running_];
    f.state = state;
    f.at.change_to(scheduler_, state == Fiber::over);
  }

 private:
  /// A thread's stack and its first context; a separate function, as `getcontext` may return
  /// twice.
  static void start(Fiber& fiber) {
    fiber.state = Fiber::ready;
    ucontext_t& c = fiber.at.context;
    getcontext(&c);
    c.uc_stack = {fiber.stack.data(), 0, FiberStack::kBytes};
    c.uc_link = nullptr;
    fiber.at.lowest = fiber.stack.data();
    fiber.at.bytes = FiberStack::kBytes;
    makecontext(&c, enter, 0);
  }
  static void enter() {
    Fibers& f = *current();
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &f.scheduler_.lowest, &f.scheduler_.bytes);
#endif
    f.kernel_(f.arguments_);
    f.pause(Fiber::over);
  }
  /// Lets threads [first, end) go on that all wait at a barrier; false where one is not there yet.
  bool release(size_t first, size_t end, Fiber::State at) {
    bool any = false;
    for (size_t i = first; i < end; ++i) {
      if (all_[i]->state == Fiber::over) continue;
      if (all_[i]->state != at) return false;
      any = true;
    }
    for (size_t i = first; any && i < end; ++i)
      if (all_[i]->state == at) all_[i]->state = Fiber::ready;
    return any;
  }

  std::vector<std::unique_ptr<Fiber>> all_;
  FiberContext scheduler_;
  size_t count_ = 0, running_ = 0;
  Kernel kernel_ = nullptr;
  const void* arguments_ = nullptr;
};
