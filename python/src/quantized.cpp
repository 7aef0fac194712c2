// Quantized matrices.
#include "mlx/ops/quantized.h"

#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {
namespace core = mlx::core;
using Maybe = std::optional<array>;
using MaybeInt = std::optional<int>;
#define STREAM "stream: StreamOrDevice = None) -> array"
#define PACKING(mode) \
  "group_size: int | None = None, bits: int | None = None, mode: str = '" mode "'"
#define INDICES "lhs_indices: array | None = None, rhs_indices: array | None = None, "
#define GLOBALS "global_scale_x: array | None = None, global_scale_w: array | None = None, *, "

void bind_packing(nb::module_& m) {
  def(
      m,
      "quantize(w: array, /, " PACKING(
          "affine") ", *, global_scale: array | None = None, stream: StreamOrDevice = None) "
                    "-> list[array]",
      [](const array& w, const MaybeInt& group, const MaybeInt& bits, std::string& mode,
         const Maybe& global, const StreamOrDevice& s) {
        return core::quantize(w, group, bits, mode, global, s);
      });
  def(m,
      "dequantize(w: array, /, scales: array, biases: array | None = None, " PACKING(
          "affine") ", global_scale: array | None = None, dtype: Dtype | None = None, *, " STREAM,
      [](const array& w, const array& scales, const Maybe& biases, const MaybeInt& group,
         const MaybeInt& bits, std::string& mode, const Maybe& global, std::optional<Dtype>& dtype,
         const StreamOrDevice& s) {
        return core::dequantize(w, scales, biases, group, bits, mode, global, dtype, s);
      });
}

void bind_packed_products(nb::module_& m) {
  def(m,
      "quantized_matmul(x: array, w: array, /, scales: array, biases: array | None = None, "
      "transpose: bool = True, " PACKING("affine") ", *, " STREAM,
      [](const array& x, const array& w, const array& scales, const Maybe& biases, bool transpose,
         const MaybeInt& group, const MaybeInt& bits, std::string& mode, const StreamOrDevice& s) {
        return core::quantized_matmul(x, w, scales, biases, transpose, group, bits, mode, s);
      });
  def(m,
      "gather_qmm(x: array, w: array, /, scales: array, biases: array | None = None, " INDICES
      "transpose: bool = True, " PACKING(
          "affine") ", global_scale: array | None = None, *, sorted_indices: bool = False, " STREAM,
      [](const array& x, const array& w, const array& scales, const Maybe& biases, const Maybe& lhs,
         const Maybe& rhs, bool transpose, const MaybeInt& group, const MaybeInt& bits,
         std::string& mode, const Maybe& global, bool sorted, const StreamOrDevice& s) {
        return core::gather_qmm(x, w, scales, biases, lhs, rhs, transpose, group, bits, mode,
                                global, sorted, s);
      });
  def(m,
      "qqmm(x: array, w: array, scales: array | None = None, " PACKING("nvfp4") ", " GLOBALS STREAM,
      [](const array& x, const array& w, const Maybe& scales, const MaybeInt& group,
         const MaybeInt& bits, std::string& mode, const Maybe& gx, const Maybe& gw,
         const StreamOrDevice& s) {
        return core::qqmm(x, w, scales, group, bits, mode, gx, gw, s);
      });
  def(m,
      "gather_qqmm(x: array, w: array, /, scales: array | None = None, " INDICES PACKING(
          "nvfp4") ", " GLOBALS "sorted_indices: bool = False, " STREAM,
      [](const array& x, const array& w, const Maybe& scales, const Maybe& lhs, const Maybe& rhs,
         const MaybeInt& group, const MaybeInt& bits, std::string& mode, const Maybe& gx,
         const Maybe& gw, bool sorted, const StreamOrDevice& s) {
        return core::gather_qqmm(x, w, scales, lhs, rhs, group, bits, mode, gx, gw, sorted, s);
      });
}

}  // namespace

void bind_quantized(nb::module_& m) {
  bind_packing(m);
  bind_packed_products(m);
}

}  // namespace mlx::python
