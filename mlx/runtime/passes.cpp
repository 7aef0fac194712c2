// The list of the passes: what runs, in what order, and what must hold after each.
//
// Planning a form of graph that was planned before starts at `bind`, with the plan of then. Claims
// end after `publish`: `prepare` may compile and `run` waits, both without any lock.
#include "mlx/runtime/passes.h"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "mlx/runtime/assign.h"
#include "mlx/runtime/lower.h"
#include "mlx/runtime/publish.h"
#include "mlx/runtime/verify.h"

namespace mlx::core {

namespace {

struct PassInfo {
  const char* name;
  void (*run)(Evaluation&);
  void (*check)(const Evaluation&);  ///< in debug builds and under MLX_DEBUG=verify
};

constexpr PassInfo passes[] = {
    {"schedule",  // nodes in order, claimed; who refers to them
     [](Evaluation& e) { schedule(e.outputs, e.claims, e.items, e.tracing); },
     [](const Evaluation& e) { verify_schedule(e.items); }},
    {"place",  // devices and streams
     [](Evaluation& e) { place(e.items, e.targets); }, nullptr},
    {"fuse",  // elementwise nodes in groups
     [](Evaluation& e) { fuse(e.items, e.targets, e.groups, e.fused && is_enabled(Pass::fuse)); },
     [](const Evaluation& e) { verify_groups(e.items, e.groups); }},
    {"lower",  // groups and ops to steps, views to layouts
     [](Evaluation& e) {
       e.made = std::make_shared<Plan>();
       lower(e.items, e.targets, e.groups, *e.made);
     },
     [](const Evaluation& e) { verify_steps(*e.made); }},
    {"assign",  // memory
     [](Evaluation& e) {
       assign_memory(*e.made, is_enabled(Pass::assign));
       e.plan = e.made;
     },
     [](const Evaluation& e) { verify_memory(*e.made); }},
    {"bind",  // storages and values
     [](Evaluation& e) { e.execution = bind_values(e.plan, e.items, e.blocking); }, nullptr},
    {"publish",  // nodes count as evaluated, and let go of the graph behind them
     [](Evaluation& e) { publish(*e.execution, e.items); }, nullptr},
    // Then `run_execution`: executables are prepared, and launched.
};

bool debug_has(std::string_view word) {
  const char* v = std::getenv("MLX_DEBUG");
  return v && std::string_view(v).find(word) != std::string_view::npos;
}

#ifdef MLX_VERIFY_PASSES  // debug builds, and those of the sanitizers
const bool checking = true;
#else
const bool checking = debug_has("verify");
#endif
const bool timing = debug_has("passes");

void report(const char* name, std::chrono::steady_clock::time_point start) {
  std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  std::cerr << "pass " << name << " " << took.count() << " us\n";
}

void run_timed(const PassInfo& pass, Evaluation& e) {
  auto start = std::chrono::steady_clock::now();
  pass.run(e);
  report(pass.name, start);
}

std::atomic<uint32_t>& disabled() {
  static std::atomic<uint32_t> mask = [] {
    const char* v = std::getenv("MLX_DISABLE_PASSES");
    std::string_view list = v ? v : "";
    uint32_t m = std::getenv("MLX_DISABLE_FUSION") ? 1u << static_cast<int>(Pass::fuse) : 0;
    for (Pass p : {Pass::fuse, Pass::assign})
      if (list.find(passes[static_cast<int>(p)].name) != std::string_view::npos)
        m |= 1u << static_cast<int>(p);
    return m;
  }();
  return mask;
}

}  // namespace

void run_passes(Evaluation& e, Pass first, Pass last) {
  for (int k = static_cast<int>(first); k <= static_cast<int>(last); ++k) {
    const PassInfo& pass = passes[k];
    if (timing)
      run_timed(pass, e);
    else
      pass.run(e);
    if (checking && pass.check) pass.check(e);
  }
}

void run_execution(Execution& x) {
  if (!timing) {
    x.prepare();
    return x.run();
  }
  auto start = std::chrono::steady_clock::now();
  x.prepare();
  report("prepare", start);
  start = std::chrono::steady_clock::now();
  x.run();
  report("run", start);
}

void enable_pass(Pass pass, bool on) {
  uint32_t bit = 1u << static_cast<int>(pass);
  on ? disabled().fetch_and(~bit) : disabled().fetch_or(bit);
}
bool is_enabled(Pass pass) {
  return !(disabled().load(std::memory_order_relaxed) >> static_cast<int>(pass) & 1);
}

}  // namespace mlx::core
