// Convolutions line by line. A part of a line of the result needs a few lines of the input: they
// are copied with their padding (and as float32) to a window in scratch memory, where neighbouring
// lines of the result reuse them; the arithmetic is in isa/conv.cpp.
#include <algorithm>
#include <vector>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/conv.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

constexpr int64_t kLinePiece = 224;   // positions of a line that are computed at a time
constexpr int64_t kWantedTasks = 32;  // with fewer tasks, lines are divided between tasks

/// Lines of the input in scratch memory: as float32, with zeros for padding and dilation.
class Window {
 public:
  Window(const ConvGeometry& g, const View& x, int64_t group)
      : g_(g),
        input_(g, x, group),
        channels_(g.group_channels()),
        direct_(x.dtype() == float32 && g.input_spread[2] == 1) {
    for (int i = 0; i < 2; ++i) rows_[i] = (g.kernel[i] - 1) * g.spread[i] + 1;
    width_ =
        (std::min(kLinePiece, g.out[2]) - 1) * g.stride[2] + (g.kernel[2] - 1) * g.spread[2] + 1;
    keys_.assign(rows_[0] * rows_[1], Index3{-1, -1, -1});
  }
  size_t bytes() const { return keys_.size() * width_ * channels_ * sizeof(float); }
  void use(float* scratch) { scratch_ = scratch; }

  /// Distance in floats between neighbouring elements of the line returned by `line`.
  int64_t pixel() const { return in_place_ ? g_.channels : channels_; }
  /// Decides whether a part is inside the input, so that its lines need no copy.
  void begin(int64_t first, int64_t count) {
    origin_ = first * g_.stride[2] - g_.low[2];
    length_ = (count - 1) * g_.stride[2] + (g_.kernel[2] - 1) * g_.spread[2] + 1;
    in_place_ = direct_ && origin_ >= 0 && origin_ + length_ <= g_.in[2];
  }
  /// The element at the part's origin of line (depth, height) of image n.
  const float* line(int64_t n, int64_t depth, int64_t height) {
    if (in_place_)
      return static_cast<const float*>(input_.line(n, depth, height)) + origin_ * g_.channels;
    int64_t slot = depth % rows_[0] * rows_[1] + height % rows_[1];
    float* to = scratch_ + slot * width_ * channels_;
    Index3 key{n, depth * g_.in[1] + height, origin_};
    if (keys_[slot] == key) return to;
    keys_[slot] = key;
    input_.copy(n, depth, height, origin_, length_, to);
    return to;
  }

 private:
  const ConvGeometry& g_;
  ConvInput input_;
  int64_t channels_, width_ = 0;
  bool direct_, in_place_ = false;
  int64_t rows_[2];
  std::vector<Index3> keys_;  // the line stored in each entry
  float* scratch_ = nullptr;
  int64_t origin_ = 0, length_ = 0;
};

/// The weights of all groups as float32 in panels.
class Panels {
 public:
  Panels(const ConvGeometry& g, const View& w)
      : width_(conv_kernels_in_use().panel),
        stride_(g.patch() * width_),
        group_((g.group_features() + width_ - 1) / width_ * stride_),
        storage_(g.groups * group_ * sizeof(float)) {
    const auto pack = gemm_kernels().pack[static_cast<int>(gemm_source_of(w.dtype()))];
    const int64_t k = g.patch(), features = g.group_features();
    for (int64_t i = 0; i < g.groups; ++i)
      pack(w.as<const char>() + i * features * k * g.itemsize, k, 1, features, k, width_,
           storage_.get<uint32_t>() + i * group_);
  }
  int64_t width() const { return width_; }
  int64_t stride() const { return stride_; }
  const float* at(int64_t group, int64_t feature) const {
    return storage_.get<float>() + group * group_ + feature / width_ * stride_;
  }

 private:
  int64_t width_, stride_, group_;
  Scratch storage_;
};

struct ConvLines {
  const ConvGeometry& g;
  const View &x, &w, &out;
  Panels panels;
  int64_t pieces, parts, part_features;

  ConvLines(const ConvGeometry& g, const View& x, const View& w, const View& out)
      : g(g), x(x), w(w), out(out), panels(g, w), pieces((g.out[2] + kLinePiece - 1) / kLinePiece) {
    int64_t all = (g.group_features() + panels.width() - 1) / panels.width();
    int64_t wanted = (kWantedTasks + lines() - 1) / std::max<int64_t>(1, lines());
    int64_t each = (all + wanted - 1) / std::max<int64_t>(1, wanted);
    part_features = std::max<int64_t>(1, each) * panels.width();
    parts = (g.group_features() + part_features - 1) / part_features;
  }
  int64_t lines() const { return g.batch * pieces * g.out[0] * g.out[1]; }

  /// Tasks [begin, end): ordered by features, then group, image and part, with lines innermost.
  void run(int64_t begin, int64_t end) const {
    int64_t per_group = lines();
    for (int64_t t = begin; t < end;) {
      int64_t block = t / per_group, stop = std::min(end, (block + 1) * per_group);
      run_group(block % g.groups, block / g.groups * part_features, t % per_group,
                t % per_group + stop - t);
      t = stop;
    }
  }

  void run_group(int64_t group, int64_t feature, int64_t begin, int64_t end) const {
    Window window(g, x, group);
    Scratch scratch(window.bytes());
    window.use(scratch.get<float>());
    int64_t features = std::min(part_features, g.group_features() - feature);
    Scratch sums(out.dtype() == float32 ? 0 : kLinePiece * features * sizeof(float));
    std::vector<ConvTap> taps(g.taps());
    for (int64_t i = begin; i < end; ++i) {
      int64_t height = i % g.out[1], depth = i / g.out[1] % g.out[0];
      int64_t piece = i / (g.out[0] * g.out[1]) % pieces, n = i / (g.out[0] * g.out[1] * pieces);
      int64_t first = piece * kLinePiece, count = std::min(kLinePiece, g.out[2] - first);
      window.begin(first, count);
      int64_t used = find_taps(window, n, depth, height, taps.data());
      int64_t position = ((n * g.out[0] + depth) * g.out[1] + height) * g.out[2] + first;
      int64_t at = position * g.features + group * g.group_features() + feature;
      bool direct = out.dtype() == float32;
      float* to = direct ? out.as<float>() + at : sums.get<float>();
      int64_t ld = direct ? g.features : features;
      conv_kernels_in_use().line(taps.data(), used, g.group_channels(),
                                 g.stride[2] * window.pixel(), panels.at(group, feature),
                                 panels.stride(), count, features, to, ld);
      if (!direct)
        gemm_kernels().store[static_cast<int>(gemm_output_of(out.dtype()))](
            to, ld, count, features, {out.as<uint16_t>() + at, g.features, 1}, {});
    }
  }

  /// Taps in the order of the weights, without those whose line is padding.
  int64_t find_taps(Window& window, int64_t n, int64_t depth, int64_t height, ConvTap* taps) const {
    int64_t used = 0, step = g.group_channels() * panels.width();
    for (int64_t a = 0; a < g.kernel[0]; ++a) {
      for (int64_t b = 0; b < g.kernel[1]; ++b) {
        int64_t d = g.source(0, depth, g.tap(0, a)), h = g.source(1, height, g.tap(1, b));
        if (d < 0 || h < 0) continue;
        const float* line = window.line(n, d, h);
        for (int64_t c = 0; c < g.kernel[2]; ++c)
          taps[used++] = {line + g.tap(2, c) * g.spread[2] * window.pixel(),
                          ((a * g.kernel[1] + b) * g.kernel[2] + c) * step};
      }
    }
    return used;
  }
};

}  // namespace

void ConvInput::copy(int64_t n, int64_t depth, int64_t height, int64_t first, int64_t length,
                     float* to) const {
  const auto widen = gemm_kernels().widen[static_cast<int>(source_)];
  const auto* from = static_cast<const char*>(line(n, depth, height));
  const int64_t channels = g_.group_channels(), pixel = g_.channels * g_.itemsize;
  const int64_t spread = g_.input_spread[2];
  if (spread == 1) {
    int64_t begin = std::clamp<int64_t>(-first, 0, length);
    int64_t end = std::clamp<int64_t>(g_.in[2] - first, begin, length);
    std::fill_n(to, begin * channels, 0.0f);
    std::fill_n(to + end * channels, (length - end) * channels, 0.0f);
    if (channels == g_.channels) {
      widen(from + (first + begin) * pixel, 1, (end - begin) * channels, to + begin * channels);
    } else {
      for (int64_t i = begin; i < end; ++i)
        widen(from + (first + i) * pixel, 1, channels, to + i * channels);
    }
    return;
  }
  for (int64_t i = 0; i < length; ++i) {
    int64_t at = first + i;
    if (at >= 0 && at % spread == 0 && at / spread < g_.in[2]) {
      widen(from + at / spread * pixel, 1, channels, to + i * channels);
    } else {
      std::fill_n(to + i * channels, channels, 0.0f);
    }
  }
}

void conv_lines(const ConvGeometry& g, const View& x, const View& w, const View& out) {
  ConvLines lines(g, x, w, out);
  int64_t tasks = lines.lines() * g.groups * lines.parts;
  int64_t grain = std::clamp<int64_t>(tasks / 64, 1, std::max<int64_t>(1, g.out[1]));
  parallel_for(
      tasks, grain, [&](int64_t begin, int64_t end) { lines.run(begin, end); }, g.estimate());
}

}  // namespace mlx::core::cpu
