// Products with packed matrices, with two algorithms: products with few rows multiply codes as they
// are read; others unpack blocks of the matrix to the panels of the blocked product. Sums do not
// depend on the number of threads.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "mlx/backend/common/round_up.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/gemm_tiles.h"
#include "mlx/backend/cpu/panels.h"
#include "mlx/backend/cpu/quantized.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kFewRows = 12;         // maximum number of rows that multiply codes directly
constexpr int64_t kFewRowsTiles = 4;     // the same where the blocked product has a unit for tiles
constexpr int64_t kPackedColumns = 128;  // per task
constexpr int64_t kPackedDepth = 384;    // along K per block
constexpr int64_t kTileRows = 192;       // whole panels of each arithmetic
constexpr int64_t kMaxRows = 512;        // maximum number of rows packed at a time

QuantFormat format_of(const Packing& p) {
  if (p.mode == QuantMode::mxfp8) return QuantFormat::e4m3;
  if (!p.affine()) return QuantFormat::e2m1;
  constexpr QuantFormat by_bits[] = {QuantFormat::int1, QuantFormat::int1, QuantFormat::int2,
                                     QuantFormat::int3, QuantFormat::int4, QuantFormat::int5,
                                     QuantFormat::int6, QuantFormat::int8, QuantFormat::int8};
  return by_bits[p.bits];
}

/// The scale values of codes: e8m0, or e4m3 for nvfp4.
const float* scale_table(QuantMode mode) {
  struct Table {
    float e8m0[256], e4m3[256];
    Table() {
      for (int i = 0; i < 256; ++i) {
        e8m0[i] = i == 255 ? __builtin_nanf("") : __builtin_ldexpf(1, i - 127);
        const int exponent = i >> 3 & 15, mantissa = i & 7;
        float v = exponent ? __builtin_ldexpf(static_cast<float>(8 + mantissa), exponent - 10)
                           : __builtin_ldexpf(static_cast<float>(mantissa), -9);
        if ((i & 127) == 127) v = __builtin_nanf("");
        e4m3[i] = i & 128 ? -v : v;
      }
    }
  };
  static const Table table;
  return mode == QuantMode::nvfp4 ? table.e4m3 : table.e8m0;
}

GemmSource source_of(Dtype t) {
  return t == float16 ? GemmSource::f16 : t == bfloat16 ? GemmSource::bf16 : GemmSource::f32;
}
GemmOutput output_of(Dtype t) {
  return t == float16 ? GemmOutput::f16 : t == bfloat16 ? GemmOutput::bf16 : GemmOutput::f32;
}

// ---- few rows ----------------------------------------------------------------------------------

class FewRows {
 public:
  explicit FewRows(const PackedProduct& p)
      : p_(p),
        w_(*p.matrices),
        bytes_(p.type == float32 ? nullptr : quant_.bytes),
        records_(bytes_ ? ceil_div(w_.columns, bytes_->codes) : 0),
        record_row_(bytes_ ? records_ * static_cast<int64_t>(bytes_->record) : 0),
        x_row_(quant_padded(w_.columns)),
        x_(static_cast<size_t>(p.m * x_row_) * sizeof(float)),
        integers_(static_cast<size_t>(p.m * record_row_)),
        sums_(static_cast<size_t>(p.m * w_.groups()) * sizeof(float)) {}

  void run() {
    arrange();
    const auto m = static_cast<double>(p_.m);
    parallel_for(
        w_.rows, 16, [&](int64_t begin, int64_t end) { some_columns(begin, end); },
        static_cast<double>(w_.rows * w_.columns) * (0.03 + 0.03 * m));
  }

 private:
  static constexpr int64_t kRows = 64;  // of the matrix, together

  /// Rows of x in the orders of the kernels, and the sums of their groups. Sums are of rounded
  /// numbers, or the error of a small weight would be that of its scale times its code.
  void arrange() {
    const int64_t k = w_.columns, groups = w_.groups(), group = w_.packing.group;
    const Scratch memory(static_cast<size_t>(k) * sizeof(float));
    float* const row = memory.get<float>();
    std::vector<uint8_t> apart(static_cast<size_t>(records_));
    for (int64_t i = 0; i < p_.m; ++i) {
      const char* from = static_cast<const char*>(p_.x) + i * k * p_.type.size();
      gemm_.widen[static_cast<int>(source_of(p_.type))](from, 1, k, row);
      if (bytes_)
        bytes_->split(row, k, group, integers_.get<char>() + i * record_row_, apart.data());
      const size_t before = apart_.size();
      for (int64_t b = 0; b < records_; ++b)
        if (apart[b]) apart_.emplace_back(i, b);
      if (!bytes_ || apart_.size() > before) quant_.arrange(row, k, x_.get<float>() + i * x_row_);
      for (int64_t g = 0; w_.biases && g < groups; ++g) {
        float lanes[16] = {};  // groups are multiples of 16
        for (int64_t j = 0; j < group; j += 16)
          for (int64_t l = 0; l < 16; ++l) lanes[l] += row[g * group + j + l];
        float sum = 0;
        for (float lane : lanes) sum += lane;
        sums_.get<float>()[i * groups + g] = sum;
      }
    }
  }

  void some_columns(int64_t begin, int64_t end) const {
    const int64_t groups = w_.groups(), n = w_.rows, base = p_.index * n;
    // Kernels read 16 scales, those of the next row as well where all lanes have words of their
    // own.
    const bool whole = bytes_ && w_.columns % bytes_->codes == 0;
    const int64_t ld = whole ? groups : groups + 16;
    const Scratch scale_rows(static_cast<size_t>(kRows * ld + 16) * sizeof(float)),
        bias_rows(static_cast<size_t>(bytes_ && w_.biases ? kRows * groups : 0) * sizeof(float));
    float *const scales = scale_rows.get<float>(), *const floats = bias_rows.get<float>();
    alignas(64) float acc[kFewRows * kRows], shift[kFewRows * kRows];
    for (int64_t j = begin; j < end; j += kRows) {
      const int64_t rows = std::min(kRows, end - j);
      w_.read_scales(base + j, rows, scales, ld);
      for (int64_t r = whole ? rows - 1 : 0; r < rows; ++r)
        std::memset(scales + r * ld + groups, 0, 16 * sizeof(float));
      std::memset(acc, 0, static_cast<size_t>(p_.m * kRows) * sizeof(float));
      const char* const biases = w_.biases ? static_cast<const char*>(w_.biases) +
                                                 (base + j) * groups * w_.unit_dtype.size()
                                           : nullptr;
      const bool by_bytes = bytes_ && biases;
      if (by_bytes)
        gemm_.widen[static_cast<int>(source_of(w_.unit_dtype))](biases, 1, rows * groups, floats);
      products(base + j, rows, scales, by_bytes ? floats : nullptr, ld, acc);
      if (biases && !bytes_) {
        gemm_.dot[static_cast<int>(source_of(w_.unit_dtype))](sums_.get(), groups, biases, groups,
                                                              p_.m, rows, groups, shift, kRows);
        for (int64_t i = 0; i < p_.m; ++i)
          for (int64_t r = 0; r < rows; ++r) acc[i * kRows + r] += shift[i * kRows + r];
      }
      GemmTarget target{static_cast<char*>(p_.out) + j * p_.type.size(), n, 1};
      gemm_.store[static_cast<int>(output_of(p_.type))](acc, kRows, p_.m, rows, target, {});
    }
  }

  /// Adds the products of all rows of x with rows [first, first + rows) of the matrices. A few rows
  /// of x are multiplied with a range of K at a time, which stays in the first-level cache.
  void products(int64_t first, int64_t rows, const float* scales, const float* biases, int64_t ld,
                float* acc) const {
    const int64_t k = w_.columns, stretch = p_.m == 1 ? x_row_ : 1024;
    for (int64_t i = 0; i < p_.m; i += kQuantRows) {
      const int64_t some = std::min(kQuantRows, p_.m - i);
      for (int64_t at = 0; at < k; at += stretch) {
        const int64_t n = std::min(stretch, k - at);
        if (bytes_)
          by_integers(first, rows, i, some, at, n, scales, biases, ld, acc);
        else
          for (int64_t r = 0; r < rows; ++r)
            by_floats(first + r, i, some, at, n, scales + r * ld, acc + i * kRows + r);
      }
    }
  }

  /// Adds the products of rows [i, i + some) of x with a row of the matrices, along [at, at + n).
  void by_floats(int64_t row, int64_t i, int64_t some, int64_t at, int64_t n, const float* scales,
                 float* acc) const {
    float sum[kQuantRows];
    const int64_t group = w_.packing.group;
    quant_.dot(w_.words + row * w_.row_words() + at * w_.packing.bits / 32, scales + at / group, n,
               group, x_.get<float>() + i * x_row_ + at, x_row_, some, sum, 1);
    for (int64_t l = 0; l < some; ++l) acc[l * kRows] += sum[l];
  }
  /// The same with several rows of the matrices, by integers where x has them.
  void by_integers(int64_t first, int64_t rows, int64_t i, int64_t some, int64_t at, int64_t n,
                   const float* scales, const float* biases, int64_t ld, float* acc) const {
    const int64_t codes = bytes_->codes, record = at / codes, group = w_.packing.group;
    const int64_t groups = w_.groups();
    const PackedRows packed{.words = w_.words + first * w_.row_words() + at * w_.packing.bits / 32,
                            .row_words = w_.row_words(),
                            .scales = scales + at / group,
                            .biases = biases ? biases + at / group : nullptr,
                            .row_scales = ld,
                            .row_biases = groups,
                            .count = rows};
    const RowsOfBytes x{.records = integers_.get<char>() + i * record_row_ +
                                   record * static_cast<int64_t>(bytes_->record),
                        .row_bytes = record_row_,
                        .sums = sums_.get<float>() + i * groups + at / group,
                        .row_sums = groups,
                        .count = some};
    bytes_->dot(packed, n, group, x, acc + i * kRows, kRows);
    for (const auto& [l, b] : apart_) {
      if (l < i || l >= i + some || b < record || b * codes >= at + n) continue;
      for (int64_t r = 0; r < rows; ++r)
        by_floats(first + r, l, 1, b * codes, std::min(codes, w_.columns - b * codes),
                  scales + r * ld, acc + l * kRows + r);
    }
  }

  const PackedProduct& p_;
  const PackedMatrices& w_;
  const GemmKernels& gemm_ = gemm_kernels();
  const QuantKernels& quant_ = w_.kernels();
  const QuantBytes* bytes_;
  int64_t records_, record_row_, x_row_;
  Scratch x_, integers_, sums_;
  std::vector<std::pair<int64_t, int64_t>> apart_;  // rows of x and records without integers
};

// ---- blocks ------------------------------------------------------------------------------------

class Blocks {
 public:
  explicit Blocks(const PackedProduct& p)
      : p_(p),
        w_(*p.matrices),
        n_(p.transpose ? w_.rows : w_.columns),
        k_(p.transpose ? w_.columns : w_.rows),
        panels_(output_of(p.type)) {
    units_ = panels_.units(k_);
  }

  void run() {
    const double rate = 0.9 * isa_rate();
    const int64_t item = p_.type.size();
    for (int64_t first = 0; first < p_.m; first += kMaxRows) {
      m_ = std::min(kMaxRows, p_.m - first);
      const Scratch a(static_cast<size_t>(round_up(m_, panels_.rows()) * units_) *
                      sizeof(uint32_t));
      a_ = a.get<uint32_t>();
      const char* x = static_cast<const char*>(p_.x) + first * k_ * item;
      parallel_for(
          m_, panels_.rows(),
          [&](int64_t begin, int64_t end) {
            panels_.pack_a(x + begin * k_ * item, k_, 1, end - begin, k_, a_ + begin * units_);
          },
          0.3 * static_cast<double>(m_ * k_));
      // Groups along the columns are not divided.
      const bool narrow = p_.transpose && n_ < 4 * kPackedColumns * num_threads();
      const int64_t columns = narrow ? kPackedColumns / 2 : kPackedColumns;
      parallel_for(
          ceil_div(n_, columns), 1,
          [&](int64_t begin, int64_t end) {
            const GemmPanels::Scope scope(panels_);
            const Scratch acc(static_cast<size_t>(m_ * columns) * sizeof(float));
            const Scratch rows(static_cast<size_t>(columns * kPackedDepth) * sizeof(float));
            const Scratch panel(
                static_cast<size_t>(round_up(columns, panels_.columns()) * kPackedDepth) *
                sizeof(float));
            for (int64_t t = begin; t < end; ++t)
              task(first, t * columns, std::min(columns, n_ - t * columns), columns,
                   acc.get<float>(), rows.get<float>(), panel.get<uint32_t>());
          },
          static_cast<double>(n_ * k_) * (0.4 + 2 * static_cast<double>(m_) / rate));
    }
  }

 private:
  /// Columns [j, j + columns) of the product with the packed rows.
  void task(int64_t first, int64_t j, int64_t columns, int64_t ld, float* acc, float* rows,
            uint32_t* panel) const {
    if (k_ == 0) std::memset(acc, 0, static_cast<size_t>(m_ * ld) * sizeof(float));
    for (int64_t at = 0; at < k_; at += kPackedDepth) {
      const int64_t depth = std::min(kPackedDepth, k_ - at), units = panels_.units(depth);
      fill(j, columns, at, depth, rows, panel);
      for (int64_t r = 0; r < m_; r += kTileRows)
        panels_.multiply(a_ + r * units_ + at / panels_.per() * panels_.rows(), units_, panel,
                         units, std::min(kTileRows, m_ - r), columns, 0, units, acc + r * ld, ld,
                         at == 0);
    }
    GemmTarget target{static_cast<char*>(p_.out) + (first * n_ + j) * p_.type.size(), n_, 1};
    gemm_.store[static_cast<int>(output_of(p_.type))](acc, ld, m_, columns, target, {});
  }

  /// Fills the panel of columns [j, j + columns) and depth [at, at + depth) of the second factor.
  void fill(int64_t j, int64_t columns, int64_t at, int64_t depth, float* rows,
            uint32_t* panel) const {
    const int64_t base = p_.index * w_.rows;
    const int64_t count = p_.transpose ? columns : depth, n = p_.transpose ? depth : columns;
    const int64_t from = p_.transpose ? at : j;
    for (int64_t r = 0; r < count; ++r)
      w_.unpack(base + (p_.transpose ? j : at) + r, from, n, rows + r * n);
    const bool halves = panels_.per() == 2;
    if (halves) {  // in place, row by row: the written range is before the range still to be read
      GemmTarget target{rows, count * n, 1};
      for (int64_t i = 0; i < count * n; i += 1024) {
        target.data = reinterpret_cast<uint16_t*>(rows) + i;
        alignas(64) float few[1024];
        const int64_t some = std::min<int64_t>(1024, count * n - i);
        std::memcpy(few, rows + i, static_cast<size_t>(some) * sizeof(float));
        gemm_.store[static_cast<int>(GemmOutput::bf16)](few, some, 1, some, target, {});
      }
    }
    const int64_t along = p_.transpose ? 1 : n, across = p_.transpose ? n : 1;
    const GemmPanels unpacked(halves ? panels_.source() : GemmSource::f32);
    unpacked.pack_b(rows, across, along, columns, depth, panel);
  }

  const PackedProduct& p_;
  const PackedMatrices& w_;
  const GemmKernels& gemm_ = gemm_kernels();
  int64_t n_, k_, m_ = 0, units_;
  GemmPanels panels_;
  uint32_t* a_ = nullptr;
};

// ---- tiles -------------------------------------------------------------------------------------

/// Rows of a packed matrix, unpacked as they are multiplied.
class UnpackedRows final : public TileRows {
 public:
  UnpackedRows(const PackedMatrices& w, int64_t index) : w_(w), base_(index * w.rows) {}

  TileStrip strip(int64_t row, int64_t count, int64_t from, int64_t k, int64_t,
                  uint16_t* scratch) const override {
    const int64_t steps = ceil_div(k, kTileDepth), rest = k % kTileDepth;
    for (int64_t r = 0; r < count; ++r) {
      uint16_t* to = scratch + r * kTileDepth;
      w_.unpack_halves(base_ + row + r, from, k, to, kTileStrip);
      if (rest != 0) {
        uint16_t* last = to + (steps - 1) * kTileStrip;
        std::memset(last + rest, 0, static_cast<size_t>(kTileDepth - rest) * sizeof(uint16_t));
      }
    }
    return {scratch, 2 * kTileDepth, 2 * kTileStrip, steps, nullptr};
  }
  double cost() const override { return w_.packing.bits == 4 ? 0.06 : 0.2; }

 private:
  const PackedMatrices& w_;
  int64_t base_;
};

/// The transposed product: the rows of x are packed, those of the matrix unpacked strip by strip.
void unpacked_tiles(const PackedProduct& p) {
  const UnpackedRows rows(*p.matrices, p.index);
  TileProduct t;
  t.m = p.matrices->rows;
  t.n = p.m;
  t.k = p.matrices->columns;
  t.rows = &rows;
  t.b = {p.x, 1, t.k};
  t.out = {p.out, 1, t.m};
  tile_product(t);
}

}  // namespace

PackedMatrices::PackedMatrices(const Packing& p, const View& w, const View& s, const View* b)
    : packing(p),
      rows(w.shape()[w.ndim() - 2]),
      columns(w.shape().back() * 32 / p.bits),
      words(w.as<const uint32_t>()),
      scales(s.data),
      biases(b ? b->data : nullptr),
      unit_dtype(s.dtype()) {}

const QuantKernels& PackedMatrices::kernels() const {
  const QuantFormat f = format_of(packing);
  return MLX_FOR_ISA(find_quant)(f);
}

void PackedMatrices::read_scales(int64_t first, int64_t count, float* to, int64_t ld) const {
  const int64_t n = groups();
  if (unit_dtype != uint8) {
    const char* from = static_cast<const char*>(scales) + first * n * unit_dtype.size();
    const auto widen = gemm_kernels().widen[static_cast<int>(source_of(unit_dtype))];
    if (ld == n) return widen(from, 1, count * n, to);
    for (int64_t r = 0; r < count; ++r) widen(from + r * n * unit_dtype.size(), 1, n, to + r * ld);
    return;
  }
  const float* table = scale_table(packing.mode);
  const auto* from = static_cast<const uint8_t*>(scales) + first * n;
  for (int64_t r = 0; r < count; ++r)
    for (int64_t g = 0; g < n; ++g) to[r * ld + g] = table[from[r * n + g]];
}

template <class F>
void PackedMatrices::each_range(int64_t row, int64_t from, int64_t n, F&& f) const {
  const int64_t first = from / packing.group, count = n / packing.group;
  const int64_t at = row * groups() + first;
  alignas(64) float units[2][64];
  for (int64_t g = 0; g < count; g += 64) {
    const int64_t some = std::min<int64_t>(64, count - g);
    if (unit_dtype == uint8) {
      const float* table = scale_table(packing.mode);
      for (int64_t i = 0; i < some; ++i)
        units[0][i] = table[static_cast<const uint8_t*>(scales)[at + g + i]];
    } else {
      const auto widen = gemm_kernels().widen[static_cast<int>(source_of(unit_dtype))];
      const int64_t skip = (at + g) * unit_dtype.size();
      widen(static_cast<const char*>(scales) + skip, 1, some, units[0]);
      widen(static_cast<const char*>(biases) + skip, 1, some, units[1]);
    }
    f(units[0], biases ? units[1] : nullptr, g * packing.group, some * packing.group);
  }
}

void PackedMatrices::unpack(int64_t row, int64_t from, int64_t n, float* to) const {
  const uint32_t* start = words + row * row_words() + from * packing.bits / 32;
  each_range(row, from, n, [&](const float* s, const float* b, int64_t at, int64_t some) {
    kernels().unpack(start + at * packing.bits / 32, s, b, some, packing.group, to + at);
  });
}

void PackedMatrices::unpack_halves(int64_t row, int64_t from, int64_t n, uint16_t* to,
                                   int64_t stride) const {
  const uint32_t* start = words + row * row_words() + from * packing.bits / 32;
  each_range(row, from, n, [&](const float* s, const float* b, int64_t at, int64_t some) {
    // 64 groups are a multiple of 32 codes.
    kernels().unpack_halves(start + at * packing.bits / 32, s, b, some, packing.group,
                            to + at / 32 * stride, stride);
  });
}

void packed_product(const PackedProduct& p) {
  if (p.m == 0) return;
  const bool tiles = p.transpose && p.type == bfloat16 && tile_unit() != nullptr;
  if (p.transpose && p.m <= (tiles ? kFewRowsTiles : kFewRows)) return FewRows(p).run();
  if (tiles && p.matrices->columns > 0) return unpacked_tiles(p);
  Blocks(p).run();
}

}  // namespace mlx::core::cpu
