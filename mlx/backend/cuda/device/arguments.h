// Arguments of the own kernels, as the host fills them and the kernels read them: 8 bytes each.
#pragma once

#include <stdint.h>

namespace mlx::core::device {

inline constexpr int kMostAxes = 8;

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

/// What a program reads as it computes what is reduced.
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

/// What a kernel says of an operand that it cannot use; the first one that does is heard.
struct ErrorRecord {
  uint32_t set, operand;
  int64_t value;
};

/// Rows of `n` elements, `stride` apart, in memory of `n * stride` elements each.
struct RowsArguments {
  int64_t in, out, weight, bias;  ///< addresses; 0: none
  int64_t rows, n, stride;
  double eps;
};

inline constexpr int kMostIndices = 8;

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
  int64_t outer_count, position_count, inner_count;
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
  int64_t out, updates, indices, type, record;
  int64_t outer, n, inner, size, parts;
};
struct RandomArguments {
  int64_t keys, out, count, bytes;  ///< keys, and bytes for each
};

}  // namespace mlx::core::device
