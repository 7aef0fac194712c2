// A fused program compiled for given layouts: made by fused.cpp, run by fused_run.cpp.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mlx/backend/backend.h"
#include "mlx/backend/cpu/fused_chains.h"
#include "mlx/backend/cpu/isa/elementwise.h"

namespace mlx::core::cpu {

/// How far ahead of a far operand's reads it is prefetched, in bytes.
constexpr int64_t kNear = 2048;

/// The number of values that an instruction reads.
int arity_of(OpId op);

/// How an operand is loaded or stored, given the shape of the tile.
enum class Path : uint8_t {
  direct,    ///< contiguous over the tile: used in place
  packed,    ///< copied to or from a separate tile
  block,     ///< read across its rows: transposed block by block
  repeated,  ///< an input of one element a tile: a constant of runs, and filled in for others
};

struct Operand {
  Strides strides;  // elements, per loop axis
  int itemsize;
  Path path;
  int tile = -1;          // tile slot, if packed or filled in
  int64_t block = 0;      // offset of its transposed block, in bytes
  bool far = false;       // not in the caches: prefetched, or stored around them
  int64_t ahead = kNear;  // bytes from what is read to what is prefetched
};

/// A step of a run of ops, before its handler is chosen (isa/elementwise.h: Link).
struct RunStep {
  enum Act : uint8_t { load, apply, round, store, round_store } act;
  LinkForm form = LinkForm::unary;
  OpId op = OpId::copy;
  uint16_t value = 0;     ///< the tile or constant operand
  uint16_t factor = 0;    ///< the constant of a scaled tile
  bool repeated = false;  ///< the constant is an input, of another value in another tile
  Dtype::Val type = Dtype::Val::float32;  ///< of the operand, or of the value that is rounded
};

/// Called once per tile: the kernel of one instruction, or a run of instructions.
struct Micro {
  TileFn tile = nullptr;
  TileFn streaming = nullptr;  ///< the same with non-temporal stores
  SmallVector<uint16_t, 4> args;
  uint16_t result = 0;
  std::vector<RunStep> run;               ///< instead of the above, if not empty
  int numbering = -1;                     ///< of `position`, or of `random_bits` of two args
  Dtype::Val type = Dtype::Val::float32;  ///< dtype of its result
  int words = -1;  ///< tile slot of the second words, if tiles are processed in pairs
};

struct FusedCode {
  const ElementwiseKernels* isa;
  Shape loop;  // iteration axes, outermost first; at least one
  /// If random words are generated, tiles are processed in pairs: a call of the generator makes a
  /// word for the tile and one for the tile `shift` further along the first axis.
  int64_t shift = 0;
  Shape passes;       // the loop, with a first axis that ends at `shift`
  Shape box;          // shape of a tile, or of a block, which is processed in parts of its rows
  int64_t piece = 0;  // elements of these parts; 0 without blocks
  int64_t block_bytes = 0;
  int64_t tile;  // elements of a tile slot
  int64_t elements;
  std::vector<Operand> operands;
  int n_inputs;
  SmallVector<Dtype::Val, 8> constants;
  std::vector<Numbering> numberings;  // along the loop axes
  std::vector<Micro> code;
  std::vector<Chain> chains;            // of the runs in the code, without constants
  SmallVector<int, 16> slot_of;         // value -> tile slot; operands of path `direct` have none
  SmallVector<int, 4> output_values;    // value of each output
  SmallVector<uint32_t, 4> read_later;  // per output: inputs that are read after it is written
  SmallVector<bool, 4> reread;          // per output: it is read after it is written
  int n_tiles = 0;
  int64_t tile_bytes;
  double cost;               // estimated nanoseconds per element on one thread
  bool streams;              // stores may bypass the caches
  bool only_copies = false;  // copies one input to one output
  bool by_range = false;     // run over ranges of elements: a prologue, or a part of a unit of rows

  /// `far`: bit k for operand k that is not in the caches; without it, all or none are not.
  void compile(const Step& step, std::optional<uint64_t> far = {},
               std::span<const int64_t> ahead = {});
  int64_t tile_count() const;

 private:
  void choose_loops(const Step& step);
  bool packs_with(size_t axis) const;
  void choose_tile();
  bool choose_block();
  void choose_pairs();
  void add_code(const Program& p);
  void assign_tiles(const Program& p);
  void estimate(const Step& step, std::optional<uint64_t> far, std::span<const int64_t> ahead);
};

}  // namespace mlx::core::cpu
