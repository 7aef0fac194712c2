// The interface to Metal on the emulated device: kernels, positions, collectives, and every misuse
// that the device reports.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "metal.h"

namespace {

/// The emulated device, in place of the system's.
metal::Device device() {
  setenv("MLX_METAL_RUNTIME", METAL_EMULATED, 1);
  return metal::Device::standard();
}

template <class R, class... A>
R ask(const char* name, A... arguments) {
  void* const library = dlopen(METAL_EMULATED, RTLD_LAZY | RTLD_NOLOAD);
  return reinterpret_cast<R (*)(A...)>(dlsym(library, name))(arguments...);
}
long objects_alive() { return ask<long>("emulated_objects"); }

/// Sets a variable of the environment for a scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* const name_;
};

/// Sets the order of threads for a scope.
struct Order : Variable {
  explicit Order(const char* order) : Variable("MLX_EMULATION_ORDER", order) {}
};

constexpr const char* kOrders[] = {"even", "forward", "backward", "1", "2"};

const std::string kHead = "#include <metal_stdlib>\nusing namespace metal;\n";

/// A dispatch to be: kernel `k` of a source, with float buffers as arguments 0, 1, ….
struct Program {
  std::string source;
  std::vector<std::vector<float>> arguments;
  metal::Size grid{32, 1, 1}, group{32, 1, 1};
  bool whole_groups = false;  // `grid` counts threadgroups
  unsigned long shared = 0;   // bytes of [[threadgroup(0)]]
};

/// Runs a program; its buffers afterwards. Throws metal::Error.
std::vector<std::vector<float>> run(const Program& p) {
  const auto gpu = device();
  const objc::Pool pool;
  const auto pipeline = gpu.pipeline(gpu.library(kHead + p.source).function("k"));
  const auto queue = gpu.queue();
  auto commands = queue.command_buffer();
  auto encoder = commands.encoder();
  encoder.pipeline(pipeline);
  std::vector<metal::Buffer> buffers;
  for (const auto& values : p.arguments) {
    buffers.push_back(gpu.buffer(values.size() * sizeof(float)));
    std::copy(values.begin(), values.end(), static_cast<float*>(buffers.back().contents()));
    encoder.buffer(buffers.size() - 1, buffers.back());
  }
  if (p.shared) encoder.threadgroup_memory(0, p.shared);
  if (p.whole_groups)
    encoder.dispatch_groups(p.grid, p.group);
  else
    encoder.dispatch_threads(p.grid, p.group);
  encoder.end();
  commands.commit();
  commands.wait();
  std::vector<std::vector<float>> results;
  for (const auto& b : buffers) {
    const auto* data = static_cast<const float*>(b.contents());
    results.emplace_back(data, data + b.length() / sizeof(float));
  }
  return results;
}

std::string error_of(const Program& p) {
  try {
    run(p);
  } catch (const metal::Error& e) {
    return e.what();
  }
  return "no error";
}

std::vector<float> count(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i);
  return values;
}

/// A kernel with one output and the positions that most of the tests need.
std::string lanes(const std::string& body) {
  return "kernel void k(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]],\n"
         "              uint lane [[thread_index_in_simdgroup]],\n"
         "              uint simd [[simdgroup_index_in_threadgroup]]) {" +
         body + "}";
}

}  // namespace

TEST_CASE("metal-cpp: a thread for each element, in a grid that its groups do not fill") {
  Program p{lanes("out[i] = out[i] * 2.0f + 1.0f;"), {count(1000)}, {1000, 1, 1}, {256, 1, 1}};
  for (const char* order : kOrders) {
    const Order set(order);
    const auto out = run(p)[0];
    for (size_t i = 0; i < 1000; ++i) REQUIRE(out[i] == 2.0f * static_cast<float>(i) + 1.0f);
  }
}

TEST_CASE("metal-cpp: positions along three axes") {
  const std::string source = R"(
kernel void k(device float* out [[buffer(0)]], uint3 at [[thread_position_in_grid]],
              uint3 grid [[threads_per_grid]], uint3 in_group [[thread_position_in_threadgroup]],
              uint3 group [[threadgroup_position_in_grid]],
              uint3 size [[threads_per_threadgroup]],
              ushort3 full [[dispatch_threads_per_threadgroup]],
              uint2 groups [[threadgroups_per_grid]],
              uint index [[thread_index_in_threadgroup]],
              uint width [[threads_per_simdgroup]],
              uint simds [[simdgroups_per_threadgroup]]) {
  const uint i = (at.z * grid.y + at.y) * grid.x + at.x;
  bool right = at.x == group.x * full.x + in_group.x && at.y == group.y * full.y + in_group.y;
  right = right && at.z == group.z * full.z + in_group.z && width == 32 && groups.x == 2;
  right = right && index == (in_group.z * size.y + in_group.y) * size.x + in_group.x;
  right = right && simds == (size.x * size.y * size.z + 31) / 32 && groups.y == 3;
  out[i] = right ? 1.0f : 0.0f;
}
)";
  const auto out = run({source, {count(5 * 7 * 3)}, {5, 7, 3}, {4, 3, 2}})[0];
  for (float value : out) CHECK(value == 1.0f);
}

TEST_CASE("metal-cpp: collectives of a SIMD group") {
  struct Row {
    const char* expression;
    float (*expected)(int lane);
  };
  const Row rows[] = {
      {"simd_sum(float(lane))", [](int) { return 496.0f; }},
      {"simd_max(float(lane % 7))", [](int) { return 6.0f; }},
      {"simd_min(3.0f - float(lane % 7))", [](int) { return -3.0f; }},
      {"simd_shuffle(float(lane), 31 - lane)", [](int l) { return 31.0f - static_cast<float>(l); }},
      {"simd_broadcast(float(lane), 5)", [](int) { return 5.0f; }},
      {"simd_shuffle_down(float(lane), 4)",
       [](int l) { return static_cast<float>(l < 28 ? l + 4 : -1); }},
      {"lane < 28 ? simd_shuffle_down(float(lane), 4) : 0.0f",
       [](int l) {
         return static_cast<float>(l < 24 ? l + 4 : l < 28 ? -1 : 0);
       }},
      {"simd_shuffle_xor(float(lane), 3)", [](int l) { return static_cast<float>(l ^ 3); }},
      {"lane == 0 ? 0.0f : simd_shuffle_up(float(lane), 1)",
       [](int l) {
         return static_cast<float>(l == 0 ? 0 : l == 1 ? -1 : l - 1);
       }},
      {"simd_any(lane == 9) ? 1.0f : 0.0f", [](int) { return 1.0f; }},
      {"simd_all(lane != 9) ? 1.0f : 0.0f", [](int) { return 0.0f; }},
      {"float(simd_sum(lane < 3 ? 1u : 0u))", [](int) { return 3.0f; }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.expression);
    for (const char* order : {"forward", "backward", "7"}) {
      const Order set(order);
      const auto out =
          run({lanes("out[i] = " + std::string(row.expression) + ";"), {count(32)}})[0];
      for (int l = 0; l < 32; ++l) {
        const float expected = row.expected(l);  // -1: the value of a lane that is not active
        const auto at = static_cast<size_t>(l);
        CHECK((expected == -1.0f ? std::isnan(out[at]) : out[at] == expected));
      }
    }
  }
}

TEST_CASE("metal-cpp: threadgroup memory, declared and as an argument") {
  const std::string source = R"(
kernel void k(device float* out [[buffer(0)]], threadgroup float* given [[threadgroup(0)]],
              uint i [[thread_position_in_grid]],
              uint t [[thread_position_in_threadgroup]]) {
  threadgroup float plane[4][32];
  threadgroup uint total;
  threadgroup float* row = plane[1];
  row[t] = out[i];
  given[t] = out[i] + 1.0f;
  if (t == 0) total = 5;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = plane[1][31 - t] + given[31 - t] * 100.0f + float(total) * 10000.0f;
}
)";
  Program p{source, {count(64)}, {2, 1, 1}, {32, 1, 1}, true, 128};
  for (const char* order : kOrders) {
    const Order set(order);
    const auto out = run(p)[0];
    for (size_t i = 0; i < 64; ++i) {
      const auto other = static_cast<float>(i / 32 * 32 + 31 - i % 32);
      CHECK(out[i] == other + (other + 1) * 100 + 50000);
    }
  }
}

TEST_CASE("metal-cpp: 16-bit numbers round to nearest, ties to even") {
  const std::string source = lanes(R"(
  bfloat b = bfloat(out[i]);
  half h = half(out[i]);
  b = b + bfloat(1.0f);
  h = h + 1.0h;
  out[i] = float(b);
  out[i + 32] = float(h);)");
  std::vector<float> in = count(64);
  for (float& x : in) x = 1.0f + x / 128.0f;
  const auto out = run({source, {in}})[0];
  for (size_t i = 0; i < 32; ++i) {
    // 8 bits of 2.0 to 4.0 are steps of 1/64; the steps of half are finer than the numbers here.
    const float exact = 2.0f + static_cast<float>(i) / 128.0f;
    CHECK(out[i] == std::nearbyint(exact * 64.0f) / 64.0f);
    CHECK(out[i + 32] == exact);
  }
}

TEST_CASE("metal-cpp: matrices of a SIMD group") {
  const std::string source = lanes(R"(
  simdgroup_float8x8 a, b, c = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
  simdgroup_load(a, out, 8);
  simdgroup_load(b, out + 64, 8);
  simdgroup_multiply_accumulate(c, a, b, c);
  simdgroup_store(c, out + 128, 8);)");
  for (const char* order : kOrders) {
    const Order set(order);
    const auto out = run({source, {count(192)}})[0];
    for (size_t i = 0; i < 8; ++i)
      for (size_t j = 0; j < 8; ++j) {
        float sum = 1.0f;
        for (size_t k = 0; k < 8; ++k) sum += out[i * 8 + k] * out[64 + k * 8 + j];
        CHECK(out[128 + i * 8 + j] == sum);
      }
  }
}

TEST_CASE("metal-cpp: vectors and atomics") {
  const std::string source = R"(
kernel void k(device float4* v [[buffer(0)]], device atomic_uint* n [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
  float4 x = v[i] * 2.0f + float4(1.0f, 0.0f, 0.0f, dot(v[i], v[i]));
  v[i] = x;
  atomic_fetch_add_explicit(n, 3u, memory_order_relaxed);
}
)";
  const auto out = run({source, {count(128), {0.0f}}});
  for (size_t i = 0; i < 32; ++i) {
    const auto x = static_cast<float>(4 * i);
    const float square = x * x + (x + 1) * (x + 1) + (x + 2) * (x + 2) + (x + 3) * (x + 3);
    CHECK(out[0][4 * i] == 2 * x + 1);
    CHECK(out[0][4 * i + 3] == 2 * (x + 3) + square);
  }
  uint32_t total;
  std::memcpy(&total, out[1].data(), sizeof total);
  CHECK(total == 96);
}

TEST_CASE("metal-cpp: a misuse is an error, and the next dispatch works") {
  struct Row {
    const char* what;
    Program program;
    const char* error;
  };
  const std::string barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";
  // clang-format off
  const Row rows[] = {
      {"some threads end before a barrier", {lanes("if (i >= 40) return; " + barrier), {count(64)}, {64, 1, 1}, {64, 1, 1}},
       "kernel 'k', threadgroup (0, 0, 0), thread (0, 0, 0): waits at the barrier of line 5, which other threads ended without"},
      {"lanes at different collectives", {lanes("if (lane < 3) out[i] = simd_max(1.0f);\nelse out[i] = simd_sum(1.0f);"), {count(32)}},
       "thread (0, 0, 0): waits at line 5, and another lane of its SIMD group at line 6"},
      {"a lane at a barrier, others at an exchange", {lanes("if (lane < 3)\n" + barrier + "\nelse out[i] = simd_sum(1.0f);"), {count(32)}},
       "thread (3, 0, 0): waits at line 7, and another lane of its SIMD group at line 6"},
      {"threads at different barriers", {lanes("if (simd == 0)\n" + barrier + "\nelse\n" + barrier), {count(64)}, {64, 1, 1}, {64, 1, 1}},
       "thread (0, 0, 0): waits at line 6, and another thread of its threadgroup at line 8"},
      {"too much threadgroup memory", {lanes("threadgroup float big[9000]; big[i] = 1.0f; out[i] = big[i];"), {count(32)}},
       "36000 bytes of threadgroup memory; at most 32768 are there"},
      {"a write after a buffer", {lanes("out[i + 1] = 1.0f;"), {count(32)}}, "kernel 'k' wrote outside of buffer 0, which has 128 bytes"},
      {"a write before a buffer", {lanes("(out - 1)[i] = 1.0f;"), {count(32)}}, "kernel 'k' wrote outside of buffer 0"},
      {"too many threads", {lanes("out[0] = 1.0f;"), {count(32)}, {2048, 1, 1}, {2048, 1, 1}},
       "threadgroups of 2048 x 1 x 1 threads given; accepted: 1 to 1024 threads"},
      {"no threads", {lanes("out[0] = 1.0f;"), {count(32)}, {0, 1, 1}, {32, 1, 1}}, "a grid of 0 x 1 x 1 threads given"},
      {"an argument that is not bound", {"kernel void k(device float* out [[buffer(3)]]) { out[0] = 1.0f; }", {count(1)}},
       "kernel 'k': argument 3 is not bound"},
      {"threadgroup memory without a size", {"kernel void k(threadgroup float* s [[threadgroup(2)]]) { s[0] = 1.0f; }", {}},
       "the size of threadgroup argument 2 is not set"},
      {"double", {lanes("double x = 1.0; out[i] = x;"), {count(32)}}, "poisoned \"double\""},
      {"a throw", {lanes("throw 1;"), {count(32)}}, "exception handling disabled"},
      {"an unknown function", {lanes("out[i] = cosh(out[i]) + whatever(1.0f);"), {count(32)}}, "'whatever' was not declared"},
      {"a parameter without attribute", {"kernel void k(device float* out) { out[0] = 1.0f; }", {count(1)}},
       "kernel 'k': parameter 'device float* out' has no attribute"},
      {"an unknown attribute", {"kernel void k(uint i [[thread_of_the_month]]) {}", {}},
       "the attribute 'thread_of_the_month' of 'i' is unknown"},
      {"no kernel of the name", {"kernel void other() {}", {}}, "no kernel of the library is named 'k'"},
  };
  // clang-format on
  for (const Row& row : rows) {
    CAPTURE(row.what);
    std::string error = error_of(row.program);
    for (const char* quote : {"\u2018", "\u2019"})  // the compiler's, by the locale
      for (size_t at; (at = error.find(quote)) != error.npos;)
        error.replace(at, std::string(quote).size(), "'");
    CAPTURE(error);
    CHECK(error.find(row.error) != std::string::npos);
    CHECK(run({lanes("out[i] = 4.0f;"), {count(32)}})[0][31] == 4.0f);
  }
}

TEST_CASE("metal-cpp: a kernel that does not end is an error, and the next dispatch works") {
  const std::string barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";
  const struct {
    std::string body;
    const char* where;
  } rows[] = {
      {"while (true) {}", "threadgroup (0, 0, 0), thread (0, 0, 0)"},
      {"if (i == 40) while (out[1] == 1.0f) out[0] += 1.0f;",
       "threadgroup (1, 0, 0), thread (8, 0, 0)"},
      {"device atomic_uint* flag = (device atomic_uint*)out;\n"
       "if (i == 0) while (atomic_load_explicit(flag, memory_order_relaxed) == 0) {}\n"
       "if (i == 3) atomic_store_explicit(flag, 1u, memory_order_relaxed);",
       "threadgroup (0, 0, 0), thread (0, 0, 0)"},
      {"while (true) " + barrier, "threadgroup (0, 0, 0), thread ("},
      {"while (true) out[i] = simd_sum(out[i]);", "threadgroup (0, 0, 0), thread ("},
  };
  for (const auto& row : rows) {
    CAPTURE(row.body);
    const Variable limit("MLX_EMULATION_SECONDS", "0.1");
    const std::string error = error_of({lanes(row.body), {count(64)}, {64, 1, 1}});
    CAPTURE(error);
    CHECK(error.find(row.where) != std::string::npos);
    CHECK(error.find("has run for 0.1 s of processor time") != std::string::npos);
    CHECK(run({lanes("out[i] = 4.0f;"), {count(32)}})[0][31] == 4.0f);
  }
  const Variable limit("MLX_EMULATION_SECONDS", "some");
  CHECK(error_of({lanes("out[i] = 4.0f;"), {count(32)}}) ==
        "[metal] MLX_EMULATION_SECONDS=some given; accepted: a positive number");
}

TEST_CASE("metal-cpp: a refusal of an encoder fails its command buffer alone") {
  const auto gpu = device();
  const objc::Pool pool;
  const auto queue = gpu.queue();
  const auto small = gpu.buffer(64);
  const auto refused = [&](auto record) {
    auto commands = queue.command_buffer();
    auto encoder = commands.encoder();
    record(encoder);
    commands.commit();
    try {
      commands.wait();
    } catch (const metal::Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const std::vector<char> bytes(4097);
  CHECK(refused([&](auto& e) { e.buffer(31, small), e.end(); }) ==
        "[metal] argument 31 given; accepted: 0 to 30");
  CHECK(refused([&](auto& e) { e.buffer(0, small, 65), e.end(); }) ==
        "[metal] offset 65 given for a buffer of 64 bytes");
  CHECK(refused([&](auto& e) { e.bytes(0, bytes.data(), bytes.size()), e.end(); }) ==
        "[metal] 4097 bytes given for argument 0; accepted: at most 4096");
  CHECK(refused([&](auto& e) { e.threadgroup_memory(0, 20), e.end(); }).find("multiples of 16") !=
        std::string::npos);
  CHECK(refused([&](auto& e) { e.dispatch_groups({}, {}), e.end(); }) ==
        "[metal] a dispatch without a pipeline");
  CHECK(refused([&](auto&) {}) ==
        "[metal] a command buffer was committed before its encoder ended");
  CHECK(refused([&](auto& e) { e.end(); }) == "no error");
}

TEST_CASE("metal-cpp: a write beside bytes that were copied as an argument is an error") {
  const auto gpu = device();
  const objc::Pool pool;
  const auto library = gpu.library(
      "kernel void k(device int* n [[buffer(2)]], uint i [[thread_position_in_grid]]) { n[i] = 1; }"
      "kernel void before(device int* n [[buffer(2)]]) { n[-1] = 1; }");
  const auto error = [&](const char* kernel, unsigned long threads) {
    const auto queue = gpu.queue();
    auto commands = queue.command_buffer();
    auto encoder = commands.encoder();
    const int numbers[] = {1, 2, 3, 4};
    encoder.pipeline(gpu.pipeline(library.function(kernel)));
    encoder.bytes(2, numbers, sizeof numbers);
    encoder.dispatch_threads({threads, 1, 1}, {threads, 1, 1});
    encoder.end();
    commands.commit();
    try {
      commands.wait();
    } catch (const metal::Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(error("k", 4).empty());
  CHECK(error("k", 5) == "[metal] kernel 'k' wrote outside of buffer 2, which has 16 bytes");
  CHECK(error("before", 1).find("wrote outside of buffer 2") != std::string::npos);
}

TEST_CASE("metal-cpp: a command buffer fails on request") {
  const Program p{lanes("out[i] = 1.0f;"), {count(32)}};
  CHECK(error_of(p) == "no error");
  const long before = ask<long>("emulated_commits");
  ask<void>("emulated_fail", 1L);
  CHECK(error_of(p) == "no error");
  CHECK(error_of(p) == "[metal] a failure that a test asked for");
  CHECK(error_of(p) == "no error");
  CHECK(ask<long>("emulated_commits") == before + 3);
}

TEST_CASE("metal-cpp: a write behind threadgroup memory is an error") {
  Program p{
      "kernel void k(device float* out [[buffer(0)]], threadgroup float* s [[threadgroup(0)]])"
      " { s[8192] = out[0]; }",
      {count(4)}};
  p.shared = 16;
  CHECK(error_of(p).find("a write behind 32768 bytes of threadgroup memory") != std::string::npos);
}

TEST_CASE("metal-cpp: a missing barrier gives other results in another order") {
  const std::string source = R"(
kernel void k(device float* out [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup float shared[64];
  shared[t] = out[t];
  out[t] = shared[63 - t];
}
)";
  Program p{source, {count(64)}, {64, 1, 1}, {64, 1, 1}};
  const Order forward("forward");
  const auto first = run(p)[0];
  const Order backward("backward");
  const auto second = run(p)[0];
  CHECK(std::memcmp(first.data(), second.data(), 64 * sizeof(float)) != 0);
}

TEST_CASE("metal-cpp: arithmetic keeps subnormal numbers, or takes them as zeros") {
  // A result, an operand, a comparison, a copy, a number of 16 bits.
  const Program p{
      "kernel void k(device float* x [[buffer(0)]]) {"
      "  x[3] = x[1] > 0.0f; x[4] = x[1]; x[2] = x[1] * 16.0f; x[0] = x[0] * 0.5f;"
      "  x[5] = float(half(x[5]) * half(0.5f)); }",
      {{0x1p-126f, 0x1p-127f, 0, 0, 0, 0x1p-15f}},
      {1, 1, 1},
      {1, 1, 1}};
  CHECK(run(p)[0] == std::vector<float>{0x1p-127f, 0x1p-127f, 0x1p-123f, 1, 0x1p-127f, 0x1p-16f});
  {
    const Variable flush("MLX_EMULATION_SUBNORMALS", "flush");
    CHECK(run(p)[0] == std::vector<float>{0, 0x1p-127f, 0, 0, 0x1p-127f, 0x1p-16f});
  }
  const Variable other("MLX_EMULATION_SUBNORMALS", "some");
  CHECK(error_of(p) == "[metal] MLX_EMULATION_SUBNORMALS=some given; accepted: keep, flush");
}

TEST_CASE("metal-cpp: command buffers of a queue run in order, and a failed one stops no other") {
  const auto gpu = device();
  const objc::Pool pool;
  const auto library =
      gpu.library(kHead + lanes("out[i] = out[i] * 3.0f + 1.0f;") +
                  "kernel void bad(device float* out [[buffer(0)]]) { out[-1] = 1.0f; }");
  const auto good = gpu.pipeline(library.function("k")),
             bad = gpu.pipeline(library.function("bad"));
  const auto numbers = gpu.buffer(32 * sizeof(float)), other = gpu.buffer(4);
  auto* const data = static_cast<float*>(numbers.contents());
  std::fill_n(data, 32, 1.0f);
  const auto queue = gpu.queue();
  std::vector<metal::CommandBuffer> all;
  for (int n = 0; n < 9; ++n) {
    all.push_back(queue.command_buffer());
    auto encoder = all.back().encoder();
    encoder.pipeline(n == 4 ? bad : good);
    encoder.buffer(0, n == 4 ? other : numbers);
    encoder.dispatch_threads({n == 4 ? 1u : 32u, 1, 1}, {32, 1, 1});
    encoder.end();
    all.back().commit();
  }
  all.back().wait();
  float expected = 1.0f;
  for (int n = 0; n < 8; ++n) expected = expected * 3.0f + 1.0f;
  CHECK(data[31] == expected);
  CHECK_THROWS_AS(all[4].wait(), metal::Error);
}

TEST_CASE("metal-cpp: memory of the host as a buffer") {
  constexpr size_t kPage = 16 << 10;
  const auto gpu = device();
  const objc::Pool pool;
  auto* const memory = static_cast<char*>(std::aligned_alloc(kPage, 2 * kPage));
  std::memset(memory, 0, 2 * kPage);
  CHECK(!gpu.buffer_over(memory + 4096, kPage));
  CHECK(!gpu.buffer_over(memory, kPage + 64));
  {
    const auto over = gpu.buffer_over(memory + kPage, kPage);
    REQUIRE(over);
    CHECK(over.contents() == memory + kPage);
    CHECK(over.length() == kPage);
    const auto library = gpu.library(kHead + lanes("out[i] += 3.0f;"));
    const auto queue = gpu.queue();
    auto commands = queue.command_buffer();
    auto encoder = commands.encoder();
    encoder.pipeline(gpu.pipeline(library.function("k")));
    encoder.buffer(0, over);
    encoder.dispatch_threads({kPage / 4, 1, 1}, {256, 1, 1});
    encoder.end();
    commands.commit();
    commands.wait();
  }
  const auto* const numbers = reinterpret_cast<const float*>(memory);
  CHECK(numbers[kPage / 4 - 1] == 0.0f);
  CHECK(numbers[kPage / 4] == 3.0f);
  CHECK(numbers[kPage / 2 - 1] == 3.0f);
  std::free(memory);
}

TEST_CASE("metal-cpp: objects end with their last owner") {
  device();
  const long before = objects_alive();
  run({lanes("out[i] = 1.0f;"), {count(32)}});
  error_of({lanes("out[i] = ;"), {count(32)}});
  error_of({lanes("out[i + 1] = 1.0f;"), {count(32)}});
  CHECK(objects_alive() == before);
}

TEST_CASE("metal-cpp: objects that outlive the device end the process") {
  for (const bool leaks : {false, true}) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGABRT, SIG_DFL);
      dup2(ends[1], STDERR_FILENO);
      {
        const auto gpu = device();
        const objc::Pool pool;
        const auto buffer = gpu.buffer(16), other = gpu.buffer(16);
        if (leaks) objc::send<objc::Id, "retain">(other.id());
      }
      _exit(0);
    }
    close(ends[1]);
    std::string text(1000, '\0');
    text.resize(std::max<ssize_t>(read(ends[0], text.data(), text.size()), 0));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) == leaks);
    CHECK(text == (leaks ? "[metal] objects outlive the device: 1 MTLBuffer\n" : ""));
  }
}

TEST_CASE("metal-cpp: an unknown message ends the process, as on a Mac") {
  const auto gpu = device();
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // not that of the test program, which reports it
    std::freopen("/dev/null", "w", stderr);
    objc::send<void, "drawTriangles">(gpu.id());
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(objc::send<unsigned long, "length">(nullptr) == 0);
}

TEST_CASE("metal-cpp: the example") {
  const auto printed = [](const std::string& variables) {
    FILE* const pipe = popen((variables + " " METAL_EXAMPLE).c_str(), "r");
    std::string out(1000, '\0');
    out.resize(std::fread(out.data(), 1, out.size(), pipe));
    pclose(pipe);
    return out;
  };
  const std::string out = printed("MLX_METAL_RUNTIME=" METAL_EMULATED);
  CHECK(out.find("emulated: sums of the first rows: 2997 2998 2999\n") == 0);
  CHECK(out.find("program.metal:1:64: error:") != std::string::npos);
  CHECK(printed("MLX_METAL_RUNTIME=/nonexistent") ==
        "No Metal device: name a runtime in MLX_METAL_RUNTIME.\n");
}
