// Kernels of convolutions, and the choice between them. Depthwise convolutions add tap by tap over
// all channels; one tap makes a matrix product; float64, and the cotangent of the weight by a unit
// for tiles, multiply matrices of patches, in blocks that depend on shapes alone. All others are in
// conv_lines.cpp, conv_tiles.cpp and conv_weight.cpp.
#include "mlx/backend/cpu/conv.h"

#include <algorithm>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/matmul.h"
#include "mlx/backend/cpu/panels.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

constexpr int64_t kPatchBytes = 1 << 24;
constexpr int64_t kWideProduct = 128;  // rows and columns of which products are faster than lines

/// True if the patches are the input itself.
bool pointwise(const ConvGeometry& g) {
  return g.groups == 1 && g.taps() == 1 && g.in == g.out && g.stride == Index3{1, 1, 1} &&
         g.low == Index3{0, 0, 0} && g.input_spread == Index3{1, 1, 1};
}

/// Number of positions whose patches are stored at a time.
int64_t block_of(const ConvGeometry& g) {
  int64_t fit = kPatchBytes / std::max<int64_t>(1, g.patch() * g.itemsize) / 64 * 64;
  return std::clamp<int64_t>(g.positions(), 1, std::max<int64_t>(fit, 256));
}

/// Writes the patch of one position.
void write_patch(const ConvGeometry& g, const void* x, int64_t group, const ConvPosition& p,
                 char* to) {
  const char* from = static_cast<const char*>(x) + group * g.group_channels() * g.itemsize;
  each_run(g, p, [&](int64_t element, int64_t source, int64_t count) {
    if (source < 0)
      std::memset(to + element * g.itemsize, 0, count * g.itemsize);
    else
      std::memcpy(to + element * g.itemsize, from + source * g.itemsize, count * g.itemsize);
  });
}

Layout layout(Shape shape, Strides strides, Dtype dtype) {
  Layout l;
  l.shape = std::move(shape);
  l.strides = std::move(strides);
  l.dtype = dtype;
  return l;
}

char* offset(const View& v, int64_t elements) { return v.as<char>() + elements * v.dtype().size(); }

/// out[positions, features of the group] = patches · weightᵀ for one block.
void block_product(const ConvGeometry& g, const void* patches, const View& w, const View& out,
                   int64_t group, int64_t first, int64_t count) {
  int64_t k = g.patch(), features = g.group_features();
  Dtype type = out.dtype();
  Layout a = layout({count, k}, {k, 1}, type);
  Layout b = layout({k, features}, {1, k}, type);
  Layout y = layout({count, features}, {g.features, 1}, type);
  View left{const_cast<void*>(patches), &a};
  View right{offset(w, group * features * k), &b};
  View target{offset(out, first * g.features + group * features), &y};
  matrix_product(left, right, nullptr, target, 1, 0);
}

/// out[features of the group, patch] (+)= cotangentᵀ · patches for one block.
void weight_product(const ConvGeometry& g, const void* patches, const View& y, const View& out,
                    int64_t group, int64_t first, int64_t count) {
  int64_t k = g.patch(), features = g.group_features();
  Dtype type = out.dtype();
  Layout a = layout({features, count}, {1, g.features}, type);
  Layout b = layout({count, k}, {k, 1}, type);
  Layout c = layout({features, k}, {k, 1}, type);
  View left{offset(y, first * g.features + group * features), &a};
  View right{const_cast<void*>(patches), &b};
  View target{offset(out, group * features * k), &c};
  matrix_product(left, right, first ? &target : nullptr, target, 1, 1);
}

/// Calls `f(position, tap, pixel)` for each tap of the positions that is in the input.
template <class F>
void each_tap(const ConvGeometry& g, int64_t begin, int64_t end, F&& f) {
  ConvPosition p(g, begin);
  for (int64_t i = begin; i < end; ++i, p.next(g)) {
    int64_t tap = 0;
    for (int64_t a = 0; a < g.kernel[0]; ++a)
      for (int64_t b = 0; b < g.kernel[1]; ++b) {
        int64_t d = g.source(0, p.at[0], a), h = g.source(1, p.at[1], b);
        for (int64_t c = 0; c < g.kernel[2]; ++c, ++tap) {
          int64_t v = g.source(2, p.at[2], c);
          if (d < 0 || h < 0 || v < 0) continue;
          f(i, tap, ((p.n * g.in[0] + d) * g.in[1] + h) * g.in[2] + v);
        }
      }
  }
}

/// True for one input and one output channel per group: all channels at a time, tap by tap.
bool is_depthwise(const ConvGeometry& g, Dtype type) {
  return g.group_channels() == 1 && g.group_features() == 1 && g.groups > 1 && type == float32;
}
/// The place in a weight of the tap that is read at place `tap` of the input.
int64_t weight_tap(const ConvGeometry& g, int64_t tap) { return g.flip ? g.taps() - 1 - tap : tap; }

void depthwise(const ConvGeometry& g, const View& x, const View& w, const View& out) {
  int64_t taps = g.taps(), n = g.channels;
  Scratch storage(taps * n * sizeof(float));
  float* by_tap = storage.get<float>();
  auto* weights = w.as<const float>();
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < n; ++c) by_tap[t * n + c] = weights[c * taps + weight_tap(g, t)];
  auto* input = x.as<const float>();
  auto* sums = out.as<float>();
  auto run = [&](int64_t begin, int64_t end) {
    std::fill_n(sums + begin * n, (end - begin) * n, 0.0f);
    each_tap(g, begin, end, [&](int64_t i, int64_t tap, int64_t pixel) {
      conv_kernels_in_use().tap(sums + i * n, input + pixel * n, by_tap + tap * n, n);
    });
  };
  parallel_for(g.positions(), 32, run, g.estimate());
}

/// The cotangent of its weight: the sums of chunks of positions, which are added in order.
void depthwise_weight(const ConvGeometry& g, const View& x, const View& y, const View& out) {
  constexpr int64_t kMostChunks = 32, kFewestPositions = 256;
  int64_t taps = g.taps(), n = g.channels;
  int64_t chunks = std::clamp<int64_t>(g.positions() / kFewestPositions, 1, kMostChunks);
  int64_t chunk = (g.positions() + chunks - 1) / chunks;
  Scratch storage(chunks * taps * n * sizeof(float));
  float* sums = storage.get<float>();
  std::fill_n(sums, chunks * taps * n, 0.0f);
  auto *input = x.as<const float>(), *cotangent = y.as<const float>();
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      each_tap(g, std::min(k * chunk, g.positions()), std::min((k + 1) * chunk, g.positions()),
               [&](int64_t i, int64_t tap, int64_t pixel) {
                 conv_kernels_in_use().tap(sums + (k * taps + tap) * n, input + pixel * n,
                                           cotangent + i * n, n);
               });
  };
  parallel_for(chunks, 1, run, g.estimate());
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < n; ++c) {
      float sum = sums[t * n + c];
      for (int64_t k = 1; k < chunks; ++k) sum += sums[(k * taps + t) * n + c];
      out.as<float>()[c * taps + weight_tap(g, t)] = sum;
    }
}

/// Calls `f(patches, group, first position, count)` for blocks of patches, which the threads pack.
template <class F>
void each_block(const ConvGeometry& g, const View& x, F&& f) {
  int64_t block = block_of(g), bytes = g.patch() * g.itemsize;
  Scratch storage(block * bytes);
  for (int64_t group = 0; group < g.groups; ++group) {
    for (int64_t first = 0; first < g.positions(); first += block) {
      int64_t count = std::min(block, g.positions() - first);
      auto pack = [&](int64_t begin, int64_t end) {
        ConvPosition p(g, first + begin);
        for (int64_t i = begin; i < end; ++i, p.next(g))
          write_patch(g, x.data, group, p, storage.get<char>() + i * bytes);
      };
      parallel_for(count, 64, pack, 0.05 * count * bytes);
      f(storage.get<char>(), group, first, count);
    }
  }
}

void conv_kernel(const KernelArgs& args) {
  const View &x = args.in[0], &w = args.in[1], &out = args.out[0];
  if (out.size() == 0) return;
  Shape kernel(w.shape().begin() + 1, w.shape().end() - 1);
  ConvGeometry g(x.shape(), out.shape(), kernel, attrs_as<ConvAttrs>(args.attrs), x.dtype().size());
  if (is_depthwise(g, x.dtype())) return depthwise(g, x, w, out);
  if (pointwise(g)) return block_product(g, x.data, w, out, 0, 0, g.positions());
  if (suits_tiles(g, x.dtype())) return conv_tiles(g, x, w, out);
  if (x.dtype() != float64) return conv_lines(g, x, w, out);
  each_block(g, x, [&](char* patches, int64_t group, int64_t first, int64_t count) {
    block_product(g, patches, w, out, group, first, count);
  });
}

/// out[feature, tap, channel] = sum over positions of y[position, feature] * patch[tap, channel].
void conv_weight_kernel(const KernelArgs& args) {
  const View &x = args.in[0], &y = args.in[1], &out = args.out[0];
  const auto& attrs = attrs_as<ConvWeightAttrs>(args.attrs);
  if (out.size() == 0) return;
  ConvGeometry g(x.shape(), y.shape(), attrs.kernel, attrs.conv, x.dtype().size());
  if (g.positions() == 0) {
    std::memset(out.data, 0, out.size() * g.itemsize);
    return;
  }
  const int64_t k = g.patch();
  const Dtype type = out.dtype();
  const bool tiles = type == bfloat16 && gemm_source(GemmOutput::bf16) == GemmSource::bf16_tile;
  if (is_depthwise(g, type)) return depthwise_weight(g, x, y, out);
  if (pointwise(g) && std::min(k, g.features) >= kWideProduct)
    return weight_product(g, x.data, y, out, 0, 0, g.positions());
  if (type != float64 && !tiles) return conv_weight_lines(g, x, y, out);
  each_block(g, x, [&](char* patches, int64_t group, int64_t first, int64_t count) {
    weight_product(g, patches, y, out, group, first, count);
  });
}

const KernelEntry kConvKernels[] = {
    {.op = &op_conv, .run = conv_kernel, .contiguous = 0b11},
    {.op = &op_conv_weight, .run = conv_weight_kernel, .contiguous = 0b11},
};

}  // namespace

ConvGeometry::ConvGeometry(const Shape& x, const Shape& y, const Shape& kernel_lengths,
                           const ConvAttrs& c, int itemsize)
    : batch(x[0]),
      channels(x.back()),
      features(y.back()),
      groups(c.groups),
      flip(c.flip),
      itemsize(itemsize) {
  size_t n = x.size() - 2;
  for (size_t i = 0; i < n; ++i) {
    size_t j = 3 - n + i;
    in[j] = x[i + 1];
    out[j] = y[i + 1];
    kernel[j] = kernel_lengths[i];
    stride[j] = c.stride[i];
    low[j] = c.padding_lo[i];
    spread[j] = c.kernel_dilation[i];
    input_spread[j] = c.input_dilation[i];
  }
}

double ConvGeometry::estimate() const {
  return static_cast<double>(positions()) * static_cast<double>(patch()) *
         (0.05 + 0.025 * static_cast<double>(group_features())) * static_cast<double>(groups);
}

const ConvKernels& conv_kernels_in_use() { return MLX_FOR_ISA(conv_kernels); }

const std::span<const KernelEntry> conv_kernels = kConvKernels;

}  // namespace mlx::core::cpu
