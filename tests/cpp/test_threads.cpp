// Threads that build, evaluate, compile, differentiate and vectorize concurrently. Under
// `./dev test --threads` ThreadSanitizer watches; here the results are checked.
#include <atomic>
#include <thread>

#include "support.h"

using namespace mlx::core;

namespace {

constexpr int kThreads = 4;

/// Runs the body on several threads at once, each with another stream as the default one, and
/// rethrows the first error. The body gets the thread's number.
template <class F>
void on_threads(F&& body) {
  const Device device = default_device();
  std::atomic<int> waiting{kThreads};
  std::vector<std::exception_ptr> errors(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      try {
        --waiting;
        while (waiting > 0) std::this_thread::yield();
        if (t > 0) set_default_stream(new_stream(device));
        body(t);
      } catch (...) {
        errors[t] = std::current_exception();
      }
    });
  for (auto& t : threads) t.join();
  for (const auto& e : errors)
    if (e) std::rethrow_exception(e);
}

/// Raised by threads: doctest's checks are for one thread.
void need(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}
void need_equal(const array& a, const array& b, const char* what) {
  need(array_equal(a, b).item<bool>(), what);
}

array work(const array& x, const array& y) {
  array h = tanh(add(matmul(x, y), array(0.5f)));
  return sum(multiply(h, softmax(add(h, transpose(x)), 1)), 0);
}

array matrix(int n, float start) {
  return sin(add(reshape(arange(static_cast<double>(n) * n), {n, n}), array(start)));
}

}  // namespace

TEST_CASE("threads evaluate graphs of their own over arrays that they share") {
  array shared = matrix(24, 0);
  eval(shared);
  array want = work(shared, shared);
  eval(want);
  on_threads([&](int t) {
    for (int i = 0; i < 20; ++i) {
      array own = add(shared, array(static_cast<float>(t)));
      if (i % 3 == 0) async_eval(own);
      need_equal(work(subtract(own, array(static_cast<float>(t))), shared),
                 work(subtract(own, array(static_cast<float>(t))), shared), "work");
      need_equal(work(shared, shared), want, "shared work");
      array again = multiply(own, own);
      again = add(again, array(1.0f));  // takes over memory
      eval(again);
      need(again.shape() == own.shape(), "shape");
    }
  });
}

TEST_CASE("threads evaluate while their number changes") {
  const int before = get_num_threads();
  array x = matrix(400, 0);
  array want = sum(exp(x), 0);
  eval(x, want);
  on_threads([&](int t) {
    for (int i = 0; i < 30; ++i) {
      if (t == 0) set_num_threads(i % 4 + 1);
      need_equal(sum(exp(x), 0), want, "sums");
      need_equal(sort(flatten(x)), sort(flatten(x)), "order");
    }
  });
  set_num_threads(3);
  CHECK(get_num_threads() == 3);
  CHECK_THROWS_AS(set_num_threads(0), ValueError);
  CHECK_THROWS_AS(set_num_threads(1025), ValueError);
  CHECK(get_num_threads() == 3);
  set_num_threads(before);
}

TEST_CASE("threads evaluate the same array") {
  on_each_device([](Device) {
    for (int round = 0; round < 10; ++round) {
      array x = matrix(16, static_cast<float>(round));
      array pending = work(x, x), other = exp(pending);
      on_threads([&](int t) {
        array mine = t % 2 ? pending : other;
        mine.eval();
        need(mine.is_available(), "available");
        need_equal(t % 2 ? exp(mine) : mine, other, "values");
      });
    }
  });
}

TEST_CASE("threads start work that depends on each other") {
  on_each_device([](Device) {
    for (int round = 0; round < 20; ++round) {
      std::vector<array> steps{matrix(8, static_cast<float>(round))};
      for (int t = 0; t < kThreads; ++t) steps.push_back(tanh(matmul(steps.back(), steps[0])));
      array want = tanh(matmul(steps[kThreads - 1], steps[0]));
      on_threads([&](int t) { async_eval(steps[t + 1]); });
      need_equal(steps[kThreads], want, "the last step");
    }
  });
}

TEST_CASE("threads call one compiled function, and compile their own") {
  std::atomic<int> traces{0};
  Function body = [&](const Arrays& a) {
    ++traces;
    return Arrays{work(a[0], a[1]), add(a[0], a[1])};
  };
  for (bool shapeless : {false, true}) {
    Function f = compile(body, shapeless);
    on_threads([&](int t) {
      for (int i = 0; i < 20; ++i) {
        array x = matrix(4 + i % 5, static_cast<float>(t));
        Arrays got = f({x, x}), want{work(x, x), add(x, x)};
        need_equal(got[0], want[0], "compiled");
        need_equal(got[1], want[1], "compiled sum");
        Function own = compile([&](const Arrays& a) { return Arrays{work(a[0], a[1])}; });
        need_equal(own({x, x})[0], want[0], "own");
        if (i == 10 && t == 0) clear_compile_cache();
        if (i % 7 == 0) need(compile_cache_info().size < 2000, "size");
      }
    });
  }
  CHECK(traces > 0);
}

TEST_CASE("threads differentiate and vectorize") {
  array x = matrix(8, 0), y = matrix(8, 1);
  eval(x, y);
  ScalarFunction loss = [](const Arrays& a) { return sum(work(a[0], a[1])); };
  Function both = grad(loss, std::vector<int>{0, 1});
  Function compiled = compile(both);
  Function mapped = vmap(both),
           remembered = grad(ScalarFunction([](const Arrays& a) {
             return sum(checkpoint([](const Arrays& b) { return Arrays{work(b[0], b[1])}; })(a)[0]);
           }));
  Arrays want = both({x, y});
  eval(want);
  on_threads([&](int t) {
    for (int i = 0; i < 10; ++i) {
      need_equal(both({x, y})[0], want[0], "grad");
      need_equal(compiled({x, y})[1], want[1], "compiled grad");
      need_equal(remembered({x, y})[0], want[0], "checkpoint");
      array many = stack({x, multiply(x, array(static_cast<float>(t)))});
      need_equal(take(mapped({many, stack({y, y})})[0], 0, 0), want[0], "vmap of grad");
      array value = jvp([&](const Arrays& a) { return Arrays{loss(a)}; }, {x, y}, {y, x}).second[0];
      need(!isnan(value).item<bool>(), "jvp");
    }
  });
}

TEST_CASE("threads evaluate operands of a gradient of another thread") {
  array x = matrix(8, 0), y = matrix(8, 1);
  ScalarFunction loss = [](const Arrays& a) { return sum(work(a[0], a[1])); };
  Function slope = grad(ScalarFunction(
      [&](const Arrays& a) { return sum(square(grad(loss, std::vector<int>{0})(a)[0])); }));
  Function helped = grad(ScalarFunction([&](const Arrays& a) {
    Arrays inner = grad(loss, std::vector<int>{0})(a);
    on_threads([&](int) { eval(inner); });
    return sum(square(inner[0]));
  }));
  array want = slope({x, y})[0];
  eval(want);
  for (int i = 0; i < 5; ++i) need_equal(helped({x, y})[0], want, "grad");
}

TEST_CASE("threads use another backend") {
  use_second_backend();
  array x = matrix(8, 0);
  eval(x);
  array want = work(x, x);
  eval(want);
  Function f = compile([](const Arrays& a) { return Arrays{work(a[0], a[0])}; });
  on_threads([&](int) {
    Stream s = default_stream(Device::cpu);
    for (int i = 0; i < 5; ++i) {
      array there = add(x, array(0.0f), Device(Device::gpu));
      need_equal(work(there, there), want, "elsewhere");
      need_equal(f({there})[0], want, "compiled elsewhere");
      need(default_stream(Device::cpu) == s, "stream");
    }
  });
}

TEST_CASE("threads work while limits and caches change") {
  array x = matrix(16, 0);
  eval(x);
  array want = work(x, x);
  eval(want);
  on_threads([&](int t) {
    for (int i = 0; i < 20; ++i) {
      need_equal(work(x, x), want, "work");
      if (t == 1) clear_cache();
      if (t == 2) need(get_active_memory() > 0 && get_peak_memory() > 0, "memory in use");
      if (t == 3) set_fusion(i % 2);
    }
  });
  set_fusion(true);
}
