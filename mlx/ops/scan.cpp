// Checks and dtypes of the scans.
#include "mlx/ops/scan.h"

#include "mlx/core/error.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/concat.h"
#include "mlx/ops/elementwise.h"
#include "mlx/ops/slice.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace {

constexpr const char* kScanNames[] = {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"};

Arrays build_scan(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<ScanAttrs>(attrs);
  return {scan(in[0], a.kind, a.axis, a.reverse, a.inclusive, s)};
}

Arrays build_affine_scan(const Arrays& in, const Attrs* attrs, Stream s) {
  auto& a = attrs_as<AffineScanAttrs>(attrs);
  return {affine_scan(in[0], in[1], a.axis, a.reverse, s)};
}

array typed_scan(const array& a, ScanKind kind, int axis, bool reverse, bool inclusive,
                 std::optional<Dtype> dtype, StreamOrDevice s) {
  normalize_axis(axis, static_cast<int64_t>(a.ndim()), kScanNames[static_cast<int>(kind)]);
  Dtype t = dtype.value_or(a.dtype());
  if (t == bool_ && kind == ScanKind::sum) t = int32;
  return scan(astype(a, t, s), kind, axis, reverse, inclusive, s);
}

}  // namespace

constinit const OpDef op_scan{.name = "scan",
                              .kind = OpKind::kernel,
                              .shapeless = true,
                              .build = build_scan,
                              .vjp = rules::scan_vjp,
                              .jvp = rules::scan_jvp,
                              .vmap = rules::scan_vmap};
constinit const OpDef op_affine_scan{.name = "affine_scan",
                                     .kind = OpKind::kernel,
                                     .shapeless = true,
                                     .build = build_affine_scan,
                                     .vjp = rules::affine_scan_vjp,
                                     .jvp = rules::affine_scan_jvp,
                                     .vmap = rules::affine_scan_vmap};

array scan(const array& a, ScanKind kind, int axis, bool reverse, bool inclusive,
           StreamOrDevice s) {
  axis = normalize_axis(axis, static_cast<int64_t>(a.ndim()), kScanNames[static_cast<int>(kind)]);
  return make_node(op_scan, a.shape(), a.dtype(), to_stream(s),
                   make_attrs(ScanAttrs{kind, axis, reverse, inclusive}), a);
}

array affine_scan(const array& a, const array& b, int axis, bool reverse, StreamOrDevice s) {
  axis = normalize_axis(axis, static_cast<int64_t>(a.ndim()), "affine_scan");
  if (a.shape() != b.shape() || a.dtype() != b.dtype() || !is_inexact(a.dtype()))
    fail("affine_scan", to_string(a.shape()), " ", dtype_name(a.dtype()), " and ",
         to_string(b.shape()), " ", dtype_name(b.dtype()),
         "; one shape and one floating or complex dtype are accepted");
  return make_node(op_affine_scan, a.shape(), a.dtype(), to_stream(s),
                   make_attrs(AffineScanAttrs{axis, reverse}), a, b);
}

#define MLX_TYPED_SCAN(name, kind)                                                               \
  array name(const array& a, int axis, bool reverse, bool inclusive, std::optional<Dtype> dtype, \
             StreamOrDevice s) {                                                                 \
    return typed_scan(a, ScanKind::kind, axis, reverse, inclusive, dtype, s);                    \
  }                                                                                              \
  array name(const array& a, bool reverse, bool inclusive, std::optional<Dtype> dtype,           \
             StreamOrDevice s) {                                                                 \
    return typed_scan(flatten(a, s), ScanKind::kind, 0, reverse, inclusive, dtype, s);           \
  }                                                                                              \
  array name(const array& a, int axis, bool reverse, bool inclusive, StreamOrDevice s) {         \
    return typed_scan(a, ScanKind::kind, axis, reverse, inclusive, std::nullopt, s);             \
  }                                                                                              \
  array name(const array& a, bool reverse, bool inclusive, StreamOrDevice s) {                   \
    return typed_scan(flatten(a, s), ScanKind::kind, 0, reverse, inclusive, std::nullopt, s);    \
  }
MLX_TYPED_SCAN(cumsum, sum)
MLX_TYPED_SCAN(cumprod, prod)
#undef MLX_TYPED_SCAN

#define MLX_SCAN(name, kind)                                                             \
  array name(const array& a, int axis, bool reverse, bool inclusive, StreamOrDevice s) { \
    return scan(a, ScanKind::kind, axis, reverse, inclusive, s);                         \
  }                                                                                      \
  array name(const array& a, bool reverse, bool inclusive, StreamOrDevice s) {           \
    return scan(flatten(a, s), ScanKind::kind, 0, reverse, inclusive, s);                \
  }
MLX_SCAN(cummax, max)
MLX_SCAN(cummin, min)
#undef MLX_SCAN

array logcumsumexp(const array& a, int axis, bool reverse, bool inclusive, StreamOrDevice s) {
  return scan(astype(a, at_least_float(a.dtype()), s), ScanKind::logsumexp, axis, reverse,
              inclusive, s);
}
array logcumsumexp(const array& a, bool reverse, bool inclusive, StreamOrDevice s) {
  return logcumsumexp(flatten(a, s), 0, reverse, inclusive, s);
}

array diff(const array& a, int n, int axis, StreamOrDevice s) {
  if (n < 0) fail("diff", "n = ", n, "; the number of differences must not be negative");
  const int d = normalize_axis(axis, static_cast<int64_t>(a.ndim()), "diff");
  array out = a;
  for (; n > 0 && out.shape(d) > 0; --n) {
    Shape zero(a.ndim(), 0), one = zero, stop = out.shape(), shorter = stop;
    one[d] = 1;
    shorter[d] -= 1;
    array ahead = slice(out, one, stop, s), behind = slice(out, zero, shorter, s);
    out = a.dtype() == bool_ ? not_equal(ahead, behind, s) : subtract(ahead, behind, s);
  }
  return out;
}

array diff(const array& a, int n, int axis, const std::optional<array>& prepend,
           const std::optional<array>& append, StreamOrDevice s) {
  const int d = normalize_axis(axis, static_cast<int64_t>(a.ndim()), "diff");
  Shape one = a.shape();
  one[d] = 1;
  std::vector<array> parts;
  auto keep = [&](const std::optional<array>& x) {
    if (x) parts.push_back(x->ndim() == 0 ? broadcast_to(*x, one, s) : *x);
  };
  keep(prepend);
  keep(a);
  keep(append);
  return diff(parts.size() == 1 ? a : concatenate(parts, d, s), n, d, s);
}

}  // namespace mlx::core
