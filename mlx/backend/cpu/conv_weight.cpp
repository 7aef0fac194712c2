// The cotangent of a convolution's weight, without patches: strips of a few lines of the input are
// copied with their padding, and a tile of features and taps is summed over the positions of a
// strip; the arithmetic is in isa/conv.cpp. Strips are divided into chunks by shapes alone, whose
// sums are added in order.
#include <algorithm>

#include "mlx/backend/common/round_up.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/conv.h"
#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {
namespace {

constexpr int64_t kWeightPiece = 224;       // positions of a line that are summed at a time
constexpr int64_t kStripBytes = 128 << 10;  // of the input and of kNearFeatures
constexpr int64_t kNearFeatures = 64;       // of the cotangent, which are multiplied in turn
constexpr int64_t kChunkPositions = 2048;   // fewer would take as long to add as to sum
constexpr int64_t kMostChunks = 16;
constexpr int64_t kMostSums = 1 << 24;  // of all chunks

/// How a sum is divided. A run is a part of a patch whose elements are neighbours in the input: the
/// taps of a line, or the channels of a tap.
struct Division {
  const ConvGeometry& g;
  int64_t run, runs;                  // elements of a run, runs of a patch
  bool by_features;                   // features are the rows of a tile, and the elements of a run
                                      // its columns; else the other way around
  int64_t m, n, ld;                   // rows and columns of the sums of a run, and their distance
  int64_t width, lines, input_lines;  // positions and lines of a strip; lines of its input
  int64_t pixels;                     // of a line of its input
  int64_t pieces, bands, strips;      // strips of a line, of an image, of all
  int64_t chunk, chunks;              // strips of a chunk

  explicit Division(const ConvGeometry& g) : g(g) {
    const int64_t vector = conv_kernels_in_use().vector, features = g.group_features();
    const bool joined = !g.flip && g.spread[2] == 1;
    run = (joined ? g.kernel[2] : 1) * g.group_channels();
    runs = g.patch() / run;
    by_features = features * ceil_div(run, vector) <= run * ceil_div(features, vector);
    m = by_features ? features : run;
    n = by_features ? run : features;
    ld = round_up(n, vector);
    width = std::min(kWeightPiece, g.out[2]);
    pixels = (width - 1) * g.stride[2] + (g.kernel[2] - 1) * g.spread[2] + 1;
    const int64_t line =
        sizeof(float) * (pixels * g.group_channels() + width * std::min(features, kNearFeatures));
    lines = std::clamp<int64_t>(kStripBytes / line, 1, g.out[1]);
    input_lines = (lines - 1) * g.stride[1] + (g.kernel[1] - 1) * g.spread[1] + 1;
    pieces = ceil_div(g.out[2], width);
    bands = ceil_div(g.out[1], lines);
    strips = g.batch * g.out[0] * bands * pieces;
    const int64_t most = std::clamp<int64_t>(kMostSums / (g.groups * sums()), 1, kMostChunks);
    const int64_t wanted = std::clamp<int64_t>(g.positions() / kChunkPositions, 1, most);
    chunk = ceil_div(strips, wanted);
    chunks = ceil_div(strips, chunk);
  }
  int64_t sums() const { return runs * m * ld; }  ///< of a group
};

/// A range of lines and positions of the result.
struct Strip {
  int64_t image, depth, height, lines, first, count;
  Strip(const Division& d, int64_t index) {
    first = index % d.pieces * d.width;
    count = std::min(d.width, d.g.out[2] - first);
    index /= d.pieces;
    height = index % d.bands * d.lines;
    lines = std::min(d.lines, d.g.out[1] - height);
    index /= d.bands;
    depth = index % d.g.out[0];
    image = index / d.g.out[0];
  }
};

/// Some features, and some runs, of one group.
struct WeightShare {
  int64_t group, feature, features, run, runs;
};

/// Adds strips to the sums of a share.
class Summation {
 public:
  Summation(const Division& d, const View& x, const View& y, const WeightShare& share)
      : d_(d),
        g_(d.g),
        share_(share),
        input_(g_, x, share.group),
        y_(y),
        step_(round_up(share.features, slack())),
        in_place_(y.dtype() == float32 && (d.by_features || share.features % slack() == 0)),
        line_(d.pixels * g_.group_channels()),
        lines_((g_.kernel[0] * d.input_lines * line_ + slack()) * sizeof(float)),
        cotangent_(in_place_ ? 0 : (d.lines * d.width * step_ + slack()) * sizeof(float)) {}

  void add(const Strip& strip, float* sums) const {
    copy_lines(strip);
    const ConvFactor y = cotangent(strip);
    for (int64_t r = share_.run; r < share_.run + share_.runs; ++r) {
      const ConvFactor x{lines_.get<float>() + start_of(r), g_.stride[2] * g_.group_channels(),
                         g_.stride[1] * line_};
      float* out = sums + r * d_.m * d_.ld;
      if (d_.by_features)
        kernels().correlate(y, share_.features, x, d_.run, strip.lines, strip.count,
                            out + share_.feature * d_.ld, d_.ld);
      else
        kernels().correlate(x, d_.run, y, share_.features, strip.lines, strip.count,
                            out + share_.feature, d_.ld);
    }
  }

 private:
  static const ConvKernels& kernels() { return conv_kernels_in_use(); }
  static int64_t slack() { return kernels().vector; }

  /// The place of a run in the copied lines, for the first position of a strip.
  int64_t start_of(int64_t run) const {
    const int64_t per_line = d_.runs / (g_.kernel[0] * g_.kernel[1]);
    const int64_t c = run % per_line, b = run / per_line % g_.kernel[1];
    const int64_t a = run / per_line / g_.kernel[1];
    const int64_t line = a * d_.input_lines + g_.tap(1, b) * g_.spread[1];
    return line * line_ + g_.tap(2, c) * (per_line > 1 ? g_.spread[2] : 0) * g_.group_channels();
  }

  void copy_lines(const Strip& s) const {
    float* to = lines_.get<float>();
    const int64_t above = s.height * g_.stride[1] - g_.low[1], spread = g_.input_spread[1];
    const int64_t used = (s.lines - 1) * g_.stride[1] + (g_.kernel[1] - 1) * g_.spread[1] + 1;
    for (int64_t a = 0; a < g_.kernel[0]; ++a) {
      const int64_t depth = g_.source(0, s.depth, g_.tap(0, a));
      float* line = to + a * d_.input_lines * line_;
      for (int64_t i = 0; i < used; ++i, line += line_) {
        const int64_t at = above + i, height = at / spread;
        if (depth < 0 || at < 0 || at % spread != 0 || height >= g_.in[1])
          std::fill_n(line, line_, 0.0f);
        else
          input_.copy(s.image, depth, height, s.first * g_.stride[2] - g_.low[2], d_.pixels, line);
      }
    }
  }

  /// The features of a strip, in place or copied as float32.
  ConvFactor cotangent(const Strip& s) const {
    const int64_t position =
        ((s.image * g_.out[0] + s.depth) * g_.out[1] + s.height) * g_.out[2] + s.first;
    const char* from = y_.as<const char>() + (position * g_.features +
                                              share_.group * g_.group_features() + share_.feature) *
                                                 g_.itemsize;
    if (in_place_)
      return {reinterpret_cast<const float*>(from), g_.features, g_.out[2] * g_.features};
    const auto widen = gemm_kernels().widen[static_cast<int>(gemm_source_of(y_.dtype()))];
    float* to = cotangent_.get<float>();
    for (int64_t l = 0; l < s.lines; ++l)
      for (int64_t p = 0; p < s.count; ++p)
        widen(from + (l * g_.out[2] + p) * g_.features * g_.itemsize, 1, share_.features,
              to + (l * d_.width + p) * step_);
    return {to, step_, d_.width * step_};
  }

  const Division& d_;
  const ConvGeometry& g_;
  WeightShare share_;
  ConvInput input_;
  const View& y_;
  int64_t step_;   // floats of the features of a position, where they are copied
  bool in_place_;  // the features are read in place
  int64_t line_;   // floats of a copied line
  Scratch lines_, cotangent_;
};

/// The shares of a group, enough for all threads together with the chunks.
class Shares {
 public:
  explicit Shares(const Division& d) : d_(d) {
    constexpr int64_t kFewest = 32;  // features: fewer would repeat the copies too often
    const int64_t wanted = 4 * num_threads(), others = d.chunks * d.g.groups;
    features_ = d.g.group_features();
    while (others * parts() < wanted && features_ > kFewest)
      features_ = round_up(features_ / 2, kFewest);
    runs_ = d.runs;
    if (others * parts() < wanted) runs_ = ceil_div(d.runs, d.g.kernel[0] * d.g.kernel[1]);
  }
  int64_t count() const { return parts() * ceil_div(d_.runs, runs_); }
  WeightShare at(int64_t group, int64_t index) const {
    const int64_t feature = index % parts() * features_, run = index / parts() * runs_;
    return {group, feature, std::min(features_, d_.g.group_features() - feature), run,
            std::min(runs_, d_.runs - run)};
  }

 private:
  int64_t parts() const { return ceil_div(d_.g.group_features(), features_); }
  const Division& d_;
  int64_t features_, runs_;
};

/// The sums of a share over the strips of a chunk.
void sum_chunk(const Division& d, const View& x, const View& y, const WeightShare& share,
               int64_t chunk, float* sums) {
  for (int64_t r = share.run; r < share.run + share.runs; ++r) {
    float* out = sums + r * d.m * d.ld;
    if (d.by_features)
      std::fill_n(out + share.feature * d.ld, share.features * d.ld, 0.0f);
    else
      for (int64_t i = 0; i < d.m; ++i)
        std::fill_n(
            out + i * d.ld + share.feature,
            std::min(d.ld - share.feature, round_up(share.features, conv_kernels_in_use().vector)),
            0.0f);
  }
  const Summation summation(d, x, y, share);
  const int64_t end = std::min(d.strips, (chunk + 1) * d.chunk);
  for (int64_t s = chunk * d.chunk; s < end; ++s) summation.add(Strip(d, s), sums);
}

/// Adds the chunks of a run in order, and stores them.
void finish_weight(const Division& d, float* sums, int64_t between, int64_t group, int64_t run,
                   const View& out) {
  const int64_t patch = d.g.patch(), first = group * d.g.group_features() * patch + run * d.run;
  float* total = sums + run * d.m * d.ld;
  for (int64_t c = 1; c < d.chunks; ++c) {
    const float* part = total + c * between;
    for (int64_t i = 0; i < d.m * d.ld; ++i) total[i] += part[i];
  }
  GemmTarget to{out.as<char>() + first * out.dtype().size(), patch, 1};
  if (!d.by_features) std::swap(to.row, to.col);
  gemm_kernels().store[static_cast<int>(gemm_output_of(out.dtype()))](total, d.ld, d.m, d.n, to,
                                                                      {});
}

}  // namespace

void conv_weight_lines(const ConvGeometry& g, const View& x, const View& y, const View& out) {
  const Division d(g);
  const Shares shares(d);
  const int64_t per_group = d.chunks * d.sums(), per_chunk = shares.count();
  const Scratch memory(g.groups * per_group * sizeof(float));
  float* sums = memory.get<float>();
  parallel_for(
      g.groups * d.chunks * per_chunk, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
          const int64_t chunk = t / per_chunk % d.chunks, group = t / per_chunk / d.chunks;
          sum_chunk(d, x, y, shares.at(group, t % per_chunk), chunk,
                    sums + group * per_group + chunk * d.sums());
        }
      },
      g.estimate());
  parallel_for(
      g.groups * d.runs, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t)
          finish_weight(d, sums + t / d.runs * per_group, d.sums(), t / d.runs, t % d.runs, out);
      },
      static_cast<double>(g.groups * per_group) / 2);
}

}  // namespace mlx::core::cpu
