// Packed rows: unpacking, and products with a few rows of floats. Compiled once per instruction
// set.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "mlx/backend/cpu/isas.def"

namespace mlx::core::cpu {

/// The values of the codes of a row: unsigned integers of a number of bits, or floats.
enum class QuantFormat : uint8_t { int1, int2, int3, int4, int5, int6, int8, e2m1, e4m3 };

/// Rows of codes, or a range along K of them: words, scales and biases (or null) of the first one,
/// and how far the next one's are.
struct PackedRows {
  const uint32_t* words;
  int64_t row_words;
  const float *scales, *biases;
  int64_t row_scales, row_biases;
  int64_t count;
};
/// Rows of x as integers, and the sums of their groups.
struct RowsOfBytes {
  const void* records;
  int64_t row_bytes;
  const float* sums;
  int64_t row_sums;
  int64_t count;
};

/// Products of codes with rows of 16-bit integers, for activations of 16 bits.
struct QuantBytes {
  int64_t codes;  ///< of a record
  size_t record;  ///< its bytes, a multiple of 64
  /// Writes the n floats of a row as integers, a record for each `codes` of them, and rounds the
  /// floats to what the integers stand for. `apart` gets 1 for each record of zeros, whose floats
  /// the integers cannot hold and which stay as they are.
  void (*split)(float* x, int64_t n, int64_t group, void* records, uint8_t* apart);
  /// Adds the products of rows of x with rows of k codes, that of row i of x with row r to
  /// acc[i * ld + r].
  void (*dot)(const PackedRows& rows, int64_t k, int64_t group, const RowsOfBytes& x, float* acc,
              int64_t ld);
};

struct QuantKernels {
  /// out[i] = scale * code + bias for the n codes of a row; each group of `group` codes has one
  /// scale and bias (null: 0).
  void (*unpack)(const uint32_t* words, const float* scales, const float* biases, int64_t n,
                 int64_t group, float* out);
  /// The same, rounded to bfloat16; each 32 codes are contiguous, `stride` elements after those
  /// before.
  void (*unpack_halves)(const uint32_t* words, const float* scales, const float* biases, int64_t n,
                        int64_t group, uint16_t* out, int64_t stride);
  /// Reorders n floats for `dot`, to padded(n) floats.
  void (*arrange)(const float* x, int64_t n, float* to);
  /// acc[i * ld] = sum over k of scale * code[k] * x[i, k] for i < m <= kQuantRows, x rearranged
  /// with row stride `x_row`. 16 floats after the last scale must be readable. The order of each
  /// sum depends on k.
  void (*dot)(const uint32_t* words, const float* scales, int64_t k, int64_t group, const float* x,
              int64_t x_row, int64_t m, float* acc, int64_t ld);
  const QuantBytes* bytes;  ///< null: none for this format and instruction set
};

inline constexpr int64_t kQuantRows = 4;
/// The length of a rearranged row.
constexpr int64_t quant_padded(int64_t n) { return (n + 511) / 512 * 512; }

#define MLX_QUANT_TABLE(isa, ...)                \
  namespace isa {                                \
  const QuantKernels& find_quant(QuantFormat f); \
  }
MLX_EACH_ISA(MLX_QUANT_TABLE)
#undef MLX_QUANT_TABLE

}  // namespace mlx::core::cpu
