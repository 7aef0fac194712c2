// Checks and shape inference of convolutions.
#include "mlx/ops/conv.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {
namespace {

Shape spread(const std::vector<int>& values, size_t n, int otherwise, int minimum,
             const char* what) {
  if (values.size() > 1 && values.size() != n)
    fail("conv", values.size(), " values of ", what, " for ", n,
         " spatial axes; one or one for each axis is accepted");
  Shape out(n, values.empty() ? otherwise : values[0]);
  if (values.size() == n) out = Shape(values.begin(), values.end());
  for (int64_t v : out)
    if (v < minimum)
      fail("conv", what, " ", to_string(out), "; at least ", minimum, " is accepted");
  return out;
}

/// The hint for shapes that would fit if the channels came after the batch, as in PyTorch.
const char* hint_of_layout(const array& x, const array& w, int64_t groups) {
  if (groups < 1 || w.shape(0) % groups != 0) return "";
  if (x.shape(1) == w.shape(1) * groups)
    return "; channels are the last axis: move axis 1 of both to the end";
  if (x.shape(1) == w.shape(-1) * groups)
    return "; channels are the last axis: move axis 1 of the input to the end";
  return "";
}

void check_operands(const array& x, const array& w, int64_t groups) {
  if (x.ndim() < 3 || x.ndim() > 5 || w.ndim() != x.ndim())
    fail("conv", "an input of shape ", to_string(x.shape()), " and a weight of shape ",
         to_string(w.shape()),
         "; both need a batch or channel axis, 1 to 3 spatial axes and a channel axis");
  if (groups < 1 || x.shape(-1) != w.shape(-1) * groups || w.shape(0) % groups != 0)
    fail("conv", "an input of shape ", to_string(x.shape()), ", a weight of shape ",
         to_string(w.shape()), " and ", groups,
         " groups; the last axis of the input must be groups times as long as that of the weight, "
         "and the weight's first axis must be divisible by groups",
         hint_of_layout(x, w, groups));
}

/// Length of axis i of the result.
int64_t output_length(const Shape& x, const Shape& w, const ConvAttrs& c, size_t i) {
  int64_t n = x[i + 1], k = w[i + 1];
  int64_t length = n > 0 ? (n - 1) * c.input_dilation[i] + 1 : 0;
  length += c.padding_lo[i] + c.padding_hi[i];
  int64_t window = k > 0 ? (k - 1) * c.kernel_dilation[i] + 1 : 0;
  if (length < window || window == 0)
    fail("conv", "an input of shape ", to_string(x), " that is ", std::max<int64_t>(length, 0),
         " long on axis ", i + 1, " with padding and dilation, for a weight of shape ",
         to_string(w), "; at least ", std::max<int64_t>(window, 1), " is needed");
  return (length - window) / c.stride[i] + 1;
}

std::vector<int> list(const Pair& p) { return {p.first, p.second}; }
std::vector<int> list(const Triple& t) { return {std::get<0>(t), std::get<1>(t), std::get<2>(t)}; }

void require_rank(const array& x, size_t spatial, const char* op) {
  if (x.ndim() != spatial + 2)
    fail(op, "an input of shape ", to_string(x.shape()), "; ", spatial + 2,
         " dimensions are accepted");
}

array plain(const char* op, const array& x, const array& w, const std::vector<int>& stride,
            const std::vector<int>& padding, const std::vector<int>& dilation, int groups,
            StreamOrDevice s) {
  // A single value for each option applies to any number of spatial axes: conv1d accepts them all.
  if (stride.size() > 1) require_rank(x, stride.size(), op);
  return conv_general(x, w, stride, padding, padding, dilation, {}, groups, false, s);
}

int fitting(const char* op, int64_t padding) {
  if (padding != static_cast<int>(padding))
    fail<SizeError>(op, "padding of ", padding, " elements; up to 2^31 - 1 are accepted");
  return static_cast<int>(padding);
}

array transposed(const char* op, const array& x, const array& w, const std::vector<int>& stride,
                 const std::vector<int>& padding, const std::vector<int>& dilation,
                 const std::vector<int>& output_padding, int groups, StreamOrDevice s) {
  size_t n = stride.size();
  require_rank(x, n, op);
  require_rank(w, n, op);
  std::vector<int> low(n), high(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t window = dilation[i] * (w.shape()[i + 1] - 1);
    low[i] = fitting(op, window - padding[i]);
    high[i] = fitting(op, window - padding[i] + output_padding[i]);
  }
  return conv_general(x, w, {}, low, high, dilation, stride, groups, true, s);
}

/// The convolution of complex operands, one of which may be real, through their real and imaginary
/// parts.
array complex_conv(const array& x, const array& w, const ConvAttrs& attrs, Dtype type, Stream s) {
  auto part = [&](const array& a, array (*of)(const array&, StreamOrDevice)) {
    return cast_to(of(a, s), real_dtype(type), s);
  };
  const array xr = part(x, real), wr = part(w, real);
  auto conv = [&](const array& a, const array& b) { return rules::conv_node(a, b, attrs, s); };
  if (!is_complex(w.dtype())) return from_parts(conv(xr, wr), conv(part(x, imag), wr), s);
  const array wi = part(w, imag);
  if (!is_complex(x.dtype())) return from_parts(conv(xr, wr), conv(xr, wi), s);
  const array xi = part(x, imag);
  return from_parts(subtract(conv(xr, wr), conv(xi, wi), s), add(conv(xr, wi), conv(xi, wr), s), s);
}

}  // namespace

namespace rules {

array conv_node(const array& x, const array& w, const ConvAttrs& attrs, Stream s) {
  check_operands(x, w, attrs.groups);
  Shape shape{x.shape()[0]};
  for (size_t i = 0; i + 2 < x.ndim(); ++i)
    shape.push_back(output_length(x.shape(), w.shape(), attrs, i));
  shape.push_back(w.shape()[0]);
  return make_node(op_conv, std::move(shape), x.dtype(), s, make_attrs(attrs), x, w);
}

array conv_weight_node(const array& x, const array& g, const ConvWeightAttrs& attrs, Stream s) {
  Shape shape{g.shape(-1)};
  shape.insert(shape.end(), attrs.kernel.begin(), attrs.kernel.end());
  shape.push_back(x.shape(-1) / attrs.conv.groups);
  return make_node(op_conv_weight, std::move(shape), x.dtype(), s, make_attrs(attrs), x, g);
}

}  // namespace rules

array conv_general(array input, array weight, std::vector<int> stride, std::vector<int> padding_lo,
                   std::vector<int> padding_hi, std::vector<int> kernel_dilation,
                   std::vector<int> input_dilation, int groups, bool flip, StreamOrDevice s) {
  Stream stream = to_stream(s);
  check_operands(input, weight, groups);
  Dtype type = promote_types(input.dtype(), weight.dtype());
  if (!is_inexact(type))
    fail("conv", "operands of ", dtype_name(input.dtype()), " and ", dtype_name(weight.dtype()),
         "; floating and complex dtypes are accepted");
  size_t n = input.ndim() - 2;
  ConvAttrs attrs{spread(stride, n, 1, 1, "stride"),
                  spread(padding_lo, n, 0, INT32_MIN, "padding"),
                  spread(padding_hi, n, 0, INT32_MIN, "padding"),
                  spread(kernel_dilation, n, 1, 1, "kernel dilation"),
                  spread(input_dilation, n, 1, 1, "input dilation"),
                  groups,
                  flip,
                  precision_for(type)};
  if (is_complex(type)) return complex_conv(input, weight, attrs, type, stream);
  return rules::conv_node(cast_to(input, type, stream), cast_to(weight, type, stream), attrs,
                          stream);
}

array conv1d(const array& input, const array& weight, int stride, int padding, int dilation,
             int groups, StreamOrDevice s) {
  return plain("conv1d", input, weight, {stride}, {padding}, {dilation}, groups, s);
}
array conv2d(const array& input, const array& weight, const Pair& stride, const Pair& padding,
             const Pair& dilation, int groups, StreamOrDevice s) {
  return plain("conv2d", input, weight, list(stride), list(padding), list(dilation), groups, s);
}
array conv3d(const array& input, const array& weight, const Triple& stride, const Triple& padding,
             const Triple& dilation, int groups, StreamOrDevice s) {
  return plain("conv3d", input, weight, list(stride), list(padding), list(dilation), groups, s);
}

array conv_transpose1d(const array& input, const array& weight, int stride, int padding,
                       int dilation, int output_padding, int groups, StreamOrDevice s) {
  return transposed("conv_transpose1d", input, weight, {stride}, {padding}, {dilation},
                    {output_padding}, groups, s);
}
array conv_transpose2d(const array& input, const array& weight, const Pair& stride,
                       const Pair& padding, const Pair& dilation, const Pair& output_padding,
                       int groups, StreamOrDevice s) {
  return transposed("conv_transpose2d", input, weight, list(stride), list(padding), list(dilation),
                    list(output_padding), groups, s);
}
array conv_transpose3d(const array& input, const array& weight, const Triple& stride,
                       const Triple& padding, const Triple& dilation, const Triple& output_padding,
                       int groups, StreamOrDevice s) {
  return transposed("conv_transpose3d", input, weight, list(stride), list(padding), list(dilation),
                    list(output_padding), groups, s);
}

array convolve(const array& a, const array& v, const std::string& mode, StreamOrDevice s) {
  if (a.ndim() != 1 || v.ndim() != 1)
    fail("convolve", "operands of shapes ", to_string(a.shape()), " and ", to_string(v.shape()),
         "; vectors are accepted");
  if (a.size() == 0 || v.size() == 0) fail("convolve", "an empty vector; one element is needed");
  const array &longer = a.size() < v.size() ? v : a, &shorter = a.size() < v.size() ? a : v;
  int k = static_cast<int>(shorter.size()), low = 0, high = 0;
  if (mode == "full") {
    low = high = k - 1;
  } else if (mode == "same") {
    low = k / 2;
    high = k - 1 - low;
  } else if (mode != "valid") {
    fail("convolve", "mode \"", mode, "\"; \"full\", \"same\" and \"valid\" are accepted");
  }
  array x = reshape(longer, {1, static_cast<int64_t>(longer.size()), 1}, s);
  array w = reshape(shorter, {1, k, 1}, s);
  return flatten(conv_general(x, w, std::vector<int>{}, {low}, {high}, {}, {}, 1, true, s), s);
}

namespace {

Arrays build_conv(const Arrays& in, const Attrs* attrs, Stream s) {
  return {rules::conv_node(in[0], in[1], attrs_as<ConvAttrs>(attrs), s)};
}
Arrays build_conv_weight(const Arrays& in, const Attrs* attrs, Stream s) {
  return {rules::conv_weight_node(in[0], in[1], attrs_as<ConvWeightAttrs>(attrs), s)};
}

}  // namespace

constinit const OpDef op_conv{.name = "conv",
                              .kind = OpKind::kernel,
                              .linearity = Linearity::multilinear,
                              .shapeless = true,
                              .build = build_conv,
                              .vjp = rules::conv_vjp,
                              .vmap = rules::conv_vmap};
constinit const OpDef op_conv_weight{.name = "conv_weight",
                                     .kind = OpKind::kernel,
                                     .linearity = Linearity::multilinear,
                                     .build = build_conv_weight,
                                     .vjp = rules::conv_weight_vjp,
                                     .vmap = rules::conv_weight_vmap};

}  // namespace mlx::core
