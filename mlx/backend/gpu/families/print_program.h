// Prints a program as C++ over the vocabulary of a device's prelude: the elementwise kernels of
// devices that compile at run time.
#pragma once

#include <string>

#include "mlx/backend/gpu/device.h"
#include "mlx/backend/program.h"

namespace mlx::core::gpu {

/// How an operand, or a numbering, walks the iteration.
enum class Walk : uint8_t {
  dense,    ///< its offset is the element's number
  scalar,   ///< its offset is 0
  strided,  ///< strides are arguments
  rows,     ///< strided; elements of the last axis are neighbours
  columns,  ///< strided; elements of the last axis are the same
  across,   ///< strided; elements of another axis, that of the tiles, are neighbours
};

/// The base of a kernel's text beside the program.
struct ProgramForm {
  SmallVector<Walk, 16> operands;  ///< inputs, then outputs
  SmallVector<Walk, 4> numberings;
  int rank = 1;        ///< of the iteration
  bool wide = false;   ///< element numbers take 64 bits
  int vector = 1;      ///< neighbours along the last axis that a thread has at once
  bool pairs = false;  ///< a thread has the elements of both words of random pairs
  /// A table of the results for all numbers of 16 bits: the kernel that writes it, or the one that
  /// looks up the results of elements in it.
  enum class Table : uint8_t { none, write, read } table = Table::none;
  int tile = 0;  ///< 0; or blocks have squares of such a side, of `tile_axis` and the last axis
  int tile_axis = 0;
  bool all_dense() const;
  /// Whether the arguments of a walk hold its strides.
  static bool has_strides(Walk w) { return w != Walk::dense && w != Walk::scalar; }
  bool operator==(const ProgramForm&) const = default;
};

/// Where a kernel's arguments lie, counted in words of 8 bytes: the number of elements, the lengths
/// of the axes; for each operand its address, then its strides where it is strided; two words a
/// constant; for each numbering its strides where it is strided, its count, and start and step as
/// doubles and as integers; the address of the table that is read.
struct ProgramArguments {
  ProgramArguments(const Program& program, const ProgramForm& form);
  static constexpr int kCount = 0, kShape = 1;
  SmallVector<int, 16> operands, constants, numberings;
  int table, words;
};
/// Entries of a table of results.
inline constexpr int64_t kTableEntries = 1 << 16;

/// The number of neighbours whose accesses take 16 bytes, or fewer where that takes many registers.
int widest_vector(const Program& program, const ProgramForm& form);
/// The instruction that makes as many random words as there are elements, if there is one and its
/// pairs can be used; or null. `count`: of the elements.
const Instr* paired_words(const Program& program, const ProgramForm& form, int64_t count);
/// Whether a table pays for a program of `count` elements of 16 bits: one that computes each longer
/// than it takes to look a result up.
bool takes_table(const Program& program, const ProgramForm& form, int64_t count);
/// Vectors, or elements of a tile, that a thread of the printed kernel loads at a time.
int unrolled(const Program& program, const ProgramForm& form);

/// The values that a program without numberings computes, a line each: v<k> by their numbers, where
/// those of inputs and constants are there.
std::string print_values(const Program& program);

/// Bytes that are equal where sources are, for kernels of one name and target.
std::string brief_of(const Program& program, const ProgramForm& form);
/// The source of a kernel `name` for a target.
std::string print_program(const Program& program, const ProgramForm& form, const std::string& name,
                          const KernelTarget& target);

}  // namespace mlx::core::gpu
