// Products of matrices and tensors.
#include "convert.h"
#include "mlx/ops.h"
#include "mlx/ops/gather_mm.h"
#include "module.h"

namespace mlx::python {

namespace {
namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"
}  // namespace

void bind_products(nb::module_& m) {
  def(
      m, "matmul(a: array, b: array, /, *, " STREAM,
      [](const array& a, const array& b, const StreamOrDevice& s) { return core::matmul(a, b, s); },
      "Matrix product of the last two axes; the other axes broadcast. A vector counts as a row on "
      "the left and as a column on the right.");
#define MLX_PRODUCT(NAME, SIGNATURE, DOC)                 \
  def(                                                    \
      m, #NAME SIGNATURE STREAM,                          \
      [](Operand x, Operand y, const StreamOrDevice& s) { \
        BothOperands o(#NAME, x, y);                      \
        return core::NAME(*o.a, *o.b, s);                 \
      },                                                  \
      DOC);
  MLX_PRODUCT(inner, "(a: array, b: array, /, *, ", "Sums of products over the last axes.")
  MLX_PRODUCT(outer, "(a: array, b: array, /, *, ", "a[i] * b[j] of the flattened operands.")
  MLX_PRODUCT(kron, "(a: array, b: array, *, ", "Kronecker product.")
#undef MLX_PRODUCT
  def(
      m, "vecdot(a: array, b: array, /, *, axis: int = -1, " STREAM,
      [](const array& a, const array& b, int axis, const StreamOrDevice& s) {
        return core::vecdot(a, b, axis, s);
      },
      "Sum over an axis of conj(a) * b.");
  def(
      m, "addmm(c: array, a: array, b: array, /, alpha: float = 1.0, beta: float = 1.0, *, " STREAM,
      [](Operand c, const array& a, const array& b, double alpha, double beta,
         const StreamOrDevice& s) {
        return core::addmm(convert_operand("addmm", a, c), a, b, alpha, beta, s);
      },
      "beta * c + alpha * (a @ b).");
  def(
      m, "tensordot(a: array, b: array, /, axes: int | list[Sequence[int]] = 2, *, " STREAM,
      [](const array& a, const array& b, std::variant<int, std::vector<std::vector<int>>>& axes,
         const StreamOrDevice& s) {
        if (auto* n = std::get_if<int>(&axes)) return core::tensordot(a, b, *n, s);
        auto& lists = std::get<1>(axes);
        if (lists.size() != 2)
          fail<ValueError>("tensordot", lists.size(), " lists of axes; two are accepted");
        return core::tensordot(a, b, lists[0], lists[1], s);
      },
      "Contraction of the last axes of `a` with the first ones of `b`, or of axes in two lists.");
  def(
      m,
      "gather_mm(a: array, b: array, /, lhs_indices: array | None = None, "
      "rhs_indices: array | None = None, *, sorted_indices: bool = False, " STREAM,
      [](const array& a, const array& b, std::optional<array>& lhs, std::optional<array>& rhs,
         bool sorted,
         const StreamOrDevice& s) { return core::gather_mm(a, b, lhs, rhs, sorted, s); },
      "Matrix products of a[lhs_indices[i]] and b[rhs_indices[i]], without copies of the "
      "operands.");
  def(
      m, "segmented_mm(a: array, b: array, /, segments: array, *, " STREAM,
      [](const array& a, const array& b, const array& segments, const StreamOrDevice& s) {
        return core::segmented_mm(a, b, segments, s);
      },
      "Products a[:, start:end] @ b[start:end] for the ranges in the last axis of `segments`.");
  def(
      m,
      "block_masked_mm(a: array, b: array, /, block_size: int = 64, mask_out: array | None = None, "
      "mask_lhs: array | None = None, mask_rhs: array | None = None, *, " STREAM,
      [](const array& a, const array& b, int block, std::optional<array>& out,
         std::optional<array>& lhs, std::optional<array>& rhs,
         const StreamOrDevice& s) { return core::block_masked_mm(a, b, block, out, lhs, rhs, s); },
      "Matrix product in which square blocks of the operands and of the result are masked.");
  def(
      m, "hadamard_transform(a: array, scale: float | None = None, " STREAM,
      [](const array& a, std::optional<float>& scale, const StreamOrDevice& s) {
        return core::hadamard_transform(a, scale, s);
      },
      "Products of the rows of the last axis with a Hadamard matrix, times 1 / sqrt(n) or `scale`. "
      "Lengths n = m * 2^k with m one of 1, 12, 20 and 28.");
}

}  // namespace mlx::python
