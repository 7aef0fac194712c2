// A timer of a thread's processor time, and its signal.
#include "ticks.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace emulated {

namespace {

Ticks::Function called = nullptr;

void handle(int, siginfo_t*, void* context) {
  const mcontext_t& state = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  called(reinterpret_cast<const char*>(state.gregs[REG_RIP]));
#else
  called(reinterpret_cast<const char*>(state.pc));
#endif
}

/// One that no library uses by itself.
int signal_number() { return SIGRTMAX - 2; }

void check(int status, const char* what) {
  if (status != 0) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Ticks::Ticks(Function function) {
  called = function;
  struct sigaction action = {};
  action.sa_sigaction = handle;
  // The signal stays open for a thread that does not come back.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  check(sigaction(signal_number(), &action, nullptr), "[metal] sigaction");
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, signal_number());
  pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal_number();
  event.sigev_notify_thread_id = gettid();
  check(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_), "[metal] timer_create");
  const timespec each = {0, static_cast<long>(kSeconds * 1e9)};
  const itimerspec times = {each, each};
  check(timer_settime(timer_, 0, &times, nullptr), "[metal] timer_settime");
}

Ticks::~Ticks() { timer_delete(timer_); }

}  // namespace emulated
