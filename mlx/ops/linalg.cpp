// Checks and shapes of factorisations, inverses, solves and eigenvalue problems.
#include "mlx/ops/linalg.h"

#include <algorithm>
#include <limits>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

// --- checks -------------------------------------------------------------------------------------

constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();

int64_t rows(const array& a) { return a.shape(-2); }
int64_t columns(const array& a) { return a.shape(-1); }

/// The batch shape followed by other last axes.
Shape ending(const array& a, std::initializer_list<int64_t> last) {
  Shape shape(a.shape().begin(), a.shape().end() - 2);
  shape.insert(shape.end(), last.begin(), last.end());
  return shape;
}

const array& check_matrix(const char* op, const array& a) {
  if (a.ndim() < 2)
    fail(op, "an array of shape ", to_string(a.shape()), "; at least 2 dimensions are needed");
  if (std::max(rows(a), columns(a)) > kLongest)
    fail<SizeError>(op, "matrices of shape ", to_string(a.shape()), "; axes of up to ", kLongest,
                    " elements are accepted");
  return a;
}
const array& check_square(const char* op, const array& a) {
  check_matrix(op, a);
  if (rows(a) != columns(a))
    fail(op, "matrices of shape ", to_string(a.shape()), "; square ones are accepted");
  return a;
}
void check_dtype(const char* op, Dtype t) {
  if (!is_inexact(t) || t.size() == 2)
    fail(op, "dtype ", dtype_name(t), "; float32, float64, complex64 and complex128 are accepted");
}
const array& check(const char* op, const array& a, bool square) {
  square ? check_square(op, a) : check_matrix(op, a);
  check_dtype(op, a.dtype());
  return a;
}

bool is_upper(const char* op, const std::string& uplo) {
  if (uplo != "L" && uplo != "U" && uplo != "l" && uplo != "u")
    fail(op, "UPLO '", uplo, "'; 'L' and 'U' are accepted");
  return uplo == "U" || uplo == "u";
}

Dtype complex_dtype(Dtype t) { return t == float32 ? complex64 : t == float64 ? complex128 : t; }

// --- nodes --------------------------------------------------------------------------------------

Ref<const Attrs> triangle_attrs(bool upper) { return make_attrs(TriangleAttrs{upper}); }
bool upper_of(const Attrs* attrs) { return attrs_as<TriangleAttrs>(attrs).upper; }

Arrays bundle(const OpDef& op, const array& a, std::vector<std::pair<Shape, Dtype>> outputs,
              Stream s, Ref<const Attrs> attrs = {}) {
  return make_bundle(op, std::move(outputs), s, std::span<const array>(&a, 1), std::move(attrs));
}

Arrays make_qr(const array& a, Stream s) {
  const int64_t m = rows(a), n = columns(a), k = std::min(m, n);
  return bundle(op_qr, a, {{ending(a, {m, k}), a.dtype()}, {ending(a, {k, n}), a.dtype()}}, s);
}
Arrays make_svd(const array& a, bool full, Stream s) {
  const int64_t m = rows(a), n = columns(a), k = std::min(m, n);
  const Dtype t = a.dtype();
  return bundle(op_svd, a,
                {{ending(a, {m, full ? m : k}), t},
                 {ending(a, {k}), real_dtype(t)},
                 {ending(a, {full ? n : k, n}), t}},
                s, make_attrs(SvdAttrs{full}));
}
array make_svdvals(const array& a, Stream s) {
  return make_node(op_svdvals, ending(a, {std::min(rows(a), columns(a))}), real_dtype(a.dtype()), s,
                   {}, a);
}
Arrays make_eigh(const array& a, bool upper, Stream s) {
  return bundle(op_eigh, a, {{ending(a, {rows(a)}), real_dtype(a.dtype())}, {a.shape(), a.dtype()}},
                s, triangle_attrs(upper));
}
array make_eigvalsh(const array& a, bool upper, Stream s) {
  return make_node(op_eigvalsh, ending(a, {rows(a)}), real_dtype(a.dtype()), s,
                   triangle_attrs(upper), a);
}
Arrays make_eig(const array& a, Stream s) {
  const Dtype t = complex_dtype(a.dtype());
  return bundle(op_eig, a, {{ending(a, {rows(a)}), t}, {a.shape(), t}}, s);
}
array make_eigvals(const array& a, Stream s) {
  return make_node(op_eigvals, ending(a, {rows(a)}), complex_dtype(a.dtype()), s, {}, a);
}
Arrays make_lu(const array& a, Stream s) {
  const int64_t m = rows(a), k = std::min(m, columns(a));
  return bundle(op_lu, a,
                {{a.shape(), a.dtype()}, {ending(a, {k}), uint32}, {ending(a, {m}), uint32}}, s);
}
array make_det(const array& a, Stream s) {
  return make_node(op_det, ending(a, {}), a.dtype(), s, {}, a);
}
Arrays make_slogdet(const array& a, Stream s) {
  return bundle(op_slogdet, a, {{ending(a, {}), a.dtype()}, {ending(a, {}), real_dtype(a.dtype())}},
                s);
}

// --- rebuilding and batching ---------------------------------------------------------------------

/// An op without attributes whose result has the shape and dtype of its input.
template <const OpDef& Op>
Arrays rebuild_like(const Arrays& in, const Attrs* attrs, Stream s) {
  return {make_node(Op, in[0].shape(), in[0].dtype(), s, Ref<const Attrs>(attrs), in[0])};
}
template <auto Make>
Arrays rebuild(const Arrays& in, const Attrs*, Stream s) {
  if constexpr (std::is_same_v<decltype(Make(in[0], s)), array>)
    return {Make(in[0], s)};
  else
    return Make(in[0], s);
}
template <auto Make>
Arrays rebuild_triangle(const Arrays& in, const Attrs* attrs, Stream s) {
  if constexpr (std::is_same_v<decltype(Make(in[0], true, s)), array>)
    return {Make(in[0], upper_of(attrs), s)};
  else
    return Make(in[0], upper_of(attrs), s);
}
template <const OpDef& Op>
Arrays rebuild_pair(const Arrays& in, const Attrs* attrs, Stream s) {
  return {make_node(Op, in[1].shape(), in[1].dtype(), s, Ref<const Attrs>(attrs), in[0], in[1])};
}

template <auto Build>
rules::Batched batch_one(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                         Stream s) {
  Arrays out = Build({rules::to_front(in[0], axes[0], s)}, attrs, s);
  std::vector<int> at(out.size(), 0);
  return {std::move(out), std::move(at)};
}
template <auto Build>
rules::Batched batch_pair(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                          Stream s) {
  const int64_t n = rules::batch_size(in, axes);
  return {Build({rules::with_batch(in[0], axes[0], n, s), rules::with_batch(in[1], axes[1], n, s)},
                attrs, s),
          {0}};
}

template <auto Build>
constexpr OpDef one_matrix(const char* name, Arrays (*jvp)(const RuleArgs&),
                           OpKind kind = OpKind::kernel) {
  return {.name = name, .kind = kind, .build = Build, .jvp = jvp, .vmap = batch_one<Build>};
}
/// Solves for one matrix and a stack of right-hand sides: their columns are concatenated, so that
/// the matrix is factored once.
array solve_stack(const OpDef& op, const array& a, const array& b, Ref<const Attrs> attrs,
                  Stream s) {
  array first = moveaxis(b, -2, 0, s);
  array flat = reshape(first, {rows(b), rows(b) ? static_cast<int64_t>(b.size()) / rows(b) : 0}, s);
  array x = make_node(op, flat.shape(), flat.dtype(), s, std::move(attrs), a, flat);
  return moveaxis(reshape(x, first.shape(), s), 0, -2, s);
}
template <const OpDef& Op>
rules::Batched batch_solutions(const Arrays& in, const std::vector<int>& axes, const Attrs* attrs,
                               Stream s) {
  if (axes[0] >= 0 || in[0].ndim() > 2) return batch_pair<rebuild_pair<Op>>(in, axes, attrs, s);
  return {{solve_stack(Op, in[0], rules::to_front(in[1], axes[1], s), Ref<const Attrs>(attrs), s)},
          {0}};
}

template <const OpDef& Op>
constexpr OpDef two_matrices(const char* name, Arrays (*vjp)(const RuleArgs&),
                             Arrays (*jvp)(const RuleArgs&)) {
  return {.name = name,
          .kind = OpKind::kernel,
          .build = rebuild_pair<Op>,
          .vjp = vjp,
          .jvp = jvp,
          .vmap = batch_solutions<Op>};
}

Arrays build_svd(const Arrays& in, const Attrs* attrs, Stream s) {
  return make_svd(in[0], attrs_as<SvdAttrs>(attrs).full, s);
}
Arrays build_pinv(const Arrays& in, const Attrs* attrs, Stream s) {
  return {make_node(op_pinv, ending(in[0], {columns(in[0]), rows(in[0])}), in[0].dtype(), s,
                    Ref<const Attrs>(attrs), in[0])};
}

}  // namespace

constinit const OpDef op_cholesky =
    one_matrix<rebuild_like<op_cholesky>>("cholesky", rules::cholesky_jvp);
constinit const OpDef op_inv = one_matrix<rebuild_like<op_inv>>("inv", rules::inv_jvp);
constinit const OpDef op_tri_inv =
    one_matrix<rebuild_like<op_tri_inv>>("tri_inv", rules::tri_inv_jvp);
constinit const OpDef op_pinv = one_matrix<build_pinv>("pinv", rules::pinv_jvp);
constinit const OpDef op_expm{.name = "expm",
                              .kind = OpKind::kernel,
                              .build = rebuild_like<op_expm>,
                              .vjp = rules::expm_vjp,
                              .jvp = rules::expm_jvp,
                              .vmap = batch_one<rebuild_like<op_expm>>};
constinit const OpDef op_solve =
    two_matrices<op_solve>("solve", rules::solve_vjp, rules::solve_jvp);
constinit const OpDef op_solve_triangular = two_matrices<op_solve_triangular>(
    "solve_triangular", rules::solve_triangular_vjp, rules::solve_triangular_jvp);
constinit const OpDef op_qr = one_matrix<rebuild<make_qr>>("qr", rules::qr_jvp, OpKind::bundle);
constinit const OpDef op_svd = one_matrix<build_svd>("svd", rules::svd_jvp, OpKind::bundle);
constinit const OpDef op_svdvals = one_matrix<rebuild<make_svdvals>>("svdvals", rules::svdvals_jvp);
constinit const OpDef op_eigh =
    one_matrix<rebuild_triangle<make_eigh>>("eigh", rules::eigh_jvp, OpKind::bundle);
constinit const OpDef op_eigvalsh =
    one_matrix<rebuild_triangle<make_eigvalsh>>("eigvalsh", rules::eigvalsh_jvp);
constinit const OpDef op_eig = one_matrix<rebuild<make_eig>>("eig", rules::eig_jvp, OpKind::bundle);
constinit const OpDef op_eigvals = one_matrix<rebuild<make_eigvals>>("eigvals", rules::eigvals_jvp);
constinit const OpDef op_lu = one_matrix<rebuild<make_lu>>("lu", rules::lu_jvp, OpKind::bundle);
constinit const OpDef op_det = one_matrix<rebuild<make_det>>("det", rules::det_jvp);
constinit const OpDef op_cofactors =
    one_matrix<rebuild_like<op_cofactors>>("cofactors", rules::cofactors_jvp);
constinit const OpDef op_slogdet =
    one_matrix<rebuild<make_slogdet>>("slogdet", rules::slogdet_jvp, OpKind::bundle);

namespace linalg {

// --- factorisations -----------------------------------------------------------------------------

array cholesky(const array& a, bool upper, StreamOrDevice s) {
  check("linalg.cholesky", a, true);
  return make_node(op_cholesky, a.shape(), a.dtype(), to_stream(s), triangle_attrs(upper), a);
}

array cholesky_inv(const array& a, bool upper, StreamOrDevice s) {
  check("linalg.cholesky_inv", a, true);
  array x = tri_inv(a, upper, s), t = swapaxes(x, -1, -2, s);
  if (is_complex(a.dtype())) t = conjugate(t, s);
  return upper ? matmul(x, t, s) : matmul(t, x, s);
}

std::pair<array, array> qr(const array& a, StreamOrDevice s) {
  Arrays out = make_qr(check("linalg.qr", a, false), to_stream(s));
  return {out[0], out[1]};
}

std::vector<array> svd(const array& a, bool compute_uv, StreamOrDevice s) {
  check("linalg.svd", a, false);
  if (!compute_uv) return {make_svdvals(a, to_stream(s))};
  return make_svd(a, true, to_stream(s));
}
std::vector<array> thin_svd(const array& a, StreamOrDevice s) {
  return make_svd(check("linalg.svd", a, false), false, to_stream(s));
}

std::pair<array, array> eigh(const array& a, std::string UPLO, StreamOrDevice s) {
  const bool upper = is_upper("linalg.eigh", UPLO);
  Arrays out = make_eigh(check("linalg.eigh", a, true), upper, to_stream(s));
  return {out[0], out[1]};
}
array eigvalsh(const array& a, std::string UPLO, StreamOrDevice s) {
  const bool upper = is_upper("linalg.eigvalsh", UPLO);
  return make_eigvalsh(check("linalg.eigvalsh", a, true), upper, to_stream(s));
}
std::pair<array, array> eig(const array& a, StreamOrDevice s) {
  Arrays out = make_eig(check("linalg.eig", a, true), to_stream(s));
  return {out[0], out[1]};
}
array eigvals(const array& a, StreamOrDevice s) {
  return make_eigvals(check("linalg.eigvals", a, true), to_stream(s));
}

std::pair<array, array> lu_factor(const array& a, StreamOrDevice s) {
  Arrays out = make_lu(check("linalg.lu_factor", a, false), to_stream(s));
  return {out[0], out[1]};
}
std::vector<array> lu(const array& a, StreamOrDevice s) {
  Arrays out = make_lu(check("linalg.lu", a, false), to_stream(s));
  const int64_t m = rows(a), n = columns(a), k = std::min(m, n);
  Shape start(a.ndim(), 0), left = ending(a, {m, k}), right = ending(a, {k, n});
  array l = tril(slice(out[0], start, left, s), -1, s);
  array u = triu(slice(out[0], start, right, s), 0, s);
  return {out[2], add(l, eye(m, k, 0, a.dtype(), s), s), u};
}

// --- inverses and solutions ---------------------------------------------------------------------

namespace {

array solved(const OpDef& op, const char* name, const array& a, const array& b,
             Ref<const Attrs> attrs, Stream s) {
  check_square(name, a);
  const Dtype t = promote_types(a.dtype(), b.dtype());
  check_dtype(name, t);
  const int64_t n = rows(a);
  const bool vector = b.ndim() == 1;
  if (b.ndim() == 0 || b.shape(vector ? -1 : -2) != n)
    fail(name, "a matrix of shape ", to_string(a.shape()), " and right-hand sides of shape ",
         to_string(b.shape()), "; shapes (.., N, N) and (.., N, K) or (N,) are accepted");
  array x = cast_to(a, t, s), y = cast_to(vector ? expand_dims(b, 1, s) : b, t, s);
  check_matrix(name, y);
  Shape batch = broadcast_shapes(ending(x, {}), ending(y, {}), name);
  auto spread = [&](const array& m) {
    Shape shape = batch;
    shape.insert(shape.end(), m.shape().end() - 2, m.shape().end());
    return broadcast_to(m, shape, s);
  };
  array out = x.ndim() == 2 && y.ndim() > 2
                  ? solve_stack(op, x, y, std::move(attrs), s)
                  : make_node(op, spread(y).shape(), t, s, std::move(attrs), spread(x), spread(y));
  return vector ? squeeze(out, -1, s) : out;
}

/// The matrix in the dtype that determinants are computed in.
array wide(const array& a, Stream s) {
  return is_inexact(a.dtype()) && a.dtype().size() > 2 ? a : astype(a, float32, s);
}
/// The result dtype of determinants.
Dtype narrow(const array& a) { return is_inexact(a.dtype()) ? a.dtype() : float32; }

}  // namespace

array solve(const array& a, const array& b, StreamOrDevice s) {
  return solved(op_solve, "linalg.solve", a, b, {}, to_stream(s));
}
array solve_triangular(const array& a, const array& b, bool upper, StreamOrDevice s) {
  return solved(op_solve_triangular, "linalg.solve_triangular", a, b, triangle_attrs(upper),
                to_stream(s));
}

array inv(const array& a, StreamOrDevice s) {
  check("linalg.inv", a, true);
  return make_node(op_inv, a.shape(), a.dtype(), to_stream(s), {}, a);
}
array tri_inv(const array& a, bool upper, StreamOrDevice s) {
  check("linalg.tri_inv", a, true);
  return make_node(op_tri_inv, a.shape(), a.dtype(), to_stream(s), triangle_attrs(upper), a);
}
array pinv(const array& a, double rcond, StreamOrDevice s) {
  check("linalg.pinv", a, false);
  if (rcond < 0) {
    const double unit = real_dtype(a.dtype()) == float64 ? 0x1p-52 : 0x1p-23;
    rcond = 10 * static_cast<double>(std::max(rows(a), columns(a))) * unit;
  }
  auto attrs = make_attrs(PinvAttrs{rcond});
  return build_pinv({a}, attrs.get(), to_stream(s))[0];
}
array pinv(const array& a, StreamOrDevice s) { return pinv(a, -1, s); }

array det(const array& a, StreamOrDevice s) {
  const Stream st = to_stream(s);
  return cast_to(make_det(wide(check_square("linalg.det", a), st), st), narrow(a), st);
}
std::pair<array, array> slogdet(const array& a, StreamOrDevice s) {
  const Stream st = to_stream(s);
  Arrays out = make_slogdet(wide(check_square("linalg.slogdet", a), st), st);
  return {cast_to(out[0], narrow(a), st), cast_to(out[1], real_dtype(narrow(a)), st)};
}

array expm(const array& a, StreamOrDevice s) {
  check("linalg.expm", a, true);
  return make_node(op_expm, a.shape(), a.dtype(), to_stream(s), {}, a);
}

}  // namespace linalg

}  // namespace mlx::core
