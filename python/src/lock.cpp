// Gives up and takes the GIL around waits, also while the interpreter ends.
#include "lock.h"

#include <pthread.h>
#include <signal.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include <bit>
#include <chrono>
#include <thread>

namespace mlx::python {

namespace detail {
struct Release {
  void (*run)(void*);
  void* object;
  Release* next;
};
std::atomic<Release*> releases{nullptr};
}  // namespace detail

namespace {

using detail::Release;

std::atomic<bool> python_is_gone{false};
/// The thread that handles signals, and the one that ends Python.
std::atomic<pthread_t> main_thread{}, last_thread{};
/// The thread state with which this thread gave back the lock.
thread_local constinit PyThreadState* released = nullptr;

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

void take_lock(PyThreadState* state) {
  if (is_finalizing() && !pthread_equal(pthread_self(), last_thread.load())) stay_forever();
  try {
    PyEval_RestoreThread(state);
  } catch (ThreadEnds&) {
    stay_forever();
  }
}

void* enter() {
  if (!holds_lock()) return nullptr;
  return released = PyEval_SaveThread();
}
void leave(void* state) {
  released = nullptr;
  take_lock(static_cast<PyThreadState*>(state));
}

/// The exception of a signal handler in the middle of a wait, until the wait has been left.
struct Raised {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
} raised;

bool interrupted() {
  if (!pthread_equal(pthread_self(), main_thread.load(std::memory_order_relaxed))) return false;
  if (raised.type) return true;
  // Taking the lock from threads that compute may last milliseconds.
  constexpr auto kEvery = std::chrono::milliseconds(20);
  static std::chrono::steady_clock::time_point last;
  const auto now = std::chrono::steady_clock::now();
  if (now - last < kEvery) return false;
  last = now;
  PyThreadState* state = std::exchange(released, nullptr);
  if (state)
    take_lock(state);
  else if (!holds_lock())
    return false;
  const bool stop = PyErr_CheckSignals() < 0;
  if (stop) PyErr_Fetch(&raised.type, &raised.value, &raised.trace);
  if (state) released = PyEval_SaveThread();
  return stop;
}

constexpr BlockingHooks hooks{enter, leave, interrupted};

}  // namespace

bool holds_lock() {
  if (python_is_gone.load(std::memory_order_acquire)) return false;
#if PY_VERSION_HEX >= 0x030d0000
  return PyThreadState_GetUnchecked() != nullptr;
#else
  PyThreadState* current = _PyThreadState_UncheckedGet();  // of any thread
  return current && current == PyGILState_GetThisThreadState();
#endif
}

void release_with_lock(void (*run)(void*), void* object) noexcept {
  if (!UninterruptedRegion::active() && holds_lock()) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    run(object);
    PyErr_Restore(type, value, trace);
    return;
  }
  if (python_is_gone.load(std::memory_order_acquire)) return;
  auto* r = new (std::nothrow) Release{run, object, nullptr};
  if (!r) return;
  r->next = detail::releases.load(std::memory_order_relaxed);
  while (!detail::releases.compare_exchange_weak(r->next, r, std::memory_order_release)) {
  }
}

void detail::run_releases() noexcept {
  Release* list = releases.exchange(nullptr, std::memory_order_acquire);
  Release* ordered = nullptr;
  while (list) {
    Release* next = std::exchange(list->next, ordered);
    ordered = std::exchange(list, next);
  }
  while (ordered) {
    Release* next = ordered->next;
    release_with_lock(ordered->run, ordered->object);
    delete ordered;
    ordered = next;
  }
}

void yield_lock() {
  if (PyErr_CheckSignals() < 0) throw nb::python_error();
  // A lock that is taken again at once starves its waiters: it stays free for a moment, as often
  // as Python's own switch interval.
  using Clock = std::chrono::steady_clock;
  constexpr auto kInterval = std::chrono::milliseconds(5);
  constexpr auto kMoment = std::chrono::microseconds(50);
  thread_local Clock::time_point last;
  if (Clock::now() - last < kInterval) return;
  {
    BlockingRegion region;
    std::this_thread::sleep_for(kMoment);
  }
  last = Clock::now();
}

void restore_interrupt() {
  Raised r = std::exchange(raised, {});
  if (!r.type) return PyErr_SetNone(PyExc_KeyboardInterrupt);
  PyErr_Restore(r.type, r.value, r.trace);
}

void stay_forever() noexcept {
  // Signals are for the threads that are left.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (;;) ::pause();
}

namespace {

/// The thread that gets Python's signals. `threading`, which takes long to import, is asked only on
/// another one.
pthread_t find_main_thread() {
#ifdef __APPLE__
  const bool here = pthread_main_np();
#else
  const bool here = syscall(SYS_gettid) == getpid();
#endif
  if (here) return pthread_self();
  nb::object main = nb::module_::import_("threading").attr("main_thread")();
  return std::bit_cast<pthread_t>(nb::cast<unsigned long>(main.attr("ident")));
}

}  // namespace

void bind_lock(nb::module_& m) {
  main_thread = find_main_thread();
  last_thread = main_thread.load();
  pthread_atfork(nullptr, nullptr, [] { main_thread = last_thread = pthread_self(); });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    last_thread = pthread_self();
    run_releases();
  }));
  Py_AtExit([] { python_is_gone.store(true, std::memory_order_release); });
  set_blocking_hooks(&hooks);
}

}  // namespace mlx::python
