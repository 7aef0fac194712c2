// User-defined primitives on a device whose memory the host cannot read.
#include "mlx/primitives.h"
#include "support.h"

using namespace mlx::core;

namespace {

/// Twice the input on the CPU, three times on a GPU.
class Factor : public UnaryPrimitive {
 public:
  using UnaryPrimitive::UnaryPrimitive;
  void eval_cpu(const Arrays& in, array& out) override {
    for (size_t i = 0; i < out.size(); ++i) out.data<float>()[i] = 2 * in[0].data<float>()[i];
  }
  void eval_gpu(const Arrays& in, array& out) override {
    CHECK(in[0].flags().row_contiguous);
    for (size_t i = 0; i < out.size(); ++i)
      device_data<float>(out)[i] = 3 * device_data<float>(in[0])[i];
  }
  const char* name() const override { return "Factor"; }
};

/// One that knows the CPU alone.
class OnHost : public UnaryPrimitive {
 public:
  using UnaryPrimitive::UnaryPrimitive;
  void eval_cpu(const Arrays& in, array& out) override {
    for (size_t i = 0; i < out.size(); ++i) out.data<float>()[i] = in[0].data<float>()[i] + 1;
  }
  const char* name() const override { return "OnHost"; }
};

template <class P>
array apply(const array& x, Device d) {
  return array(x.shape(), float32, std::make_shared<P>(default_stream(d)), {x});
}

}  // namespace

TEST_CASE("a primitive runs on the device of its stream") {
  use_second_backend();
  array x = transpose(reshape(add(arange(6.0), array(1.0f), Device::gpu), {2, 3}));
  CHECK(values<float>(apply<Factor>(x, Device::gpu))[1] == 12.0f);
  CHECK(values<float>(apply<Factor>(x, Device::cpu))[1] == 8.0f);
  array both = apply<Factor>(apply<Factor>(x, Device::gpu), Device::cpu);
  CHECK(values<float>(both)[5] == 36.0f);
}

TEST_CASE("a primitive without a kernel for the GPU says so there") {
  use_second_backend();
  array x = add(arange(3.0), array(1.0f), Device::gpu);
  CHECK_THROWS_WITH_AS(eval({apply<OnHost>(x, Device::gpu)}), doctest::Contains("[OnHost]"),
                       ExecutionError);
  CHECK(values<float>(apply<OnHost>(x, Device::cpu))[2] == 4.0f);
}
