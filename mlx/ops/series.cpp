// The op of incomplete gamma and beta functions, and the functions made of it.
#include "mlx/ops/series.h"

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

Arrays build_series(const Arrays& in, const Attrs* attrs, Stream s) {
  const auto& a = attrs_as<SeriesAttrs>(attrs);
  if (in.size() != (a.kind == Series::betainc ? 3u : 2u))
    fail("series", in.size(), " arguments; two, and three of betainc, are accepted");
  for (const array& x : in)
    if (x.dtype() != float64 || x.shape() != in[0].shape())
      fail("series", "an argument of shape ", to_string(x.shape()), " and dtype ",
           dtype_name(x.dtype()), "; float64 of one shape is accepted");
  return {make_node(op_series, in[0].shape(), float64, s, std::span<const array>(in),
                    make_attrs(SeriesAttrs(a)))};
}

/// The function of arguments that are promoted, broadcast and computed in float64.
array of_arguments(const char* op, Series kind, const Arrays& given, StreamOrDevice stream) {
  Dtype t = given[0].dtype();
  for (const array& a : given) t = promote_types(t, a.dtype());
  if (is_complex(t)) fail(op, dtype_name(t), "; real dtypes are accepted");
  const Stream s = to_stream(stream);
  Arrays wide;
  for (const array& a : given) wide.push_back(astype(a, float64, s));
  return astype(series(kind, broadcast_arrays(wide, s), s), at_least_float(t), s);
}

}  // namespace

constinit const OpDef op_series{.name = "series",
                                .kind = OpKind::kernel,
                                .build = build_series,
                                .vjp = rules::series_vjp,
                                .jvp = rules::series_jvp,
                                .vmap = rules::series_vmap};

array series(Series kind, const Arrays& arguments, Stream s) {
  return build_series(arguments, make_attrs(SeriesAttrs{kind}).get(), s)[0];
}

namespace special {

array gammainc(const array& a, const array& x, StreamOrDevice s) {
  return of_arguments("gammainc", Series::gammainc, {a, x}, s);
}
array gammaincc(const array& a, const array& x, StreamOrDevice s) {
  return of_arguments("gammaincc", Series::gammaincc, {a, x}, s);
}
array betainc(const array& a, const array& b, const array& x, StreamOrDevice s) {
  return of_arguments("betainc", Series::betainc, {a, b, x}, s);
}
array random_gamma_grad(const array& a, const array& x, StreamOrDevice s) {
  const Dtype t = at_least_float(promote_types(a.dtype(), x.dtype()));
  if (is_complex(t)) fail("random_gamma_grad", dtype_name(t), "; real dtypes are accepted");
  const array wide = astype(x, float64, s);
  const array slope =
      of_arguments("random_gamma_grad", Series::log_gamma_slope, {a, log(wide, s)}, s);
  return astype(multiply(slope, wide, s), t, s);
}

}  // namespace special

}  // namespace mlx::core
