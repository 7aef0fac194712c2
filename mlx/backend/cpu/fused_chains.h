// Runs of ops as chains of links, which the kernels of an instruction set execute.
#pragma once

#include <vector>

#include "mlx/backend/cpu/isa/elementwise.h"
#include "mlx/core/node.h"

namespace mlx::core::cpu {

struct FusedCode;

/// The links of a run; a worker updates their tiles.
/// Under 1 KB, so that the allocator serves it from its small blocks.
struct Chain {
  SmallVector<Link, 12> links;
  struct Use {
    uint16_t link, value;
    uint8_t copy;  // index among the copies of tiles for the last, partial burst
    bool brings;   // loads the copy's content
    bool writes, streams;
    uint8_t itemsize;
    LinkFn store, stream;  // the handlers of a link that writes
  };
  SmallVector<Use, 6> uses;
  struct Constant {
    uint16_t link, index;  // among the program's constants
    Dtype::Val type;
  };
  SmallVector<Constant, 8> constants;
  SmallVector<Constant, 4> repeated;  // index among the inputs: set for each tile
  SmallVector<LinkFn, 4> divisions;   // the handler of a division by a repeated constant, or null
  int copies = 0;
  bool divides = false;  ///< by a constant, often enough to select the handler by its value
};

/// A float32 or 16-bit float as float32.
float number_at(const void* p, Dtype::Val type);
/// Sets the constants of a chain that are inputs, with their addresses, for a tile of n elements.
void set_repeated(Chain& chain, const LinkKernels& k, char* const* inputs, int64_t n);

/// The chains of a program's runs without the values of constants: made once.
std::vector<Chain> make_chains(const FusedCode& c);
/// The chains of a launch: with the values of constants, and the handlers selected by them.
std::vector<Chain> chains_for(const FusedCode& c, const Scalar* constants);

}  // namespace mlx::core::cpu
