// Runs of float32 ops as chains of links, which the kernels of an instruction set execute.
#pragma once

#include <vector>

#include "mlx/backend/cpu/isa/elementwise.h"
#include "mlx/core/node.h"

namespace mlx::core::cpu {

struct FusedCode;

/// The links of a run of float32 ops; their tiles change as a worker goes on.
struct Chain {
  SmallVector<Link, 16> links;
  struct Use {
    uint16_t link, value;
    uint8_t copy;  // among the copies of tiles that the last, partial burst works on
    bool brings;   // the copy's content
    bool writes, streams;
  };
  SmallVector<Use, 16> uses;
  struct Constant {
    uint16_t link, index;  // among the program's constants
  };
  SmallVector<Constant, 8> constants;
  int copies = 0;
  bool divides = false;  ///< long enough by a constant to look closer at its value
};

/// The chains of a program's runs, without the values of its constants.
std::vector<Chain> make_chains(const FusedCode& c);
/// Those of a launch: with the values, and the handlers that suit them.
std::vector<Chain> chains_for(const FusedCode& c, const Scalar* constants);

}  // namespace mlx::core::cpu
