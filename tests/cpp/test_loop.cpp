// vmap of ops without a batching rule: loop ops.
#include <sstream>

#include "mlx/backend/cpu/kernel.h"
#include "mlx/export.h"
#include "mlx/primitives.h"
#include "support.h"

using namespace mlx::core;

namespace {

/// x² + y as a primitive with derivatives, and no rule for vmap.
class SquarePlus : public UnaryPrimitive {
 public:
  using UnaryPrimitive::UnaryPrimitive;
  void eval_cpu(const Arrays& in, array& out) override {
    compute(in[0].data<float>(), in[1].data<float>(), out.data<float>(), out.size());
  }
  void eval_gpu(const Arrays& in, array& out) override {
    compute(device_data<float>(in[0]), device_data<float>(in[1]), device_data<float>(out),
            out.size());
  }
  Arrays vjp(const Arrays& primals, const Arrays& cotangents, const std::vector<int>& argnums,
             const Arrays&) override {
    Arrays out;
    for (int k : argnums)
      out.push_back(k == 1 ? cotangents[0]
                           : multiply(multiply(primals[0], array(2.0f)), cotangents[0]));
    return out;
  }
  Arrays jvp(const Arrays& primals, const Arrays& tangents,
             const std::vector<int>& argnums) override {
    array sum(0.0f);
    for (size_t k = 0; k < argnums.size(); ++k)
      sum = add(sum, argnums[k] == 1 ? tangents[k]
                                     : multiply(multiply(primals[0], array(2.0f)), tangents[k]));
    return {sum};
  }
  const char* name() const override { return "SquarePlus"; }

 private:
  static void compute(const float* x, const float* y, float* out, size_t n) {
    for (size_t i = 0; i < n; ++i) out[i] = x[i] * x[i] + y[i];
  }
};

array square_plus(const array& x, const array& y) {
  auto in = broadcast_arrays({x, y});
  return array(in[0].shape(), float32, std::make_shared<SquarePlus>(to_stream({})), in);
}

/// The sum and the greatest element, as one primitive.
class SumMax : public Primitive {
 public:
  using Primitive::Primitive;
  void eval_cpu(const Arrays& in, Arrays& out) override {
    compute(in[0].data<float>(), in[0].size(), *out[0].data<float>(), *out[1].data<float>());
  }
  void eval_gpu(const Arrays& in, Arrays& out) override {
    compute(device_data<float>(in[0]), in[0].size(), *device_data<float>(out[0]),
            *device_data<float>(out[1]));
  }
  const char* name() const override { return "SumMax"; }

 private:
  static void compute(const float* x, size_t n, float& total, float& most) {
    total = 0, most = x[0];
    for (size_t i = 0; i < n; ++i) total += x[i], most = std::max(most, x[i]);
  }
};

/// Three times the input by way of a workspace.
array triple(const array& x);
const OpDef op_triple{
    .name = "test_triple",
    .kind = OpKind::kernel,
    .linearity = Linearity::linear,
    .build = [](const Arrays& in, const Attrs*, Stream) -> Arrays { return {triple(in[0])}; },
    .vjp = [](const RuleArgs& r) -> Arrays { return {triple(r.grads[0])}; }};
array triple(const array& x) {
  return make_node(op_triple, x.shape(), x.dtype(), to_stream({}), {}, x);
}
void run_triple(const cpu::KernelArgs& args) {
  auto* copy = static_cast<float*>(args.workspace);
  for (int64_t i = 0; i < args.in[0].size(); ++i) copy[i] = args.in[0].as<float>()[i];
  for (int64_t i = 0; i < args.out[0].size(); ++i) args.out[0].as<float>()[i] = 3 * copy[i];
}

/// 1.5 x² with a forward rule only, which uses another op without rules.
const OpDef op_squared{
    .name = "test_squared", .kind = OpKind::kernel, .jvp = [](const RuleArgs& r) -> Arrays {
      return {multiply(triple(r.inputs[0]), r.grads[0])};
    }};
array squared(const array& x) {
  return make_node(op_squared, x.shape(), x.dtype(), to_stream({}), {}, x);
}
void run_squared(const cpu::KernelArgs& args) {
  const float* x = args.in[0].as<float>();
  for (int64_t i = 0; i < args.in[0].size(); ++i) args.out[0].as<float>()[i] = 1.5f * x[i] * x[i];
}

/// The elements of a vector in the opposite order, as a view.
array turned(const array& x);
const OpDef op_turned{
    .name = "test_turned",
    .kind = OpKind::view,
    .linearity = Linearity::linear,
    .build = [](const Arrays& in, const Attrs*, Stream) -> Arrays { return {turned(in[0])}; },
    .view =
        [](const Node&, const Layout& in, Layout& out) {
          out.offset = in.offset + (in.shape[0] - 1) * in.strides[0];
          out.strides = {-in.strides[0]};
          return true;
        },
    .vjp = [](const RuleArgs& r) -> Arrays { return {turned(r.grads[0])}; }};
array turned(const array& x) {
  return make_node(op_turned, x.shape(), x.dtype(), to_stream({}), {}, x);
}

/// The sum and the greatest element of a vector, as a bundle.
Arrays sum_and_max(const array& x);
const OpDef op_sum_and_max{
    .name = "test_sum_and_max",
    .kind = OpKind::bundle,
    .build = [](const Arrays& in, const Attrs*, Stream) -> Arrays { return sum_and_max(in[0]); }};
Arrays sum_and_max(const array& x) {
  return make_bundle(op_sum_and_max, {{{}, x.dtype()}, {{}, x.dtype()}}, to_stream({}), {&x, 1});
}
void run_sum_and_max(const cpu::KernelArgs& args) {
  const float* x = args.in[0].as<float>();
  float total = 0, most = x[0];
  for (int64_t i = 0; i < args.in[0].size(); ++i) total += x[i], most = std::max(most, x[i]);
  *args.out[0].as<float>() = total;
  *args.out[1].as<float>() = most;
}

void register_ops() {
  static bool done = [] {
    for (const OpDef* op : {&op_triple, &op_turned, &op_sum_and_max}) register_op(*op);
    cpu::register_kernel({.op = &op_sum_and_max, .run = run_sum_and_max, .contiguous = 1});
    cpu::register_kernel(
        {.op = &op_triple,
         .run = run_triple,
         .contiguous = 1,
         .workspace = [](std::span<const Layout> operands, int, const Attrs*) -> size_t {
           return num_elements(operands[0].shape) * sizeof(float);
         }});
    cpu::register_kernel({.op = &op_squared, .run = run_squared, .contiguous = 1});
    return true;
  }();
  (void)done;
}

size_t nodes_of(const Arrays& outputs) {
  std::ostringstream text;
  export_to_dot(text, outputs);
  std::string s = text.str();
  size_t n = 0;
  for (size_t at = 0; (at = s.find("shape=rectangle", at)) != s.npos; ++at) ++n;
  return n;
}

array numbers(Shape shape) {
  int64_t n = num_elements(shape);
  return reshape(divide(arange(static_cast<double>(n)), array(8.0f)), std::move(shape));
}

/// `f` over slices of `a`, one by one.
array looped(const std::function<array(const array&)>& f, const array& a, int axis) {
  Arrays each;
  for (const array& s : split(a, static_cast<int>(a.shape(axis)), axis))
    each.push_back(f(squeeze(s, axis)));
  return stack(each, 0);
}

void check_equal(const array& got, const array& want) {
  REQUIRE(got.shape() == want.shape());
  CHECK(values<float>(got) == values<float>(want));
}

}  // namespace

TEST_CASE("an op without a rule runs at each position of a mapped axis") {
  register_ops();
  struct Case {
    const char* name;
    UnaryFunction f;
  };
  array row = numbers({4});
  const Case cases[] = {
      {"primitive", [&](const array& x) { return square_plus(x, row); }},
      {"primitive, shared first", [&](const array& x) { return square_plus(row, sin(x)); }},
      {"kernel", [](const array& x) { return triple(exp(x)); }},
      {"view", [](const array& x) { return add(turned(exp(x)), x); }},
      {"view of an expression's slice", [](const array& x) { return turned(multiply(x, x)); }},
  };
  on_each_device([&](Device) {
    for (const Case& c : cases) {
      INFO(c.name);
      for (int axis : {0, 1}) {
        array a = axis == 0 ? numbers({3, 4}) : numbers({4, 3});
        check_equal(vmap(c.f, axis)(a), looped(c.f, a, axis));
        check_equal(
            compile([&](const Arrays& in) { return Arrays{vmap(c.f, axis)(in[0])}; })({a})[0],
            looped(c.f, a, axis));
      }
      // Twice: a map in a map.
      array a = numbers({2, 3, 4});
      UnaryFunction once = [&](const array& x) { return vmap(c.f)(x); };
      check_equal(vmap(once)(a), looped(once, a, 0));
    }
  });
}

TEST_CASE("derivatives go through a mapped op") {
  register_ops();
  array row = numbers({4});
  const std::pair<const char*, UnaryFunction> cases[] = {
      {"primitive", [&](const array& x) { return square_plus(x, sin(x)); }},
      {"forward rule only", [](const array& x) { return multiply(squared(x), x); }},
      {"view", [](const array& x) { return multiply(turned(x), sin(x)); }},
  };
  on_each_device([&](Device) {
    array a = numbers({3, 4});
    for (const auto& c : cases) {
      INFO(c.first);
      const UnaryFunction& f = c.second;
      UnaryFunction loss = [&](const array& x) { return sum(f(x)); };
      UnaryFunction of_batch = [&](const array& x) { return sum(vmap(f)(x)); };
      array want = looped(grad(loss), a, 0);
      check_equal(vmap(UnaryFunction(grad(loss)))(a), want);
      check_equal(grad(of_batch)(a), want);
      // Second derivatives.
      UnaryFunction slope = [&](const array& x) { return sum(grad(loss)(x)); };
      UnaryFunction slope_of_batch = [&](const array& x) { return sum(grad(of_batch)(x)); };
      check_equal(grad(slope_of_batch)(a), looped(grad(slope), a, 0));
      // Forward.
      UnaryFunction v = [&](const array& x) { return vmap(f)(x); };
      UnaryFunction along = [&](const array& x) { return jvp(f, x, cos(x)).second; };
      array tangent = jvp(v, a, cos(a)).second, each = looped(along, a, 0);
      CHECK(allclose(tangent, each).item<bool>());
    }
    // An input that all positions share gets the sum.
    UnaryFunction shared = [&](const array& y) {
      return sum(vmap(UnaryFunction([&](const array& x) { return square_plus(y, x); }))(a));
    };
    check_equal(grad(shared)(row), multiply(row, array(6.0f)));
  });
}

TEST_CASE("a bundle without a rule, mapped") {
  on_each_device([](Device) {
    array a = numbers({3, 4});
    Function f = [](const Arrays& in) {
      return array::make_arrays({{}, {}}, {float32, float32},
                                std::make_shared<SumMax>(to_stream({})), in);
    };
    Arrays out = vmap(f)({a});
    check_equal(out[0], sum(a, 1));
    check_equal(out[1], max(a, 1));
  });
}

TEST_CASE("mapping adds as many nodes for any length") {
  register_ops();
  auto count = [](int64_t n, bool gradient) {
    UnaryFunction f = [](const array& x) { return sum(triple(square_plus(x, turned(x)))); };
    UnaryFunction g = gradient ? UnaryFunction(grad(f)) : f;
    return nodes_of({vmap(g)(zeros({n, 4}))});
  };
  for (bool gradient : {false, true}) {
    CHECK(count(2, gradient) > 3);
    CHECK(count(2, gradient) == count(4096, gradient));
  }
  array empty = vmap(UnaryFunction([](const array& x) { return triple(x); }))(zeros({0, 4}));
  CHECK(values<float>(empty).empty());
}

TEST_CASE("mapped ops are written to files and read again") {
  register_ops();
  TemporaryFile file;
  const std::pair<const char*, Function> cases[] = {
      {"kernel", [](const Arrays& in) { return Arrays{triple(exp(in[0]))}; }},
      {"view", [](const Arrays& in) { return Arrays{add(turned(exp(in[0])), in[0])}; }},
      {"bundle", [](const Arrays& in) { return sum_and_max(in[0]); }},
      {"one of two results", [](const Arrays& in) { return Arrays{sum_and_max(in[0])[1]}; }},
  };
  on_each_device([&](Device) {
    for (const auto& c : cases) {
      INFO(c.first);
      for (int axis : {0, 2}) {
        Function mapped = vmap(vmap(c.second, {1}), {axis});  // a map in a map
        array a = numbers({3, 4, 2});
        for (bool shapeless : {false, true}) {
          export_function(file.name, mapped, {a}, shapeless);
          ImportedFunction read = import_function(file.name);
          Arrays got = read({a}), want = mapped({a});
          REQUIRE(got.size() == want.size());
          for (size_t k = 0; k < got.size(); ++k) check_equal(got[k], want[k]);
          CHECK_THROWS_AS(read({numbers({5, 4, 2})}), ValueError);
        }
      }
    }
  });
  UnaryFunction loss = [](const array& x) { return sum(multiply(triple(x), turned(x))); };
  Function slopes = [&](const Arrays& in) {
    return Arrays{vmap(UnaryFunction(grad(loss)))(in[0])};
  };
  array a = numbers({3, 4});
  export_function(file.name, slopes, {a});
  check_equal(import_function(file.name)({a})[0], slopes({a})[0]);
  // A primitive is code of the program, mapped or not.
  Function primitive =
      vmap(Function([](const Arrays& in) { return Arrays{square_plus(in[0], in[0])}; }));
  CHECK_THROWS_AS(export_function(file.name, primitive, {a}), ValueError);
  check_equal(import_function(file.name)({a})[0], slopes({a})[0]);
}
