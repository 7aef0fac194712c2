// The thread pool. Protocol: the caller, holding `busy`, fills in the job, opens the gate and
// increments the epoch; helpers see the epoch, register in the gate and claim chunks; the caller
// also claims chunks, then closes the gate and waits only for the helpers inside. A thread starts
// with its own part of the range, the same in each job, so that data that several jobs use stay in
// the cache of its core; then it takes chunks that others have left. All state has static storage
// and is never destroyed, so helpers may outlive main(), and a forked child starts from an empty
// copy.
#include "mlx/backend/cpu/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/threads.h"
#include "mlx/core/blocking.h"
#include "mlx/core/error.h"

namespace mlx::core::cpu {

namespace {

constexpr double kWakeNs = 100'000;  // waking a parked thread takes 20-60 us
constexpr double kChunkNs = 5'000;   // a claim takes up to 0.1 us
constexpr auto kSpinTime = std::chrono::microseconds(100);
constexpr uint32_t kOpen = 1u << 31;
constexpr int kMaxThreads = 1024;
constexpr int kThreadChunks = 8;  // the largest number of chunks per thread

thread_local bool inside = false;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

#if defined(__linux__)
int current_core() { return sched_getcpu(); }

/// Moves a thread off a core, without pinning it afterwards.
void move_off(pthread_t thread, int core) {
  cpu_set_t allowed;
  if (pthread_getaffinity_np(thread, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) > 0 && pthread_setaffinity_np(thread, sizeof(others), &others) == 0)
    pthread_setaffinity_np(thread, sizeof(allowed), &allowed);
}
#else
int current_core() { return -1; }
void move_off(pthread_t, int) {}
#endif

/// The core on which a helper last ran.
struct LastCore {
  std::atomic<int> core{-1};
  pthread_t thread{};
};

struct Job {
  RangeRef f;
  int64_t n;
  int64_t chunk;  // elements, a multiple of the grain
  int64_t chunks = (n + chunk - 1) / chunk;
};

/// The chunks of a job that are claimed, a bit for each.
class Claims {
 public:
  void clear(int64_t chunks) {
    for (int64_t w = 0; w * 64 < chunks; ++w) words_[w].store(0, std::memory_order_relaxed);
  }
  void claim_all(int64_t chunks) {
    for (int64_t w = 0; w * 64 < chunks; ++w) words_[w].store(~uint64_t{0});
  }
  /// Claims a chunk; false if another thread has it.
  bool claim(int64_t chunk) {
    const uint64_t bit = uint64_t{1} << (chunk % 64);
    auto& word = words_[chunk / 64];
    return !(word.load(std::memory_order_relaxed) & bit) &&
           !(word.fetch_or(bit, std::memory_order_relaxed) & bit);
  }
  /// The last free chunk before `end`, or -1.
  int64_t last_free(int64_t end) const {
    for (int64_t w = (end + 63) / 64; w-- > 0;) {
      uint64_t free = ~words_[w].load(std::memory_order_relaxed);
      if (end - w * 64 < 64) free &= (uint64_t{1} << (end - w * 64)) - 1;
      if (free != 0) return w * 64 + 63 - std::countl_zero(free);
    }
    return -1;
  }

 private:
  std::array<std::atomic<uint64_t>, kMaxThreads * kThreadChunks / 64> words_{};
};

struct Pool {
  std::atomic<bool> busy{false};  // held by the one caller that owns the following fields
  std::atomic<int> threads{0};    // 0: not determined yet
  int helpers = 0;                // number of helpers; they end only on request
  double missed_ns = 0;           // work that ran inline because no helper was awake
  std::chrono::steady_clock::time_point last_missed;

  alignas(64) std::atomic<int> epoch{0};  // helpers wait on it
  std::atomic<int> parked{0};
  std::atomic<bool> quit{false};
  std::atomic<int> alive{0};

  alignas(64) std::atomic<uint32_t> gate{0};  // kOpen | number of helpers inside
  const Job* job = nullptr;
  std::atomic<bool> failed{false};
  std::exception_ptr error;

  alignas(64) Claims claims;
  std::array<LastCore, kMaxThreads> seats;

  void work(int thread);
  bool run_chunk(int64_t chunk);
  void helper(int number);
  void spread_helpers();
  bool wait_for_work(int seen);
  bool worth_waking(double estimated_ns);
  void start_helpers(int wanted);
  void stop_helpers();
  void resize(int wanted);
  void run(const Job& todo, bool wake);
};

alignas(Pool) unsigned char storage[sizeof(Pool)];

Pool& pool() {
  static Pool* const instance = [] {
    auto* fresh = new (storage) Pool();
    // The child has none of the helpers: the pool is reset.
    pthread_atfork(nullptr, nullptr, [] {
      const int threads = reinterpret_cast<Pool*>(storage)->threads.load();
      (new (storage) Pool())->threads.store(threads);
      inside = false;
    });
    return fresh;
  }();
  return *instance;
}

// Claims chunks until none is left. Runs in the caller, thread 0, and in the helpers.
void Pool::work(int thread) {
  const int64_t chunks = job->chunks, threads = helpers + 1;
  const int64_t begin = chunks * thread / threads, end = chunks * (thread + 1) / threads;
  inside = true;
  for (int64_t c = begin; c < end; ++c)
    if (claims.claim(c) && !run_chunk(c)) break;
  // From the end of the part before, whose thread proceeds from the start.
  while (true) {
    int64_t c = claims.last_free(begin);
    if (c < 0) c = claims.last_free(chunks);
    if (c < 0) break;
    if (claims.claim(c) && !run_chunk(c)) break;
  }
  inside = false;
}

// Returns false if the job has failed.
bool Pool::run_chunk(int64_t chunk) {
  const int64_t begin = chunk * job->chunk;
  try {
    job->f(begin, std::min(job->n, begin + job->chunk));
    return true;
  } catch (...) {
    if (!failed.exchange(true)) {
      error = std::current_exception();
    }
    claims.claim_all(job->chunks);
    return false;
  }
}

// Returns false when the pool shuts down. Spins for a while, then parks.
bool Pool::wait_for_work(int seen) {
  if (quit.load()) {
    return false;  // `seen` may be the epoch that announces it
  }
  const bool spin = threads.load(std::memory_order_relaxed) <= usable_cores();
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  while (spin) {
    for (int i = 0; i < 64; ++i) {
      if (epoch.load(std::memory_order_acquire) != seen) {
        return !quit.load();
      }
      relax();
    }
    if (std::chrono::steady_clock::now() > deadline) {
      break;
    }
  }
  parked.fetch_add(1);
  while (epoch.load() == seen) {
    epoch.wait(seen);
  }
  parked.fetch_sub(1);
  return !quit.load();
}

void Pool::helper(int number) {
  LastCore& seat = seats[number];
  int seen = epoch.load();
  do {
    seen = epoch.load(std::memory_order_acquire);
    seat.core.store(current_core(), std::memory_order_release);
    if (gate.fetch_add(1, std::memory_order_acquire) & kOpen) {
      work(number + 1);
    }
    gate.fetch_sub(1, std::memory_order_release);
  } while (wait_for_work(seen));
  alive.fetch_sub(1);
}

// The scheduler may leave a helper on the core of its busy caller for tens of milliseconds while
// another core is idle.
void Pool::spread_helpers() {
  const int core = current_core();
  for (int i = 0; i < helpers; ++i) {
    if (seats[i].core.load(std::memory_order_acquire) == core && core >= 0) {
      seats[i].core.store(-1, std::memory_order_relaxed);
      move_off(seats[i].thread, core);
    }
  }
}

// True for long work, and for work that closely follows other work that ran inline.
bool Pool::worth_waking(double estimated_ns) {
  if (estimated_ns >= kWakeNs) {
    return true;
  }
  if (helpers > parked.load(std::memory_order_relaxed)) {
    return false;
  }
  const auto now = std::chrono::steady_clock::now();
  missed_ns = estimated_ns + (now - last_missed < 2 * kSpinTime ? missed_ns : 0);
  last_missed = now + std::chrono::nanoseconds(static_cast<int64_t>(estimated_ns));
  if (missed_ns < kWakeNs) {
    return false;
  }
  missed_ns = 0;
  return true;
}

void Pool::start_helpers(int wanted) {
  if (helpers >= wanted) {
    return;
  }
  // Signals are handled by the threads of the application.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (helpers < wanted) {
    alive.fetch_add(1);
    try {
      LastCore& seat = seats[helpers];
      seat.core.store(current_core());
      std::thread thread([this, number = helpers] { helper(number); });
      seat.thread = thread.native_handle();
      thread.detach();
      ++helpers;
    } catch (const std::system_error&) {
      // The system refuses more threads: continue with the existing ones.
      alive.fetch_sub(1);
      threads.store(helpers + 1);
      break;
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Pool::stop_helpers() {
  quit.store(true);
  epoch.fetch_add(1);
  epoch.notify_all();
  while (alive.load() > 0) {
    std::this_thread::yield();
  }
  quit.store(false);
  helpers = 0;
}

void Pool::run(const Job& todo, bool wake) {
  const bool spin = threads.load(std::memory_order_relaxed) <= usable_cores();
  if (spin) spread_helpers();
  job = &todo;
  claims.clear(todo.chunks);
  gate.fetch_or(kOpen, std::memory_order_release);
  epoch.fetch_add(1);
  if (wake) {
    epoch.notify_all();
  }
  work(0);
  gate.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (int spins = 0; gate.load(std::memory_order_acquire) != 0; ++spins) {
    if (spin && spins < 2'000) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
  job = nullptr;
}

int configured_threads(Pool& p) {
  int threads = p.threads.load(std::memory_order_relaxed);
  if (threads == 0) {
    int undecided = 0;
    threads = default_num_threads();
    if (!p.threads.compare_exchange_strong(undecided, threads)) {
      threads = undecided;
    }
  }
  return threads;
}

// Ownership of the pool for the duration of a scope.
class Owner {
 public:
  explicit Owner(Pool& p) : pool_(p), owns_(!p.busy.exchange(true, std::memory_order_acquire)) {}
  ~Owner() {
    if (owns_) {
      pool_.busy.store(false, std::memory_order_release);
    }
  }
  Owner(const Owner&) = delete;
  explicit operator bool() const { return owns_; }

 private:
  Pool& pool_;
  bool owns_;
};

// Surplus helpers end; missing ones start with the next long loop.
void Pool::resize(int wanted) {
  while (true) {
    if (Owner owner{*this}) {
      if (helpers > wanted - 1) stop_helpers();
      threads.store(wanted);
      return;
    }
    std::this_thread::yield();
  }
}

}  // namespace

int num_threads() { return configured_threads(pool()); }

void wake_threads() {
  auto& p = pool();
  if (configured_threads(p) == 1 || inside) {
    return;
  }
  if (Owner owner{p}) {
    p.start_helpers(p.threads.load() - 1);  // their number may have changed before
    if (p.parked.load() > 0) {
      p.epoch.fetch_add(1);
      p.epoch.notify_all();
    }
  }
}

bool in_parallel() { return inside; }

void detail::run_parallel(int64_t n, int64_t grain, RangeRef f, double estimated_ns) {
  auto& p = pool();
  if (inside || configured_threads(p) == 1) {
    return f(0, n);
  }
  Owner owner{p};
  if (!owner) {
    return f(0, n);
  }
  const bool wake = p.worth_waking(estimated_ns);
  if (wake) {
    p.start_helpers(p.threads.load() - 1);  // their number may have changed before
  }
  const int hot = wake ? p.helpers : p.helpers - p.parked.load();
  if (hot <= 0) {
    return f(0, n);
  }
  // As many chunks for each thread: one more would keep a few threads busy while others wait.
  const double threads = hot + 1;
  const double each =
      std::clamp<double>(std::floor(estimated_ns / kChunkNs / threads), 1, kThreadChunks);
  const int64_t grains = (n + grain - 1) / grain, chunks = static_cast<int64_t>(threads * each);
  const Job todo{f, n, std::max<int64_t>(1, grains / chunks + (grains % chunks != 0)) * grain};
  p.run(todo, wake);
  if (p.failed.load(std::memory_order_relaxed)) {
    const auto error = std::exchange(p.error, nullptr);
    p.failed.store(false);
    std::rethrow_exception(error);
  }
}

}  // namespace mlx::core::cpu

namespace mlx::core {

int get_num_threads() { return cpu::num_threads(); }

void set_num_threads(int threads) {
  if (threads < 1 || threads > cpu::kMaxThreads)
    fail("set_num_threads", threads, " given; accepted: a whole number from 1 to ",
         cpu::kMaxThreads, ".");
  if (cpu::inside) fail<ExecutionError>("set_num_threads", "called from inside a parallel loop.");
  const BlockingRegion waiting;
  cpu::pool().resize(threads);
}

}  // namespace mlx::core
