// Derivatives at a point: the graph of a derivative with open tangents or cotangents.
#include "mlx/transforms/linearize.h"

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/transforms/closed.h"

namespace mlx::core {

namespace {

/// `product` of open arrays like `like`, as a function of such arrays.
Function opened(const char* op, const char* what, const Function& product, const Arrays& like) {
  Graph open;
  {
    TraceScope scope;
    open.inputs = placeholders_like(like);
    open.outputs = product(open.inputs);
  }
  const Graph graph = simplify(open);
  return [graph, op, what, like](const Arrays& given) {
    if (given.size() != like.size())
      fail<ValueError>(op, given.size(), " ", what, "s; ", like.size(), " are accepted");
    Arrays typed;
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].shape() != like[i].shape())
        fail<ValueError>(op, what, " ", i, " has shape ", to_string(given[i].shape()), "; ",
                         to_string(like[i].shape()), " is accepted");
      typed.push_back(astype(given[i], like[i].dtype()));
    }
    return instantiate(graph, typed);
  };
}

}  // namespace

Linearized linearize(const Function& fun, const Arrays& primals) {
  Linearized out;
  out.map = opened(
      "linearize", "tangent",
      [&](const Arrays& tangents) {
        auto [outputs, pushed] = jvp(fun, primals, tangents);
        out.outputs = std::move(outputs);
        return pushed;
      },
      primals);
  return out;
}

Linearized vjp_function(const Function& fun, const Arrays& primals) {
  const Arrays like = fun(primals);
  Linearized out;
  out.map = opened(
      "vjp_fn", "cotangent",
      [&](const Arrays& cotangents) {
        auto [outputs, pulled] = vjp(fun, primals, cotangents);
        out.outputs = std::move(outputs);
        return pulled;
      },
      like);
  return out;
}

Arrays eval_shape(const Function& fun, const Arrays& inputs) {
  return trace(fun, inputs, "eval_shape").outputs;
}

}  // namespace mlx::core
