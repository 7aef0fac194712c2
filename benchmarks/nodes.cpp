// The time of the engine beside the arithmetic: building nodes, differentiating, tracing, calling
// compiled functions, and planning loops. Times are of this thread's CPU, the best of several runs.
#include <time.h>

#include <array>
#include <cstdio>
#include <functional>
#include <numeric>
#include <tuple>

#include "mlx/mlx.h"
#include "mlx/runtime/debug.h"
#include "mlx/runtime/passes.h"
#include "mlx/runtime/subject.h"
#include "mlx/transforms/graph.h"

using namespace mlx::core;

namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Seconds of one run: the best of `rounds` means over `n` runs.
double best(int n, const std::function<void()>& run, int rounds = 15) {
  double least = 1e9;
  if (rounds > 1) run();
  for (int r = 0; r < rounds; ++r) {
    double start = now();
    for (int i = 0; i < n; ++i) run();
    least = std::min(least, (now() - start) / n);
  }
  return least;
}

void report(const char* what, double seconds, double unit, const char* name, double goal) {
  std::printf("%-58s %9.2f %s", what, seconds / unit, name);
  if (goal > 0) std::printf("   (goal %g)%s", goal, seconds / unit <= goal ? "" : "  MISSED");
  std::printf("\n");
}
constexpr double ns = 1e-9, us = 1e-6, ms = 1e-3;

array vector_of(int64_t n) {
  array x = full({n}, 0.5f);
  eval(x);
  return x;
}

/// `n` elementwise ops of several kinds in a row.
array chain(array x, const array& c, int n, unsigned kinds = 0x9d2c5680) {
  for (int i = 0; i < n; ++i) {
    switch ((kinds >> (2 * (i % 16))) % 4) {
      case 0:
        x = add(x, c);
        break;
      case 1:
        x = multiply(x, c);
        break;
      case 2:
        x = sin(x);
        break;
      default:
        x = negative(x);
    }
  }
  return x;
}

/// A graph of `n` nodes of another form for each seed: the elementwise, reduced
/// and sliced values and their operands differ.
array other_form(const array& x, int n, unsigned& seed) {
  std::vector<array> values{x};
  auto next = [&](unsigned m) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 10) % m;
  };
  for (int i = 0; i < n; ++i) {
    const array& a = values[values.size() - 1 - next(std::min<unsigned>(4, values.size()))];
    switch (next(6)) {
      case 0:
        values.push_back(add(a, values.back()));
        break;
      case 1:
        values.push_back(multiply(a, values.back()));
        break;
      case 2:
        values.push_back(tanh(values.back()));
        break;
      case 3:
        values.push_back(subtract(values.back(), sum(a, 0, true)));
        break;
      case 4:
        values.push_back(transpose(values.back()));
        break;
      default:
        values.push_back(maximum(values.back(), array(0.1f)));
    }
  }
  return values.back();
}

void nodes() {
  array x = vector_of(4), c = vector_of(4);
  report("build a node: a unary op",
         best(100,
              [&] {
                for (int i = 0; i < 100; ++i) sin(x);
              }) /
             100,
         ns, "ns", 150);
  report("build a node: a + b",
         best(100,
              [&] {
                for (int i = 0; i < 100; ++i) add(x, c);
              }) /
             100,
         ns, "ns", 150);
  report("build a node, in a chain of 1,000", best(10, [&] { chain(x, c, 1000); }) / 1000, ns, "ns",
         150);
  report("build a node, graph kept, in a chain of 1,000 and freed",
         best(10,
              [&] {
                std::vector<array> kept;
                array y = x;
                for (int i = 0; i < 1000; ++i) kept.push_back(y = add(y, c));
              }) /
             1000,
         ns, "ns", 150);
  array matrix = full({4, 4}, 0.5f);
  eval(matrix);
  report("build a node: a sum over an axis",
         best(100,
              [&] {
                for (int i = 0; i < 100; ++i) sum(matrix, 1);
              }) /
             100,
         ns, "ns", 150);
  report("build a node: a matrix product",
         best(100,
              [&] {
                for (int i = 0; i < 100; ++i) matmul(matrix, matrix);
              }) /
             100,
         ns, "ns", 150);
}

void derivatives() {
  array x = vector_of(4), c = vector_of(4), seed = vector_of(4);
  Function f = [&](const Arrays& a) { return Arrays{chain(a[0], c, 1000)}; };
  double forward = best(10, [&] { chain(x, c, 1000); });
  report("vjp of a chain of 1,000, a node, without its building",
         (best(10, [&] { vjp(f, {x}, {seed}); }) - forward) / 1000, us, "us", 1);
  report("jvp of a chain of 1,000, a node, without its building",
         (best(10, [&] { jvp(f, {x}, {seed}); }) - forward) / 1000, us, "us", 1);
}

/// The gradient of `n` tanh layers, 16 wide, and its parameters.
std::pair<Function, Arrays> network(int n) {
  Arrays parameters;
  for (int i = 0; i < n; ++i) {
    parameters.push_back(multiply(random::normal({16, 16}), array(0.1f)));
    parameters.push_back(zeros({16}));
  }
  parameters.push_back(random::normal({1, 16}));
  eval(parameters);
  ScalarFunction loss = [](const Arrays& p) {
    array h = p.back();
    for (size_t i = 0; i + 1 < p.size(); i += 2) h = tanh(addmm(p[i + 1], h, p[i]));
    return sum(h);
  };
  std::vector<int> which(2 * n);
  std::iota(which.begin(), which.end(), 0);
  return {grad(loss, which), parameters};
}

size_t count_nodes(const Arrays& outputs) {
  Schedule items;
  with_claims([&](Claims& claims) { schedule(outputs, claims, items); });
  return items.size();
}

using PassTimes = std::array<double, 9>;
PassTimes last_times;

/// The least seconds of each pass that makes a plan, and of preparing its kernels.
PassTimes time_passes(const Arrays& outputs) {
  PassTimes least;
  least.fill(1e9);
  const auto before = observe_passes(
      [](Pass pass, double seconds) { last_times[static_cast<int>(pass)] = seconds; });
  for (int round = 0; round < 75; ++round) {
    auto plan = with_claims([&](Claims& claims) { return plan_of(outputs, claims); });
    const double start = now();
    plan->prepare();
    last_times[static_cast<int>(Pass::prepare)] = now() - start;
    for (size_t k = 0; k < least.size(); ++k) least[k] = std::min(least[k], last_times[k]);
  }
  observe_passes(before);
  return least;
}

/// The time of compiling a graph, phase by phase and as a whole.
void traces() {
  array x = vector_of(4), c = vector_of(4), m = full({4, 4}, 0.5f);
  eval(m);
  Function one_chain = [&](const Arrays& a) { return Arrays{chain(a[0], c, 1000)}; };
  Function mixed = [&](const Arrays& a) {
    unsigned seed = 7;
    return Arrays{other_form(a[0], 765, seed)};
  };
  auto [gradient, parameters] = network(63);
  const std::tuple<const char*, Function, Arrays> graphs[] = {
      {"chain", one_chain, {x}}, {"mixed", mixed, {m}}, {"gradient", gradient, parameters}};
  for (const auto& [name, f, inputs] : graphs) {
    Arrays outputs = f(inputs);
    std::string title =
        std::string(name) + " of " + std::to_string(count_nodes(outputs)) + " nodes: ";
    auto phase = [&](const char* what, double seconds, double goal = 0) {
      report((title + what).c_str(), seconds, ms, "ms", goal);
    };
    double traced = best(5, [&] { trace(f, inputs, name); });
    phase("trace", traced);
    Graph graph = trace(f, inputs, name);
    phase("simplify", best(5, [&] { simplify(graph); }));
    const PassTimes times = time_passes(outputs);
    for (Pass pass :
         {Pass::schedule, Pass::place, Pass::fuse, Pass::lower, Pass::rows, Pass::assign})
      phase(name_of(pass), times[static_cast<int>(pass)]);
    phase("prepare the kernels", times[static_cast<int>(Pass::prepare)]);
    Function compiled = compile(f);
    phase("run", best(5, [&] { eval(compiled(inputs)); }));
    phase("all but the trace, and free it", best(5, [&] { eval(compile(f)(inputs)); }) - traced, 1);
  }
}

void calls() {
  array x = vector_of(4), c = vector_of(4);
  for (int n : {1, 2, 100, 200, 5000}) {
    Function f = compile(Function([&](const Arrays& a) { return Arrays{chain(a[0], c, n)}; }));
    char what[64];
    std::snprintf(what, sizeof what, "call a compiled function of %d ops", n);
    report(what, best(n > 1000 ? 50 : 500, [&] { eval(f({x})); }), us, "us", 2 + 0.05 * n);
  }
  array a(1.0f), b(2.0f);
  report("a chain of 1,000 additions of scalars, computed",
         best(20,
              [&] {
                array y = a;
                for (int i = 0; i < 1000; ++i) y = add(y, b);
                eval(y);
              }),
         us, "us", 0);
}

void loops() {
  array m = full({4, 4}, 0.5f);
  eval(m);
  for (int n : {10, 100, 1000}) {
    double with = 0, without = 0, again_with = 1e9, again_without = 1e9;
    int runs = 20000 / n;
    // In turns: whatever else the machine does meets both.
    for (int round = 0; round < 20; ++round)
      for (bool on : {true, false}) {
        set_plan_cache(on);
        unsigned seed = 7919u * static_cast<unsigned>(round);  // forms that never come back
        double& t = on ? with : without;
        t += best(runs, [&] { eval(other_form(m, n, seed)); }, 1) / 20;
        double& u = on ? again_with : again_without;
        u = std::min(u, best(
                            runs,
                            [&] {
                              unsigned same = 5;
                              eval(other_form(m, n, same));
                            },
                            1));
      }
    set_plan_cache(true);
    std::printf(
        "eager loop of %4d nodes: another form each time %8.2f us, %+5.1f %% of %8.2f without"
        " the cache;\n%37s the same form %8.2f us, %+5.1f %% of %8.2f\n",
        n, with / us, 100 * (with / without - 1), without / us, "", again_with / us,
        100 * (again_with / again_without - 1), again_without / us);
  }
}

void networks() {
  auto [g, parameters] = network(50);
  report("gradient of 50 tanh layers, 16 wide, eager", best(20, [&] { eval(g(parameters)); }), us,
         "us", 280);
  Function compiled = compile(g);
  report("the same, compiled", best(20, [&] { eval(compiled(parameters)); }), us, "us", 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::pair<const char*, void (*)()> sections[] = {
      {"nodes", nodes}, {"derivatives", derivatives}, {"traces", traces},
      {"calls", calls}, {"networks", networks},       {"loops", loops}};
  for (auto [name, run] : sections)
    if (argc < 2 || std::string(argv[1]) == name) run();
}
