// The table of exportable ops, and the validation of their inputs and attributes.
#include "mlx/transforms/export_ops.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "mlx/core/error.h"
#include "mlx/ops/attention.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/collective.h"
#include "mlx/ops/compact.h"
#include "mlx/ops/concat.h"
#include "mlx/ops/control.h"
#include "mlx/ops/conv.h"
#include "mlx/ops/counting.h"
#include "mlx/ops/creation.h"
#include "mlx/ops/ctc.h"
#include "mlx/ops/custom_kernel.h"
#include "mlx/ops/delta.h"
#include "mlx/ops/draw.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/fft.h"
#include "mlx/ops/gather_mm.h"
#include "mlx/ops/hadamard.h"
#include "mlx/ops/index.h"
#include "mlx/ops/linalg.h"
#include "mlx/ops/matmul.h"
#include "mlx/ops/norm.h"
#include "mlx/ops/quantized.h"
#include "mlx/ops/random.h"
#include "mlx/ops/reduce.h"
#include "mlx/ops/rope.h"
#include "mlx/ops/scan.h"
#include "mlx/ops/scatter.h"
#include "mlx/ops/series.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/softmax.h"
#include "mlx/ops/sort.h"
#include "mlx/ops/view.h"

namespace mlx::core {

// Ops without a row in the table below: leaves (op_data, op_constant, op_placeholder) are values of
// a file, not steps; op_part and op_trace_input are replaced by what they read; op_call is a
// compiled function, whose graph is exported; op_nonzero is evaluated during the trace;
// op_primitive and op_primitive_bundle run code of the program; op_custom and op_custom_result hold
// user-defined rules, and files contain the graph without them; op_loop and op_loop_view are stored
// as the op inside; op_file_read and op_file_read_parts are evaluated, like every array that a
// function captures.

namespace {

void need(bool holds, const char* what) {
  if (!holds) throw ValueError(what);
}
bool one_dtype(const Arrays& in, size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i)
    if (in[i].dtype() != in[first].dtype()) return false;
  return true;
}
template <class E>
void need_kind(E kind, E last) {
  need(kind <= last, "an unknown kind");
}
void need_axis(int64_t axis, const array& a) {
  need(axis >= 0 && axis < static_cast<int64_t>(a.ndim()), "an axis out of range");
}
void need_lengths(const Shape& s, int64_t minimum) {
  for (int64_t n : s) need(n >= minimum && n <= INT32_MAX, "a length out of range");
}

void check_collective(const Arrays& in, const Attrs* attrs) {
  const auto& a = static_cast<const CollectiveAttrs&>(*attrs);
  need_kind(a.kind, Collective::recv);
  need(in.back().dtype() == uint64 && in.back().ndim() == 0, "no ticket");
  need_lengths(a.shape, 0);
}
void check_arange(const Arrays&, const Attrs* attrs) {
  need(attrs_as<ArangeAttrs>(attrs).size >= 0, "a negative length");
}
void check_random_bits(const Arrays& in, const Attrs* attrs) {
  auto& r = attrs_as<RandomBitsAttrs>(attrs);
  need(in[0].ndim() > 0 && in[0].shape(-1) == 2 && in[0].dtype() == uint32, "no random keys");
  need(r.width == 1 || r.width == 2 || r.width == 4, "a width that is not 1, 2 or 4");
  need_lengths(r.shape, 0);
}
void check_draw(const Arrays&, const Attrs* attrs) {
  need_kind(attrs_as<DrawAttrs>(attrs).kind, Draw::von_mises);
}
void check_series(const Arrays&, const Attrs* attrs) {
  need_kind(attrs_as<SeriesAttrs>(attrs).kind, Series::log_gamma_slope);
}
void check_sort(const Arrays& in, const Attrs* attrs) {
  need_axis(attrs_as<SortAttrs>(attrs).axis, in[0]);
}
void check_scan(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<ScanAttrs>(attrs);
  need_kind(a.kind, ScanKind::logsumexp);
  need(a.kind != ScanKind::logsumexp || is_inexact(in[0].dtype()), "no floating dtype");
}
void check_input_count(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<CountAttrs>(attrs);
  need_kind(a.bins, Bins::uneven);
  const size_t bounds = a.bins != Bins::values;
  need(in.size() > bounds && in.size() <= 2 + bounds, "a wrong number of inputs");
  need(a.length >= 0, "a negative length");
  if (bounds)
    need(in[1].ndim() == 1 && in[1].shape(0) == a.length + 1 && !is_complex(in[1].dtype()),
         "no bounds for so many bins");
  if (in.size() == 2 + bounds)
    need(in.back().shape() == in[0].shape() && in.back().dtype() != bool_, "no weights");
  need(!is_complex(in[0].dtype()), "complex elements");
  if (!bounds) need(!is_inexact(in[0].dtype()), "elements that are not integers");
  if (a.bins == Bins::uneven) need(one_dtype(in, 0, 2), "two dtypes");
  if (a.bins == Bins::even) need(is_inexact(in[1].dtype()), "no floating dtype");
}
void check_reduce(const Arrays& in, const Attrs* attrs) {
  need_kind(attrs_as<ReduceAttrs>(attrs).kind, Reduction::any);
}
void check_arg_reduce(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<ReduceAttrs>(attrs);
  need(a.kind == Reduction::argmax || a.kind == Reduction::argmin, "an unknown kind");
  need(!a.axes.empty(), "no axis");
}
void check_searchsorted(const Arrays& in, const Attrs*) {
  const size_t rows = in[0].ndim() - 1;
  need(in[0].ndim() >= 1 && in[1].ndim() >= rows && one_dtype(in, 0, 2) &&
           std::equal(in[0].shape().begin(), in[0].shape().begin() + rows, in[1].shape().begin()),
       "values that do not fit the sorted rows");
}
void check_compact(const Arrays& in, const Attrs* attrs) {
  const int64_t count = attrs_as<CompactAttrs>(attrs).count;
  need(in[1].dtype() == bool_ && count >= 0 && count <= static_cast<int64_t>(in[1].size()),
       "no mask for so many slices");
}
void check_masked_scatter(const Arrays& in, const Attrs*) {
  need(in[1].dtype() == bool_ && one_dtype(in, 0, 2) && in[2].ndim() >= 1, "no mask or no values");
}
void check_scatter(const Arrays&, const Attrs* attrs) {
  need_kind(attrs_as<ScatterAttrs>(attrs).mode, ScatterMode::minimum);
}
void check_scatter_axis(const Arrays&, const Attrs* attrs) {
  need_kind(attrs_as<ScatterAxisAttrs>(attrs).mode, ScatterMode::add);
}
void check_transform(FftKind kind, int64_t n, const array& in) {
  need_kind(kind, FftKind::hermitian);
  need(n >= 1, "a length below 1");
  need(kind == FftKind::real ? in.dtype() == float32 || in.dtype() == float64
                             : is_complex(in.dtype()),
       "a dtype that is not transformed so");
}
void check_fft(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<FftAttrs>(attrs);
  check_transform(a.kind, a.n, in[0]);
  need_axis(a.axis, in[0]);
}
void check_fft_planes(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<FftPlanesAttrs>(attrs);
  check_transform(a.kind, a.n, in[0]);
  need(in[0].ndim() >= 2, "fewer axes than 2");
}
void check_spectrum(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<SpectrumAttrs>(attrs);
  need(!a.axes.empty(), "no axes");
  std::vector<int> sorted = a.axes;
  std::ranges::sort(sorted);
  need(std::ranges::adjacent_find(sorted) == sorted.end(), "an axis that is there twice");
  for (const int axis : a.axes) need_axis(axis, in[0]);
  need(a.n >= 1 && in[0].shape(a.axes.back()) == a.n / 2 + 1, "a half of another length");
  need(is_complex(in[0].dtype()), "a dtype that is not complex");
}
void check_hadamard(const Arrays& in, const Attrs*) {
  need(is_floating(in[0].dtype()), "no floating dtype");
}
void check_gather_mm(const Arrays& in, const Attrs*) {
  need(in[0].ndim() == 3 && in[1].ndim() == 3 && in[0].shape(2) == in[1].shape(1) &&
           one_dtype(in, 0, 2),
       "stacks of matrices that cannot be multiplied");
  for (size_t i : {2, 3})
    need(issubdtype(in[i].dtype(), integer) && in[i].shape() == in[2].shape(), "no positions");
}
void check_delta(const Arrays& in, const Attrs*) {
  need(one_dtype(in, 0, 6) && (in[0].dtype() == float32 || in[0].dtype() == float64) &&
           (in.size() < 7 || in[6].dtype() == bool_),
       "dtypes that do not go together");
}
bool are_ctc_inputs(const Arrays& in) {
  return (in[0].dtype() == float32 || in[0].dtype() == float64) && in[1].dtype() == int32 &&
         in[2].dtype() == int32 && in[3].dtype() == int32;
}
void check_ctc(const Arrays& in, const Attrs*) {
  need(are_ctc_inputs(in), "dtypes that do not go together");
}
void check_ctc_slope(const Arrays& in, const Attrs*) {
  need(are_ctc_inputs(in) && in[4].dtype() == in[0].dtype() && in[5].dtype() == in[0].dtype(),
       "dtypes that do not go together");
  const Shape sums{in[0].shape(0), in[0].shape(1), 2 * in[1].shape(1) + 3};
  need(in[4].shape() == in[2].shape() && in[5].shape() == sums, "sums of another loss");
}
void check_rope(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<RopeAttrs>(attrs);
  need(in.size() == size_t{2} + a.has_freqs, "a wrong number of inputs");
  need(!a.has_freqs ||
           (in[2].ndim() == 1 && in[2].shape(0) == a.dims / 2 && is_floating(in[2].dtype())),
       "frequencies that do not fit");
}
void check_norm(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<NormAttrs>(attrs);
  need(in.size() == size_t{1} + a.has_weight + a.has_bias, "a wrong number of inputs");
}
void check_attention(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<AttentionAttrs>(attrs);
  need(in.size() == size_t{3} + a.has_mask + a.has_sinks, "a wrong number of inputs");
  need(one_dtype(in, 0, 3) && is_floating(in[0].dtype()), "dtypes that do not go together");
  need(!a.has_mask || in[3].dtype() == bool_ || in[3].dtype() == in[0].dtype(), "no mask");
  need(!a.has_sinks || (in.back().dtype() == in[0].dtype() && in.back().ndim() == 1 &&
                        in[0].ndim() == 4 && in.back().shape(0) == in[0].shape(1)),
       "sinks that do not fit");
}
void check_attention_vjp(const Arrays& in, const Attrs* attrs) {
  need(in.size() > 3 && in.back().dtype() == in[0].dtype(), "no cotangent");
  check_attention(Arrays(in.begin(), in.end() - 1), attrs);
}
void check_conv_lists(const Arrays& in, const ConvAttrs& c) {
  need(in[0].ndim() >= 3 && in[0].ndim() <= 5 && in[1].ndim() == in[0].ndim() &&
           one_dtype(in, 0, 2) && is_floating(in[0].dtype()),
       "operands that do not go together");
  for (const Shape* s :
       {&c.stride, &c.padding_lo, &c.padding_hi, &c.kernel_dilation, &c.input_dilation})
    need(s->size() + 2 == in[0].ndim(), "lists of another length than there are axes");
  for (const Shape* s : {&c.stride, &c.kernel_dilation, &c.input_dilation}) need_lengths(*s, 1);
  for (const Shape* s : {&c.padding_lo, &c.padding_hi}) need_lengths(*s, INT32_MIN);
  for (const array& a : in)
    for (int64_t n : a.shape()) need(n <= INT32_MAX, "a length out of range");
}
void check_conv(const Arrays& in, const Attrs* attrs) {
  check_conv_lists(in, attrs_as<ConvAttrs>(attrs));
}
void check_conv_weight(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<ConvWeightAttrs>(attrs);
  check_conv_lists(in, a.conv);
  need_lengths(a.kernel, 0);
  need(a.kernel.size() + 2 == in[0].ndim() && a.conv.groups >= 1 &&
           in[0].shape(-1) % a.conv.groups == 0 && in[1].shape(-1) % a.conv.groups == 0,
       "kernel or groups that do not fit");
  // The second input has the shape of the result of a convolution with this weight.
  Shape w{in[1].shape(-1)};
  w.insert(w.end(), a.kernel.begin(), a.kernel.end());
  w.push_back(in[0].shape(-1) / a.conv.groups);
  array like = rules::conv_node(in[0], placeholder(w, in[0].dtype()), a.conv, to_stream({}));
  need(like.shape() == in[1].shape(), "operands that do not go together");
}

void need_matrix(const array& a) {
  need(a.ndim() >= 2 && a.shape(-1) <= INT32_MAX && a.shape(-2) <= INT32_MAX, "no matrices");
  need(is_inexact(a.dtype()) && a.dtype().size() > 2, "a dtype that is not factored");
}
void check_matrix(const Arrays& in, const Attrs*) { need_matrix(in[0]); }
void check_square(const Arrays& in, const Attrs*) {
  need_matrix(in[0]);
  need(in[0].shape(-1) == in[0].shape(-2), "no square matrices");
}
void check_solve(const Arrays& in, const Attrs* attrs) {
  check_square(in, attrs);
  need(one_dtype(in, 0, 2) && in[1].ndim() == in[0].ndim() &&
           std::equal(in[0].shape().begin(), in[0].shape().end() - 1, in[1].shape().begin()),
       "right-hand sides that do not fit");
}

void need_packing(const Packing& p) {
  need_kind(p.mode, QuantMode::nvfp4);
  const bool holds = p.affine() ? (p.group == 32 || p.group == 64 || p.group == 128) &&
                                      p.bits >= 1 && p.bits <= 8 && p.bits != 7
                                : p.group == (p.mode == QuantMode::nvfp4 ? 16 : 32) &&
                                      p.bits == (p.mode == QuantMode::mxfp8 ? 8 : 4);
  need(holds, "an unknown packing");
}
/// Words, scales and, for affine, biases starting at input `at`; returns how many arrays they are.
size_t need_packed(const Arrays& in, size_t at, const Packing& p) {
  need_packing(p);
  const size_t count = p.affine() ? 3 : 2;
  need(in.size() >= at + count, "a packed matrix that is not all there");
  const array &w = in[at], &scales = in[at + 1];
  need(w.dtype() == uint32 && w.ndim() >= 2 && w.shape(-1) <= INT32_MAX &&
           w.shape(-1) * 32 % (p.bits * p.group) == 0,
       "no packed words");
  Shape shape = w.shape();
  shape.back() = shape.back() * 32 / p.bits / p.group;
  for (size_t i = at + 1; i < at + count; ++i)
    need(in[i].shape() == shape && in[i].dtype() == scales.dtype(), "scales that do not fit");
  need(p.affine() ? is_floating(scales.dtype()) && scales.dtype() != float64
                  : scales.dtype() == uint8,
       "scales of another dtype");
  return count;
}
/// At maximum a global scale after `count` inputs.
void need_global(const Arrays& in, size_t count, const Packing& p) {
  if (in.size() == count) return;
  need(in.size() == count + 1 && p.mode == QuantMode::nvfp4 && in[count].dtype() == float32 &&
           in[count].ndim() == 0,
       "a global scale that does not fit");
}
void check_quantize(const Arrays& in, const Attrs* attrs) {
  auto& p = attrs_as<Packing>(attrs);
  need_packing(p);
  need_global(in, 1, p);
  need(is_floating(in[0].dtype()) && in[0].ndim() >= 1 && in[0].shape(-1) <= INT32_MAX &&
           in[0].shape(-1) % p.group == 0,
       "a matrix that cannot be packed");
}
void check_dequantize(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<DequantizeAttrs>(attrs);
  need_global(in, need_packed(in, 0, a.packing), a.packing);
  need(is_floating(a.dtype), "no floating dtype");
}
void check_quantized_matmul(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<QuantizedMatmulAttrs>(attrs);
  need(in.size() == 1 + need_packed(in, 1, a.packing), "a wrong number of inputs");
  const int64_t inner = a.transpose ? in[1].shape(-1) * 32 / a.packing.bits : in[1].shape(-2);
  need(is_floating(in[0].dtype()) && in[0].ndim() >= 2 && in[0].shape(-1) == inner,
       "operands that do not go together");
}
void check_gather_qmm(const Arrays& in, const Attrs* attrs) {
  auto& a = attrs_as<QuantizedMatmulAttrs>(attrs);
  need(in.size() == 3 + need_packed(in, 1, a.packing), "a wrong number of inputs");
  const int64_t inner = a.transpose ? in[1].shape(-1) * 32 / a.packing.bits : in[1].shape(-2);
  need(is_floating(in[0].dtype()) && in[0].ndim() == 3 && in[1].ndim() == 3 &&
           in[0].shape(-1) == inner,
       "operands that do not go together");
  const array &lhs = in[in.size() - 2], &rhs = in.back();
  need(issubdtype(lhs.dtype(), integer) && issubdtype(rhs.dtype(), integer) &&
           lhs.shape() == rhs.shape(),
       "no positions");
}

/// The ops by name.
class Table {
 public:
  Table() {
    add_elementwise();
    add_views();
    add_data_dependent();
    add_products();
    add_linear_algebra();
    add_layers();
    add_collectives();
  }
  std::map<std::string_view, ExportOp> rows;

 private:
  /// For ops whose `build` validates inputs and attributes by itself. A row without it or a check
  /// is not accepted; test_function_files.py calls all of them with arguments that do not fit.
  static constexpr decltype(ExportOp::check) by_build = nullptr;

  void row(const OpDef& op, int minimum, int maximum, Ref<const Attrs> attrs,
           decltype(ExportOp::check) check) {
    rows.emplace(op.name, ExportOp{&op, minimum, maximum, std::move(attrs), check});
  }

  void add_elementwise() {
#define E(name, arity, ...) row(op_##name, arity, arity, {}, by_build);
#include "mlx/ops/elementwise.def"
#undef E
    row(op_cast, 1, 1, make_attrs(CastAttrs{bool_}), by_build);
    row(op_copy, 1, 1, {}, by_build);
  }

  void add_views() {
    row(op_view, 1, 1, make_attrs(ViewAttrs{bool_}), by_build);
    row(op_contiguous, 1, 1, make_attrs(ContiguousAttrs{}), by_build);
    row(op_stop_gradient, 1, 1, {}, by_build);
    row(op_depends, 1, -1, {}, by_build);

    row(op_reshape, 1, 1, make_attrs(ReshapeAttrs{}), by_build);
    row(op_flatten, 1, 1, make_attrs(FlattenAttrs{}), by_build);
    row(op_unflatten, 1, 1, make_attrs(UnflattenAttrs{}), by_build);
    row(op_squeeze, 1, 1, make_attrs(AxesAttrs{}), by_build);
    row(op_expand_dims, 1, 1, make_attrs(AxesAttrs{}), by_build);
    row(op_transpose, 1, 1, make_attrs(TransposeAttrs{}), by_build);
    row(op_broadcast_to, 1, 1, make_attrs(BroadcastAttrs{}), by_build);
    row(op_full, 1, 1, make_attrs(BroadcastAttrs{}), by_build);
    row(op_as_strided, 1, 1, make_attrs(AsStridedAttrs{}), by_build);
    row(op_diagonal, 1, 1, make_attrs(DiagonalAttrs{}), by_build);
    row(op_slice, 1, 1, make_attrs(SliceAttrs{}), by_build);
    row(op_slice_update, 2, 2, make_attrs(SliceAttrs{}), by_build);
    row(op_dynamic_slice, 2, 2, make_attrs(DynamicSliceAttrs{}), by_build);
    row(op_dynamic_slice_update, 3, 3, make_attrs(DynamicSliceAttrs{}), by_build);
    row(op_concatenate, 1, -1, make_attrs(ConcatenateAttrs{}), by_build);
  }

  void add_data_dependent() {
    row(op_arange, 0, 0, make_attrs(ArangeAttrs{0, 0, 0, 0, 0, float32}), check_arange);
    row(op_random_bits, 1, 1, make_attrs(RandomBitsAttrs{}), check_random_bits);
    row(op_draw, 2, 3, make_attrs(DrawAttrs{}), check_draw);
    row(op_series, 2, 3, make_attrs(SeriesAttrs{}), check_series);

    row(op_take, 2, 2, make_attrs(TakeAttrs{}), by_build);
    row(op_take_along_axis, 2, 2, make_attrs(TakeAttrs{}), by_build);
    row(op_gather, 1, -1, make_attrs(GatherAttrs{}), by_build);
    row(op_scatter, 2, -1, make_attrs(ScatterAttrs{}), check_scatter);
    row(op_scatter_axis, 3, 3, make_attrs(ScatterAxisAttrs{}), check_scatter_axis);
    row(op_sort, 1, 1, make_attrs(SortAttrs{}), check_sort);
    row(op_argsort, 1, 1, make_attrs(SortAttrs{}), check_sort);
    row(op_searchsorted, 2, 2, make_attrs(SearchSortedAttrs{}), check_searchsorted);

    row(op_compact, 2, 2, make_attrs(CompactAttrs{}), check_compact);
    row(op_masked_scatter, 3, 3, {}, check_masked_scatter);
    row(op_count, 1, 3, make_attrs(CountAttrs{}), check_input_count);
    row(op_reduce, 1, 1, make_attrs(ReduceAttrs{}), check_reduce);
    row(op_arg_reduce, 1, 1, make_attrs(ReduceAttrs{}), check_arg_reduce);
    row(op_scan, 1, 1, make_attrs(ScanAttrs{}), check_scan);
    row(op_affine_scan, 2, 2, make_attrs(AffineScanAttrs{}), by_build);
    row(op_softmax, 1, 1, make_attrs(SoftmaxAttrs{}), by_build);
    row(op_logsumexp, 1, 1, {}, by_build);
  }

  void add_products() {
    row(op_matmul, 2, 2, {}, by_build);
    row(op_addmm, 3, 3, make_attrs(AddmmAttrs{}), by_build);
    row(op_gather_mm, 4, 4, {}, check_gather_mm);
    row(op_segmented_mm, 3, 3, {}, by_build);
    row(op_conv, 2, 2, make_attrs(ConvAttrs{}), check_conv);
    row(op_conv_weight, 2, 2, make_attrs(ConvWeightAttrs{}), check_conv_weight);
    row(op_fft, 1, 1, make_attrs(FftAttrs{}), check_fft);
    row(op_fft_planes, 1, 1, make_attrs(FftPlanesAttrs{}), check_fft_planes);
    row(op_spectrum, 1, 1, make_attrs(SpectrumAttrs{}), check_spectrum);
    row(op_hadamard, 1, 1, make_attrs(HadamardAttrs{}), check_hadamard);

    row(op_quantize, 1, 2, make_attrs(Packing{}), check_quantize);
    row(op_quantize_round, 1, 2, make_attrs(Packing{}), check_quantize);
    row(op_dequantize, 2, 4, make_attrs(DequantizeAttrs{{}, float32}), check_dequantize);
    row(op_quantized_matmul, 3, 4, make_attrs(QuantizedMatmulAttrs{}), check_quantized_matmul);
    row(op_gather_qmm, 5, 6, make_attrs(QuantizedMatmulAttrs{}), check_gather_qmm);
  }

  void add_linear_algebra() {
    const auto triangle = make_attrs(TriangleAttrs{});
    row(op_cholesky, 1, 1, triangle, check_square);
    row(op_inv, 1, 1, {}, check_square);
    row(op_tri_inv, 1, 1, triangle, check_square);
    row(op_pinv, 1, 1, make_attrs(PinvAttrs{}), check_matrix);
    row(op_expm, 1, 1, {}, check_square);
    row(op_solve, 2, 2, {}, check_solve);
    row(op_solve_triangular, 2, 2, triangle, check_solve);
    row(op_qr, 1, 1, {}, check_matrix);
    row(op_svd, 1, 1, make_attrs(SvdAttrs{}), check_matrix);
    row(op_svdvals, 1, 1, {}, check_matrix);
    row(op_eigh, 1, 1, triangle, check_square);
    row(op_eigvalsh, 1, 1, triangle, check_square);
    row(op_eig, 1, 1, {}, check_square);
    row(op_eigvals, 1, 1, {}, check_square);
    row(op_lu, 1, 1, {}, check_matrix);
    row(op_det, 1, 1, {}, check_square);
    row(op_cofactors, 1, 1, {}, check_square);
    row(op_slogdet, 1, 1, {}, check_square);
  }

  void add_collectives() {
    for (const OpDef* op : {&op_all_sum, &op_all_max, &op_all_min, &op_all_gather, &op_sum_scatter,
                            &op_broadcast, &op_all_to_all, &op_send})
      row(*op, 2, 2, Ref<const Attrs>(new CollectiveAttrs), check_collective);
    row(op_recv, 1, 1, Ref<const Attrs>(new CollectiveAttrs), check_collective);
  }

  void add_layers() {
    row(op_norm, 1, 3, make_attrs(NormAttrs{}), check_norm);
    row(op_rope, 2, 3, make_attrs(RopeAttrs{}), check_rope);
    row(op_attention, 3, 5, make_attrs(AttentionAttrs{}), check_attention);
    row(op_attention_vjp, 4, 6, make_attrs(AttentionAttrs{}), check_attention_vjp);
    row(op_gated_delta, 6, 7, {}, check_delta);
    row(op_ctc, 4, 4, make_attrs(CtcAttrs{}), check_ctc);
    row(op_ctc_slope, 6, 6, make_attrs(CtcAttrs{}), check_ctc_slope);
    for (const OpDef* op : {&op_scan_loop, &op_while_loop, &op_switch})
      row(*op, 0, -1, Ref<const Attrs>(new ControlAttrs), by_build);
    for (const OpDef* op : {&op_cuda_kernel, &op_metal_kernel})
      row(*op, 0, -1, make_attrs(KernelAttrs{}), by_build);
  }
};

}  // namespace

const ExportOp* find_export_op(std::string_view name) {
  static std::mutex mutex;
  static auto& table = (new Table)->rows;
  std::lock_guard lock(mutex);
  auto it = table.find(name);
  if (it != table.end()) return &it->second;
  const OpDef* registered = find_op(name);
  if (!registered || !registered->build) return nullptr;
  return &table.emplace(registered->name, ExportOp{registered, 0, -1, {}}).first->second;
}

}  // namespace mlx::core
