// Products of matrices and tensors.
#include "convert.h"
#include "mlx/ops.h"
#include "mlx/ops/gather_mm.h"
#include "mlx/ops/precision.h"
#include "mlx/ops/standard.h"
#include "module.h"

namespace mlx::python {

namespace {
namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"

/// A `with` block in which products have a precision.
struct PrecisionBlock {
  core::Precision precision;
  std::vector<int> before;
};

void bind_precision(nb::module_& m) {
  def(m, "get_matmul_precision() -> str",
      [] { return std::string(core::precision_name(core::matmul_precision())); });
  def(m, "set_matmul_precision(precision: str) -> None", [](const std::string& name) {
    core::set_matmul_precision(core::precision_from_name("set_matmul_precision", name));
  });
  nb::class_<PrecisionBlock> block(m, "_MatmulPrecision",
                                   "A `with` block in which products have a precision.");
  def(
      block, "__enter__(self) -> _MatmulPrecision",
      [](nb::handle self) {
        auto& b = instance_of<PrecisionBlock>(self);
        b.before.push_back(core::set_own_matmul_precision(static_cast<int>(b.precision)));
        return nb::object(nb::borrow(self));
      },
      "Sets the precision for the calling thread.");
  def(
      block, "__exit__(self, *args: object) -> None",
      [](nb::handle self, Star) {
        auto& b = instance_of<PrecisionBlock>(self);
        if (b.before.empty()) throw ValueError("[matmul_precision] the context was not entered");
        core::set_own_matmul_precision(b.before.back());
        b.before.pop_back();
      },
      "Puts the earlier precision back.");
  def(m, "matmul_precision(precision: str) -> _MatmulPrecision", [](const std::string& name) {
    return nb::cast(PrecisionBlock{core::precision_from_name("matmul_precision", name), {}});
  });
}
}  // namespace

void bind_products(nb::module_& m, nb::handle c) {
  bind_precision(m);
  def(c, "dot(self, other: scalar | array, *, " STREAM,
      [](Operand x, Operand y, const StreamOrDevice& s) {
        BothOperands o("dot", x, y);
        return core::dot(*o.a, *o.b, s);
      });
  def(m, "matmul(a: array, b: array, /, *, " STREAM,
      [](const array& a, const array& b, const StreamOrDevice& s) {
        return core::matmul(a, b, s);
      });
#define MLX_PRODUCT(NAME, SIGNATURE)                                                 \
  def(m, #NAME SIGNATURE STREAM, [](Operand x, Operand y, const StreamOrDevice& s) { \
    BothOperands o(#NAME, x, y);                                                     \
    return core::NAME(*o.a, *o.b, s);                                                \
  });
  MLX_PRODUCT(inner, "(a: array, b: array, /, *, ")
  MLX_PRODUCT(outer, "(a: array, b: array, /, *, ")
  MLX_PRODUCT(kron, "(a: array, b: array, *, ")
#undef MLX_PRODUCT
  def(m, "vecdot(a: array, b: array, /, *, axis: int = -1, " STREAM,
      [](const array& a, const array& b, int axis, const StreamOrDevice& s) {
        return core::vecdot(a, b, axis, s);
      });
  def(m, "addmm(c: array, a: array, b: array, /, alpha: float = 1.0, beta: float = 1.0, *, " STREAM,
      [](Operand c, const array& a, const array& b, double alpha, double beta,
         const StreamOrDevice& s) {
        return core::addmm(convert_operand("addmm", a, c), a, b, alpha, beta, s);
      });
  def(m, "tensordot(a: array, b: array, /, axes: int | list[Sequence[int]] = 2, *, " STREAM,
      [](const array& a, const array& b, std::variant<int, std::vector<std::vector<int>>>& axes,
         const StreamOrDevice& s) {
        if (auto* n = std::get_if<int>(&axes)) return core::tensordot(a, b, *n, s);
        auto& lists = std::get<1>(axes);
        if (lists.size() != 2)
          fail<ValueError>("tensordot", lists.size(), " lists of axes; two are accepted");
        return core::tensordot(a, b, lists[0], lists[1], s);
      });
  def(m,
      "gather_mm(a: array, b: array, /, lhs_indices: array | None = None, "
      "rhs_indices: array | None = None, *, sorted_indices: bool = False, " STREAM,
      [](const array& a, const array& b, std::optional<array>& lhs, std::optional<array>& rhs,
         bool sorted,
         const StreamOrDevice& s) { return core::gather_mm(a, b, lhs, rhs, sorted, s); });
  def(m, "segmented_mm(a: array, b: array, /, segments: array, *, " STREAM,
      [](const array& a, const array& b, const array& segments, const StreamOrDevice& s) {
        return core::segmented_mm(a, b, segments, s);
      });
  def(m,
      "block_masked_mm(a: array, b: array, /, block_size: int = 64, mask_out: array | None = None, "
      "mask_lhs: array | None = None, mask_rhs: array | None = None, *, " STREAM,
      [](const array& a, const array& b, int block, std::optional<array>& out,
         std::optional<array>& lhs, std::optional<array>& rhs,
         const StreamOrDevice& s) { return core::block_masked_mm(a, b, block, out, lhs, rhs, s); });
  def(m, "hadamard_transform(a: array, scale: float | None = None, " STREAM,
      [](const array& a, std::optional<float>& scale, const StreamOrDevice& s) {
        return core::hadamard_transform(a, scale, s);
      });
}

}  // namespace mlx::python
