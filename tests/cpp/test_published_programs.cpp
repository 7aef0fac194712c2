// The base of C++ programs written for MLX: the meaning of constructors and literals, errors, the
// graph behind arrays, and the headers that extensions use. Expected are the results of the
// published library.
#include <numeric>
#include <set>
#include <sstream>
#include <type_traits>

#include "mlx/allocator.h"
#include "mlx/backend/common/utils.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/graph_utils.h"
#include "mlx/mlx.h"
#include "mlx/primitives.h"
#include "mlx/scheduler.h"
#include "mlx/types/complex.h"
#include "mlx/types/half_types.h"
#include "mlx/types/limits.h"
#include "support.h"

using namespace mlx::core;

namespace {

array matrix() { return array({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2}); }

template <class T>
std::string text(const T& v) {
  std::ostringstream os;
  os << v;
  return os.str();
}

}  // namespace

TEST_CASE("published programs: braces and literals") {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(array({}).dtype() == float32);
  CHECK(array({}).shape() == Shape{0});
  CHECK(array(1.0).dtype() == float32);
  CHECK(array({1.0, 2.0}).dtype() == float32);
  CHECK(array({1.0, inf}).shape() == Shape{2});
  CHECK(array({1.0, inf}).dtype() == float32);
  CHECK(array({1, 2.0}).dtype() == float32);
  CHECK(array({1, 2, 3}).dtype() == int32);
  CHECK(array({1l, 2l}).dtype() == int64);
  CHECK(array({true, false}).dtype() == bool_);
  CHECK(array({1, 2}, float32).dtype() == float32);
  CHECK(array({1, 2}, int64).dtype() == int64);
  CHECK(array({1, 0}, bool_).dtype() == bool_);
  CHECK(array({1.5f, 2.5f}, int32).data<int>()[0] == 1);
  CHECK(array({1, 2, 3, 4}, {2, 2}).shape() == Shape{2, 2});
  CHECK_THROWS_AS(array({1, 2, 3}, {2, 2}), std::invalid_argument);
  CHECK(array(1u).dtype() == uint32);
  CHECK(array(0.1, float64).item<double>() == 0.1);
  CHECK(full({}, 0.0).dtype() == float32);
  CHECK(arange(0, 4, 2, int64).dtype() == int64);
  CHECK(full({2}, 0.1, float64).data<double>()[1] == 0.1);
  std::vector<double> numbers{0.1, 2};
  CHECK(array(numbers.begin(), {2}).dtype() == float32);
  CHECK(array(numbers.data(), {2}, float64).data<double>()[0] == 0.1);
}

TEST_CASE("published programs: numbers beside arrays") {
  array x({1.0f, 2.0f}), h = astype(x, float16), i({1, 2});
  CHECK((x + 2.0).dtype() == float32);
  CHECK((h + 2.0).dtype() == float32);
  CHECK((h * 2.0f).dtype() == float32);
  CHECK((2 * h).dtype() == float16);
  CHECK((i + 2.0).dtype() == float32);
  CHECK((astype(i, int8) + 2).dtype() == int32);
  CHECK((h < 2.0).dtype() == bool_);
  // Rules of the engine keep the dtype.
  CHECK(grad([](const array& a) { return sum(sigmoid(a)); })(h).dtype() == float16);
  CHECK(array(complex64_t(1, 2)).item<complex64_t>() == complex64_t(1, 2));
  CHECK(array(2.5).item<int>() == 2);
}

TEST_CASE("published programs: errors of axes are out of range") {
  array x({1.0f, 2.0f, 3.0f});
  CHECK_THROWS_AS(sum(x, 3), std::out_of_range);
  CHECK_THROWS_AS(sum(x, std::vector<int>{3}), std::out_of_range);
  CHECK_THROWS_AS(concatenate({x, x}, 4), std::out_of_range);
  CHECK_THROWS_AS(softmax(x, 5), std::out_of_range);
  CHECK_THROWS_AS(x.shape(7), std::out_of_range);
  CHECK_THROWS_AS(x.strides(7), std::out_of_range);
  CHECK_THROWS_AS(expand_dims(x, 9), std::out_of_range);
  CHECK_THROWS_AS(squeeze(x, 4), std::out_of_range);
  CHECK_THROWS_AS(sort(x, 3), std::out_of_range);
  CHECK_THROWS_AS(argmax(x, 3, false), std::out_of_range);
  CHECK_THROWS_AS(cumsum(x, 3), std::out_of_range);
  CHECK_THROWS_AS(take(x, array(1), 3), std::out_of_range);
  CHECK_THROWS_AS(swapaxes(x, 0, 3), std::out_of_range);
  CHECK_THROWS_AS(moveaxis(x, 0, 3), std::out_of_range);
  CHECK_THROWS_AS(stack({x, x}, 5), std::out_of_range);
  CHECK_THROWS_AS(split(x, 3, 2), std::out_of_range);
  CHECK_THROWS_AS(repeat(x, 2, 3), std::out_of_range);
  CHECK_THROWS_AS(flip(x, 3), std::out_of_range);
  CHECK_THROWS_AS(transpose(x, {1}), std::out_of_range);
  CHECK_THROWS_AS(unflatten(x, 4, {1, 3}), std::out_of_range);
  CHECK_THROWS_AS(logsumexp(x, 3), std::out_of_range);
  CHECK_THROWS_AS(roll(x, 1, 3), std::out_of_range);
  CHECK_THROWS_AS(linalg::norm(x, 3), std::out_of_range);
  CHECK_THROWS_AS(fft::fft(x, 4), std::out_of_range);
  CHECK_THROWS_AS(topk(x, 1, 4), std::out_of_range);
  CHECK_THROWS_AS(partition(x, 1, 4), std::out_of_range);
  CHECK_THROWS_AS(median(x, 4), std::out_of_range);
  CHECK_THROWS_AS(take_along_axis(x, array({1}), 4), std::out_of_range);
  CHECK_THROWS_AS(squeeze(x, 0), std::invalid_argument);
}

TEST_CASE("published programs: functions and streams that cannot be") {
  using Many = std::vector<array>;
  Many (*none)(const Many&) = nullptr;
  CHECK_THROWS_AS(compile(none), std::invalid_argument);
  CHECK_THROWS_AS(compile(std::function<Many(const Many&)>()), std::invalid_argument);
  auto one = [](const array& a) { return a; };
  auto two = [](const array& a, const array& b) { return a + b; };
  CHECK_THROWS_AS(vmap(one, -1, 0), std::invalid_argument);
  CHECK_THROWS_AS(vmap(one, 0, -1), std::invalid_argument);
  CHECK_THROWS_AS(vmap(two, -1, -1, 0), std::invalid_argument);
  CHECK_THROWS_AS(vmap(two, -1, 0, -1), std::invalid_argument);
  CHECK(vmap(two, -1, 0, 0)(array(1.0f), array({1.0f, 2.0f})).shape() == Shape{2});
  array x({1.0f});
  CHECK_THROWS(add(x, x, Stream(7777, Device(Device::cpu, 0))).eval());
}

TEST_CASE("published programs: null handles throw") {
  array none;
  CHECK(!none);
  CHECK_THROWS_AS(none.shape(), ValueError);
  CHECK_THROWS_AS(none.dtype(), ValueError);
  CHECK_THROWS_AS(none.size(), ValueError);
  CHECK_THROWS_AS(none.eval(), ValueError);
  CHECK_THROWS_AS(none.item<float>(), ValueError);
  CHECK_THROWS_AS(none.data<float>(), ValueError);
  CHECK_THROWS_AS(none + none, ValueError);
  CHECK_THROWS_AS(exp(none), ValueError);
  CHECK_THROWS_AS(none.primitive(), ValueError);
  CHECK_THROWS_AS(none.inputs(), ValueError);
  CHECK_THROWS_AS(eval(none), ValueError);
  CHECK_THROWS_AS(async_eval(none), ValueError);
  CHECK_THROWS_AS(concatenate({none}, 0), ValueError);
  CHECK_THROWS_AS(full({2}, none), ValueError);
  CHECK_THROWS_AS(where(none, none, none), ValueError);
  CHECK_THROWS_AS(matmul(none, none), ValueError);
  CHECK_THROWS_AS(take(none, none), ValueError);
  CHECK_THROWS_AS(reshape(none, {1}), ValueError);
  CHECK_THROWS_AS(sum(none), ValueError);
  CHECK_THROWS_AS(save("/nowhere", none), ValueError);
  CHECK_THROWS_AS(grad([](const array& a) { return sum(a); })(none), ValueError);
  CHECK_THROWS_AS(random::split(none), ValueError);
  CHECK(text(none) == "array(null)");
  none = array(1.0f);
  CHECK(none.item<float>() == 1.0f);
}

TEST_CASE("published programs: text") {
  CHECK(text(array(true)) == "array(true, dtype=bool)");
  CHECK(text(zeros({2}, bool_)) == "array([false, false], dtype=bool)");
  CHECK(text(array({1.5f, 2.0f})) == "array([1.5, 2], dtype=float32)");
  CHECK(text(array({})) == "array([], dtype=float32)");
  CHECK(text(complex64_t(1, -2)) == "1-2j");
  CHECK(text(float16_t(1.5f)) == "1.5");
  CHECK(text(bfloat16_t(2.0f)) == "2");
  CHECK(text(Device(Device::cpu)) == "Device(cpu, 0)");
  CHECK(text(Shape{1, 2}) == "(1,2)");
}

TEST_CASE("published programs: 16-bit numbers") {
  float16_t h(1.5f), g = 2.0f;
  bfloat16_t b(1.5f), c = 3.0f;
  static_assert(std::is_same_v<decltype(h + g), float16_t>);
  static_assert(std::is_same_v<decltype(h + 1), float16_t>);
  static_assert(std::is_same_v<decltype(h + 1.0f), float>);
  static_assert(std::is_same_v<decltype(1.0f + h), float>);
  static_assert(std::is_same_v<decltype(h + 1.0), double>);
  static_assert(std::is_same_v<decltype(-h), float16_t>);
  static_assert(std::is_same_v<decltype(b * c), bfloat16_t>);
  static_assert(std::is_same_v<decltype(b / 2), bfloat16_t>);
  static_assert(std::is_same_v<decltype(h + b), float>);
  CHECK(float(h) < float(g));
  const bool less = h < g;
  CHECK(less);
  h += g;
  h *= 2.0f;
  h -= 1;
  CHECK(static_cast<float>(h) == 6.0f);
  b /= 2.0f;
  b += c;
  CHECK(static_cast<float>(b) == 3.75f);
  CHECK(static_cast<float>(std::numeric_limits<float16_t>::max()) == 65504.0f);
  CHECK(finfo(float32).max == std::numeric_limits<float>::max());
  CHECK(finfo(float16).eps == 0x1p-10);
  CHECK(finfo(bfloat16).min == -0x1.fep127);
  CHECK(finfo(float64).eps == 0x1p-52);
  CHECK(finfo(complex64).max == finfo(float32).max);
  CHECK(iinfo(int8).min == -128);
  CHECK(iinfo(uint64).max == ~uint64_t{0});
  CHECK_THROWS_AS((void)finfo{int32}, std::invalid_argument);
  CHECK_THROWS_AS((void)iinfo{float32}, std::invalid_argument);
  CHECK_THROWS_AS((void)iinfo{bool_}, std::invalid_argument);
}

TEST_CASE("published programs: devices and streams") {
  CHECK(Device(Device::cpu, 0) < Device(Device::gpu, 0));
  CHECK(Device(Device::cpu, 1) < Device(Device::cpu, 2));
  CHECK(Stream(5, Device::cpu) < Stream(1, Device::gpu));
  CHECK(std::set<Stream>{Stream(1), Stream(0), Stream(1)}.size() == 2);
  const Stream before = default_stream(Device::cpu), own = new_stream(Device::cpu);
  {
    StreamContext on(own);
    CHECK(default_stream(Device::cpu) == own);
    CHECK(array({1.0f}).dtype() == float32);
  }
  CHECK(default_stream(Device::cpu) == before);
  {
    StreamContext on(Device::cpu);
    CHECK(default_device() == Device::cpu);
  }
  CHECK_THROWS_AS(StreamContext(std::monostate{}), std::runtime_error);
  CHECK(gpu::is_available() == is_available(Device(Device::gpu)));
  CHECK(gpu::device_count() == device_count(Device::gpu));
  CHECK(!metal::is_available());
  CHECK_THROWS_AS(metal::device_info(), std::runtime_error);
  metal::start_capture("nothing");
  CHECK(cu::is_available() == gpu::is_available());
}

TEST_CASE("published programs: the primitive of an array") {
  array x = matrix(), y = transpose(x), z = x + y;
  CHECK(!x.has_primitive());
  CHECK(x.primitive_ptr() == nullptr);
  CHECK(x.inputs().empty());
  CHECK_THROWS_AS(x.primitive(), std::invalid_argument);
  CHECK(!array(1.0f).has_primitive());
  REQUIRE(z.has_primitive());
  CHECK(z.primitive().name() == std::string("Add"));
  CHECK(z.primitive().stream() == default_stream(Device::cpu));
  CHECK(&z.primitive() == z.primitive_ptr().get());
  REQUIRE(z.inputs().size() == 2);
  CHECK(z.inputs()[1].id() == y.id());
  CHECK(z.siblings().empty());
  CHECK(z.outputs().size() == 1);
  CHECK(y.primitive().name() == std::string("Transpose"));
  CHECK(where(x > y, x, y).primitive().name() == std::string("Select"));
  CHECK(matmul(x, y).primitive().name() == std::string("Matmul"));
  CHECK(sum(x, 0, true).primitive().name() == std::string("Reduce"));
  CHECK((x + y).primitive().is_equivalent((y + x).primitive()));
  CHECK(!sum(x, 0).primitive().is_equivalent(sum(x, 1).primitive()));
  CHECK(!(x + y).primitive().is_equivalent((x - y).primitive()));
  CHECK((x + y).primitive().output_shapes({x, x})[0] == Shape{2, 2});
  CHECK(sum(x, 0).primitive().output_shapes({zeros({3, 5})})[0] == Shape{5});
  auto [q, r] = linalg::qr(x);
  CHECK(q.primitive().name() == std::string("QRF"));
  CHECK(r.sibling_position() == 1);
  REQUIRE(r.siblings().size() == 1);
  CHECK(array_equal(r.siblings()[0], q).item<bool>());
  r.eval();
  CHECK(r.siblings().empty());
  CHECK(r.outputs().size() == 1);
  CHECK(arange(3).primitive_ptr() != nullptr);
  array next = x + y;  // may lie where that array did
  CHECK(next.primitive().name() == std::string("Add"));
  auto kept = z.primitive_ptr();
  z.eval();
  CHECK(!z.has_primitive());
  CHECK(z.inputs().empty());
  CHECK(kept->name() == std::string("Add"));
}

TEST_CASE("published programs: tracers") {
  array x = matrix();
  CHECK(!x.is_tracer());
  x.set_tracer(true);
  CHECK(!x.is_tracer());
  bool inside = false;
  grad([&](const array& a) {
    array q = a * a;
    q.eval();
    inside = a.is_tracer() && q.has_primitive() == false && q.is_tracer();
    return sum(q);
  })(x);
  CHECK(inside);
}

TEST_CASE("published programs: memory and layout") {
  array x = matrix(), y = transpose(x), b = broadcast_to(array(1.0f), {100, 100});
  array part = slice(x, {0, 1}, {2, 2});
  CHECK(y.data_size() == 4);
  CHECK(y.strides(0) == 1);
  CHECK(y.strides(-1) == 2);
  CHECK(b.data_size() == 1);
  CHECK(b.nbytes() == 40000);
  CHECK(b.flags().contiguous);
  CHECK(part.data_size() == 3);
  CHECK(!part.flags().contiguous);
  CHECK(part.offset() == 4);
  CHECK(x.buffer_size() >= 16);
  CHECK(zeros({0, 3}).data_size() == 0);
  int deleted = 0;
  std::vector<float> memory{1, 2, 3, 4};
  {
    array lent(memory.data(), {2, 2}, float32, [&](void* p) { deleted += p == memory.data(); });
    CHECK(lent.data<float>() == memory.data());
    CHECK(sum(lent).item<float>() == 10.0f);
    CHECK(deleted == 0);
  }
  CHECK(deleted == 1);
  allocator::Data data = allocator::malloc(16);
  CHECK(data.is_owned());
  std::iota(static_cast<float*>(data.raw_ptr()), static_cast<float*>(data.buffer().raw_ptr()) + 4,
            0.0f);
  array filled(data, {4}, float32);
  CHECK(sum(filled).item<float>() == 6.0f);
  CHECK_THROWS_AS(array(allocator::malloc(8), {1000}, float32), std::invalid_argument);
  auto raw = allocator::Buffer(nullptr);
  CHECK(raw.ptr() == nullptr);
}

TEST_CASE("published programs: iteration over the first axis") {
  array x = matrix();
  std::vector<float> sums;
  for (auto row : x) sums.push_back(sum(row).item<float>());
  CHECK(sums == std::vector<float>{3, 7});
  CHECK((*(x.begin() + 1)).shape() == Shape{2});
  CHECK(x.end() - x.begin() == 2);
  CHECK_THROWS_AS(array(1.0f).begin(), std::invalid_argument);
  array empty = zeros({0, 2});
  CHECK((empty.begin() == empty.end()));
}

TEST_CASE("published programs: graphs as text") {
  array x = matrix(), y = matrix();
  std::ostringstream os;
  NodeNamer namer;
  namer.set_name(x, "input");
  print_graph(os, namer, exp(x) + y);
  CHECK(os.str() ==
        "Inputs: input [(2,2), float32], A [(2,2), float32]\n"
        "Outputs: B [(2,2), float32]\n"
        "Exp input [(2,2), float32] -> C [(2,2), float32]\n"
        "Add C [(2,2), float32], A [(2,2), float32] -> B [(2,2), float32]\n");
  std::ostringstream two;
  auto qr = linalg::qr(x);
  print_graph(two, qr.first, qr.second + x);
  CHECK(two.str().find("QRF A [(2,2), float32] -> B [(2,2), float32], ") != std::string::npos);
  array deep = x;
  for (int k = 0; k < 20'000; ++k) deep = deep + y;
  std::ostringstream many;
  print_graph(many, namer, deep);  // the time is linear in the number of ops
  CHECK(many.str().find(" -> ACOG [") != std::string::npos);
  namer.names[y.id()] = "A";
  CHECK(namer.get_name(x + y) == "B");
  std::ostringstream dot;
  export_to_dot(dot, namer, x + y);
  CHECK(dot.str().find("\"input\"") != std::string::npos);
}

namespace {

/// Twice its input, written by work handed to the stream's encoder; or a view of its input.
class Double final : public UnaryPrimitive {
 public:
  explicit Double(Stream s) : UnaryPrimitive(s) {}
  using UnaryPrimitive::eval_cpu;
  void eval_cpu(const std::vector<array>& inputs, array& out) override {
    out.set_data(allocator::malloc(out.nbytes()));
    auto& encoder = cpu::get_command_encoder(stream());
    encoder.set_input_array(inputs[0]);
    encoder.set_output_array(out);
    encoder.dispatch([in = inputs[0].data<float>(), to = out.data<float>(), n = out.size()] {
      for (size_t i = 0; i < n; ++i) to[i] = 2 * in[i];
    });
  }
  const char* name() const override { return "Double"; }
};

class Turned final : public UnaryPrimitive {
 public:
  explicit Turned(Stream s) : UnaryPrimitive(s) {}
  using UnaryPrimitive::eval_cpu;
  void eval_cpu(const std::vector<array>& inputs, array& out) override {
    out.copy_shared_buffer(inputs[0], {1, 2}, {true, false, true}, inputs[0].size());
  }
  const char* name() const override { return "Turned"; }
};

/// Gives its output another array.
class Replaced final : public UnaryPrimitive {
 public:
  Replaced(Stream s, array by) : UnaryPrimitive(s), by_(std::move(by)) {}
  using UnaryPrimitive::eval_cpu;
  void eval_cpu(const std::vector<array>&, array& out) override { out.overwrite_descriptor(by_); }
  const char* name() const override { return "Replaced"; }

 private:
  array by_;
};

}  // namespace

TEST_CASE("published programs: primitives hand work to encoders and share memory") {
  const Stream s = default_stream(Device::cpu);
  array x = matrix();
  array twice({2, 2}, float32, std::make_shared<Double>(s), {x});
  CHECK(twice.primitive().name() == std::string("Double"));
  CHECK(array_equal(twice, x * 2.0f).item<bool>());
  array turned({2, 2}, float32, std::make_shared<Turned>(s), {x});
  CHECK(array_equal(turned, transpose(x)).item<bool>());
  for (const array& by : {x, transpose(x), zeros({100, 100}), zeros({2}), zeros({2, 2}, int32)}) {
    eval(by);
    array out({2, 2}, float32, std::make_shared<Replaced>(s, by), {x});
    if (by.shape() == out.shape() && by.dtype() == out.dtype())
      CHECK(array_equal(out, by).item<bool>());
    else
      CHECK_THROWS_WITH(out.eval(), doctest::Contains("shape (2,2) and dtype float32"));
  }
}

TEST_CASE("published programs: tasks on streams") {
  const Stream s = default_stream(Device::cpu);
  int done = 0;
  scheduler::enqueue(s, [&] { ++done; });
  cpu::get_command_encoder(s).dispatch([&](int n) { done += n; }, 5);
  synchronize(s);
  CHECK(done == 6);
  CHECK(scheduler::n_active_tasks() == 0);
  scheduler::wait_for_one();
  scheduler::notify_new_task(s);
  CHECK(scheduler::n_active_tasks() == 1);
  scheduler::notify_task_completion(s);
  CHECK(scheduler::n_active_tasks() == 0);
  scheduler::enqueue(s, [] { throw std::runtime_error("[task] failed"); });
  CHECK_THROWS_WITH(synchronize(s), doctest::Contains("[task] failed"));
  CHECK(scheduler::n_active_tasks() == 0);
}

TEST_CASE("published programs: offsets of elements") {
  array y = transpose(matrix());
  y.eval();
  CHECK(elem_to_loc(1, y) == 2);
  CHECK(elem_to_loc(3, {2, 2}, {1, 2}) == 3);
  CHECK(make_contiguous_strides({2, 3}) == Strides{3, 1});
}
