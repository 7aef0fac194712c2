// Kernels of the program that are on the device, by stream and by the events that end them.
#include "mlx/backend/cuda/faults.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace mlx::core::cuda {

namespace {

struct Known {
  gpu::StreamHandle stream;
  uint64_t number;  // of its last launch
  std::string name;
};
struct End {
  gpu::StreamHandle stream;
  uint64_t number;  // of the last launch before it
};
struct Table {
  std::mutex mutex;
  std::atomic<bool> any = false;
  uint64_t launches = 0;
  std::vector<Known> running;
  std::unordered_map<gpu::EventHandle, End> ends;

  void over(gpu::StreamHandle stream, uint64_t number) {
    std::erase_if(running,
                  [&](const Known& k) { return k.stream == stream && k.number <= number; });
    if (running.empty()) {
      ends.clear();
      any = false;
    }
  }
};
Table& recent_faults() {
  static Table& t = *new Table;
  return t;
}

}  // namespace

void note_kernel(gpu::StreamHandle stream, const std::string& name) {
  Table& t = recent_faults();
  std::lock_guard lock(t.mutex);
  t.any = true;
  const uint64_t number = ++t.launches;
  auto same = [&](const Known& k) { return k.stream == stream && k.name == name; };
  if (auto it = std::ranges::find_if(t.running, same); it != t.running.end())
    it->number = number;
  else
    t.running.push_back({stream, number, name});
}

void note_end(gpu::EventHandle event, gpu::StreamHandle stream) {
  Table& t = recent_faults();
  if (!t.any) return;
  std::lock_guard lock(t.mutex);
  t.ends[event] = {stream, t.launches};
}

void note_reached(gpu::EventHandle event) {
  Table& t = recent_faults();
  if (!t.any) return;
  std::lock_guard lock(t.mutex);
  auto it = t.ends.find(event);
  if (it == t.ends.end()) return;
  const End end = it->second;
  t.ends.erase(it);
  t.over(end.stream, end.number);
}

void note_idle(gpu::StreamHandle stream) {
  Table& t = recent_faults();
  if (!t.any) return;
  std::lock_guard lock(t.mutex);
  t.over(stream, t.launches);
}

bool is_fault(int status) {
  // Illegal address, time, assertion, stack, instruction, alignment, address space, program
  // counter, launch.
  constexpr int faults[] = {700, 702, 710, 714, 715, 716, 717, 718, 719};
  return std::ranges::find(faults, status) != std::end(faults);
}

std::string fault_text(const std::string& error) {
  Table& t = recent_faults();
  std::lock_guard lock(t.mutex);
  std::string names;
  for (const Known& k : t.running) names += (names.empty() ? "'" : ", '") + k.name + "'";
  const bool several = t.running.size() > 1;
  const std::string what = names.empty() ? "a kernel"
                           : several     ? "one of the program's kernels " + names
                                         : "the program's kernel " + names;
  return what + " failed on the device: " + error +
         "; the GPU works again in a process that is started anew";
}

}  // namespace mlx::core::cuda
