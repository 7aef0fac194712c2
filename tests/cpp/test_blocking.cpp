// Blocking waits: the hooks for the lock and the interrupts of the embedding program.
#include <atomic>
#include <thread>

#include "mlx/core/blocking.h"
#include "mlx/core/event.h"
#include "support.h"

using namespace mlx::core;

namespace {

// A program whose lock belongs to one thread.
thread_local bool has_lock = false;
std::atomic<int> given_back{0}, taken{0}, asked{0};
std::atomic<bool> interrupt{false};

const BlockingHooks program{[] {
                              if (!has_lock) return static_cast<void*>(nullptr);
                              has_lock = false;
                              ++given_back;
                              return static_cast<void*>(&interrupt);
                            },
                            [](void*) {
                              has_lock = true;
                              ++taken;
                            },
                            [] {
                              ++asked;
                              return interrupt.load();
                            }};

struct Embedder {
  Embedder() {
    has_lock = true;
    given_back = taken = asked = 0;
    interrupt = false;
    set_blocking_hooks(&program);
  }
  ~Embedder() {
    set_blocking_hooks(nullptr);
    has_lock = false;
  }
};

/// Does something some time from now.
template <class F>
std::jthread soon(F f) {
  return std::jthread([f] {
    std::this_thread::sleep_for(std::chrono::milliseconds(70));
    f();
  });
}

}  // namespace

TEST_CASE("a wait gives the lock back once, and takes it again") {
  Embedder lock;
  auto event = make_ref<Event>();
  {
    BlockingRegion outer;
    CHECK(outer.released());
    CHECK(!BlockingRegion().released());
    auto later = soon([&] { event->signal(); });
    event->wait();
    CHECK(!has_lock);
  }
  CHECK(has_lock);
  CHECK(given_back == 1);
  CHECK(taken == 1);
  CHECK(asked > 0);
  event->wait();  // finished work is not waited for
  CHECK(given_back == 1);
}

TEST_CASE("an interrupt ends a wait, which may be waited for again") {
  Embedder lock;
  auto event = make_ref<Event>();
  interrupt = true;
  CHECK_THROWS_AS(event->wait(), Interrupted);
  CHECK(has_lock);
  {
    UninterruptedRegion whole;
    auto later = soon([&] { event->signal(); });
    event->wait();
    CHECK(given_back == 1);  // nor is the lock given back within what must be whole
    check_interrupt();
  }
  CHECK_THROWS_AS(check_interrupt(), Interrupted);
  event->wait();
}

TEST_CASE("errors of work that is waited for arrive, with and without hooks") {
  for (bool hooks : {false, true}) {
    std::optional<Embedder> lock;
    if (hooks) lock.emplace();
    auto event = make_ref<Event>();
    auto later = soon([&] { event->fail(std::make_exception_ptr(ValueError("no")), {nullptr}); });
    CHECK_THROWS_AS(event->wait(), ValueError);
  }
}

TEST_CASE("many threads wait for one event") {
  auto event = make_ref<Event>();
  std::atomic<int> woken{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        event->wait();
        ++woken;
      });
    auto later = soon([&] { event->signal(); });
  }
  CHECK(woken == 8);
}

TEST_CASE("an engine's mutex is not waited for with the lock") {
  Embedder lock;
  EngineMutex mutex;
  mutex.lock();
  CHECK(UninterruptedRegion::active());
  CHECK(given_back == 0);
  mutex.unlock();
  std::atomic<bool> held{false};
  std::jthread other([&] {
    mutex.lock();
    held = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    mutex.unlock();
  });
  while (!held) std::this_thread::yield();
  mutex.lock();
  CHECK(has_lock);
  CHECK(given_back >= 1);
  CHECK(taken == given_back);
  mutex.unlock();
  CHECK(!UninterruptedRegion::active());
}
