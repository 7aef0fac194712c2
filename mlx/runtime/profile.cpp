// Times of steps, summed by name, and as events of a trace.
#include "mlx/runtime/profile.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "mlx/core/error.h"
#include "mlx/io/stream.h"
#include "mlx/runtime/observe.h"

namespace mlx::core {

namespace {

std::mutex recording;
Profile* recorder = nullptr;

double micros(Profile::Time from, Profile::Time to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

size_t step_bytes(const Step& s) {
  size_t n = 0;
  for (int k = 0; k < s.outputs_end(); ++k) {
    const Layout& l = s.operands[k];
    size_t elements = 1;  // a repeated element is read from memory once
    for (size_t d = 0; d < l.shape.size(); ++d)
      if (l.strides[d] != 0) elements *= static_cast<size_t>(l.shape[d]);
    n += elements * l.dtype.size();
  }
  return n * static_cast<size_t>(num_elements(s.loop));
}

}  // namespace

void Profile::start() {
  std::lock_guard lock(recording);
  if (recorder) throw ValueError("[profile] another profile is recording; one at a time can");
  origin_ = Clock::now();
  recorder = this;
  watch(watch_origins, true);
  watch(watch_times, true);
}

void Profile::stop() {
  std::lock_guard lock(recording);
  if (recorder != this) return;
  watch(watch_times, false);
  watch(watch_origins, false);
  recorder = nullptr;
}

void Profile::record(const Step& step, Time start, Time end) {
  const Layout& out = step.operands[std::min<size_t>(step.n_inputs, step.operands.size() - 1)];
  size_t thread = std::hash<std::thread::id>{}(std::this_thread::get_id()) % 100000;
  std::lock_guard lock(recording);
  if (!recorder) return;
  recorder->events_.push_back({step.name(), origin_text(step.origin), to_string(out.shape),
                               std::string(dtype_name(out.dtype)), micros(recorder->origin_, start),
                               micros(start, end), step_bytes(step), thread});
}

std::string Profile::summary() const {
  struct Row {
    size_t calls = 0, bytes = 0;
    double time = 0;
  };
  std::map<std::string, Row> rows;
  double total = 0;
  for (const Event& e : events_) {
    Row& r = rows[e.name];
    ++r.calls;
    r.bytes += e.bytes;
    r.time += e.duration;
    total += e.duration;
  }
  std::vector<std::pair<std::string, Row>> order(rows.begin(), rows.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  std::ostringstream out;
  out << std::fixed << std::setprecision(3) << "   calls   time (ms)   share   GB/s  step\n";
  for (const auto& [name, r] : order)
    out << std::setw(8) << r.calls << std::setw(12) << r.time / 1e3 << std::setw(7)
        << std::setprecision(1) << 100 * r.time / std::max(total, 1e-9) << '%' << std::setw(7)
        << static_cast<double>(r.bytes) / std::max(r.time, 1e-9) / 1e3 << std::setprecision(3)
        << "  " << name << '\n';
  out << std::setw(8) << events_.size() << std::setw(12) << total / 1e3
      << "  100.0%         total\n";
  return out.str();
}

void Profile::save(const std::string& path) const {
  nlohmann::json events = nlohmann::json::array();
  for (const Event& e : events_)
    events.push_back(
        {{"name", e.name},
         {"ph", "X"},
         {"cat", "step"},
         {"ts", e.start},
         {"dur", e.duration},
         {"pid", 0},
         {"tid", e.thread},
         {"args",
          {{"shape", e.shape}, {"dtype", e.dtype}, {"bytes", e.bytes}, {"line", e.origin}}}});
  std::string text = nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump();
  auto file = io::open_writer(path);
  file->write(text.data(), text.size());
  file->commit();
}

}  // namespace mlx::core
