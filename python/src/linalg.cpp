// Linear algebra: the submodule mlx.core.linalg.
#include "mlx/linalg.h"

#include "module.h"
#include "named.h"

namespace mlx::python {

namespace {

namespace la = mlx::core::linalg;
#define KEYWORD_STREAM_TO "*, stream: StreamOrDevice = None) -> "

using Order = std::variant<double, std::string>;
using AxisOrAxes = std::optional<std::variant<int, std::vector<int>>>;

array norm(const array& a, const std::optional<Order>& ord, const AxisOrAxes& axis, bool keepdims,
           const StreamOrDevice& s) {
  std::optional<std::vector<int>> axes;
  if (axis) {
    if (auto* one = std::get_if<int>(&*axis)) {
      axes = std::vector<int>{*one};
    } else {
      axes = std::get<1>(*axis);
    }
  }
  if (!ord) return la::norm(a, axes, keepdims, s);
  if (auto* name = std::get_if<std::string>(&*ord)) return la::norm(a, *name, axes, keepdims, s);
  return la::norm(a, std::get<0>(*ord), axes, keepdims, s);
}

#define MLX_NORM(NAME)                                                                            \
  def(m,                                                                                          \
      NAME                                                                                        \
      "(a: array, /, ord: None | int | float | str = None, axis: None | int | list[int] = None, " \
      "keepdims: bool = False, " KEYWORD_STREAM_TO "array",                                       \
      [](const array& a, std::optional<Order>& ord, AxisOrAxes& axis, bool keepdims,              \
         const StreamOrDevice& s) { return norm(a, ord, axis, keepdims, s); });

void bind_factorisations(nb::module_& m) {
  def(m, "cholesky(a: array, upper: bool = False, " KEYWORD_STREAM_TO "array",
      [](const array& a, bool upper, const StreamOrDevice& s) {
        return la::cholesky(a, upper, s);
      });
  def(m, "cholesky_inv(a: array, upper: bool = False, " KEYWORD_STREAM_TO "array",
      [](const array& a, bool upper, const StreamOrDevice& s) {
        return la::cholesky_inv(a, upper, s);
      });
  def(m, "qr(a: array, " KEYWORD_STREAM_TO "QRResult", [](const array& a, const StreamOrDevice& s) {
    auto [q, r] = la::qr(a, s);
    return linalg_result("QRResult", {q, r});
  });
  def(m, "svd(a: array, compute_uv: bool = True, " KEYWORD_STREAM_TO "SVDResult | array",
      [](const array& a, bool vectors, const StreamOrDevice& s) -> nb::object {
        std::vector<array> out = la::svd(a, vectors, s);
        return vectors ? linalg_result("SVDResult", out) : nb::steal(wrap(out[0]));
      });
  def(m, "lu(a: array, " KEYWORD_STREAM_TO "tuple[array, array, array]",
      [](const array& a, const StreamOrDevice& s) { return tuple_of(la::lu(a, s)); });
  def(m, "lu_factor(a: array, " KEYWORD_STREAM_TO "tuple[array, array]",
      [](const array& a, const StreamOrDevice& s) { return la::lu_factor(a, s); });
}

void bind_spectra(nb::module_& m) {
  def(m, "eigh(a: array, UPLO: str = 'L', " KEYWORD_STREAM_TO "EighResult",
      [](const array& a, std::string& uplo, const StreamOrDevice& s) {
        auto [values, vectors] = la::eigh(a, uplo, s);
        return linalg_result("EighResult", {values, vectors});
      });
  def(m, "eigvalsh(a: array, UPLO: str = 'L', " KEYWORD_STREAM_TO "array",
      [](const array& a, std::string& uplo, const StreamOrDevice& s) {
        return la::eigvalsh(a, uplo, s);
      });
  def(m, "eig(a: array, " KEYWORD_STREAM_TO "EigResult",
      [](const array& a, const StreamOrDevice& s) {
        auto [values, vectors] = la::eig(a, s);
        return linalg_result("EigResult", {values, vectors});
      });
  def(m, "eigvals(a: array, " KEYWORD_STREAM_TO "array",
      [](const array& a, const StreamOrDevice& s) { return la::eigvals(a, s); });
}

void bind_solutions(nb::module_& m) {
  def(m, "solve(a: array, b: array, " KEYWORD_STREAM_TO "array",
      [](const array& a, const array& b, const StreamOrDevice& s) { return la::solve(a, b, s); });
  def(m,
      "solve_triangular(a: array, b: array, *, upper: bool = False, "
      "stream: StreamOrDevice = None) -> array",
      [](const array& a, const array& b, bool upper, const StreamOrDevice& s) {
        return la::solve_triangular(a, b, upper, s);
      });
  def(m, "inv(a: array, " KEYWORD_STREAM_TO "array",
      [](const array& a, const StreamOrDevice& s) { return la::inv(a, s); });
  def(m, "tri_inv(a: array, upper: bool = False, " KEYWORD_STREAM_TO "array",
      [](const array& a, bool upper, const StreamOrDevice& s) { return la::tri_inv(a, upper, s); });
  def(m, "pinv(a: array, " KEYWORD_STREAM_TO "array",
      [](const array& a, const StreamOrDevice& s) { return la::pinv(a, s); });
  def(m,
      "lstsq(a: array, b: array, rcond: float | None = None, " KEYWORD_STREAM_TO
      "tuple[array, array, array, array]",
      [](const array& a, const array& b, std::optional<double> rcond, const StreamOrDevice& s) {
        la::LeastSquares r = la::lstsq(a, b, rcond, s);
        return tuple_of({r.x, r.residuals, r.rank, r.singular_values});
      });
  def(m, "det(a: array, " KEYWORD_STREAM_TO "array",
      [](const array& a, const StreamOrDevice& s) { return la::det(a, s); });
  def(m, "slogdet(a: array, " KEYWORD_STREAM_TO "SlogdetResult",
      [](const array& a, const StreamOrDevice& s) {
        auto [sign, log] = la::slogdet(a, s);
        return linalg_result("SlogdetResult", {sign, log});
      });
}

void bind_functions(nb::module_& m) {
  MLX_NORM("norm")
  def(m, "cross(a: array, b: array, axis: int = -1, " KEYWORD_STREAM_TO "array",
      [](const array& a, const array& b, int axis, const StreamOrDevice& s) {
        return la::cross(a, b, axis, s);
      });
  def(m, "matrix_rank(a: array, tol: float | None = None, " KEYWORD_STREAM_TO "array",
      [](const array& a, std::optional<double> tol, const StreamOrDevice& s) {
        return la::matrix_rank(a, tol, s);
      });
  def(m, "matrix_power(a: array, n: int, " KEYWORD_STREAM_TO "array",
      [](const array& a, int n, const StreamOrDevice& s) { return la::matrix_power(a, n, s); });
  def(m, "expm(a: array, " KEYWORD_STREAM_TO "array",
      [](const array& a, const StreamOrDevice& s) { return la::expm(a, s); });
}

}  // namespace

void bind_linalg(nb::module_& core) {
  nb::module_ m = core.def_submodule("linalg", "Linear algebra on the last two axes of arrays.");
  bind_factorisations(m);
  bind_spectra(m);
  bind_solutions(m);
  bind_functions(m);
}

void bind_matrix_norm(nb::module_& m) { MLX_NORM("matrix_norm") }

}  // namespace mlx::python
