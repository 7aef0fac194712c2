// Functions in files, from C++.
#include <fstream>
#include <functional>
#include <sstream>

#include "mlx/export.h"
#include "mlx/transforms/graph.h"
#include "mlx/transforms/transforms.h"
#include "support.h"

using namespace mlx::core;

TEST_CASE("a function of positional arrays comes back") {
  TemporaryFile path;
  on_each_device([&](Device) {
    array w = reshape(arange(6.0), {3, 2});
    ArgsFunction f = [w](const Args& a) { return Args{tanh(matmul(a[0], w)), a[1]}; };
    Args args{ones({2, 3}), array(4)};
    export_function(path.name, f, args, false, "two");
    ImportedFunction g = import_function(path.name);
    CHECK(g.metadata() == "two");
    CHECK(array_equal(g(args)[0], f(args)[0]).item<bool>());
    CHECK(g({args[0], args[1]})[1].item<int>() == 4);
    CHECK_THROWS_AS(g({args[0]}), ValueError);
    auto loss = [](auto& fn) {
      return grad(ScalarFunction([&fn](const Arrays& a) { return sum(fn(a)[0]); }));
    };
    CHECK(array_equal(loss(g)(args)[0], loss(f)(args)[0]).item<bool>());
  });
}

TEST_CASE("keywords, several traces, shapeless") {
  TemporaryFile path;
  ArgsKwargsFunction f = [](const Args& a, const Kwargs& k) {
    return Args{k.contains("y") ? subtract(a[0], k.at("y")) : exp(a[0])};
  };
  {
    FunctionExporter e = exporter(path.name, f, true);
    e({ones({2})});
    e(Args{ones({2})}, Kwargs{{"y", ones({2})}});
    CHECK_THROWS_AS(e({ones({3})}), ExecutionError);
    e.close();
    CHECK_THROWS_AS(e({ones({2, 2})}), ExecutionError);
  }
  ImportedFunction g = import_function(path.name);
  for (int n : {1, 2, 7}) {
    CHECK(g({ones({n})})[0].shape() == Shape{n});
    CHECK(sum(g(Args{ones({n})}, Kwargs{{"y", ones({n})}})[0]).item<float>() == 0);
  }
  CHECK_THROWS_AS(g({ones({2, 2})}), ValueError);
  KwargsFunction k = [](const Kwargs& k) { return Args{subtract(k.at("b"), k.at("a"))}; };
  export_function(path.name, k, Kwargs{{"a", array(1)}, {"b", array(5)}});
  CHECK(import_function(path.name)(Kwargs{{"b", array(7)}, {"a", array(1)}})[0].item<int>() == 6);
}

TEST_CASE("an exporter that an exception ends writes nothing") {
  TemporaryFile path;
  const ArgsFunction f = [](const Args& a) { return Args{exp(a[0])}; };
  const auto export_and = [&](auto&& end) {
    FunctionExporter e = exporter(path.name, f);
    e({ones({2})});
    end();
  };
  CHECK_THROWS_AS(export_and([] { throw std::runtime_error("ends it"); }), std::runtime_error);
  CHECK_THROWS_AS(import_function(path.name), FileError);
  // A whole life while another scope unwinds is an ordinary one.
  struct Unwound {
    std::function<void()> run;
    ~Unwound() { run(); }
  };
  const auto unwind = [&] {
    const Unwound last{[&] { export_and([] {}); }};
    throw std::runtime_error("unwinds it");
  };
  CHECK_THROWS_AS(unwind(), std::runtime_error);
  CHECK(import_function(path.name)({ones({2})})[0].shape() == Shape{2});
}

TEST_CASE("files of another kind are refused") {
  TemporaryFile path;
  CHECK_THROWS_AS(import_function(path.name), FileError);
  std::ofstream(path.name) << "something else, and long enough to hold a header of 24 bytes";
  CHECK_THROWS_AS(import_function(path.name), FileError);
}

TEST_CASE("a callback gets the ops by name") {
  std::vector<std::string> ops;
  ExportCallback callback = [&](const std::unordered_map<std::string, ExportValue>& part) {
    if (std::get<std::string>(part.at("type")) == "primitive")
      ops.push_back(std::get<std::string>(part.at("name")));
  };
  ArgsFunction f = [](const Args& a) { return Args{exp(negative(a[0]))}; };
  export_function(callback, f, {ones({2})});
  CHECK(ops == std::vector<std::string>{"Negative", "Exp"});
}

TEST_CASE("graphs as text, and simplified") {
  array x = add(arange(4.0), array(1.0f));
  array y = add(multiply(sin(x), array(1.0f)), sin(x));
  auto boxes = [](const array& a) {
    std::ostringstream text;
    export_to_dot(text, {a}, {{a.id(), "result"}});
    CHECK(text.str().find("rank=sink; \"result\"") != std::string::npos);
    size_t n = 0;
    for (size_t at = 0; (at = text.str().find("rectangle", at)) != std::string::npos; ++at) ++n;
    return n;
  };
  array simple = simplify(Arrays{y})[0];
  CHECK(boxes(simple) + 2 == boxes(y));
  CHECK(array_equal(simple, y).item<bool>());
}
