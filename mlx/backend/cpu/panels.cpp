// The choice of an arithmetic for bfloat16, and panels of tiles.
#include "mlx/backend/cpu/panels.h"

#include <algorithm>

#include "mlx/backend/common/round_up.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/tile_model.h"

namespace mlx::core::cpu {

const TileUnit* tile_unit() {
  switch (tile_arithmetic()) {
    case TileArithmetic::amx:
      return MLX_FOR_ISA(tile_unit);
    case TileArithmetic::model:
      return &tile_model;
    default:
      return nullptr;
  }
}

GemmSource gemm_source(GemmOutput type) {
  const bool tiles = type == GemmOutput::bf16 && tile_unit() != nullptr;
  return tiles ? GemmSource::bf16_tile : row_source(type);
}

GemmSource row_source(GemmOutput type) {
  if (type != GemmOutput::bf16) return type == GemmOutput::f32 ? GemmSource::f32 : GemmSource::f16;
  const bool pairs = gemm_kernels().tile[1] != nullptr && has_fast_bf16_pairs();
  return pairs ? GemmSource::bf16_pair : GemmSource::bf16;
}

GemmPanels::GemmPanels(GemmSource source)
    : kernels_(gemm_kernels()),
      source_(source),
      rows_(kernels_.mr),
      columns_(kernels_.nr),
      per_(source == GemmSource::bf16_pair || source == GemmSource::bf16_tile ? 2 : 1) {
  if (source != GemmSource::bf16_tile) return;
  unit_ = tile_unit();
  rows_ = columns_ = kTileBlock;
  step_ = kTileUnits;
}

int64_t GemmPanels::units(int64_t k) const { return round_up((k + per_ - 1) / per_, step_); }

void GemmPanels::pack_a(const void* src, int64_t stride_p, int64_t stride_k, int64_t count,
                        int64_t k, uint32_t* to) const {
  if (unit_ == nullptr) {
    return kernels_.pack[static_cast<int>(source_)](src, stride_p, stride_k, count, k, rows_, to);
  }
  const auto* rows = static_cast<const uint16_t*>(src);
  const auto pack = MLX_FOR_ISA(pack_tile_rows);
  for (int64_t i = 0; i < count; i += kTileBlock) {
    pack(rows + i * stride_p, stride_p, stride_k, std::min(kTileBlock, count - i), k,
         reinterpret_cast<uint16_t*>(to + i * units(k)));
  }
}

void GemmPanels::pack_b(const void* src, int64_t stride_p, int64_t stride_k, int64_t count,
                        int64_t k, uint32_t* to) const {
  kernels_.pack[static_cast<int>(source_)](src, stride_p, stride_k, count, k, columns_, to);
}

void GemmPanels::multiply(const uint32_t* a, int64_t a_units, const uint32_t* b, int64_t b_units,
                          int64_t m, int64_t n, int64_t begin, int64_t end, float* acc, int64_t ld,
                          bool first, const GemmAhead* next) const {
  if (unit_ == nullptr) {
    return kernels_.tile[per_ - 1](a, a_units, b, b_units, m, n, begin, end, acc, ld, first, next);
  }
  TileBlock block{.a_row = 2 * kTileDepth, .a_step = 2 * kTileStrip};
  block.steps = (end - begin) / kTileUnits;
  block.ld = block.start_ld = ld;
  block.first = first;
  for (int64_t j = 0; j < n; j += kTileBlock) {
    block.b = b + j * b_units + begin * kTileBlock;
    block.columns = std::min(kTileBlock, n - j);
    for (int64_t i = 0; i < m; i += kTileBlock) {
      block.a = a + i * a_units + begin * kTileBlock;
      block.rows = std::min(kTileBlock, m - i);
      block.out = acc + i * ld + j;
      block.start = acc + i * ld + j;
      unit_->block(block);
    }
  }
}

void GemmPanels::multiply_rows(const uint32_t* a, int64_t line, const uint32_t* b, int64_t b_units,
                               int64_t m, int64_t n, int64_t units, float* acc, int64_t ld,
                               bool first) const {
  const GemmFactor left{a, rows_ * line, line, 1}, right{b, columns_ * b_units, 1, columns_};
  kernels_.strided_tile[per_ - 1](left, right, m, n, units, acc, ld, first, nullptr);
}

}  // namespace mlx::core::cpu
