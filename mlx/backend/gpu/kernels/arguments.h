// Arguments of the own kernels, as the host fills them and the kernels read them: 8 bytes each.
#pragma once

#include <stdint.h>

#ifndef MLX_CONSTANT  // a kernel's target has it
#define MLX_CONSTANT inline constexpr
#endif

namespace mlx::core::device {

MLX_CONSTANT int kMostAxes = 8;

/// Lengths and strides of some axes, outermost first.
struct Axes {
  int64_t rank;
  int64_t shape[kMostAxes], strides[kMostAxes];
};

struct ReduceArguments {
  int64_t in, out, partials;  ///< addresses
  int64_t kept_count, reduced_count;
  int64_t chunk, chunks;  ///< elements of a reduction done at once, and how often
  Axes kept, reduced;
};

/// The operands of a program that computes the input of a reduction.
struct ProgramOperand {
  int64_t address;
  Axes kept, reduced;
};

struct MatmulArguments {
  int64_t a, b, out;  ///< addresses
  int64_t m, n, k, batch_count;
  int64_t a_row, a_column, b_row, b_column;  ///< strides
  Axes a_batch, b_batch;
  int64_t addend, c_row, c_column;  ///< address of what beta counts, or 0; strides
  Axes c_batch;
  double alpha, beta;
};

/// The report of a kernel on an operand that it cannot use; the first report counts.
struct ErrorRecord {
  uint32_t set, operand;
  int64_t value;
};

/// Rows of `n` elements, `stride` apart, in memory of `n * stride` elements each.
MLX_CONSTANT int64_t kRowPart = 8192;  // elements of a long row that a block keeps

struct RowsArguments {
  int64_t in, out, weight, bias;  ///< addresses; 0: none
  int64_t rows, n, stride;
  int64_t parts, partials;  ///< of a row, and the address of the results of all parts
  double eps;
};

MLX_CONSTANT int kMostIndices = 8;

/// An array of indices, and the axis that they index.
struct IndexArgument {
  int64_t address, type;  ///< of its elements: bytes, negative where they have a sign
  int64_t size, span, stride;
  Axes walk;
};
struct Positions {
  int64_t record, indices;  ///< address of an ErrorRecord; how many arrays
  IndexArgument index[kMostIndices];
};
struct GatherArguments {
  int64_t in, out;
  int64_t outer_count, position_count, inner_count, pieces;
  Axes outer, position, inner;  ///< of what is read
  Positions at;
};
struct OffsetsArguments {
  int64_t out, count;
  Positions at;
};
struct ScatterArguments {
  int64_t out, updates, offsets;
  int64_t positions, columns, parts;
  Axes target, position, column;  ///< of a slice; of the updates
};
struct ScatterAxisArguments {
  int64_t out, updates, indices, type, record, claims;
  int64_t outer, n, inner, size, parts;
};
/// Keys of updates: targets, counted in units. A claim is the highest number, from 1 on, of an
/// update of a target.
struct TargetKeysArguments {
  int64_t keys, count, unit, claims;  ///< claims: 0 for none
  Positions at;
};
/// Updates by their sorted keys; `places` are their positions. Or in order, with claims.
/// Updates of one target that have all places of a block of this many, which begins at a multiple
/// of it, are a long run: a warp applies it.
MLX_CONSTANT int64_t kLongRun = 256;

struct SortedUpdatesArguments {
  int64_t out, updates, keys, places, claims, targets;
  int64_t positions, columns, unit;
  Axes target, position, column;  ///< as those of ScatterArguments
};
struct RandomArguments {
  int64_t keys, out, count, bytes;  ///< keys, and bytes for each
};

/// Lines along an axis: `n` elements, `stride` apart, in memory of `n * stride` elements each.
struct ScanArguments {
  int64_t in, factors, out, totals;  ///< addresses; factors: of an affine scan
  int64_t lines, n, stride, reverse, inclusive;
  int64_t chunk, chunks;  ///< elements of a line that a block scans, and how often
};
struct SortArguments {
  int64_t in, out, from, to;  ///< addresses; of sorted runs
  int64_t lines, n, stride;
  int64_t tile, tiles;  ///< elements sorted at once, a power of two; tiles of a line
  int64_t width, last;  ///< of the runs that are merged; whether that ends it
};
/// Keys of lines, sorted by their bytes; addresses are 0 where there is nothing to read or write.
struct RadixArguments {
  int64_t in, from, from_at;    ///< elements; keys of an earlier pass, and their positions
  int64_t out, to, to_at;       ///< results; keys and positions
  int64_t counts, clear;        ///< of bytes; how many words of 4 bytes are zero at first
  int64_t ticket, states;       ///< of the pass: tiles that have begun; sums of the tiles
  int64_t lines, n, stride;     ///< lines lie as those of SortArguments
  int64_t tiles, parts, part;   ///< of a line; parts that are counted at once, and their length
  int64_t pass, passes, shift;  ///< the pass, the bytes that differ, and where the pass has its own
  int64_t kth;                  ///< the rank that is selected
};
struct SearchArguments {
  int64_t sorted, values, out;
  int64_t n, each, count, right;  ///< values searched in one sequence; all values
};
/// Lines of a Fourier transform of n elements: `length` elements each, of which `there` are read.
struct FftArguments {
  int64_t in, out;  ///< addresses
  int64_t lines, length, n;
  int64_t there, step;  ///< where they are read
  Axes walk;
  int64_t inner;  ///< where they are written: how far apart elements are
  double scale;
};
/// How a pass of a Fourier transform reads and writes lines: as arrays between passes; numbers of
/// the operand or the result, half a spectrum; the chirp of a convolution.
MLX_CONSTANT int kFftArray = 0, kFftComplex = 1, kFftReal = 2, kFftHalf = 3, kFftChirp = 4;
MLX_CONSTANT int kFftBytes = 32 << 10;  // that a block has of columns
/// A pass over the columns of arrays [radix, rows, width], `outer` of them: `inner` lines of
/// `length` elements side by side in each.
struct FftPassArguments {
  int64_t in, out, spectrum;  ///< addresses; spectrum: of the chirp, 0 for none
  int64_t outer, length, inner;
  int64_t radix, rows, width, radices;  ///< radices: factors of radix, 4 bits each
  int64_t columns, in_run, out_run;     ///< of a tile; columns that are neighbours in memory
  int64_t source, result;
  int64_t n, there, step;  ///< the length asked for; elements of an operand's line, their distance
  Axes walk;
  int64_t kept;                         ///< elements of a line of the result
  int64_t exchanged_in, exchanged_out;  ///< whether real and imaginary parts change places
  int64_t pairs;                        ///< whether complex numbers are aligned to their size
  int64_t chirp_in, chirp_out, convolves;
  double scale;
};
/// Rows of m * power elements, `count` in all.
struct HadamardArguments {
  int64_t in, out, work;  ///< addresses
  int64_t count, m, power, tile, half;
  int64_t signs[28];
  double scale;
};
/// The first half of a spectrum, along `half_axis`, and the axes before the last one, whose number
/// is their rank. Bits of `mirrored` are axes, the last one included.
struct SpectrumArguments {
  int64_t in, out;  ///< addresses
  Axes outer;
  int64_t rows, length, step, half_axis, half, mirrored, conjugate;
  int64_t parts, part;  ///< of a row, and the elements of each but the last
  int64_t pairs;        ///< whether complex numbers are aligned to their size
};
struct RopeArguments {
  int64_t in, out, offset, freqs, double_freqs;  ///< freqs: 0 for none
  int64_t rows, width, half, positions, per_batch, batches, traditional;
  double log_base, scale, sign;
};
/// As in ops/delta.h.
struct DeltaArguments {
  int64_t q, k, v, gates, beta, state, mask, out, end;  ///< addresses; mask: 0 for none
  int64_t batches, length, key_heads, heads, width, values, wide;
};
struct AttentionArguments {
  int64_t q, k, v, mask, sinks, out;  ///< addresses; 0: none
  int64_t batches, heads, key_heads, queries, keys, features, width, causal;
  int64_t q_stride[4], k_stride[4], v_stride[4], mask_stride[4], sink_stride;
  double scale;
  int64_t splits, split, partials;  ///< of the keys, their length; address of what they give
};

/// The derivative of attention: `forward.out` is the cotangent of the queries.
struct AttentionVjpArguments {
  AttentionArguments forward;
  int64_t given, keys, values;  ///< addresses of the cotangents of the result, keys, values
  int64_t rows;                 ///< address of four floats a row (RowFacts)
};

/// A mask, whose chunks are counted: first how many elements each selects, then where they begin.
struct MaskArguments {
  int64_t mask, starts, record;  ///< addresses; starts: of the chunks, and of what follows the last
  int64_t n, chunk, chunks;      ///< elements of the mask, and of a chunk
  int64_t least, most;           ///< how many it may select
  int64_t positions, kept;  ///< address of the positions that are selected, and space for so many
};
/// Indices of what a mask selects, `along` and `across` apart in memory.
struct NonzeroArguments {
  MaskArguments mask;
  int64_t out, along, across;
  Axes axes;
};
/// Slices of `row` elements at the positions that a mask selects; `count` of them in the result, or
/// in the values that are written.
struct CompactArguments {
  MaskArguments mask;
  int64_t in, out, count, row;
  Axes position, inner;  ///< of what is read
};
/// Elements that are counted by value or by bin, in tables of chunks of them.
struct CountArguments {
  int64_t in, edges, weights, out;  ///< addresses
  int64_t bins, table, record;      ///< addresses: of the elements' bins, of the sums
  int64_t n, length, first;         ///< bins; the value of the first
  int64_t chunk, chunks, copies;    ///< of the table
  int64_t parts;                    ///< among which the bins are divided, a power of two
};

/// A convolution; missing spatial axes are leading axes of length 1.
struct ConvArguments {
  int64_t x, y, w, out, parts;  ///< addresses; y: the cotangent, for that of the weight
  int64_t batch, channels, features, groups, flip;
  int64_t in[3], length[3], kernel[3], stride[3], low[3], spread[3], input_spread[3];
  int64_t splits, split;  ///< parts of a sum of positions, and their length
  int64_t first, count;   ///< positions whose patches are written, to `out`
};
/// Packed matrices of `columns` elements a row.
struct PackedArguments {
  int64_t words, scales, biases, global, in, out;  ///< addresses; 0: none
  int64_t count, columns, group;
};
struct PackedProductArguments {
  PackedArguments w;
  int64_t x, out;
  int64_t m, n, k, count, rows;  ///< rows of a packed matrix
  Axes x_batch, w_batch;         ///< counted in matrices
  Positions at;                  ///< of both matrices, where they are gathered
  /// The packed matrices were in memory before the kernels of this launch: 1, or 0.
  int64_t given;
};
/// Products of matrices that indices say, or over ranges of the inner axis.
struct GatherProductArguments {
  MatmulArguments product;
  int64_t a_matrix, b_matrix;  ///< strides
  int64_t segments, type, record;
  Positions at;
};
/// Products whose right matrices indices say, grouped by these: tiles of rows that share a matrix.
struct GroupedArguments {
  int64_t x, weights, out;  ///< addresses
  /// Addresses in the workspace: matrices of the positions, these sorted, the positions in that
  /// order, where each matrix begins among them, positions of the tiles' slots; then, of some
  /// tiles, rows of x, products, and addresses of the factors and products.
  int64_t keys, sorted, places, starts, slots, rows, products, pointers;
  int64_t positions, matrices;                      ///< how many
  int64_t each, tiles;                              ///< positions of a tile; tiles in all
  int64_t first, count;                             ///< tiles at a time
  int64_t m, k, n;                                  ///< of a position's product; columns at a time
  int64_t x_matrix, x_row, x_column, weight_bytes;  ///< strides
  int64_t out_row, column, bytes;  ///< of the result: its rows, the first column, an element
  Positions at;                    ///< counted in matrices
};
/// The same of packed matrices.
struct GroupedPackedArguments {
  PackedArguments w;
  GroupedArguments groups;
};
/// Factorisations and systems of small matrices, one of them in a block.
struct SystemArguments {
  int64_t a, b, out, work, record;  ///< addresses
  int64_t count, n, columns;        ///< matrices, their order, right-hand sides
  int64_t upper;
};
/// Steps before and after a library's factors of one matrix.
struct FactorArguments {
  int64_t a, b, out, record;             ///< addresses
  int64_t work, sides, exponents, info;  ///< in the workspace, or `out`; info: 0 for none
  int64_t matrix, n, columns;            ///< number of the matrix, its order, right-hand sides
  int64_t upper, transposed;             ///< triangle that is written; whether of the transpose
  int64_t inverse;
};
/// Copies of a matrix that a library has column by column.
struct ColumnsArguments {
  int64_t in, out;                ///< addresses
  int64_t rows, columns, stride;  ///< of `out`; elements from a column of `in` to the next
  int64_t upper;                  ///< whether elements below the diagonal become 0
};

}  // namespace mlx::core::device
