// Names of sources written for MLX beside ops: classes of primitives, macros that declare members,
// streams of bytes, allocators, functions under `detail`.
#include <complex.h>  // first: its macros are those of C

#include <complex>
#include <cstring>
#include <sstream>
#include <typeinfo>

#include "mlx/allocator.h"
#include "mlx/compile_impl.h"
#include "mlx/io/load.h"
#include "mlx/mlx.h"
#include "mlx/primitives.h"
#include "mlx/transforms_impl.h"
#include "support.h"

using namespace mlx::core;

TEST_CASE("published sources: complex numbers") {
  std::vector<std::complex<float>> numbers{{1, 2}, {3, -4}};
  array a(numbers.begin(), {2});
  CHECK(a.dtype() == complex64);
  CHECK(a.data<complex64_t>()[1] == complex64_t(3, -4));
  CHECK(array(numbers.data(), {2}, float32).data<float>()[1] == 3.0f);
  array named(static_cast<complex64_t*>(numbers.data()), Shape{1, 2}, complex64);
  CHECK(named.shape() == Shape{1, 2});
  auto one = array(std::complex<float>(5, 6)).item<detail::CComplex64>();
  CHECK(__real__ one == 5.0f);
  CHECK(__imag__ one == 6.0f);
  CHECK(array({std::complex<float>(1, 1)}).dtype() == complex64);
}

TEST_CASE("published sources: arrays and their memory") {
  array a = arange(4.0);
  async_eval(a);
  a.wait();
  CHECK(a.status() == array::Status::available);
  CHECK(static_cast<float*>(a.buffer().raw_ptr())[3] == 3.0f);
  array::Data data = allocator::malloc(16);
  CHECK(data.ptr() != nullptr);
  allocator::free(data);
  allocator::Allocator& all = allocator::allocator();
  allocator::Buffer b = all.malloc(100);
  CHECK(all.size(b) >= 100);
  std::memset(b.raw_ptr(), 1, 100);
  all.free(b);
  CHECK(all.make_buffer(nullptr, 0).ptr() == nullptr);
  all.release(b);
}

TEST_CASE("published sources: dtypes have their numbers") {
  const Dtype in_order[] = {bool_, uint8, uint16,  uint32,  uint64,  int8,     int16,
                            int32, int64, float16, float32, float64, bfloat16, complex64};
  int number = 0;
  for (Dtype t : in_order) CHECK(static_cast<int>(t.val()) == number++);
  CHECK(Dtype(Dtype::Val::int16, 2) == int16);
}

namespace {

template <class Class>
bool is(const array& a) {
  auto& p = a.primitive();
  return typeid(p) == typeid(Class);
}

}  // namespace

TEST_CASE("published sources: classes of primitives") {
  array x = array({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2}), i = astype(x, int32);
  CHECK(is<Exp>(exp(x)));
  CHECK(!is<Exp>(sin(x)));
  CHECK(is<Add>(x + x));
  CHECK(is<Matmul>(matmul(x, x)));
  CHECK(is<Select>(where(x, x, x)));
  CHECK(is<Broadcast>(broadcast_to(x, {3, 2, 2})));
  CHECK(is<Softmax>(softmax(x, 1)));
  CHECK(is<Arange>(arange(5)));
  CHECK(is<Compiled>(compile([](const Arrays& a) { return Arrays{exp(a[0]) + 1}; })({x})[0]));
  CHECK(is<OpPrimitive>(isnan(x)));
  CHECK(is<Slice>(slice(x, {0, 0}, {1, 1})));
  CHECK(is<FFT>(fft::fft(x)));
  CHECK(std::string(exp(x).primitive().name()) == "Exp");

  auto reduce = [](const array& a) { return dynamic_cast<Reduce&>(a.primitive()).state(); };
  CHECK(reduce(sum(x, 1, true)) == std::pair(Reduce::Sum, std::vector<int>{1}));
  CHECK(reduce(max(x, true)).first == Reduce::Max);
  CHECK(reduce(any(x, true)).first == Reduce::Or);
  CHECK(reduce(prod(x, 0, true)).first == Reduce::Prod);
  auto arg = [](const array& a) { return dynamic_cast<ArgReduce&>(a.primitive()).state(); };
  CHECK(arg(argmax(x, 1, true)) == std::pair(ArgReduce::ArgMax, 1));
  CHECK(arg(argmin(x, 0, true)).first == ArgReduce::ArgMin);
  auto scan = dynamic_cast<Scan&>(cumsum(x, 1, true, false).primitive()).state();
  CHECK(scan == std::tuple(Scan::Sum, 1, true, false));
  CHECK(dynamic_cast<Log&>(log2(x).primitive()).state() == Log::two);
  CHECK(dynamic_cast<BitwiseBinary&>((i & i).primitive()).state() == BitwiseBinary::And);
  array added = scatter_add(x, array({0}), zeros({1, 1, 2}), 0);
  CHECK(dynamic_cast<Scatter&>(added.primitive()).state().first == Scatter::Sum);
  CHECK(exp(x).primitive().is_equivalent(exp(x + x).primitive()));
  CHECK(!sum(x, 0, true).primitive().is_equivalent(sum(x, 1, true).primitive()));
}

namespace {

class Thrice final : public UnaryPrimitive {
 public:
  using UnaryPrimitive::UnaryPrimitive;
  void eval_cpu(const std::vector<array>& inputs, array& out) override {
    out.set_data(allocator::malloc(out.nbytes()));
    for (size_t i = 0; i < out.size(); ++i) out.data<float>()[i] = 3 * inputs[0].data<float>()[i];
  }
  DEFINE_VMAP()
  DEFINE_GRADS()
  DEFINE_NAME(Thrice)
  DEFINE_DEFAULT_IS_EQUIVALENT()
  DEFINE_INPUT_OUTPUT_SHAPE()
};

array thrice(const array& a) {
  return array(a.shape(), a.dtype(), std::make_shared<Thrice>(to_stream({})), {a});
}
std::pair<std::vector<array>, std::vector<int>> Thrice::vmap(const std::vector<array>& inputs,
                                                             const std::vector<int>& axes) {
  return {{thrice(inputs[0])}, axes};
}
std::vector<array> Thrice::jvp(const std::vector<array>&, const std::vector<array>& tangents,
                               const std::vector<int>&) {
  return {thrice(tangents[0])};
}
std::vector<array> Thrice::vjp(const std::vector<array>&, const std::vector<array>& cotangents,
                               const std::vector<int>&, const std::vector<array>&) {
  return {thrice(cotangents[0])};
}

}  // namespace

TEST_CASE("published sources: macros declare members of primitives") {
  array x({1.0f, 2.0f});
  array y = thrice(x);
  CHECK(is<Thrice>(y));
  CHECK(std::string(y.primitive().name()) == "Thrice");
  CHECK(y.primitive().is_equivalent(thrice(x).primitive()));
  CHECK(y.primitive().output_shapes({x})[0] == Shape{2});
  CHECK(sum(y).item<float>() == 9.0f);
  CHECK(grad([](const array& a) { return sum(thrice(a)); })(x).data<float>()[1] == 3.0f);
  CHECK(vmap([](const array& a) { return thrice(a); })(x).data<float>()[1] == 6.0f);
}

namespace {

/// Bytes in memory, as a program's stream.
class Memory final : public io::Reader, public io::Writer {
 public:
  explicit Memory(std::string bytes = "") : stream_(bytes, kMode) {}
  bool is_open() const override { return open; }
  bool good() const override { return stream_.good(); }
  size_t tell() override { return static_cast<size_t>(stream_.tellg()); }
  void seek(int64_t off, std::ios_base::seekdir way) override { stream_.seekg(off, way); }
  void read(char* data, size_t n) override { stream_.read(data, static_cast<long>(n)); }
  void read(char* data, size_t n, size_t offset) override {
    stream_.seekg(static_cast<long>(offset)).read(data, static_cast<long>(n));
  }
  void write(const char* data, size_t n) override { stream_.write(data, static_cast<long>(n)); }
  std::string label() const override { return "memory"; }
  std::string bytes() const { return stream_.str(); }
  bool open = true;

 private:
  static constexpr auto kMode = std::ios::binary | std::ios::in | std::ios::out;
  std::stringstream stream_;
};

}  // namespace

TEST_CASE("published sources: streams of bytes") {
  auto to = std::make_shared<Memory>();
  save(std::static_pointer_cast<io::Writer>(to), arange(5));
  auto from = std::make_shared<Memory>(to->bytes());
  CHECK(sum(load(std::static_pointer_cast<io::Reader>(from))).item<int>() == 10);
  auto tensors = std::make_shared<Memory>();
  save_safetensors(std::static_pointer_cast<io::Writer>(tensors), {{"a", arange(3)}}, {{"k", "v"}});
  auto again = std::make_shared<Memory>(tensors->bytes());
  auto [arrays, metadata] = load_safetensors(std::static_pointer_cast<io::Reader>(again));
  CHECK(arrays.at("a").size() == 3);
  CHECK(metadata.at("k") == "v");

  auto shorter = std::make_shared<Memory>(to->bytes().substr(0, to->bytes().size() - 1));
  CHECK_THROWS_AS(load(std::static_pointer_cast<io::Reader>(shorter)), FileError);
  auto shortest = std::make_shared<Memory>(to->bytes().substr(0, 3));
  CHECK_THROWS_AS(load(std::static_pointer_cast<io::Reader>(shortest)), FileError);
  to->open = false;
  CHECK_THROWS_AS(load(std::static_pointer_cast<io::Reader>(to)), FileError);
  CHECK_THROWS_AS(save(std::static_pointer_cast<io::Writer>(to), arange(5)), FileError);
}

TEST_CASE("published sources: functions by number") {
  int calls = 0;
  auto f = [&](const Arrays& a) { return ++calls, Arrays{a[0] + 1}; };
  array x({1.0f});
  CHECK(detail::compile(f, 77)({x})[0].item<float>() == 2.0f);
  CHECK(detail::compile(f, 77)({x})[0].item<float>() == 2.0f);
  CHECK(calls == 1);
  detail::compile(f, 77, false, {5})({x});
  CHECK(calls == 2);
  detail::compile_erase(77);
  detail::compile(f, 77)({x});
  CHECK(calls == 3);
  detail::compile_clear_cache();
  detail::compile(f, 77)({x});
  CHECK(calls == 4);
  detail::compile_erase(77);
  CHECK_THROWS_AS(detail::compile(nullptr, 1), std::invalid_argument);
}

TEST_CASE("published sources: vmap in two halves") {
  array x = reshape(arange(6.0), {2, 3}), y({10.0f, 20.0f, 30.0f});
  auto f = [](const Arrays& a) { return Arrays{sum(a[0] * a[1])}; };
  auto [inputs, outputs] = detail::vmap_trace(f, {x, y}, {0, -1});
  CHECK(inputs[0].shape() == Shape{3});
  CHECK(outputs[0].ndim() == 0);
  Arrays found = detail::vmap_replace({x, y}, inputs, outputs, {0, -1}, {0});
  CHECK(found[0].shape() == Shape{2});
  CHECK(found[0].data<float>()[1] == 3 * 10 + 4 * 20 + 5 * 30);
  CHECK_THROWS_AS(detail::vmap_replace({x}, inputs, outputs, {0}, {0}), std::invalid_argument);
  CHECK_THROWS_AS(detail::vmap_replace({y, y}, inputs, outputs, {0, -1}, {0}),
                  std::invalid_argument);
}

TEST_CASE("published sources: 16-bit arithmetic by ops.h") {
  CHECK(float16_t(1.5f) * float16_t(2) == float16_t(3));
  CHECK(std::is_same_v<decltype(bfloat16_t(1) + 1), bfloat16_t>);
}

namespace {

array made(std::shared_ptr<Primitive> p, const Arrays& inputs, Shape shape = {2, 2},
           Dtype dtype = float32) {
  return contiguous(array(std::move(shape), dtype, std::move(p), inputs));
}

bool same(const array& a, const array& b) { return array_equal(a, b, true).item<bool>(); }

}  // namespace

TEST_CASE("published sources: programs construct primitives") {
  const Stream s = default_stream(Device::cpu);
  array x({1.0f, 2.0f, 4.0f, 8.0f}, {2, 2}), y = transpose(x);
  auto sum_of = std::make_shared<Add>(s);
  array a({2, 2}, float32, sum_of, {x, y});
  CHECK(is<Add>(a));
  CHECK(same(a, x + y));
  CHECK(sum_of->is_equivalent((x + y).primitive()));
  CHECK(!sum_of->is_equivalent(Subtract(s)));
  CHECK(std::string(sum_of->name()) == "Add");
  CHECK(same(made(std::make_shared<Exp>(s), {x}), exp(x)));
  CHECK(same(made(std::make_shared<Select>(s), {x > y, x, y}), where(x > y, x, y)));
  CHECK(same(made(std::make_shared<Sqrt>(s, true), {x}), rsqrt(x)));
  CHECK(same(made(std::make_shared<Log>(s, Log::two), {x}), log2(x)));
  CHECK(same(made(std::make_shared<Log>(s, Log::e), {x}), log(x)));
  CHECK(same(made(std::make_shared<AsType>(s, int32), {x}, {2, 2}, int32), astype(x, int32)));
  CHECK(same(made(std::make_shared<Reshape>(s, Shape{4}), {x}, {4}), reshape(x, {4})));
  CHECK(same(made(std::make_shared<Transpose>(s, std::vector<int>{1, 0}), {x}), y));
  CHECK(same(made(std::make_shared<Broadcast>(s, Shape{3, 2, 2}), {x}, {3, 2, 2}),
             broadcast_to(x, {3, 2, 2})));
  CHECK(same(made(std::make_shared<Concatenate>(s, 1), {x, y, x}, {2, 6}),
             concatenate({x, y, x}, 1)));
  CHECK(same(made(std::make_shared<Softmax>(s, true), {x}), softmax(x, -1, true)));
  CHECK(same(made(std::make_shared<AddMM>(s, 2.0f, 3.0f), {x, x, y}), addmm(x, x, y, 2.0f, 3.0f)));
  CHECK(same(made(std::make_shared<Slice>(s, Shape{0, 1}, Shape{2, 2}, Shape{1, 1}), {x}, {2, 1}),
             slice(x, {0, 1}, {2, 2})));
  CHECK(same(made(std::make_shared<Sort>(s, 0), {negative(x)}), sort(negative(x), 0)));
  CHECK(same(made(std::make_shared<Equal>(s, true), {x, log(negative(x))}, {2, 2}, bool_),
             zeros({2, 2}, bool_)));
}

TEST_CASE("published sources: programs construct reductions, scans and bitwise ops") {
  const Stream s = default_stream(Device::cpu);
  array x({1.0f, 2.0f, 4.0f, 8.0f}, {2, 2}), i({12, 10});
  for (auto kind : {Reduce::And, Reduce::Or})
    CHECK(same(made(std::make_shared<Reduce>(s, kind, std::vector<int>{0}), {x}, {1, 2}, bool_),
               ones({1, 2}, bool_)));
  const std::pair<Reduce::ReduceType, array> reductions[] = {{Reduce::Sum, sum(x, 1, true)},
                                                             {Reduce::Prod, prod(x, 1, true)},
                                                             {Reduce::Min, min(x, 1, true)},
                                                             {Reduce::Max, max(x, 1, true)}};
  for (auto& [kind, expected] : reductions) {
    auto p = std::make_shared<Reduce>(s, kind, std::vector<int>{1});
    CHECK(p->state() == std::pair(kind, std::vector<int>{1}));
    CHECK(p->is_equivalent(expected.primitive()));
    CHECK(same(made(p, {x}, {2, 1}), expected));
  }
  CHECK(same(made(std::make_shared<ArgReduce>(s, ArgReduce::ArgMax, 0), {x}, {1, 2}, uint32),
             argmax(x, 0, true)));
  CHECK(same(made(std::make_shared<ArgReduce>(s, ArgReduce::ArgMin, 0), {x}, {1, 2}, uint32),
             argmin(x, 0, true)));
  const std::pair<Scan::ReduceType, array> scans[] = {
      {Scan::Max, cummax(x, 1, true, true)},
      {Scan::Min, cummin(x, 1, true, true)},
      {Scan::Sum, cumsum(x, 1, true, true)},
      {Scan::Prod, cumprod(x, 1, true, true)},
      {Scan::LogAddExp, logcumsumexp(x, 1, true, true)}};
  for (auto& [kind, expected] : scans)
    CHECK(same(made(std::make_shared<Scan>(s, kind, 1, true, true), {x}), expected));
  const std::pair<BitwiseBinary::Op, array> operations[] = {
      {BitwiseBinary::And, i & array(6)},
      {BitwiseBinary::Or, i | array(6)},
      {BitwiseBinary::Xor, i ^ array(6)},
      {BitwiseBinary::LeftShift, i << array(6)},
      {BitwiseBinary::RightShift, i >> array(6)}};
  for (auto& [op, expected] : operations)
    CHECK(same(made(std::make_shared<BitwiseBinary>(s, op), {i, array(6)}, {2}, int32), expected));
}

TEST_CASE("published sources: programs construct primitives of several results") {
  const Stream s = default_stream(Device::cpu);
  array x({1.0f, 2.0f, 4.0f, 8.0f}, {2, 2}), y = transpose(x);
  Arrays parts = array::make_arrays({{2, 1}, {2, 1}}, {float32, float32},
                                    std::make_shared<Split>(s, Shape{1}, 1), {x});
  CHECK(same(concatenate(parts, 1), x));
  Arrays both =
      array::make_arrays({{2, 2}, {2, 2}}, {float32, float32}, std::make_shared<DivMod>(s), {y, x});
  CHECK(same(both[0] * x + both[1], y));
  Arrays qr =
      array::make_arrays({{2, 2}, {2, 2}}, {float32, float32}, std::make_shared<QRF>(s), {x});
  CHECK(allclose(matmul(qr[0], qr[1]), x).item<bool>());
  CHECK(same(made(std::make_shared<Pad>(s, std::vector<int>{0}, Shape{1}, Shape{0}),
                  {x, array(5.0f)}, {3, 2}),
             pad(x, {0}, {1}, {0}, array(5.0f))));
  CHECK(made(std::make_shared<NumberOfElements>(s, std::vector<int>{0, 1}, false, int32), {x}, {},
             int32)
            .item<int>() == 4);
}

TEST_CASE("published sources: objects of ops serve for other inputs, and have the op's rules") {
  array x({1.0f, 2.0f, 3.0f}), y({4.0f, 5.0f, 6.0f}), z = x * y;
  auto p = z.primitive_ptr();
  CHECK(array({2}, float32, p, {array({2.0f, 3.0f}), array({5.0f, 7.0f})}).data<float>()[1] ==
        21.0f);
  CHECK(p->vjp({x, y}, {ones({3})}, {1}, {z})[0].data<float>()[2] == 3.0f);
  CHECK(p->vjp({x, y}, {ones({3})}, {0, 1}, {z}).size() == 2);
  CHECK(p->jvp({x, y}, {ones({3})}, {0})[0].data<float>()[0] == 4.0f);
  auto [batched, axes] = p->vmap({reshape(arange(6.0), {2, 3}), y}, {0, -1});
  CHECK(axes == std::vector<int>{0});
  CHECK(batched[0].shape() == Shape{2, 3});
  CHECK(batched[0].data<float>()[5] == 30.0f);
  CHECK(p->output_shapes({zeros({5, 1}), zeros({4})})[0] == Shape{5, 4});
  CHECK_THROWS_AS(array({2}, float32, p, {x, y}), std::invalid_argument);
  CHECK_THROWS_AS(array({3}, float16, p, {x, y}), std::invalid_argument);
  CHECK_THROWS_AS(array({3}, float32, p, {x}), std::invalid_argument);
  CHECK_THROWS_AS(array::make_arrays({{3}, {3}}, {float32, float32}, p, {x, y}),
                  std::invalid_argument);
  CHECK_THROWS_AS(p->vjp({x, y}, {ones({3})}, {2}, {z}), std::invalid_argument);
  std::vector<array> outputs{z};
  CHECK_THROWS_AS(p->eval_cpu({x, y}, outputs), ExecutionError);
  CHECK_THROWS_AS(
      Reduce(default_stream(Device::cpu), Reduce::ReduceType(9), {0}).output_shapes({x}),
      std::invalid_argument);
  CHECK(grad([&](const array& a) { return sum(array({3}, float32, p, {a, y})); })(x)
            .data<float>()[0] == 4.0f);
}
