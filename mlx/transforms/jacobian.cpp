// Jacobians: products with all unit vectors at a time.
#include "mlx/transforms/jacobian.h"

#include "mlx/core/error.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

void require_floating(const char* op, const char* what, const array& a) {
  if (!is_floating(a.dtype()))
    fail(op, what, " of dtype ", dtype_name(a.dtype()), "; real floating dtypes are accepted");
}

/// Unit vectors in the shape of `a`, along a first axis.
array units_of(const array& a) {
  const auto n = static_cast<int64_t>(a.size());
  Shape shape = a.shape();
  shape.insert(shape.begin(), n);
  return reshape(eye(n, n, 0, a.dtype()), shape);
}

Shape joined(const array& a, const array& b) {
  Shape shape = a.shape();
  shape.insert(shape.end(), b.shape().begin(), b.shape().end());
  return shape;
}

Arrays zeros_of(const Arrays& arrays) {
  Arrays out;
  for (const array& a : arrays) out.push_back(zeros_like(a));
  return out;
}

/// The results of `product` for each unit vector in the place of `arrays[at]`, beside zeros.
Arrays mapped(const Function& product, const Arrays& arrays, size_t at, int axis) {
  const Function one = [&](const Arrays& unit) {
    Arrays all = zeros_of(arrays);
    all[at] = unit[0];
    return product(all);
  };
  return vmap_call(one, {units_of(arrays[at])}, {0},
                   [axis](size_t n) { return MappedAxes(n, axis); });
}

}  // namespace

Jacobians jacfwd(const Function& fun, const Arrays& primals) {
  for (const array& a : primals) require_floating("jacfwd", "an argument", a);
  Jacobians out{fun(primals), {}};
  out.matrices.resize(out.outputs.size());
  const Function product = [&](const Arrays& tangents) {
    return jvp(fun, primals, tangents).second;
  };
  for (size_t i = 0; i < primals.size(); ++i) {
    const bool empty = primals[i].size() == 0;
    const Arrays columns = empty ? Arrays() : mapped(product, primals, i, -1);
    for (size_t k = 0; k < out.outputs.size(); ++k) {
      const array& y = out.outputs[k];
      const Shape shape = joined(y, primals[i]);
      out.matrices[k].push_back(empty ? zeros(shape, y.dtype()) : reshape(columns[k], shape));
    }
  }
  return out;
}

Jacobians jacrev(const Function& fun, const Arrays& primals) {
  for (const array& a : primals) require_floating("jacrev", "an argument", a);
  Jacobians out{fun(primals), {}};
  for (const array& y : out.outputs) require_floating("jacrev", "a result", y);
  const Function product = [&](const Arrays& cotangents) {
    return vjp(fun, primals, cotangents).second;
  };
  for (size_t k = 0; k < out.outputs.size(); ++k) {
    const array& y = out.outputs[k];
    const bool empty = y.size() == 0;
    const Arrays rows = empty ? Arrays() : mapped(product, out.outputs, k, 0);
    Arrays& matrices = out.matrices.emplace_back();
    for (size_t i = 0; i < primals.size(); ++i) {
      const Shape shape = joined(y, primals[i]);
      matrices.push_back(empty ? zeros(shape, primals[i].dtype()) : reshape(rows[i], shape));
    }
  }
  return out;
}

}  // namespace mlx::core
