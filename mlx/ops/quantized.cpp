// Checks, shapes and dtypes of quantized matrices.
#include "mlx/ops/quantized.h"

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/gather_mm.h"

namespace mlx::core {

namespace {

constexpr double kGlobalUnit = 448 * 6;  // largest e4m3 times largest e2m1

using Optional = std::optional<array>;

Packing packing_of(const char* op, std::optional<int> group, std::optional<int> bits,
                   const std::string& mode) {
  auto fixed = [&](QuantMode m, int g, int b) {
    if (group.value_or(g) != g || bits.value_or(b) != b)
      fail<ValueError>(op, "groups of ", group.value_or(g), " with ", bits.value_or(b), " bits; ",
                       mode, " has groups of ", g, " with ", b, " bits");
    return Packing{m, g, b};
  };
  if (mode == "mxfp4") return fixed(QuantMode::mxfp4, 32, 4);
  if (mode == "mxfp8") return fixed(QuantMode::mxfp8, 32, 8);
  if (mode == "nvfp4") return fixed(QuantMode::nvfp4, 16, 4);
  if (mode != "affine")
    fail<ValueError>(op, "the mode '", mode, "'; affine, mxfp4, mxfp8 and nvfp4 are accepted");
  int g = group.value_or(64), b = bits.value_or(4);
  if (g != 32 && g != 64 && g != 128)
    fail<ValueError>(op, "groups of ", g, "; 32, 64 and 128 are accepted");
  if (b < 1 || b > 8 || b == 7)
    fail<ValueError>(op, b, " bits; 1, 2, 3, 4, 5, 6 and 8 are accepted");
  return {QuantMode::affine, g, b};
}

Optional checked_global(const char* op, const Packing& p, const Optional& g, Stream s) {
  if (!g) return {};
  if (p.mode != QuantMode::nvfp4)
    fail<ValueError>(op, "a global scale; only the mode nvfp4 has one");
  if (g->size() != 1)
    fail<ValueError>(op, "a global scale of shape ", to_string(g->shape()),
                     "; one number is accepted");
  return reshape(astype(*g, float32, s), {}, s);
}

/// Unpacked length of the last axis of packed words.
int64_t unpacked(const array& w, const Packing& p) { return w.shape(-1) * 32 / p.bits; }

/// Checks that words, scales and biases match.
void check_packed(const char* op, const array& w, const array& scales, const Optional& biases,
                  const Packing& p) {
  if (w.dtype() != uint32)
    fail<ValueError>(op, "packed words of dtype ", dtype_name(w.dtype()), "; uint32 is accepted");
  if (w.ndim() < 2)
    fail<ValueError>(op, "packed words of shape ", to_string(w.shape()),
                     "; at least two axes are needed");
  if (p.affine() != biases.has_value())
    fail<ValueError>(op, p.affine() ? "no biases; the mode affine needs them"
                                    : "biases; only the mode affine has them");
  if (biases && biases->shape() != scales.shape())
    fail<ValueError>(op, "scales and biases of shapes ", to_string(scales.shape()), " and ",
                     to_string(biases->shape()), "; equal shapes are accepted");
  if (p.affine() && (!is_floating(scales.dtype()) || !is_floating(biases->dtype())))
    fail<ValueError>(op, "scales and biases of dtypes ", dtype_name(scales.dtype()), " and ",
                     dtype_name(biases->dtype()), "; floating dtypes are accepted");
  if (!p.affine() && scales.dtype() != uint8)
    fail<ValueError>(op, "scales of dtype ", dtype_name(scales.dtype()), "; uint8 is accepted");
  Shape expected = w.shape();
  expected.back() = unpacked(w, p) / p.group;
  if (scales.shape() != expected || w.shape(-1) * 32 % (p.bits * p.group) != 0)
    fail<ValueError>(op, "words of shape ", to_string(w.shape()), " and scales of shape ",
                     to_string(scales.shape()), " for groups of ", p.group, " with ", p.bits,
                     " bits; scales of shape ", to_string(expected), " are accepted");
}

/// Converts scales and biases to what kernels accept: one dtype, not 64-bit.
void prepare_scales(array& scales, Optional& biases, Stream s) {
  if (!biases) return;
  Dtype t = promote_types(scales.dtype(), biases->dtype());
  if (t == float64) t = float32;
  scales = astype(scales, t, s);
  biases = astype(*biases, t, s);
}

Dtype product_dtype(const char* op, const array& x, const array& scales, const Optional& biases) {
  Dtype t = x.dtype();
  if (biases) t = promote_types(promote_types(t, scales.dtype()), biases->dtype());
  if (!is_floating(t))
    fail<ValueError>(op, "x of dtype ", dtype_name(x.dtype()),
                     "; real floating dtypes are accepted");
  return t;
}

/// Checks that x can be multiplied with the packed w; returns the columns of the product.
int64_t check_product(const char* op, const array& x, const array& w, const Packing& p,
                      bool transpose) {
  int64_t inner = transpose ? unpacked(w, p) : w.shape(-2);
  if (x.ndim() == 0 || x.shape(-1) != inner)
    fail<ValueError>(op, "x of shape ", to_string(x.shape()), " with a packed matrix of ",
                     w.shape(-2), " rows of ", unpacked(w, p),
                     " and transpose=", transpose ? "true" : "false", "; a last axis of length ",
                     inner, " is accepted");
  return transpose ? w.shape(-2) : unpacked(w, p);
}

Arrays with_biases(Arrays inputs, const Optional& biases) {
  if (biases) inputs.push_back(*biases);
  return inputs;
}

Arrays quantize_node(const array& w, const Packing& p, const Optional& global, Stream s) {
  if (!is_floating(w.dtype()))
    fail<ValueError>("quantize", "dtype ", dtype_name(w.dtype()),
                     "; real floating dtypes are accepted");
  if (w.ndim() < 2)
    fail<ValueError>("quantize", "a matrix of shape ", to_string(w.shape()),
                     "; at least two axes are needed");
  if (w.shape(-1) % p.group != 0)
    fail<ValueError>("quantize", "a matrix of shape ", to_string(w.shape()),
                     "; a last axis that is a multiple of the group size ", p.group,
                     " is accepted");
  array x = w.dtype() == float64 ? astype(w, float32, s) : w;
  Shape words = w.shape(), scales = w.shape();
  words.back() = w.shape(-1) * p.bits / 32;
  scales.back() = w.shape(-1) / p.group;
  std::vector<std::pair<Shape, Dtype>> outputs{{words, uint32},
                                               {scales, p.affine() ? x.dtype() : uint8}};
  if (p.affine()) outputs.push_back({scales, x.dtype()});
  Arrays inputs{x};
  if (global) inputs.push_back(*global);
  return make_bundle(op_quantize, outputs, s, inputs, make_attrs(p));
}

array dequantize_node(const Arrays& in, const Packing& p, Dtype dtype, Stream s) {
  Optional biases;
  if (p.affine()) biases = in[2];
  check_packed("dequantize", in[0], in[1], biases, p);
  Shape shape = in[0].shape();
  shape.back() = unpacked(in[0], p);
  return make_node(op_dequantize, shape, dtype, s, in, make_attrs(DequantizeAttrs{p, dtype}));
}

array product_node(const Arrays& in, const QuantizedMatmulAttrs& attrs, Stream s) {
  const array &x = in[0], &w = in[1];
  Optional biases;
  if (attrs.packing.affine()) biases = in[3];
  check_packed("quantized_matmul", w, in[2], biases, attrs.packing);
  int64_t columns = check_product("quantized_matmul", x, w, attrs.packing, attrs.transpose);
  Shape shape = broadcast_shapes(Shape(x.shape().begin(), x.shape().end() - 2),
                                 Shape(w.shape().begin(), w.shape().end() - 2), "quantized_matmul");
  shape.push_back(x.shape(-2));
  shape.push_back(columns);
  return make_node(op_quantized_matmul, shape, x.dtype(), s, in, make_attrs(attrs));
}

array quantized_gather_node(const Arrays& in, const QuantizedMatmulAttrs& attrs, Stream s) {
  Optional biases;
  if (attrs.packing.affine()) biases = in[3];
  check_packed("gather_qmm", in[1], in[2], biases, attrs.packing);
  Shape shape = in[in.size() - 2].shape();
  shape.push_back(in[0].shape(-2));
  shape.push_back(check_product("gather_qmm", in[0], in[1], attrs.packing, attrs.transpose));
  return make_node(op_gather_qmm, shape, in[0].dtype(), s, in, make_attrs(attrs));
}

array round_node(const Arrays& in, const Packing& p, Stream s) {
  return make_node(op_quantize_round, in[0].shape(), in[0].dtype(), s, in, make_attrs(p));
}

Arrays build_quantize(const Arrays& in, const Attrs* a, Stream s) {
  return quantize_node(in[0], attrs_as<Packing>(a), in.size() > 1 ? Optional(in[1]) : Optional(),
                       s);
}
Arrays build_dequantize(const Arrays& in, const Attrs* a, Stream s) {
  const auto& attrs = attrs_as<DequantizeAttrs>(a);
  return {dequantize_node(in, attrs.packing, attrs.dtype, s)};
}
Arrays build_product(const Arrays& in, const Attrs* a, Stream s) {
  return {product_node(in, attrs_as<QuantizedMatmulAttrs>(a), s)};
}
Arrays build_quantized_gather(const Arrays& in, const Attrs* a, Stream s) {
  return {quantized_gather_node(in, attrs_as<QuantizedMatmulAttrs>(a), s)};
}
Arrays build_round(const Arrays& in, const Attrs* a, Stream s) {
  return {round_node(in, attrs_as<Packing>(a), s)};
}

/// x rounded to the representable values of a floating-point mode.
array rounded(const array& x, const Packing& p, const Optional& global, const char* op, Stream s) {
  if (!is_floating(x.dtype()))
    fail<ValueError>(op, "dtype ", dtype_name(x.dtype()), "; real floating dtypes are accepted");
  if (x.shape(-1) % p.group != 0)
    fail<ValueError>(op, "an operand of shape ", to_string(x.shape()),
                     "; a last axis that is a multiple of the group size ", p.group,
                     " is accepted");
  Arrays in{x.dtype() == float64 ? astype(x, float32, s) : x};
  if (global) in.push_back(*global);
  return astype(round_node(in, p, s), x.dtype(), s);
}

Packing floats_only(const char* op, std::optional<int> group, std::optional<int> bits,
                    const std::string& mode) {
  Packing p = packing_of(op, group, bits, mode);
  if (p.affine()) fail<ValueError>(op, "the mode affine; mxfp4, mxfp8 and nvfp4 are accepted");
  return p;
}

/// The factor that a global scale contributes to a product with a packed w.
array global_factor(const array& g, Dtype t, Stream s) {
  return astype(divide(astype(g, float32, s), constant(kGlobalUnit, float32), s), t, s);
}

}  // namespace

std::vector<array> quantize(const array& w, std::optional<int> group_size, std::optional<int> bits,
                            const std::string& mode, const std::optional<array>& global_scale,
                            StreamOrDevice stream) {
  Stream s = to_stream(stream);
  Packing p = packing_of("quantize", group_size, bits, mode);
  return quantize_node(w, p, checked_global("quantize", p, global_scale, s), s);
}

array dequantize(const array& w, const array& scales, const std::optional<array>& biases,
                 std::optional<int> group_size, std::optional<int> bits, const std::string& mode,
                 const std::optional<array>& global_scale, std::optional<Dtype> dtype,
                 StreamOrDevice stream) {
  Stream s = to_stream(stream);
  Packing p = packing_of("dequantize", group_size, bits, mode);
  check_packed("dequantize", w, scales, biases, p);
  Optional global = checked_global("dequantize", p, global_scale, s);
  Dtype t = dtype    ? *dtype
            : biases ? promote_types(scales.dtype(), biases->dtype())
            : global ? float32
                     : bfloat16;
  if (!is_floating(t))
    fail<ValueError>("dequantize", "the dtype ", dtype_name(t),
                     "; real floating dtypes are accepted");
  array unit = scales;
  Optional zero = biases;
  prepare_scales(unit, zero, s);
  Arrays in = with_biases({w, unit}, zero);
  if (global) in.push_back(*global);
  Dtype stored = t == float64 ? float32 : t;
  return astype(dequantize_node(in, p, stored, s), t, s);
}

array quantized_matmul(const array& x, const array& w, const array& scales,
                       const std::optional<array>& biases, bool transpose,
                       std::optional<int> group_size, std::optional<int> bits,
                       const std::string& mode, StreamOrDevice stream) {
  constexpr const char* op = "quantized_matmul";
  Stream s = to_stream(stream);
  Packing p = packing_of(op, group_size, bits, mode);
  check_packed(op, w, scales, biases, p);
  check_product(op, x, w, p, transpose);
  Dtype t = product_dtype(op, x, scales, biases);
  if (t == float64) {
    array full = dequantize(w, scales, biases, group_size, bits, mode, {}, t, s);
    return matmul(astype(x, t, s), transpose ? swapaxes(full, -1, -2, s) : full, s);
  }
  array unit = scales, rows = astype(x, t, s);
  Optional zero = biases;
  prepare_scales(unit, zero, s);
  bool vector = x.ndim() == 1;
  if (vector) rows = expand_dims(rows, 0, s);
  array out = product_node(with_biases({rows, w, unit}, zero), {p, transpose}, s);
  return vector ? squeeze(out, -2, s) : out;
}

array gather_qmm(const array& x, const array& w, const array& scales,
                 const std::optional<array>& biases, std::optional<array> lhs_indices,
                 std::optional<array> rhs_indices, bool transpose, std::optional<int> group_size,
                 std::optional<int> bits, const std::string& mode,
                 const std::optional<array>& global_scale, bool, StreamOrDevice stream) {
  constexpr const char* op = "gather_qmm";
  Stream s = to_stream(stream);
  Packing p = packing_of(op, group_size, bits, mode);
  check_packed(op, w, scales, biases, p);
  if (x.ndim() < 2)
    fail<ValueError>(op, "x of shape ", to_string(x.shape()), "; at least two axes are needed");
  check_product(op, x, w, p, transpose);
  Dtype t = product_dtype(op, x, scales, biases);
  array lhs = lhs_indices ? *lhs_indices : own_positions(x, s);
  array rhs = rhs_indices ? *rhs_indices : own_positions(w, s);
  Shape shape = broadcast_indices({lhs, rhs}, op);
  lhs = broadcast_to(lhs, shape, s);
  rhs = broadcast_to(rhs, shape, s);
  array unit = scales;
  Optional zero = biases;
  prepare_scales(unit, zero, s);
  Dtype work = t == float64 ? float32 : t;
  Arrays in{as_stack(astype(x, work, s), s), as_stack(w, s), as_stack(unit, s)};
  if (zero) in.push_back(as_stack(*zero, s));
  in.push_back(lhs);
  in.push_back(rhs);
  array out = astype(quantized_gather_node(in, {p, transpose}, s), t, s);
  if (!global_scale) return out;
  Shape experts(w.shape().begin(), w.shape().end() - 2);
  if (p.mode != QuantMode::nvfp4 || global_scale->shape() != experts)
    fail<ValueError>(op, "a global scale of shape ", to_string(global_scale->shape()),
                     " with the mode ", mode, "; shape ", to_string(experts),
                     " with the mode nvfp4 is accepted");
  array factor = take(flatten(global_factor(*global_scale, t, s), s), rhs, s);
  int rank = static_cast<int>(factor.ndim());
  return multiply(out, expand_dims(factor, std::vector<int>{rank, rank + 1}, s), s);
}

array qqmm(const array& x, const array& w, const std::optional<array>& w_scales,
           std::optional<int> group_size, std::optional<int> bits, const std::string& mode,
           const std::optional<array>& global_scale_x, const std::optional<array>& global_scale_w,
           StreamOrDevice stream) {
  constexpr const char* op = "qqmm";
  Stream s = to_stream(stream);
  Packing p = floats_only(op, group_size, bits, mode);
  if (x.ndim() == 0 || w.ndim() < 2)
    fail<ValueError>(op, "operands of shapes ", to_string(x.shape()), " and ", to_string(w.shape()),
                     "; at least one and two axes are needed");
  Optional gx = checked_global(op, p, global_scale_x, s);
  Optional gw = checked_global(op, p, global_scale_w, s);
  array left = rounded(x, p, gx, op, s);
  if (!w_scales) {
    if (w.dtype() == uint32)
      fail<ValueError>(op, "a packed matrix without scales; give the scales, or w in floats");
    return matmul(left, swapaxes(rounded(w, p, gw, op, s), -1, -2, s), s);
  }
  array out = quantized_matmul(left, w, *w_scales, {}, true, group_size, bits, mode, s);
  return gw ? multiply(out, global_factor(*gw, out.dtype(), s), s) : out;
}

array gather_qqmm(const array& x, const array& w, const std::optional<array>& scales_w,
                  const std::optional<array>& lhs_indices, const std::optional<array>& rhs_indices,
                  std::optional<int> group_size, std::optional<int> bits, const std::string& mode,
                  const std::optional<array>& global_scale_x,
                  const std::optional<array>& global_scale_w, bool sorted_indices,
                  StreamOrDevice stream) {
  constexpr const char* op = "gather_qqmm";
  Stream s = to_stream(stream);
  Packing p = floats_only(op, group_size, bits, mode);
  if (x.ndim() < 2 || w.ndim() < 2)
    fail<ValueError>(op, "operands of shapes ", to_string(x.shape()), " and ", to_string(w.shape()),
                     "; at least two axes are needed");
  array left = rounded(x, p, checked_global(op, p, global_scale_x, s), op, s);
  array words = w, scales;
  Optional gw = global_scale_w;
  if (scales_w) {
    scales = *scales_w;
  } else {
    Arrays packed = quantize_node(w, p, checked_global(op, p, gw, s), s);
    words = packed[0];
    scales = packed[1];
  }
  if (gw && gw->size() == 1) {
    array out = gather_qmm(left, words, scales, {}, lhs_indices, rhs_indices, true, group_size,
                           bits, mode, {}, sorted_indices, s);
    return multiply(out, global_factor(reshape(*gw, {}, s), out.dtype(), s), s);
  }
  return gather_qmm(left, words, scales, {}, lhs_indices, rhs_indices, true, group_size, bits, mode,
                    gw, sorted_indices, s);
}

constinit const OpDef op_quantize{.name = "quantize",
                                  .kind = OpKind::bundle,
                                  .build = build_quantize,
                                  .vjp = rules::quantize_vjp,
                                  .jvp = rules::quantize_jvp,
                                  .vmap = rules::quantize_vmap};
constinit const OpDef op_dequantize{.name = "dequantize",
                                    .kind = OpKind::kernel,
                                    .build = build_dequantize,
                                    .vjp = rules::dequantize_vjp,
                                    .jvp = rules::dequantize_jvp,
                                    .vmap = rules::dequantize_vmap};
constinit const OpDef op_quantized_matmul{.name = "quantized_matmul",
                                          .kind = OpKind::kernel,
                                          .build = build_product,
                                          .vjp = rules::quantized_matmul_vjp,
                                          .jvp = rules::quantized_matmul_jvp,
                                          .vmap = rules::quantized_matmul_vmap};
constinit const OpDef op_gather_qmm{.name = "gather_qmm",
                                    .kind = OpKind::kernel,
                                    .build = build_quantized_gather,
                                    .vjp = rules::gather_qmm_vjp,
                                    .jvp = rules::gather_qmm_jvp,
                                    .vmap = rules::gather_qmm_vmap};
constinit const OpDef op_quantize_round{.name = "quantize_round",
                                        .kind = OpKind::kernel,
                                        .build = build_round,
                                        .vjp = rules::identity_vjp,
                                        .jvp = rules::quantize_round_jvp,
                                        .vmap = rules::quantize_round_vmap};

}  // namespace mlx::core
