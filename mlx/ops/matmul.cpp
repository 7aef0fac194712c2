// Checks and shape inference of matrix products, and compositions of matmul.
#include "mlx/ops/matmul.h"

#include <algorithm>
#include <numeric>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/materialized.h"
#include "mlx/ops/precision.h"

namespace mlx::core {
namespace {

/// Operands of a product as matrices of one dtype.
struct Factors {
  array a, b;
  bool row = false, column = false;  // a or b was a vector
  Shape shape;                       // shape of the matrix product

  /// Drops the axes that were added for vectors.
  array restore(array product, Stream s) const {
    std::vector<int> dropped;
    if (row) dropped.push_back(-2);
    if (column) dropped.push_back(-1);
    return dropped.empty() ? product : squeeze(product, dropped, s);
  }
};

Factors operands(const array& a, const array& b, Dtype type, const char* op, Stream s) {
  if (a.ndim() == 0 || b.ndim() == 0)
    fail(op, "operands of shapes ", to_string(a.shape()), " and ", to_string(b.shape()),
         "; at least one dimension is needed");
  Factors x{cast_to(a, type, s), cast_to(b, type, s), a.ndim() == 1, b.ndim() == 1, {}};
  if (x.row) x.a = expand_dims(x.a, 0, s);
  if (x.column) x.b = expand_dims(x.b, 1, s);
  if (x.a.shape(-1) != x.b.shape(-2))
    fail(op, "operands of shapes ", to_string(a.shape()), " and ", to_string(b.shape()),
         "; the last axis of the first and the last but one of the second must agree");
  x.shape = broadcast_shapes(Shape(x.a.shape().begin(), x.a.shape().end() - 2),
                             Shape(x.b.shape().begin(), x.b.shape().end() - 2), op);
  x.shape.push_back(x.a.shape(-2));
  x.shape.push_back(x.b.shape(-1));
  return x;
}

int64_t product_of(const Shape& shape, const std::vector<int>& axes) {
  int64_t n = 1;
  for (int axis : axes) n *= shape[axis];
  return n;
}

}  // namespace

array matmul(const array& a, const array& b, StreamOrDevice s) {
  Stream stream = to_stream(s);
  Dtype type = promote_types(a.dtype(), b.dtype());
  Factors x = operands(a, b, type, "matmul", stream);
  Ref<const Attrs> attrs;
  if (const Precision p = precision_for(type); p != Precision::highest)
    attrs = make_attrs(MatmulAttrs{p});
  return x.restore(make_node(op_matmul, x.shape, type, stream, attrs, x.a, x.b), stream);
}

array addmm(array c, array a, array b, double alpha, double beta, StreamOrDevice s) {
  Stream stream = to_stream(s);
  Dtype type = promote_types(c.dtype(), promote_types(a.dtype(), b.dtype()));
  if (!is_inexact(type))
    fail("addmm", "operands of ", dtype_name(c.dtype()), ", ", dtype_name(a.dtype()), " and ",
         dtype_name(b.dtype()), "; floating and complex dtypes are accepted");
  Factors x = operands(a, b, type, "addmm", stream);
  // The addend broadcasts to the result without the axes added for vectors.
  Shape seen(x.shape.begin(), x.shape.end() - 2);
  if (!x.row) seen.push_back(x.shape[x.shape.size() - 2]);
  if (!x.column) seen.push_back(x.shape.back());
  if (c.ndim() > seen.size() || broadcast_shapes(c.shape(), seen, "addmm") != seen)
    fail("addmm", "an addend of shape ", to_string(c.shape()), " for a product of shape ",
         to_string(seen), "; it must broadcast to it");
  array addend = cast_to(c, type, stream);
  if (x.column) addend = expand_dims(addend, -1, stream);
  if (x.row && addend.ndim() > 1) addend = expand_dims(addend, -2, stream);
  if (precision_for(type) != Precision::highest) {
    // op_addmm has no precision.
    auto scaled = [&](const array& v, double factor) {
      return factor == 1 ? v : multiply(v, constant(factor, type), stream);
    };
    const array product = scaled(matmul(x.a, x.b, stream), alpha);
    return x.restore(beta == 0 ? product : add(product, scaled(addend, beta), stream), stream);
  }
  return x.restore(make_node(op_addmm, x.shape, type, stream, make_attrs(AddmmAttrs{alpha, beta}),
                             addend, x.a, x.b),
                   stream);
}

array inner(const array& a, const array& b, StreamOrDevice s) {
  if (a.ndim() == 0 || b.ndim() == 0) return multiply(a, b, s);
  if (a.shape(-1) != b.shape(-1))
    fail("inner", "operands of shapes ", to_string(a.shape()), " and ", to_string(b.shape()),
         "; the last axes must agree");
  return tensordot(a, b, {-1}, {-1}, s);
}

array outer(const array& a, const array& b, StreamOrDevice s) {
  return multiply(reshape(a, {static_cast<int64_t>(a.size()), 1}, s), flatten(b, s), s);
}

array tensordot(const array& a, const array& b, const int axis, StreamOrDevice s) {
  int rank = static_cast<int>(std::min(a.ndim(), b.ndim()));
  if (axis < 0 || axis > rank)
    fail("tensordot", axis, " axes of operands of shapes ", to_string(a.shape()), " and ",
         to_string(b.shape()), "; 0 to ", rank, " are accepted");
  std::vector<int> axes_a(axis), axes_b(axis);
  std::iota(axes_a.begin(), axes_a.end(), static_cast<int>(a.ndim()) - axis);
  std::iota(axes_b.begin(), axes_b.end(), 0);
  return tensordot(a, b, axes_a, axes_b, s);
}

array tensordot(const array& a, const array& b, const std::vector<int>& axes_a,
                const std::vector<int>& axes_b, StreamOrDevice s) {
  Stream stream = to_stream(s);
  if (axes_a.size() != axes_b.size())
    fail("tensordot", axes_a.size(), " and ", axes_b.size(), " axes; the counts must agree");
  normalize_axes(axes_a, a.ndim(), "tensordot");
  normalize_axes(axes_b, b.ndim(), "tensordot");
  std::vector<int> summed_a, summed_b;
  for (size_t i = 0; i < axes_a.size(); ++i) {
    summed_a.push_back(normalize_axis(axes_a[i], a.ndim(), "tensordot"));
    summed_b.push_back(normalize_axis(axes_b[i], b.ndim(), "tensordot"));
    if (a.shape()[summed_a[i]] != b.shape()[summed_b[i]])
      fail("tensordot", "operands of shapes ", to_string(a.shape()), " and ", to_string(b.shape()),
           " over axes of lengths ", a.shape()[summed_a[i]], " and ", b.shape()[summed_b[i]],
           "; they must agree");
  }
  auto others = [](const array& x, const std::vector<int>& summed) {
    std::vector<int> out;
    for (int i = 0; i < static_cast<int>(x.ndim()); ++i)
      if (std::find(summed.begin(), summed.end(), i) == summed.end()) out.push_back(i);
    return out;
  };
  std::vector<int> order_a = others(a, summed_a), order_b = summed_b, kept_b = others(b, summed_b);
  Shape shape;
  for (int axis : order_a) shape.push_back(a.shape()[axis]);
  for (int axis : kept_b) shape.push_back(b.shape()[axis]);
  int64_t m = product_of(a.shape(), order_a), n = product_of(b.shape(), kept_b);
  int64_t k = product_of(a.shape(), summed_a);
  order_a.insert(order_a.end(), summed_a.begin(), summed_a.end());
  order_b.insert(order_b.end(), kept_b.begin(), kept_b.end());
  array left = reshape(transpose(materialized(a, stream), order_a, stream), {m, k}, stream);
  array right = reshape(transpose(materialized(b, stream), order_b, stream), {k, n}, stream);
  return reshape(matmul(left, right, stream), shape, stream);
}

array vecdot(const array& a, const array& b, int axis, StreamOrDevice s) {
  Stream stream = to_stream(s);
  int axis_a = normalize_axis(axis, a.ndim(), "vecdot");
  int axis_b = normalize_axis(axis, b.ndim(), "vecdot");
  if (a.shape(axis_a) != b.shape(axis_b))
    fail("vecdot", "operands of shapes ", to_string(a.shape()), " and ", to_string(b.shape()),
         " over axis ", axis, "; its lengths must agree");
  array left = is_complex(a.dtype()) ? conjugate(a, stream) : a;
  array product =
      multiply(moveaxis(left, axis_a, -1, stream), moveaxis(b, axis_b, -1, stream), stream);
  return sum(product, -1, false, stream);
}

array block_masked_mm(array a, array b, int block_size, std::optional<array> mask_out,
                      std::optional<array> mask_lhs, std::optional<array> mask_rhs,
                      StreamOrDevice s) {
  if (block_size != 32 && block_size != 64)
    fail("block_masked_mm", "block size ", block_size, "; 32 and 64 are accepted");
  Stream stream = to_stream(s);
  auto masked = [&](const array& x, const std::optional<array>& mask, const char* which) {
    if (!mask) return x;
    int64_t rows = x.shape(-2), columns = x.shape(-1);
    int64_t down = (rows + block_size - 1) / block_size;
    int64_t across = (columns + block_size - 1) / block_size;
    if (mask->ndim() < 2 || mask->shape(-2) != down || mask->shape(-1) != across)
      fail("block_masked_mm", "a mask of shape ", to_string(mask->shape()), " for the ", which,
           " of shape ", to_string(x.shape()), "; its last axes must be ", down, " and ", across);
    array wide = repeat(repeat(*mask, block_size, -2, stream), block_size, -1, stream);
    Shape start(wide.ndim(), 0), stop = wide.shape();
    stop[wide.ndim() - 2] = rows;
    stop[wide.ndim() - 1] = columns;
    wide = slice(wide, start, stop, stream);
    if (mask->dtype() == bool_) return where(wide, x, constant(0.0, x.dtype()), stream);
    return multiply(x, cast_to(wide, x.dtype(), stream), stream);
  };
  array product =
      matmul(masked(a, mask_lhs, "left operand"), masked(b, mask_rhs, "right operand"), stream);
  return masked(product, mask_out, "result");
}

namespace {

Arrays build_matmul(const Arrays& in, const Attrs* attrs, Stream s) {
  PrecisionScope scope(precision_of(attrs));
  return {matmul(in[0], in[1], s)};
}
Arrays build_addmm(const Arrays& in, const Attrs* attrs, Stream s) {
  const auto& r = attrs_as<AddmmAttrs>(attrs);
  PrecisionScope scope(Precision::highest);
  return {addmm(in[0], in[1], in[2], r.alpha, r.beta, s)};
}

}  // namespace

constinit const OpDef op_matmul{.name = "matmul",
                                .kind = OpKind::kernel,
                                .linearity = Linearity::multilinear,
                                .shapeless = true,
                                .build = build_matmul,
                                .vjp = rules::matmul_vjp,
                                .vmap = rules::matmul_vmap};
constinit const OpDef op_addmm{.name = "addmm",
                               .kind = OpKind::kernel,
                               .shapeless = true,
                               .build = build_addmm,
                               .vjp = rules::addmm_vjp,
                               .jvp = rules::addmm_jvp,
                               .vmap = rules::addmm_vmap};

}  // namespace mlx::core
