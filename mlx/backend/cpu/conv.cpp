// Convolutions as products of patches and weights. The positions of the result are cut into blocks
// whose patches stay in the cache; a block is one matrix product. Block sizes follow from shapes
// alone, and so do the sums. Depthwise float32 convolutions add tap by tap over all channels instead.
#include <algorithm>
#include <array>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/conv.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/matmul.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/ops/conv.h"

namespace mlx::core::cpu {
namespace {

constexpr int64_t kPatchBytes = 1 << 19;
using Index3 = std::array<int64_t, 3>;

/// A convolution over three spatial axes (missing ones have length 1).
struct Geometry {
  int64_t batch, channels, features, groups;
  Index3 in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  Index3 stride{1, 1, 1}, low{0, 0, 0}, spread{1, 1, 1}, input_spread{1, 1, 1};
  bool flip;
  int itemsize;

  Geometry(const Shape& x, const Shape& y, const Shape& taps, const ConvAttrs& c, int itemsize)
      : batch(x[0]), channels(x.back()), features(y.back()), groups(c.groups), flip(c.flip),
        itemsize(itemsize) {
    size_t n = x.size() - 2;
    for (size_t i = 0; i < n; ++i) {
      size_t j = 3 - n + i;
      in[j] = x[i + 1];
      out[j] = y[i + 1];
      kernel[j] = taps[i];
      stride[j] = c.stride[i];
      low[j] = c.padding_lo[i];
      spread[j] = c.kernel_dilation[i];
      input_spread[j] = c.input_dilation[i];
    }
  }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_features() const { return features / groups; }
  int64_t patch() const { return taps() * group_channels(); }
  int64_t positions() const { return batch * out[0] * out[1] * out[2]; }
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
  /// Whether the patches are the input itself.
  bool pointwise() const {
    return groups == 1 && taps() == 1 && in == out && stride == Index3{1, 1, 1} &&
           low == Index3{0, 0, 0} && input_spread == Index3{1, 1, 1};
  }
  /// Positions that are treated at a time.
  int64_t block() const {
    int64_t fit = kPatchBytes / std::max<int64_t>(1, patch() * itemsize);
    int64_t several = (positions() / 16 + 63) / 64 * 64;
    return std::clamp<int64_t>(std::min(fit / 64 * 64, several), 64, 4096);
  }
};

/// A position of the result.
struct Position {
  int64_t n;
  Index3 at;
  Position(const Geometry& g, int64_t flat) {
    for (int i = 2; i >= 0; --i) {
      at[i] = flat % g.out[i];
      flat /= g.out[i];
    }
    n = flat;
  }
  void next(const Geometry& g) {
    for (int i = 2; i >= 0; --i) {
      if (++at[i] < g.out[i]) return;
      at[i] = 0;
    }
    ++n;
  }
};

/// Writes the patch of one position: taps in the weight's order, channels of the group innermost.
class Patches {
 public:
  Patches(const Geometry& g, const void* x, int64_t group)
      : g_(g),
        x_(static_cast<const char*>(x) + group * g.group_channels() * g.itemsize),
        channel_bytes_(g.group_channels() * g.itemsize),
        pixel_(g.channels * g.itemsize),
        runs_(g.groups == 1 && !g.flip && g.spread[2] == 1 && g.input_spread[2] == 1) {}

  void write(const Position& p, char* to) const {
    int64_t row = g_.kernel[2] * channel_bytes_;
    for (int64_t a = 0; a < g_.kernel[0]; ++a) {
      int64_t i = g_.source(0, p.at[0], tap(0, a));
      for (int64_t b = 0; b < g_.kernel[1]; ++b, to += row) {
        int64_t j = g_.source(1, p.at[1], tap(1, b));
        if (i < 0 || j < 0) {
          std::memset(to, 0, row);
        } else {
          write_row(x_ + ((p.n * g_.in[0] + i) * g_.in[1] + j) * g_.in[2] * pixel_, p.at[2], to);
        }
      }
    }
  }

 private:
  int64_t tap(int i, int64_t k) const { return g_.flip ? g_.kernel[i] - 1 - k : k; }

  void write_row(const char* line, int64_t position, char* to) const {
    int64_t taps = g_.kernel[2];
    if (runs_) {
      // Neighbouring taps are neighbours in the input.
      int64_t start = position * g_.stride[2] - g_.low[2];
      int64_t begin = std::clamp<int64_t>(-start, 0, taps);
      int64_t end = std::clamp<int64_t>(g_.in[2] - start, begin, taps);
      std::memset(to, 0, begin * channel_bytes_);
      if (end > begin)
        std::memcpy(to + begin * channel_bytes_, line + (start + begin) * pixel_,
                    (end - begin) * channel_bytes_);
      std::memset(to + end * channel_bytes_, 0, (taps - end) * channel_bytes_);
      return;
    }
    for (int64_t k = 0; k < taps; ++k, to += channel_bytes_) {
      int64_t at = g_.source(2, position, tap(2, k));
      if (at < 0) {
        std::memset(to, 0, channel_bytes_);
      } else {
        std::memcpy(to, line + at * pixel_, channel_bytes_);
      }
    }
  }

  const Geometry& g_;
  const char* x_;
  int64_t channel_bytes_, pixel_;
  bool runs_;  // the taps of a row are one run of memory
};

Layout layout(Shape shape, Strides strides, Dtype dtype) {
  Layout l;
  l.shape = std::move(shape);
  l.strides = std::move(strides);
  l.dtype = dtype;
  return l;
}

char* offset(const View& v, int64_t elements) {
  return v.as<char>() + elements * v.dtype().size();
}

/// out[positions, features of the group] = patches · weightᵀ for one block.
void block_product(const Geometry& g, const void* patches, const View& w, const View& out,
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

void pack(const Geometry& g, const Patches& patches, int64_t first, int64_t begin, int64_t end,
          char* to) {
  Position p(g, first + begin);
  int64_t bytes = g.patch() * g.itemsize;
  for (int64_t i = begin; i < end; ++i, p.next(g)) patches.write(p, to + i * bytes);
}

/// Nanoseconds of one thread; good enough to decide on threads.
double estimate(const Geometry& g) {
  return static_cast<double>(g.positions()) * static_cast<double>(g.patch()) *
         (0.05 + 0.025 * static_cast<double>(g.group_features())) * static_cast<double>(g.groups);
}

const ConvKernels& kernels() {
  return isa() == Isa::avx512 ? avx512::conv_kernels
         : isa() == Isa::avx2 ? avx2::conv_kernels
                              : v2::conv_kernels;
}

/// One input and one output channel a group: all channels at a time, tap by tap.
void depthwise(const Geometry& g, const View& x, const View& w, const View& out) {
  int64_t taps = g.taps(), n = g.channels;
  Scratch storage(taps * n * sizeof(float));
  float* by_tap = storage.get<float>();
  auto* weights = w.as<const float>();
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < n; ++c)
      by_tap[t * n + c] = weights[c * taps + (g.flip ? taps - 1 - t : t)];
  auto* input = x.as<const float>();
  auto run = [&](int64_t begin, int64_t end) {
    Position p(g, begin);
    for (int64_t i = begin; i < end; ++i, p.next(g)) {
      float* sum = out.as<float>() + i * n;
      std::fill_n(sum, n, 0.0f);
      const float* weight = by_tap;
      for (int64_t a = 0; a < g.kernel[0]; ++a)
        for (int64_t b = 0; b < g.kernel[1]; ++b) {
          int64_t d = g.source(0, p.at[0], a), h = g.source(1, p.at[1], b);
          for (int64_t c = 0; c < g.kernel[2]; ++c, weight += n) {
            int64_t v = g.source(2, p.at[2], c);
            if (d < 0 || h < 0 || v < 0) continue;
            kernels().tap(sum, input + (((p.n * g.in[0] + d) * g.in[1] + h) * g.in[2] + v) * n,
                          weight, n);
          }
        }
    }
  };
  parallel_for(g.positions(), 32, run, estimate(g));
}

void conv_kernel(const KernelArgs& args) {
  const View &x = args.in[0], &w = args.in[1], &out = args.out[0];
  if (out.size() == 0) return;
  Shape taps(w.shape().begin() + 1, w.shape().end() - 1);
  Geometry g(x.shape(), out.shape(), taps, attrs_as<ConvAttrs>(args.attrs), x.dtype().size());
  if (g.group_channels() == 1 && g.group_features() == 1 && g.groups > 1 && x.dtype() == float32)
    return depthwise(g, x, w, out);
  if (g.pointwise()) return block_product(g, x.data, w, out, 0, 0, g.positions());
  int64_t block = g.block(), blocks = (g.positions() + block - 1) / block;
  size_t bytes = block * g.patch() * g.itemsize;
  auto run = [&](int64_t begin, int64_t end) {
    Scratch patches(bytes);
    for (int64_t k = begin; k < end; ++k) {
      int64_t group = k / blocks, first = k % blocks * block;
      int64_t count = std::min(block, g.positions() - first);
      pack(g, Patches(g, x.data, group), first, 0, count, patches.get<char>());
      block_product(g, patches.get<char>(), w, out, group, first, count);
    }
  };
  parallel_for(blocks * g.groups, 1, run, estimate(g));
}

/// out[feature, tap, channel] = sum over positions of y[position, feature] * patch[tap, channel].
/// Blocks follow one another; the threads share each block's patches and product.
void conv_weight_kernel(const KernelArgs& args) {
  const View &x = args.in[0], &y = args.in[1], &out = args.out[0];
  const auto& attrs = attrs_as<ConvWeightAttrs>(args.attrs);
  if (out.size() == 0) return;
  Geometry g(x.shape(), y.shape(), attrs.kernel, attrs.conv, x.dtype().size());
  if (g.positions() == 0) {
    std::memset(out.data, 0, out.size() * g.itemsize);
    return;
  }
  // 16-bit sums are carried from block to block: in one piece where that fits.
  int64_t k = g.patch(), features = g.group_features();
  int64_t fit = 8 * kPatchBytes / std::max<int64_t>(1, k * g.itemsize) / 64 * 64;
  int64_t block = std::clamp<int64_t>(fit, 256, std::max<int64_t>(g.positions(), 256));
  block = std::min(block, g.positions());
  Scratch storage(block * k * g.itemsize);
  Dtype type = out.dtype();
  for (int64_t group = 0; group < g.groups; ++group) {
    Patches patches(g, x.data, group);
    for (int64_t first = 0; first < g.positions(); first += block) {
      int64_t count = std::min(block, g.positions() - first);
      parallel_for(
          count, 64,
          [&](int64_t begin, int64_t end) {
            pack(g, patches, first, begin, end, storage.get<char>());
          },
          0.05 * count * k * g.itemsize);
      Layout a = layout({features, count}, {1, g.features}, type);
      Layout b = layout({count, k}, {k, 1}, type);
      Layout c = layout({features, k}, {k, 1}, type);
      View left{offset(y, first * g.features + group * features), &a};
      View right{storage.get<char>(), &b};
      View target{offset(out, group * features * k), &c};
      matrix_product(left, right, first ? &target : nullptr, target, 1, 1);
    }
  }
}

const KernelEntry kEntries[] = {
    {.op = &op_conv, .run = conv_kernel, .contiguous = 0b11},
    {.op = &op_conv_weight, .run = conv_weight_kernel, .contiguous = 0b11},
};

}  // namespace

const std::span<const KernelEntry> conv_kernels = kEntries;

}  // namespace mlx::core::cpu
