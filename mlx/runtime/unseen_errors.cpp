// The list of asynchronous work whose errors have not been reported.
#include "mlx/runtime/unseen_errors.h"

#include <algorithm>
#include <unordered_map>

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

/// Without `synchronize`, errors would collect without end: a stream keeps its first ones, and the
/// streams of threads that have ended keep fewer with time.
void forget_many(std::vector<Watched>& list) {
  constexpr size_t kOfStream = 64, kOfAll = 1024;
  if (list.size() <= kOfStream) return;
  std::unordered_map<int, size_t> failed;
  size_t all = 0;
  std::erase_if(list, [&](const Watched& w) {
    if (!w.end->failed()) return false;
    ++all;
    return ++failed[w.stream.index] > kOfStream;
  });
  for (auto it = list.begin(); all > kOfAll && it != list.end();) {
    const bool over = it->end->failed();
    it = over ? list.erase(it) : it + 1;
    all -= over;
  }
}

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
  forget_many(list);
  for (size_t k = 0; k < x.done.size(); ++k)
    list.push_back({x.plan->segments[k].stream, x.done[k]});
}

void throw_unseen_error(Stream stream) {
  while (Ref<Event> end = take_first(stream)) {
    end->set_reported();
    end->wait();  // throws; suspended work goes on and may succeed
  }
}

}  // namespace mlx::core
