// Errors of the C interface: exceptions become calls of the program's handler.
#include "mlx/c/error.h"

#include <cxxabi.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "mlx/c/src/handles.h"
#include "mlx/core/error.h"

namespace mlx::c {

namespace {

/// A program that sets no handler does not expect errors.
void print_and_exit(const char* message, void*) {
  std::fprintf(stderr, "MLX error: %s\n", message);
  std::exit(-1);
}

struct Handler {
  mlx_error_handler_func call = print_and_exit;
  std::shared_ptr<void> data;  ///< given back when neither the state nor a call uses it
};
struct State {
  std::mutex mutex;
  Handler handler;
};
State& state() {
  static auto& all = *new State;
  return all;
}

}  // namespace

void report(const char* message, const char* file, int line) noexcept {
  Handler handler;
  {
    std::lock_guard lock(state().mutex);
    handler = state().handler;
  }
  std::string text = message;
  if (file) text += std::string(" at ") + file + ":" + std::to_string(line);
  handler.call(text.c_str(), handler.data.get());
}

int run(const Step& step, const char* name) noexcept {
  try {
    step();
    return 0;
#ifdef __GLIBCXX__
  } catch (const abi::__forced_unwind&) {
    std::terminate();  // a thread that was cancelled cannot be unwound through C
#endif
  } catch (const std::bad_alloc&) {
    report((std::string("[") + name + "] not enough memory").c_str(), nullptr, 0);
  } catch (const std::exception& e) {
    report(e.what(), nullptr, 0);
  } catch (...) {
    report((std::string("[") + name + "] an exception without a message").c_str(), nullptr, 0);
  }
  return 1;
}

}  // namespace mlx::c

extern "C" {

void mlx_set_error_handler(mlx_error_handler_func handler, void* data, void (*dtor)(void*)) {
  mlx::c::Handler next;
  if (handler) {
    next.call = handler;
    next.data = {data, [dtor](void* p) {
                   if (dtor) dtor(p);
                 }};
  } else if (dtor) {
    dtor(data);
  }
  // The earlier data goes after the lock: its destructor may call functions of this interface.
  mlx::c::State& state = mlx::c::state();
  std::lock_guard lock(state.mutex);
  std::swap(state.handler, next);
}

void _mlx_error(const char* file, const int line, const char* fmt, ...) {
  va_list arguments, again;
  va_start(arguments, fmt);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, fmt, arguments);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, ' ');
  std::vsnprintf(text.data(), text.size() + 1, fmt, again);
  va_end(again);
  va_end(arguments);
  mlx::c::report(text.c_str(), file, line);
}

}  // extern "C"
