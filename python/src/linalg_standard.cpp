// Additions of the array API standard to mlx.core.linalg: functions of mlx.core under this name,
// and further signatures. Bound after the others.
#include "mlx/linalg.h"
#include "mlx/ops.h"
#include "mlx/ops/linalg_tensors.h"
#include "module.h"
#include "named.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
namespace la = mlx::core::linalg;
#define STREAM_TO "stream: StreamOrDevice = None) -> "

void bind_products(nb::module_& m, nb::module_& c) {
  for (const char* name : {"matmul", "outer", "tensordot"}) m.attr(name) = c.attr(name);
  def(m, "vecdot(x1: array, x2: array, /, *, axis: int = -1, " STREAM_TO "array",
      [](const array& a, const array& b, int axis, const StreamOrDevice& s) {
        const Dtype t = promote_types(a.dtype(), b.dtype());
        return core::astype(core::vecdot(a, b, axis, s), t, s);
      });
  def(m, "matrix_transpose(x: array, /, *, " STREAM_TO "array",
      [](const array& x, const StreamOrDevice& s) {
        if (x.ndim() < 2)
          fail<ValueError>("linalg.matrix_transpose", "an array of shape ", to_string(x.shape()),
                           "; at least 2 dimensions are needed");
        return core::swapaxes(x, -1, -2, s);
      });
  def(m, "diagonal(x: array, /, *, offset: int = 0, " STREAM_TO "array",
      [](const array& x, int offset, const StreamOrDevice& s) {
        return core::diagonal(x, offset, -2, -1, s);
      });
  def(m, "trace(x: array, /, *, offset: int = 0, dtype: Dtype | None = None, " STREAM_TO "array",
      [](const array& x, int offset, std::optional<Dtype> t, const StreamOrDevice& s) {
        array d = core::diagonal(t ? core::astype(x, *t, s) : x, offset, -2, -1, s);
        array out = core::sum(d, -1, false, s);
        return t ? core::astype(out, *t, s) : out;
      });
}

void bind_standard_norms(nb::module_& m) {
  def(m,
      "vector_norm(x: array, /, *, axis: None | int | Sequence[int] = None, keepdims: bool = "
      "False, ord: float = 2, " STREAM_TO "array",
      [](const array& x, Axes& axis, bool keepdims, double ord, const StreamOrDevice& s) {
        std::optional<std::vector<int>> axes;
        if (auto* one = std::get_if<int>(&axis)) axes = {*one};
        if (auto* several = std::get_if<std::vector<int>>(&axis)) axes = *several;
        return la::vector_norm(x, ord, axes, keepdims, s);
      });
  def(m,
      "matrix_norm(x: array, /, *, keepdims: bool = False, ord: float | str | None = "
      "'fro', " STREAM_TO "array",
      [](const array& x, bool keepdims, std::optional<std::variant<double, std::string>>& ord,
         const StreamOrDevice& s) {
        const std::vector<int> axes{-2, -1};
        if (!ord) return la::norm(x, axes, keepdims, s);
        if (auto* name = std::get_if<std::string>(&*ord))
          return la::norm(x, *name, axes, keepdims, s);
        return la::norm(x, std::get<0>(*ord), axes, keepdims, s);
      });
}

void bind_standard_spectra(nb::module_& m) {
  def(m, "svdvals(x: array, /, *, " STREAM_TO "array",
      [](const array& x, const StreamOrDevice& s) { return la::svd(x, false, s)[0]; });
  def(m, "svd(x: array, /, *, full_matrices: bool, " STREAM_TO "SVDResult",
      [](const array& x, bool full, const StreamOrDevice& s) {
        return linalg_result("SVDResult", full ? la::svd(x, true, s) : la::thin_svd(x, s));
      });
  def(m, "qr(x: array, /, *, mode: str, " STREAM_TO "QRResult",
      [](const array& x, const std::string& mode, const StreamOrDevice& s) {
        if (mode != "reduced" && mode != "complete")
          fail<ValueError>("linalg.qr", "mode '", mode, "'; 'reduced' and 'complete' are accepted");
        auto [q, r] = mode == "complete" ? la::complete_qr(x, s) : la::qr(x, s);
        return linalg_result("QRResult", {q, r});
      });
  def(m, "pinv(x: array, /, *, rtol: float | array | None, " STREAM_TO "array",
      [](const array& x, nb::handle rtol, const StreamOrDevice& s) {
        return rtol.is_none() ? la::pinv(x, s) : la::pinv(x, to_array(rtol.ptr()), s);
      });
  def(m, "matrix_rank(x: array, /, *, rtol: float | array | None, " STREAM_TO "array",
      [](const array& x, nb::handle rtol, const StreamOrDevice& s) {
        return rtol.is_none() ? la::matrix_rank(x, std::nullopt, s)
                              : la::matrix_rank(x, to_array(rtol.ptr()), s);
      });
}

/// Functions of NumPy beside the standard's.
void bind_tensors(nb::module_& m) {
  def(m, "cond(x: array, p: float | str | None = None, *, " STREAM_TO "array",
      [](const array& x, std::optional<std::variant<double, std::string>>& p,
         const StreamOrDevice& s) { return la::cond(x, p, s); });
  def(m, "multi_dot(arrays: Sequence[array], *, " STREAM_TO "array",
      [](Arrays& arrays, const StreamOrDevice& s) { return la::multi_dot(arrays, s); });
  def(m, "tensorinv(a: array, ind: int = 2, *, " STREAM_TO "array",
      [](const array& a, int ind, const StreamOrDevice& s) { return la::tensorinv(a, ind, s); });
  def(m, "tensorsolve(a: array, b: array, *, " STREAM_TO "array",
      [](const array& a, const array& b, const StreamOrDevice& s) {
        return la::tensorsolve(a, b, s);
      });
  alias(m, "matrix_exp", "expm");
}

}  // namespace

void bind_linalg_standard(nb::module_& m, nb::module_& c) {
  add_named(m, "EighResult", "eigenvalues eigenvectors");
  add_named(m, "EigResult", "eigenvalues eigenvectors");
  add_named(m, "QRResult", "Q R");
  add_named(m, "SVDResult", "U S Vh");
  add_named(m, "SlogdetResult", "sign logabsdet");
  bind_products(m, c);
  bind_standard_norms(m);
  bind_standard_spectra(m);
  bind_tensors(m);
}

}  // namespace mlx::python
