// Shared by the convolution kernels: the geometry of a convolution over three spatial axes.
#pragma once

#include <algorithm>
#include <array>

#include "mlx/backend/cpu/isa/conv.h"
#include "mlx/backend/cpu/isa/gemm.h"
#include "mlx/backend/cpu/kernel.h"
#include "mlx/ops/conv.h"

namespace mlx::core::cpu {

using Index3 = std::array<int64_t, 3>;

/// A convolution; missing spatial axes are leading axes of length 1.
struct ConvGeometry {
  int64_t batch, channels, features, groups;
  Index3 in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  Index3 stride{1, 1, 1}, low{0, 0, 0}, spread{1, 1, 1}, input_spread{1, 1, 1};
  bool flip;
  int itemsize;

  /// From input shape, result shape, kernel lengths and attributes.
  ConvGeometry(const Shape& x, const Shape& y, const Shape& kernel, const ConvAttrs& c,
               int itemsize);
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_features() const { return features / groups; }
  int64_t patch() const { return taps() * group_channels(); }
  int64_t positions() const { return batch * out[0] * out[1] * out[2]; }
  /// The tap of weight k on axis i, counted in the direction of the input.
  int64_t tap(int i, int64_t k) const { return flip ? kernel[i] - 1 - k : k; }
  /// Index on axis i of the input for a position and a tap, or -1 in the padding.
  int64_t source(int i, int64_t position, int64_t tap) const {
    int64_t at = position * stride[i] + tap * spread[i] - low[i];
    if (at < 0) return -1;
    if (input_spread[i] != 1) {
      if (at % input_spread[i]) return -1;
      at /= input_spread[i];
    }
    return at < in[i] ? at : -1;
  }
  /// Estimated nanoseconds on one thread, used to decide on threads.
  double estimate() const;
};

/// A position of the result.
struct ConvPosition {
  int64_t n;
  Index3 at;
  ConvPosition(const ConvGeometry& g, int64_t flat) {
    for (int i = 2; i >= 0; --i) {
      at[i] = flat % g.out[i];
      flat /= g.out[i];
    }
    n = flat;
  }
  void next(const ConvGeometry& g) {
    for (int i = 2; i >= 0; --i) {
      if (++at[i] < g.out[i]) return;
      at[i] = 0;
    }
    ++n;
  }
};

/// Calls `f(element, source, count)` for the runs of the patch of a position: so many elements of
/// the patch, in the order of the weight, from elements of the input that are counted from the
/// group's first channel, or zeros where `source` is -1.
template <class F>
void each_run(const ConvGeometry& g, const ConvPosition& p, F&& f) {
  const int64_t channels = g.group_channels(), taps = g.kernel[2];
  const bool joined = g.groups == 1 && !g.flip && g.spread[2] == 1 && g.input_spread[2] == 1;
  // Neighbouring taps are contiguous in the input.
  const int64_t start = p.at[2] * g.stride[2] - g.low[2];
  const int64_t begin = std::clamp<int64_t>(-start, 0, taps);
  const int64_t end = std::clamp<int64_t>(g.in[2] - start, begin, taps);
  int64_t element = 0;
  const auto run = [&](int64_t source, int64_t count) {
    if (count > 0) f(element, source, count * channels);
    element += count * channels;
  };
  for (int64_t a = 0; a < g.kernel[0]; ++a) {
    const int64_t i = g.source(0, p.at[0], g.tap(0, a));
    for (int64_t b = 0; b < g.kernel[1]; ++b) {
      const int64_t j = g.source(1, p.at[1], g.tap(1, b));
      const int64_t line = ((p.n * g.in[0] + i) * g.in[1] + j) * g.in[2];
      if (i < 0 || j < 0) {
        run(-1, taps);
      } else if (joined) {
        run(-1, begin);
        run((line + start + begin) * g.channels, end - begin);
        run(-1, taps - end);
      } else {
        for (int64_t c = 0; c < taps; ++c) {
          const int64_t at = g.source(2, p.at[2], g.tap(2, c));
          run(at < 0 ? -1 : (line + at) * g.channels, 1);
        }
      }
    }
  }
}

/// How kernels read and store a dtype whose sums are float32.
inline GemmSource gemm_source_of(Dtype t) {
  return t == float16 ? GemmSource::f16 : t == bfloat16 ? GemmSource::bf16 : GemmSource::f32;
}
inline GemmOutput gemm_output_of(Dtype t) {
  return t == float16 ? GemmOutput::f16 : t == bfloat16 ? GemmOutput::bf16 : GemmOutput::f32;
}

/// Lines of the input of a group of channels.
class ConvInput {
 public:
  ConvInput(const ConvGeometry& g, const View& x, int64_t group)
      : g_(g),
        data_(x.as<const char>() + group * g.group_channels() * g.itemsize),
        source_(gemm_source_of(x.dtype())) {}
  const void* line(int64_t n, int64_t depth, int64_t height) const {
    return data_ +
           ((n * g_.in[0] + depth) * g_.in[1] + height) * g_.in[2] * g_.channels * g_.itemsize;
  }
  /// Writes `length` pixels of a line, from `first` on, as float32 with zeros for padding and
  /// dilation.
  void copy(int64_t n, int64_t depth, int64_t height, int64_t first, int64_t length,
            float* to) const;

 private:
  const ConvGeometry& g_;
  const char* data_;
  GemmSource source_;
};

/// Convolves float32 or 16-bit floats line by line, summing in float32.
void conv_lines(const ConvGeometry& g, const View& x, const View& w, const View& out);

/// Whether a unit for tiles convolves that dtype faster, and the convolution by it.
bool suits_tiles(const ConvGeometry& g, Dtype type);
void conv_tiles(const ConvGeometry& g, const View& x, const View& w, const View& out);

/// The cotangent of the weight for them: out[feature, tap, channel] = sum over positions of
/// y[position, feature] * x[position and tap, channel].
void conv_weight_lines(const ConvGeometry& g, const View& x, const View& y, const View& out);

const ConvKernels& conv_kernels_in_use();

}  // namespace mlx::core::cpu
