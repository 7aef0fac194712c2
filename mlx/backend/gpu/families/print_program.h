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
};

/// The base of a kernel's text beside the program.
struct ProgramForm {
  SmallVector<Walk, 16> operands;  ///< inputs, then outputs
  SmallVector<Walk, 4> numberings;
  int rank = 1;       ///< of the iteration
  bool wide = false;  ///< element numbers take 64 bits
  bool all_dense() const;
  bool operator==(const ProgramForm&) const = default;
};

/// Where a kernel's arguments lie, counted in words of 8 bytes: the number of elements, the lengths
/// of the axes; for each operand its address, then its strides where it is strided; two words a
/// constant; for each numbering its strides where it is strided, its count, and start and step as
/// doubles and as integers.
struct ProgramArguments {
  ProgramArguments(const Program& program, const ProgramForm& form);
  static constexpr int kCount = 0, kShape = 1;
  SmallVector<int, 16> operands, constants, numberings;
  int words;
};

/// Elements that a thread of the printed kernel goes through at a time.
int elements_a_thread(const ProgramForm& form);

/// The values that a program without numberings computes, a line each: v<k> by their numbers, where
/// those of inputs and constants are there.
std::string print_values(const Program& program);

/// The source of a kernel `name` for a target.
std::string print_program(const Program& program, const ProgramForm& form, const std::string& name,
                          const KernelTarget& target);

}  // namespace mlx::core::gpu
