// Fibers, their order, and what they wait for.
#include "threads.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string_view>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "fiber.h"
#include "ticks.h"

namespace emulated {

namespace {

/// Order in which threads run between collectives.
struct Order {
  enum Kind { even, forward, backward, random } kind = even;
  std::mt19937 random_bits;
};

Order order_of_environment() {
  const char* text = std::getenv("MLX_EMULATION_ORDER");
  const std::string_view given = text ? text : "even";
  Order order;
  if (given == "even") return order;
  if (given == "forward") return order.kind = Order::forward, order;
  if (given == "backward") return order.kind = Order::backward, order;
  char* end = nullptr;
  order.random_bits.seed(static_cast<unsigned>(std::strtoul(text, &end, 10)));
  if (given.empty() || *end)
    throw std::runtime_error("[metal] MLX_EMULATION_ORDER=" + std::string(given) +
                             " given; accepted: even, forward, backward, or an integer");
  order.kind = Order::random;
  return order;
}

/// Seconds of processor time that a dispatch may take.
double limit_of_environment() {
  const char* text = std::getenv("MLX_EMULATION_SECONDS");
  if (!text) return 300;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (!*text || *end || !(seconds > 0))
    throw std::runtime_error("[metal] MLX_EMULATION_SECONDS=" + std::string(text) +
                             " given; accepted: a positive number");
  return seconds;
}

/// How arithmetic treats subnormal floats: bits of the processor's control register, which all
/// fibers of a thread share.
class Subnormals {
 public:
  /// Sets the bits that MLX_EMULATION_SUBNORMALS asks for.
  Subnormals() : before_(control()) {
    const char* text = std::getenv("MLX_EMULATION_SUBNORMALS");
    const std::string_view given = text ? text : "keep";
    if (given == "flush")
      set_control(before_ | kFlush);
    else if (given != "keep")
      throw std::runtime_error("[metal] MLX_EMULATION_SUBNORMALS=" + std::string(given) +
                               " given; accepted: keep, flush");
  }
  Subnormals(const Subnormals&) = delete;
  ~Subnormals() { set_control(before_); }

 private:
#if defined(__x86_64__)
  static constexpr unsigned kFlush = 0x8040;  // of results, and of operands
  static unsigned control() { return _mm_getcsr(); }
  static void set_control(unsigned bits) { _mm_setcsr(bits); }
  const unsigned before_;
#else
  static constexpr uint64_t kFlush = uint64_t{1} << 24;
  static uint64_t control() {
    uint64_t bits;
    __asm__ volatile("mrs %0, fpcr" : "=r"(bits));
    return bits;
  }
  static void set_control(uint64_t bits) { __asm__ volatile("msr fpcr, %0" : : "r"(bits)); }
  const uint64_t before_;
#endif
};

constexpr size_t kStackBytes = size_t{kAddressSanitizer ? 256 : 64} << 10;
constexpr size_t kGuard = 4 << 10;  // bytes behind threadgroup memory, which stay as they are
// Bytes between parts of threadgroup memory that AddressSanitizer watches.
constexpr size_t kGap = kAddressSanitizer ? 64 : 0;

/// Stacks of successive numbers begin in other sets of the caches.
constexpr size_t spare_of(size_t number) { return 64 + number % 61 * 256; }

enum class State : uint8_t { fresh, ready, at_barrier, at_exchange, finished };

/// A threadgroup's threads. A fiber runs fresh threads one after another for as long as they end
/// without a stop; a thread that stops keeps the fiber.
class Group {
 public:
  Group(Order& order, double seconds) : order_(order), seconds_(seconds) {}
  Group(const Group&) = delete;
  ~Group() { unpoison(shared_, sizeof shared_); }

  void set(const Dispatch& dispatch) { dispatch_ = &dispatch; }
  /// Runs the threadgroup at a position; an error, or an empty text.
  std::string run(Triple at);

  void stop(State state, unsigned line = 0);
  void* shared(unsigned id, size_t bytes, size_t alignment);
  Collective exchange(uint64_t word, unsigned line);
  unsigned lane() const { return positions_[running_].lane; }
  /// Counts time, in a signal handler that interrupted the instruction at `place`. A kernel that
  /// has none left is given up there; everything else, as soon as it looks for the next thread.
  void tick(const char* place);
  /// A text that names the kernel, the threadgroup and the running thread.
  std::string running(const std::string& problem) const { return describe(running_, problem); }

 private:
  void place(Triple at);
  void run_simd(size_t s);
  /// Makes the next lane of the SIMD group that can run the running one; false where there is none.
  bool take_next();
  void prefetch_next() const;
  /// Goes on with the next lane, or back to the scheduler, where there is none. From one fiber to
  /// the next, the processor foresees the switch: both have made the same calls.
  void leave(Fiber* fiber);
  static void fiber_main();
  Fiber* idle_fiber();
  const std::vector<size_t>& lanes_of(size_t s);
  std::string describe(size_t thread, const std::string& problem) const;
  std::string apart(size_t one, size_t other, const std::string& kind) const;
  std::string stuck() const;
  bool release_exchange(size_t s);
  bool release_barrier();

  Order& order_;
  const double seconds_;
  volatile int ticks_ = 0;
  volatile bool late_ = false;
  const Dispatch* dispatch_ = nullptr;
  Triple at_{};
  size_t count_ = 0, running_ = 0;
  std::vector<Thread> positions_;
  std::vector<State> states_;
  std::vector<unsigned> lines_;  // of the collective that a thread waits at
  std::vector<Fiber*> fiber_of_;
  std::vector<uint64_t> brought_, result_;
  std::vector<uint32_t> active_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<size_t> lanes_;
  size_t next_ = 0;            // of the lanes, in their order
  std::vector<size_t> queue_;  // fresh threads that fibers take next, last one first
  StackPlace scheduler_;
  Fiber* current_ = nullptr;
  std::string error_;
  std::vector<size_t> shared_at_;
  size_t shared_used_ = 0, gaps_ = 0;
  alignas(64) char shared_[kMaxShared + kGuard];  // a part of it is used, with gaps
};

// Its place is fixed when the library is loaded, so that reads of it call no function.
[[gnu::tls_model("initial-exec")]] thread_local Group* group = nullptr;
constexpr size_t kNowhere = ~size_t{0};

void Group::place(Triple at) {
  const Triple full = dispatch_->group, grid = dispatch_->grid;
  const auto cut = [](unsigned i, unsigned size, unsigned all) {
    return std::min(size, all - i * size);
  };
  at_ = at;
  const Triple size{cut(at.x, full.x, grid.x), cut(at.y, full.y, grid.y),
                    cut(at.z, full.z, grid.z)};
  const Triple groups{(grid.x + full.x - 1) / full.x, (grid.y + full.y - 1) / full.y,
                      (grid.z + full.z - 1) / full.z};
  count_ = size_t{size.x} * size.y * size.z;
  positions_.resize(count_);
  for (unsigned i = 0; i < count_; ++i) {
    const Triple mine{i % size.x, i / size.x % size.y, i / size.x / size.y};
    positions_[i] = {dispatch_->buffers.data(),
                     dispatch_->shared_sizes.data(),
                     mine,
                     at,
                     size,
                     full,
                     groups,
                     grid,
                     i % kSimdWidth,
                     i / kSimdWidth};
  }
  const size_t simds = (count_ + kSimdWidth - 1) / kSimdWidth;
  states_.assign(count_, State::fresh);
  lines_.assign(count_, 0);
  fiber_of_.assign(count_, nullptr);
  brought_.assign(simds * kSimdWidth, 0);
  result_.assign(simds * kSimdWidth, 0);
  active_.assign(simds, 0);
  shared_at_.clear();
  shared_used_ = gaps_ = 0;
  unpoison(shared_, sizeof shared_);
  std::memset(shared_, 0xff, sizeof shared_);  // NaN: nothing is initialised
  poison(shared_, sizeof shared_);
  error_.clear();
  running_ = 0;
}

void* Group::shared(unsigned id, size_t bytes, size_t alignment) {
  if (shared_at_.size() <= id) shared_at_.resize(id + 1, kNowhere);
  if (shared_at_[id] == kNowhere) {
    shared_used_ = (shared_used_ + alignment - 1) / alignment * alignment;
    if (bytes > kMaxShared - std::min(kMaxShared, shared_used_)) {
      error_ = describe(running_, std::to_string(shared_used_ + bytes) +
                                      " bytes of threadgroup memory; at most " +
                                      std::to_string(kMaxShared) + " are there");
      stop(State::finished);
    }
    shared_at_[id] = shared_used_ + gaps_;
    shared_used_ += bytes;
    gaps_ = std::min(gaps_ + kGap, kGuard - kGap);
    unpoison(shared_ + shared_at_[id], bytes);
  }
  return shared_ + shared_at_[id];
}

void Group::stop(State state, unsigned line) {
  states_[running_] = state;
  lines_[running_] = line;
  fiber_of_[running_] = current_;
  leave(current_);
}

Collective Group::exchange(uint64_t word, unsigned line) {
  const size_t mine = running_;
  brought_[mine] = word;
  stop(State::at_exchange, line);
  const size_t s = mine / kSimdWidth;
  return {&result_[s * kSimdWidth], active_[s]};
}

void Group::fiber_main() {
  StackPlace::entered();
  for (;;) {
    Group& g = *group;
    while (!g.queue_.empty()) {
      g.running_ = g.queue_.back();
      g.queue_.pop_back();
      g.states_[g.running_] = State::ready;
      g.dispatch_->kernel->run(g.positions_[g.running_]);
      g.states_[g.running_] = State::finished;
    }
    Fiber* const self = g.current_;
    g.idle_.push_back(self);
    g.leave(self);
  }
}

Fiber* Group::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(fiber_main, kStackBytes, spare_of(fibers_.size())));
    idle_.push_back(fibers_.back().get());
  }
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

/// Stacks of a whole threadgroup do not stay in the first cache.
void Group::prefetch_next() const {
  const Fiber* const after = next_ < lanes_.size() ? fiber_of_[lanes_[next_]] : nullptr;
  if (!after) return;
  for (int line = 0; line < 3; ++line)
    __builtin_prefetch(static_cast<const char*>(after->at.pointer) + 64 * line);
}

bool Group::take_next() {
  if (late_ || !error_.empty()) return false;
  while (next_ < lanes_.size()) {
    const size_t thread = lanes_[next_++];
    if (states_[thread] != State::ready) continue;
    running_ = thread;
    current_ = fiber_of_[thread];
    prefetch_next();
    return true;
  }
  if (queue_.empty()) return false;
  current_ = idle_fiber();
  return true;
}

void Group::leave(Fiber* fiber) { fiber->at.change_to(take_next() ? current_->at : scheduler_); }

/// The threads of a SIMD group in the order in which they run.
const std::vector<size_t>& Group::lanes_of(size_t s) {
  const size_t first = s * kSimdWidth, end = std::min(first + kSimdWidth, count_);
  lanes_.resize(end - first);
  std::iota(lanes_.begin(), lanes_.end(), first);
  if (order_.kind == Order::backward) std::reverse(lanes_.begin(), lanes_.end());
  if (order_.kind == Order::random) std::shuffle(lanes_.begin(), lanes_.end(), order_.random_bits);
  return lanes_;
}

/// Runs all lanes of a SIMD group that are able to, up to their next stop.
void Group::run_simd(size_t s) {
  const std::vector<size_t>& lanes = lanes_of(s);
  next_ = 0;
  queue_.clear();
  for (auto it = lanes.rbegin(); it != lanes.rend(); ++it)
    if (states_[*it] == State::fresh) queue_.push_back(*it);
  if (take_next()) scheduler_.change_to(current_->at);
  if (late_ && error_.empty()) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", seconds_);
    error_ = describe(running_, std::string("the kernel has run for ") + text +
                                    " s of processor time; MLX_EMULATION_SECONDS allows no more");
  }
}

void Group::tick(const char* place) {
  const int now = ticks_ + 1;
  ticks_ = now;
  if (now * Ticks::kSeconds < seconds_) return;
  late_ = true;
  const Code& code = dispatch_->code;
  if (place >= code.begin && place < code.end) current_->at.change_to(scheduler_);
}

/// Lets the lanes of a SIMD group go on that have come to an exchange; true if there were any.
bool Group::release_exchange(size_t s) {
  const size_t first = s * kSimdWidth, end = std::min(first + kSimdWidth, count_);
  uint32_t active = 0;
  size_t one = kNowhere;
  for (size_t i = first; i < end; ++i) {
    if (states_[i] != State::at_exchange) continue;
    active |= 1u << (i - first);
    if (one == kNowhere) one = i;
  }
  if (active == 0) return false;
  for (size_t i = first; i < end; ++i) {
    if (states_[i] == State::finished || lines_[i] == lines_[one]) continue;
    error_ = apart(one, i, "lane of its SIMD group");
    return false;
  }
  std::copy_n(&brought_[first], kSimdWidth, &result_[first]);
  active_[s] = active;
  for (size_t i = first; i < end; ++i)
    if (states_[i] == State::at_exchange) states_[i] = State::ready;
  return true;
}

/// Lets all threads go on if all of them have come to one barrier.
bool Group::release_barrier() {
  if (std::any_of(states_.begin(), states_.end(), [](State s) { return s != State::at_barrier; }))
    return false;
  const auto other = std::find_if(lines_.begin(), lines_.end(),
                                  [&](unsigned line) { return line != lines_.front(); });
  if (other != lines_.end()) {
    error_ = apart(0, static_cast<size_t>(other - lines_.begin()), "thread of its threadgroup");
    return false;
  }
  std::fill(states_.begin(), states_.end(), State::ready);
  return true;
}

/// The error of two threads that wait at different lines.
std::string Group::apart(size_t one, size_t other, const std::string& kind) const {
  return describe(one, "waits at line " + std::to_string(lines_[one]) + ", and another " + kind +
                           " at line " + std::to_string(lines_[other]));
}

std::string Group::describe(size_t thread, const std::string& problem) const {
  const auto list = [](Triple t) {
    return "(" + std::to_string(t.x) + ", " + std::to_string(t.y) + ", " + std::to_string(t.z) +
           ")";
  };
  return "[metal] kernel '" + dispatch_->name + "', threadgroup " + list(at_) + ", thread " +
         list(positions_[thread].in_group) + ": " + problem;
}

/// The error of threads of which some wait and none can go on.
std::string Group::stuck() const {
  const auto waiting = static_cast<size_t>(
      std::find(states_.begin(), states_.end(), State::at_barrier) - states_.begin());
  return describe(waiting, "waits at the barrier of line " + std::to_string(lines_[waiting]) +
                               ", which other threads ended without");
}

std::string Group::run(Triple at) {
  place(at);
  std::vector<size_t> simds(active_.size());
  std::iota(simds.begin(), simds.end(), size_t{0});
  if (order_.kind == Order::backward) std::reverse(simds.begin(), simds.end());
  const bool in_turns = order_.kind == Order::even || order_.kind == Order::random;
  for (bool moved = true; moved && error_.empty();) {
    moved = false;
    if (order_.kind == Order::random) std::shuffle(simds.begin(), simds.end(), order_.random_bits);
    for (size_t s : simds) {
      do {
        run_simd(s);
      } while (error_.empty() && release_exchange(s) && (moved = true) && !in_turns);
      if (!error_.empty()) break;
    }
    moved = (error_.empty() && release_barrier()) || moved;
  }
  const bool over =
      std::all_of(states_.begin(), states_.end(), [](State s) { return s == State::finished; });
  if (error_.empty() && !over) error_ = stuck();
  if (kAddressSanitizer) return error_;
  // Each byte as the first one, which is as it was.
  const char* const guard = shared_ + kMaxShared;
  if (error_.empty() &&
      (*guard != static_cast<char>(0xff) || std::memcmp(guard, guard + 1, kGuard - 1) != 0))
    error_ = describe(
        0, "a write behind " + std::to_string(kMaxShared) + " bytes of threadgroup memory");
  return error_;
}

#ifdef __SANITIZE_ADDRESS__
/// Ends a report of AddressSanitizer with the thread of a kernel that was running.
void end_report(const char*) {
  if (group) std::fprintf(stderr, "%s\n", group->running("is running").c_str());
}
#endif

}  // namespace

const Hooks hooks = {
    [](unsigned line) { group->stop(State::at_barrier, line); },
    [](uint64_t word, unsigned line) { return group->exchange(word, line); },
    [] { return group->lane(); },
    [](unsigned id, size_t bytes, size_t alignment) { return group->shared(id, bytes, alignment); },
};

std::string run(const Dispatch& dispatch) try {
  Order order = order_of_environment();
  const Subnormals subnormals;
  thread_local const Ticks ticks([](const char* place) {
    if (group) group->tick(place);
  });
  (void)ticks;
#ifdef __SANITIZE_ADDRESS__
  __asan_set_error_report_callback(end_report);
#endif
  Group threads(order, limit_of_environment());
  threads.set(dispatch);
  group = &threads;
  std::string error;
  const Triple full = dispatch.group, grid = dispatch.grid;
  for (unsigned z = 0; z * full.z < grid.z && error.empty(); ++z)
    for (unsigned y = 0; y * full.y < grid.y && error.empty(); ++y)
      for (unsigned x = 0; x * full.x < grid.x && error.empty(); ++x)
        error = threads.run({x, y, z});
  group = nullptr;
  return error;
} catch (const std::exception& e) {
  return e.what();
}

}  // namespace emulated
