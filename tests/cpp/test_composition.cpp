// Nested transformations, at least three deep, in C++ and on both backends. Each row states what a
// nest of transformations must equal, computed without them.
#include <unistd.h>

#include <filesystem>

#include "mlx/core/trace.h"
#include "support.h"

using namespace mlx::core;

namespace {

// The function under transformation: elementwise, so that the derivative of the sum of its results
// is that of each element.
array cubic(const array& x) { return multiply(x, multiply(x, x)); }

UnaryFunction unary(const Function& f) {
  return [f](const array& x) { return f({x})[0]; };
}
Function general(const UnaryFunction& f) {
  return [f](const Arrays& a) { return Arrays{f(a[0])}; };
}

// The types of the table.
UnaryFunction slope(const UnaryFunction& f) {
  return grad(UnaryFunction([f](const array& x) { return sum(f(x)); }));
}
UnaryFunction pulled(const UnaryFunction& f) {
  return [f](const array& x) { return vjp(f, x, ones_like(x)).second; };
}
UnaryFunction pushed(const UnaryFunction& f) {
  return [f](const array& x) { return jvp(f, x, ones_like(x)).second; };
}
UnaryFunction rows(const UnaryFunction& f) { return vmap(f, 0, 0); }
UnaryFunction columns(const UnaryFunction& f) {
  return [f](const array& x) {
    int last = static_cast<int>(x.ndim()) - 1;
    return vmap(f, last, last)(x);
  };
}
UnaryFunction compiled(const UnaryFunction& f) { return unary(compile(general(f))); }
UnaryFunction shapeless(const UnaryFunction& f) { return unary(compile(general(f), true)); }
UnaryFunction remembered(const UnaryFunction& f) { return unary(checkpoint(general(f))); }
UnaryFunction ruled(const UnaryFunction& f) {
  return unary(custom_vjp(general(f), [f](const Arrays& in, const Arrays& ct, const Arrays&) {
    return vjp(general(f), in, ct).second;
  }));
}
UnaryFunction plain_custom(const UnaryFunction& f) { return unary(custom_function(general(f))); }
UnaryFunction from_file(const UnaryFunction& f) {
  return [f](const array& x) {
    auto path = std::filesystem::temp_directory_path() /
                ("composition_" + std::to_string(getpid()) + ".mlxfn");
    array like = zeros(x.shape(), x.dtype());
    export_function(path, general(f), Args{like});
    auto g = import_function(path);
    std::filesystem::remove(path);
    return g({x})[0];
  };
}

struct Layer {
  const char* name;
  UnaryFunction (*lift)(const UnaryFunction&);
  int derivatives = 0;
  int axes = 0;            ///< how many axes it takes away
  bool has_rules = false;  ///< which files do not hold
};
const Layer layers[] = {
    {"grad", slope, 1},
    {"vjp", pulled, 1},
    {"jvp", pushed, 1},
    {"vmap", rows, 0, 1},
    {"vmap of columns", columns, 0, 1},
    {"compile", compiled},
    {"compile shapeless", shapeless},
    {"checkpoint", remembered, 0, 0, true},
    {"custom_vjp", ruled, 0, 0, true},
    {"custom_function", plain_custom, 0, 0, true},
    {"export and import", from_file},
};

/// The k-th derivative of x³, by hand.
array derivative(int k, const array& x) {
  auto times = [&](float c, const array& a) { return multiply(array(c), a); };
  return k == 0   ? cubic(x)
         : k == 1 ? times(3, multiply(x, x))
         : k == 2 ? times(6, x)
         : k == 3 ? full(x.shape(), 6.0f)
                  : zeros(x.shape());
}

void check_tower(const std::vector<const Layer*>& tower) {
  std::string name;
  UnaryFunction f = cubic;
  int derivatives = 0, axes = 0;
  bool has_rules = false;
  for (const Layer* l : tower) {
    if (l->lift == from_file && has_rules) return;
    has_rules |= l->has_rules;
    name += std::string(l->name) + " of ";
    f = l->lift(f);
    derivatives += l->derivatives, axes += l->axes;
  }
  INFO("from the inside: ", name);
  if (axes > 2) return;
  array x = divide(reshape(arange(6.0), {2, 3}), array(4.0f));
  array want = derivative(derivatives, x);
  for (int call = 0; call < 2; ++call) {
    array got = f(x);
    REQUIRE(got.shape() == x.shape());
    CHECK(allclose(got, want, 1e-5, 1e-5).item<bool>());
  }
}

}  // namespace

TEST_CASE("pairs and triples of transformations") {
  on_each_device([](Device d) {
    size_t met = 0;
    for (const Layer& a : layers)
      for (const Layer& b : layers) {
        check_tower({&a, &b});
        for (const Layer& c : layers)
          // All triples on the CPU, a part of them on the slow second backend.
          if (d == Device::cpu || met++ % 7 == 0) check_tower({&a, &b, &c});
      }
  });
}

TEST_CASE("deep towers") {
  on_each_device([](Device) {
    unsigned state = 1;
    for (int n = 0; n < 150; ++n) {
      std::vector<const Layer*> tower;
      for (int depth = 4 + n % 4; depth > 0; --depth) {
        state = state * 1664525u + 1013904223u;
        tower.push_back(&layers[(state >> 16) % std::size(layers)]);
      }
      check_tower(tower);
    }
  });
}

TEST_CASE("several arguments: a compiled step of mapped gradients") {
  on_each_device([](Device) {
    ScalarFunction loss = [](const Arrays& a) {
      return sum(square(subtract(tanh(matmul(a[1], a[0])), a[2])));
    };
    array w = divide(reshape(arange(6.0), {3, 2}), array(6.0f));
    array xs = sin(reshape(arange(12.0), {4, 3})), ys = cos(reshape(arange(8.0), {4, 2}));
    Function each = vmap(grad(loss, 0), {-1, 0, 0}, {0});
    Function step =
        compile([&](const Arrays& a) { return Arrays{subtract(a[0], mean(each(a)[0], 0))}; });
    array sum_of_all = grad(loss, 0)({w, xs, ys})[0];
    array want = subtract(w, divide(sum_of_all, array(4.0f)));
    CHECK(allclose(step({w, xs, ys})[0], want, 1e-5, 1e-6).item<bool>());
    CHECK(allclose(step({w, xs, ys})[0], want, 1e-5, 1e-6).item<bool>());
    // The Hessian: rows by reverse over forward, and the other way round.
    UnaryFunction f = [&](const array& v) { return loss({reshape(v, {3, 2}), xs, ys}); };
    array v = flatten(w), e = eye(6);
    UnaryFunction g = grad(f);
    UnaryFunction forward = [&](const array& t) { return jvp(g, v, t).second; };
    UnaryFunction reverse = [&](const array& t) { return vjp(g, v, t).second; };
    array one = vmap(forward)(e), other = compiled(vmap(reverse))(e);
    CHECK(allclose(one, other, 1e-4, 1e-5).item<bool>());
    CHECK(allclose(one, transpose(one), 1e-4, 1e-5).item<bool>());
    CHECK(max(abs(one)).item<float>() > 0.01f);
  });
}

TEST_CASE("errors in a transformed function leave nothing behind") {
  on_each_device([](Device) {
    int calls = 0;
    Function f = compile(Function([&](const Arrays& a) {
      if (++calls == 1) throw std::runtime_error("not yet");
      return Arrays{exp(a[0])};
    }));
    Function g = grad(ScalarFunction([&](const Arrays& a) { return sum(f(a)[0]); }));
    Function h = vmap(g);
    array x = ones({2, 2});
    CHECK_THROWS_AS(h({x}), std::runtime_error);
    CHECK(current_trace() == 0);
    CHECK(allclose(h({x})[0], exp(x)).item<bool>());
    CHECK_THROWS_AS(vmap(UnaryFunction([](const array& a) {
                      eval(a);
                      return a;
                    }))(x),
                    ValueError);
    CHECK(current_trace() == 0);
  });
}
