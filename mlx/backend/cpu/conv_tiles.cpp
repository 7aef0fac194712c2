// Convolutions of bfloat16 by a unit for tiles: products whose rows are patches, of which each task
// makes a strip at a time.
#include <algorithm>
#include <cstring>

#include "mlx/backend/cpu/conv.h"
#include "mlx/backend/cpu/gemm_tiles.h"
#include "mlx/backend/cpu/panels.h"

namespace mlx::core::cpu {
namespace {

/// The patches of the positions of a group.
class PatchRows final : public TileRows {
 public:
  PatchRows(const ConvGeometry& g, const View& x, int64_t group)
      : g_(g), x_(x.as<const uint16_t>() + group * g.group_channels()) {}

  TileStrip strip(int64_t row, int64_t count, int64_t from, int64_t k, int64_t,
                  uint16_t* scratch) const override {
    const int64_t steps = (k + kTileDepth - 1) / kTileDepth;
    ConvPosition p(g_, row);
    for (int64_t i = 0; i < count; ++i, p.next(g_)) {
      uint16_t* to = scratch + i * kTileDepth;
      each_run(g_, p, [&](int64_t element, int64_t source, int64_t n) {
        const int64_t begin = std::max(element, from), end = std::min(element + n, from + k);
        if (begin >= end) return;
        write(source < 0 ? nullptr : x_ + source + (begin - element), begin - from, end - begin,
              to);
      });
      write(nullptr, k, steps * kTileDepth - k, to);
    }
    return {scratch, 2 * kTileDepth, 2 * kTileStrip, steps, nullptr};
  }
  double cost() const override { return 0.1; }

 private:
  /// Writes elements from `at` on, or zeros, to the steps of a row.
  static void write(const uint16_t* from, int64_t at, int64_t n, uint16_t* to) {
    while (n > 0) {
      const int64_t place = at % kTileDepth, some = std::min(n, kTileDepth - place);
      uint16_t* out = to + at / kTileDepth * kTileStrip + place;
      if (from == nullptr) {
        std::memset(out, 0, some * sizeof(uint16_t));
      } else {
        std::memcpy(out, from, some * sizeof(uint16_t));
        from += some;
      }
      at += some;
      n -= some;
    }
  }

  const ConvGeometry& g_;
  const uint16_t* x_;
};

}  // namespace

bool suits_tiles(const ConvGeometry& g, Dtype type) {
  constexpr int64_t kFewFeatures = kTileSide, kShortPatch = 2 * kTileDepth;
  return type == bfloat16 && gemm_source(GemmOutput::bf16) == GemmSource::bf16_tile &&
         g.group_features() >= kFewFeatures && g.patch() >= kShortPatch;
}

void conv_tiles(const ConvGeometry& g, const View& x, const View& w, const View& out) {
  const int64_t k = g.patch(), features = g.group_features();
  for (int64_t group = 0; group < g.groups; ++group) {
    const PatchRows patches(g, x, group);
    TileProduct p;
    p.m = g.positions();
    p.n = features;
    p.k = k;
    p.rows = &patches;
    p.b = {w.as<const uint16_t>() + group * features * k, 1, k};
    p.out = {out.as<uint16_t>() + group * features, g.features, 1};
    tile_product(p);
  }
}

}  // namespace mlx::core::cpu
