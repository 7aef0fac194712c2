// Convolutions with 1 to 3 spatial axes, in the layout (batch, spatial axes, channels). Weights
// have the layout (output channels, spatial axes, input channels per group). The kernel is not
// flipped by default (cross-correlation), as in machine learning.
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/ops/precision.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

/// The general form. Negative padding crops; `input_dilation` inserts zeros between the elements of
/// the input. Lists have one value per spatial axis, or one for all (empty: the default, 1 or 0).
/// Floating dtypes.
MLX_API array conv_general(array input, array weight, std::vector<int> stride = {},
                           std::vector<int> padding_lo = {}, std::vector<int> padding_hi = {},
                           std::vector<int> kernel_dilation = {},
                           std::vector<int> input_dilation = {}, int groups = 1, bool flip = false,
                           StreamOrDevice s = {});
/// The same with equal padding on both sides.
inline array conv_general(const array& input, const array& weight, std::vector<int> stride = {},
                          std::vector<int> padding = {}, std::vector<int> kernel_dilation = {},
                          std::vector<int> input_dilation = {}, int groups = 1, bool flip = false,
                          StreamOrDevice s = {}) {
  return conv_general(input, weight, std::move(stride), padding, padding,
                      std::move(kernel_dilation), std::move(input_dilation), groups, flip, s);
}

using Pair = std::pair<int, int>;
using Triple = std::tuple<int, int, int>;

MLX_API array conv1d(const array& input, const array& weight, int stride = 1, int padding = 0,
                     int dilation = 1, int groups = 1, StreamOrDevice s = {});
MLX_API array conv2d(const array& input, const array& weight, const Pair& stride = {1, 1},
                     const Pair& padding = {0, 0}, const Pair& dilation = {1, 1}, int groups = 1,
                     StreamOrDevice s = {});
MLX_API array conv3d(const array& input, const array& weight, const Triple& stride = {1, 1, 1},
                     const Triple& padding = {0, 0, 0}, const Triple& dilation = {1, 1, 1},
                     int groups = 1, StreamOrDevice s = {});

/// Transposed convolutions of conv1d .. conv3d; `output_padding` extends the result at its end.
MLX_API array conv_transpose1d(const array& input, const array& weight, int stride = 1,
                               int padding = 0, int dilation = 1, int output_padding = 0,
                               int groups = 1, StreamOrDevice s = {});
MLX_API array conv_transpose2d(const array& input, const array& weight, const Pair& stride = {1, 1},
                               const Pair& padding = {0, 0}, const Pair& dilation = {1, 1},
                               const Pair& output_padding = {0, 0}, int groups = 1,
                               StreamOrDevice s = {});
MLX_API array conv_transpose3d(const array& input, const array& weight,
                               const Triple& stride = {1, 1, 1}, const Triple& padding = {0, 0, 0},
                               const Triple& dilation = {1, 1, 1},
                               const Triple& output_padding = {0, 0, 0}, int groups = 1,
                               StreamOrDevice s = {});

/// The convolution of two vectors, as in NumPy: mode "full", "same" or "valid".
MLX_API array convolve(const array& a, const array& v, const std::string& mode = "full",
                       StreamOrDevice s = {});

struct ConvAttrs {
  Shape stride, padding_lo, padding_hi, kernel_dilation, input_dilation;
  int64_t groups;
  bool flip;
  Precision precision = Precision::highest;  ///< of the products
  template <class F>
  void each(F&& f) {
    f("stride", stride);
    f("padding_lo", padding_lo);
    f("padding_hi", padding_hi);
    f("kernel_dilation", kernel_dilation);
    f("input_dilation", input_dilation);
    f("groups", groups);
    f("flip", flip);
    f("precision", precision);
  }
};
struct ConvWeightAttrs {
  ConvAttrs conv;
  Shape kernel;  ///< lengths of the weight's spatial axes
  template <class F>
  void each(F&& f) {
    conv.each(f);
    f("kernel", kernel);
  }
};

/// The convolution, and the cotangent of its weight as an op of the input and the output cotangent.
extern const OpDef op_conv, op_conv_weight;

namespace rules {
Arrays conv_vjp(const RuleArgs&);
Arrays conv_weight_vjp(const RuleArgs&);
Batched conv_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
Batched conv_weight_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
/// A convolution node with checked attributes; also used by the derivative rules.
array conv_node(const array& x, const array& w, const ConvAttrs& attrs, Stream s);
array conv_weight_node(const array& x, const array& g, const ConvWeightAttrs& attrs, Stream s);
}  // namespace rules

}  // namespace mlx::core
