// Tasks as primitives without inputs, which streams run in order with everything else.
#include "mlx/compat/scheduler.h"

#include <atomic>

#include "mlx/compat/encoder.h"
#include "mlx/core/blocking.h"
#include "mlx/core/error.h"
#include "mlx/core/submitted.h"
#include "mlx/ops/custom.h"
#include "mlx/runtime/evaluate.h"

namespace mlx::core {

namespace scheduler {

namespace {

std::atomic<int> active{0};
std::atomic<int> ended{0};

/// Ends a task, however it ends.
struct TaskEnd {
  ~TaskEnd() {
    active.fetch_sub(1);
    ended.fetch_add(1);
    ended.notify_all();
  }
};

/// A primitive without results worth reading, for what it does.
class Task final : public UnaryPrimitive {
 public:
  Task(Stream s, std::function<void()> f) : UnaryPrimitive(s), f_(std::move(f)) {}
  using UnaryPrimitive::eval_cpu;
  void eval_cpu(const std::vector<array>&, array& out) override {
    TaskEnd end;
    *out.data<bool>() = true;
    f_();
  }
  const char* name() const override { return "task"; }

 private:
  std::function<void()> f_;
};

}  // namespace

void enqueue(Stream s, std::function<void()> task) {
  if (s.device != Device::cpu)
    fail<ValueError>("enqueue", to_string(s), "; streams of the CPU are accepted");
  if (PrimitiveScope::active()) return task();
  s = to_stream(s);
  array result({}, bool_, std::make_shared<Task>(s, std::move(task)), {});
  Evaluation pending({result}, false);  // may fail: the task does not begin then
  active.fetch_add(1);
  pending.run();
}

int n_active_tasks() { return active.load(); }
void notify_new_task(const Stream&) { active.fetch_add(1); }
void notify_task_completion(const Stream&) { TaskEnd end; }

void wait_for_one() {
  const int before = ended.load();
  if (active.load() == 0) return;
  BlockingRegion region;
  ended.wait(before);
}

void check_error(Stream s) { Submitted::of(s).settle(); }

}  // namespace scheduler

namespace cpu {

CommandEncoder& get_command_encoder(Stream s) {
  thread_local std::unordered_map<int, CommandEncoder> encoders;
  return encoders.try_emplace(s.index, s).first->second;
}

}  // namespace cpu

}  // namespace mlx::core
