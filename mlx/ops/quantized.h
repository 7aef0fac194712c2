// Arrays of few bits an element: packing, unpacking, and products with packed matrices.
//
// A matrix is packed along its last axis: elements follow one another from the lowest bit of uint32
// words, and every `group_size` of them share a scale. By mode:
//   affine  scale * q + bias with unsigned q of 1, 2, 3, 4, 5, 6 or 8 bits; groups of 32, 64 or
//   128;
//           scales and biases have the dtype of the matrix
//   mxfp4   4-bit floats (e2m1), groups of 32, scales are powers of two (e8m0 as uint8)
//   mxfp8   8-bit floats (e4m3), groups of 32, scales as in mxfp4
//   nvfp4   4-bit floats (e2m1), groups of 16, scales are 8-bit floats (e4m3 as uint8), optionally
//           relative to a float32 global scale g: g / 2688 times what the codes say
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// The packed matrix, its scales and, for mode affine, biases. Throws ValueError unless w is
/// floating with at least two axes and its last axis is a multiple of the group size.
MLX_API std::vector<array> quantize(const array& w, std::optional<int> group_size = {},
                                    std::optional<int> bits = {},
                                    const std::string& mode = "affine",
                                    const std::optional<array>& global_scale = {},
                                    StreamOrDevice s = {});
/// Unpacks a matrix, in `dtype` or by default that of the scales (bfloat16 for floating-point
/// modes).
MLX_API array dequantize(const array& w, const array& scales,
                         const std::optional<array>& biases = {},
                         std::optional<int> group_size = {}, std::optional<int> bits = {},
                         const std::string& mode = "affine",
                         const std::optional<array>& global_scale = {},
                         std::optional<Dtype> dtype = {}, StreamOrDevice s = {});
/// x · w^T of a packed w, or x · w if `transpose` is false; leading axes broadcast.
MLX_API array quantized_matmul(const array& x, const array& w, const array& scales,
                               const std::optional<array>& biases = {}, bool transpose = true,
                               std::optional<int> group_size = {}, std::optional<int> bits = {},
                               const std::string& mode = "affine", StreamOrDevice s = {});
/// quantized_matmul of x[lhs_indices[i]] and w[rhs_indices[i]]; the indices refer to the matrices
/// of the flattened leading axes and default to all matrices in order. A global scale has one entry
/// per matrix of w.
MLX_API array gather_qmm(const array& x, const array& w, const array& scales,
                         const std::optional<array>& biases = {},
                         std::optional<array> lhs_indices = {},
                         std::optional<array> rhs_indices = {}, bool transpose = true,
                         std::optional<int> group_size = {}, std::optional<int> bits = {},
                         const std::string& mode = "affine",
                         const std::optional<array>& global_scale = {}, bool sorted_indices = false,
                         StreamOrDevice s = {});
/// x · w^T with both operands rounded to a floating-point mode: w is packed, with its scales, or
/// floating. Derivatives treat the rounding as the identity.
MLX_API array qqmm(const array& x, const array& w, const std::optional<array>& w_scales = {},
                   std::optional<int> group_size = {}, std::optional<int> bits = {},
                   const std::string& mode = "nvfp4",
                   const std::optional<array>& global_scale_x = {},
                   const std::optional<array>& global_scale_w = {}, StreamOrDevice s = {});
/// qqmm of x[lhs_indices[i]] and w[rhs_indices[i]], as in gather_qmm.
MLX_API array gather_qqmm(const array& x, const array& w, const std::optional<array>& scales_w = {},
                          const std::optional<array>& lhs_indices = {},
                          const std::optional<array>& rhs_indices = {},
                          std::optional<int> group_size = {}, std::optional<int> bits = {},
                          const std::string& mode = "nvfp4",
                          const std::optional<array>& global_scale_x = {},
                          const std::optional<array>& global_scale_w = {},
                          bool sorted_indices = false, StreamOrDevice s = {});

enum class QuantMode : uint8_t { affine, mxfp4, mxfp8, nvfp4 };

/// The packing of a matrix.
struct Packing {
  QuantMode mode;
  int group, bits;
  template <class F>
  void each(F&& f) {
    f("mode", mode);
    f("group", group);
    f("bits", bits);
  }
  bool affine() const { return mode == QuantMode::affine; }
};
struct DequantizeAttrs {
  Packing packing;
  Dtype dtype;
  template <class F>
  void each(F&& f) {
    packing.each(f);
    f("dtype", dtype);
  }
};
struct QuantizedMatmulAttrs {
  Packing packing;
  bool transpose;
  template <class F>
  void each(F&& f) {
    packing.each(f);
    f("transpose", transpose);
  }
};

/// Inputs: w and optionally a float32 global scale. A bundle of words, scales, biases.
extern const OpDef op_quantize;
/// Inputs: words, scales, biases for affine, optionally a float32 global scale.
extern const OpDef op_dequantize;
/// Inputs: x, words, scales, biases for affine.
extern const OpDef op_quantized_matmul;
/// Inputs: stacks x and words of rank 3, scales, biases for affine, index arrays into both.
extern const OpDef op_gather_qmm;
/// x rounded by packing and unpacking: inputs x and optionally a float32 global scale. Its
/// derivative is the identity.
extern const OpDef op_quantize_round;

namespace rules {
Arrays quantize_vjp(const RuleArgs&);
Arrays quantize_jvp(const RuleArgs&);
Arrays dequantize_vjp(const RuleArgs&);
Arrays dequantize_jvp(const RuleArgs&);
Arrays quantized_matmul_vjp(const RuleArgs&);
Arrays quantized_matmul_jvp(const RuleArgs&);
Arrays gather_qmm_vjp(const RuleArgs&);
Arrays gather_qmm_jvp(const RuleArgs&);
Arrays quantize_round_jvp(const RuleArgs&);
Batched quantize_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched dequantize_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched quantized_matmul_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched gather_qmm_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched quantize_round_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

}  // namespace mlx::core
