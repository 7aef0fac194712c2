// The list of asynchronous work whose errors nobody has seen.
#include "mlx/runtime/unseen_errors.h"

#include <algorithm>

#include "mlx/core/blocking.h"

namespace mlx::core {

namespace {

struct Watched {
  Stream stream;
  Ref<Event> end;
};

EngineMutex mutex;
std::vector<Watched>& watched() {
  static auto& list = *new std::vector<Watched>;
  return list;
}

/// True where no error is left to throw.
bool is_over(const Watched& w) { return w.end->done() && (!w.end->failed() || w.end->reported()); }

/// The first launch of the stream whose error is to be thrown, or null.
Ref<Event> take_first(Stream stream) {
  std::lock_guard lock(mutex);
  auto& list = watched();
  std::erase_if(list, is_over);
  auto stopped = [&](const Watched& w) {
    return w.stream == stream && (w.end->failed() || w.end->suspended());
  };
  auto at = std::ranges::find_if(list, stopped);
  if (at == list.end()) return {};
  Ref<Event> end = at->end;
  if (end->failed()) list.erase(at);
  return end;
}

}  // namespace

void watch_errors(const Execution& x) {
  std::lock_guard lock(mutex);
  auto& list = watched();
  std::erase_if(list, is_over);
  for (size_t k = 0; k < x.done.size(); ++k)
    list.push_back({x.plan->segments[k].stream, x.done[k]});
}

void throw_unseen_error(Stream stream) {
  while (Ref<Event> end = take_first(stream)) {
    end->set_reported();
    end->wait();  // throws; what was suspended goes on and may succeed
  }
}

}  // namespace mlx::core
