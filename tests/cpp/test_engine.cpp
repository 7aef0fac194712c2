// The engine's behaviour: laziness, plans, memory, streams, errors.
#include <cmath>
#include <numeric>
#include <thread>

#include "mlx/runtime/plan_cache.h"
#include "support.h"

using namespace mlx::core;

TEST_CASE("a chain is one step and its values are right") {
  on_each_device([](Device) {
    array x = arange(1000.0);
    eval(x);
    array y = add(multiply(x, array(2.0f)), array(1.0f));
    CHECK(plan_steps({y}).size() == 1);
    CHECK(values<float>(y)[10] == 21.0f);
  });
}

TEST_CASE("a held intermediate is one more output of the same step") {
  on_each_device([](Device) {
    array x = ones({64, 64});
    eval(x);
    array held = exp(x);
    array y = multiply(held, array(3.0f));
    CHECK(plan_steps({y}).size() == 1);
    eval(y);
    CHECK(held.is_available());
    CHECK(values<float>(held)[5] == doctest::Approx(2.7182817f));
  });
}

TEST_CASE("transposed and broadcast inputs fuse without copies") {
  on_each_device([](Device) {
    array a = reshape(arange(12.0), {3, 4}), b = reshape(arange(12.0), {4, 3}), c = arange(4.0);
    eval(a, b, c);
    array y = add(multiply(a, transpose(b)), c);
    CHECK(plan_steps({y}).size() == 1);
    auto v = values<float>(y);
    CHECK(v[1 * 4 + 2] == 6.0f * 7.0f + 2.0f);
    array z = add(transpose(exp(a)), b);  // a view between elementwise ops
    CHECK(plan_steps({z}).size() == 1);
    CHECK(values<float>(z)[1 * 3 + 2] == doctest::Approx(std::exp(9.0f) + 5.0f));
  });
}

TEST_CASE("a value read through two views of itself is computed first") {
  on_each_device([](Device) {
    array x = reshape(arange(9.0), {3, 3});
    eval(x);
    array y = add(x, array(1.0f));
    array z = multiply(y, slice(y, {2, 0}, {-4, 3}, {-1, 1}));
    array w = add(y, transpose(y));
    CHECK(values<float>(z)[0] == 7.0f);
    CHECK(values<float>(w)[1] == 2.0f + 4.0f);
  });
}

TEST_CASE("a million nodes are built, evaluated and dropped without recursion") {
  on_each_device([](Device) {
    array x = zeros({2});
    eval(x);
    array one(1.0f);
    for (int i = 0; i < 1000000; ++i) x = add(x, one);
    CHECK(values<float>(x)[1] == 1e6f);
    array y = zeros({2});
    for (int i = 0; i < 1000000; ++i) y = add(y, one);
  });
}

TEST_CASE("the last reader takes over its input's memory") {
  array x = add(arange(4096.0), array(1.0f));
  eval(x);
  size_t before = get_active_memory();
  void* address = x.raw(Access::read);
  x = sqrt(x);
  eval(x);
  CHECK(x.raw(Access::read) == address);
  CHECK(get_active_memory() == before);
  array keep = x;
  x = reshape(sqrt(x), {64, 64});
  eval(x);
  CHECK(x.raw(Access::read) != address);
}

TEST_CASE("streams order their work") {
  on_each_device([](Device d) {
    Stream s1 = new_stream(d), s2 = new_stream(d);
    array x = ones({1000});
    for (int i = 0; i < 20; ++i) x = add(x, array(1.0f), i % 2 ? s1 : s2);
    async_eval({x});
    array y = multiply(x, x, s1);
    CHECK(values<float>(y)[999] == 441.0f);
    synchronize(s1);
  });
}

TEST_CASE("devices exchange values") {
  use_second_backend();
  array a = add(arange(10.0, Device::cpu), array(1.0f), Device::gpu);
  array b = multiply(a, a, Device::cpu);
  CHECK(values<float>(b)[9] == 100.0f);
}

TEST_CASE("results of queries of devices are objects of their own") {
  use_second_backend();
  const Device earlier = default_device();
  set_default_device(Device::gpu);
  const Device& before = default_device();
  const DeviceInfo& of_gpu = device_info();
  const DeviceInfo copy = of_gpu;
  set_default_device(Device::cpu);
  const Device& now = default_device();
  const DeviceInfo& of_cpu = device_info();
  CHECK(before == Device::gpu);
  CHECK(now == Device::cpu);
  CHECK(of_gpu == copy);
  CHECK(of_gpu.at("device_name") != of_cpu.at("device_name"));
  CHECK(&device_info(Device::cpu) == &of_cpu);
  set_default_device(earlier);
}

TEST_CASE("an error of execution reaches its waiter alone") {
  use_second_backend();
  set_default_device(Device::gpu);
  array x = add(ones({8}), array(1.0f));
  fail_next_fake_launch();
  CHECK_THROWS_AS(eval(x), ExecutionError);
  CHECK_THROWS_AS(eval(x), ExecutionError);
  CHECK(values<float>(add(ones({8}), array(1.0f)))[0] == 2.0f);
  set_default_device(Device::cpu);
}

TEST_CASE("a stream of another thread is refused") {
  Stream s = new_stream(Device::cpu);
  std::thread([&] { CHECK_THROWS(add(ones({2}), ones({2}), s)); }).join();
}

TEST_CASE("fused and unfused programs agree to the bit") {
  array x = divide(arange(10000.0), array(777.0f));
  eval(x);
  auto f = [&] {
    return values<float>(tanh(add(multiply(exp(negative(x)), sin(x)), array(0.3f))));
  };
  auto fused = f();
  set_fusion(false);
  auto single = f();
  set_fusion(true);
  CHECK(fused == single);
}

TEST_CASE("elements of bool made of other bytes are 0 and 1") {
  const uint8_t bytes[] = {0, 1, 2, 255};
  const int ints[] = {0, -1, 256, 3};
  const float floats[] = {0.0f, 0.25f, NAN, -0.0f};
  auto stored = [](const array& a) {
    std::vector<int> out;
    for (size_t i = 0; i < a.size(); ++i) out.push_back(a.data<uint8_t>()[i]);
    return out;
  };
  CHECK(stored(array::copy_of(bytes, {4}, bool_)) == std::vector<int>{0, 1, 1, 1});
  CHECK(stored(array(reinterpret_cast<const bool*>(bytes), {4}, bool_)) ==
        std::vector<int>{0, 1, 1, 1});
  CHECK(stored(array(bytes, {4}, bool_)) == std::vector<int>{0, 1, 1, 1});
  CHECK(stored(array(ints, {4}, bool_)) == std::vector<int>{0, 1, 1, 1});
  CHECK(stored(array(floats, {4}, bool_)) == std::vector<int>{0, 1, 1, 0});
  CHECK(array::copy_of(bytes + 2, {}, bool_).node()->scalar() == Scalar::of(true));
  CHECK(sum(array::copy_of(bytes, {4}, bool_)).item<int>() == 3);
}

TEST_CASE("arrays have up to 64 axes") {
  const float one = 1;
  auto ones = [](size_t rank) { return Shape(rank, 1); };
  auto storage = [] { return array::copy_of("abcd", {4}, uint8).node()->value.storage; };
  CHECK(array(&one, ones(64)).ndim() == 64);
  for (size_t rank : {size_t{65}, size_t{100000}}) {
    CHECK_THROWS_AS(array(&one, ones(rank)), ValueError);
    CHECK_THROWS_AS(array::copy_of(&one, ones(rank), float32), ValueError);
    CHECK_THROWS_AS(array::uninitialized(ones(rank), float32), ValueError);
    CHECK_THROWS_AS(array(storage(), ones(rank), Strides(rank, 1), 0, float32), ValueError);
    CHECK_THROWS_AS(placeholder(ones(rank), float32), ValueError);
    CHECK_THROWS_AS(zeros(ones(rank)), ValueError);
    CHECK_THROWS_AS(reshape(array(1.0f), ones(rank)), ValueError);
  }
}

TEST_CASE("streams that exchange nothing have one launch each") {
  Stream s1 = new_stream(Device::cpu), s2 = new_stream(Device::cpu);
  array a = ones({1000}, float32, s1), b = ones({1000}, float32, s2);
  eval(a, b);
  array x = a, y = b;
  for (int i = 0; i < 20; ++i) {
    x = sort(add(x, array(1.0f), s1), s1);
    y = sort(add(y, array(2.0f), s2), s2);
  }
  uint64_t before = launch_count();
  eval(x, y);
  CHECK(launch_count() - before == 2);
  CHECK(values<float>(x)[0] == 21.0f);
  CHECK(values<float>(y)[0] == 41.0f);
}

TEST_CASE("a stream whose results another one reads is launched before it") {
  Stream s1 = new_stream(Device::cpu), s2 = new_stream(Device::cpu);
  array x = ones({64});
  array a = add(x, array(1.0f), s1);
  array b = sort(add(a, array(1.0f), s2), s2);
  array c = sort(multiply(b, array(3.0f), s1), s1);
  array d = add(sort(add(c, b, s2), s2), a, s2);
  CHECK(values<float>(d)[0] == 14.0f);
}

TEST_CASE("an evaluation that was planned and never run fails for its waiters") {
  array x = add(arange(8.0), array(1.0f));
  {
    Evaluation dropped({x});
  }
  CHECK_THROWS_AS(eval(x), ExecutionError);
  array y = add(arange(8.0), array(1.0f));
  CHECK(values<float>(y)[7] == 8.0f);
}

TEST_CASE("work that ran out of memory can be evaluated again") {
  array x = random::uniform({1 << 20});
  eval(x);
  array w = full({1 << 20}, 2.0f);
  eval(w);
  // The first step takes the memory of w over; a later one finds no memory for its temporaries.
  w = multiply(w, array(3.0f));
  array y = sum(sort(x));
  array z = add(w, y);
  clear_cache();
  size_t ceiling = set_memory_ceiling(get_active_memory() + (1 << 20));
  CHECK_THROWS_AS(eval(y, z), MemoryError);
  CHECK_THROWS_AS(eval(y), MemoryError);
  set_memory_ceiling(ceiling);
  CHECK(values<float>(z)[5] == doctest::Approx(6.0f + values<float>(y)[0]));
}

TEST_CASE("work that was suspended and dropped gives its memory back") {
  array x = random::uniform({1 << 20});
  eval(x);
  clear_cache();
  size_t before = get_active_memory();
  size_t ceiling = set_memory_ceiling(before + (1 << 20));
  {
    array y = sum(sort(x));
    CHECK_THROWS_AS(eval(y), MemoryError);
  }
  set_memory_ceiling(ceiling);
  CHECK(get_active_memory() == before);
}

TEST_CASE("plans that are used stay in the cache, others go") {
  PlanCache cache;
  auto form_of = [](int64_t n) {
    PlanForm form;
    array y = exp(zeros({n}));
    with_claims([&](Claims& claims) {
      Schedule items;
      schedule({y}, claims, items);
      CHECK(form.describe(items));
    });
    return form;
  };
  PlanForm first = form_of(1);
  auto plan = std::make_shared<const Plan>();
  for (int round = 0; round < 2; ++round) {
    CHECK(!cache.find(first));
    cache.keep(first, plan);  // the first time it is only remembered
  }
  for (int64_t n = 2; n < 600; ++n) {
    PlanForm form = form_of(n);
    for (int round = 0; round < 2; ++round) {
      CHECK(!cache.find(form));
      cache.keep(form, plan);
    }
    REQUIRE(cache.find(first) == plan);
  }
  CHECK(cache.size() == 256);
  CHECK(!cache.find(form_of(2)));
}
