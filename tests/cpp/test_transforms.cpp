// Derivatives from C++, on both backends.
#include "support.h"

using namespace mlx::core;

TEST_CASE("grad of grad") {
  on_each_device([](Device) {
    UnaryFunction f = [](const array& x) { return multiply(x, multiply(x, x)); };
    auto second = grad(UnaryFunction(grad(f)));
    CHECK(second(array(2.0f)).item<float>() == doctest::Approx(12.0f));
  });
}

TEST_CASE("vjp and jvp agree") {
  on_each_device([](Device) {
    Function f = [](const Arrays& a) { return Arrays{matmul(tanh(a[0]), a[1])}; };
    Arrays in{reshape(arange(6.0), {2, 3}), reshape(arange(6.0), {3, 2})};
    Arrays tangents{ones({2, 3}), ones({3, 2})};
    array ct = ones({2, 2});
    float forward = sum(jvp(f, in, tangents).second[0]).item<float>();
    Arrays grads = vjp(f, in, {ct}).second;
    CHECK(sum(add(sum(grads[0]), sum(grads[1]))).item<float>() == doctest::Approx(forward));
  });
}

TEST_CASE("a loss that is no scalar is refused") {
  auto f = grad(ScalarFunction([](const Arrays& a) { return a[0]; }));
  CHECK_THROWS_AS(f({ones({3})}), ValueError);
}

TEST_CASE("evaluation inside a gradient keeps the tape") {
  auto f = grad(ScalarFunction([](const Arrays& a) {
    array y = multiply(a[0], a[0]);
    eval(y);
    return multiply(y, a[0]);
  }));
  CHECK(f({array(3.0f)})[0].item<float>() == doctest::Approx(27.0f));
}
