// Steps of a few elements as calls at addresses: fused programs, products of matrices, reductions
// and copies, chosen and laid out once, for functions that run many times. A call of a tile kernel
// is an instruction over all elements; nothing is divided, allocated or chosen when it runs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mlx/backend/backend.h"
#include "mlx/backend/cpu/isa/elementwise.h"
#include "mlx/backend/cpu/matmul.h"
#include "mlx/backend/cpu/reduce.h"

namespace mlx::core::cpu {

/// One call. Operands are numbers of addresses in the table of the function.
struct SmallCall {
  enum Kind : uint8_t { tile, pick, put, product, reduction } kind = tile;
  uint8_t itemsize = 0;
  int32_t n = 0;      ///< elements
  uint32_t item = 0;  ///< of the product, the reduction, or where its offsets begin
  uint32_t in[3] = {}, out = 0;
  TileFn run = nullptr;
};

/// The small steps of a function, with their constants and working memory.
class SmallSteps {
 public:
  /// The address of an operand of a step, and its place. Two operands share memory where their
  /// numbers of a memory are equal and their bytes overlap.
  struct Operand {
    uint32_t address;
    int memory;
    int64_t begin;  ///< bytes from where the memory begins
  };

  /// Appends the calls of a step to `calls`; `addresses` counts those of the function. False, and
  /// nothing is appended, where the step is another one than a small program, product or reduction.
  bool add(const Step& step, std::span<const Operand> operands, const Scalar* constants,
           size_t& addresses, std::vector<SmallCall>& calls);
  /// The same for a copy to row-contiguous memory.
  bool add_copy(const Layout& from, uint32_t source, uint32_t target,
                std::vector<SmallCall>& calls);

  /// Bytes of working memory of a run.
  size_t memory() const { return memory_; }
  /// Sets the addresses of working memory and of constants.
  void place(void** addresses, char* memory) const;
  void run(const SmallCall& call, void* const* addresses) const {
    if (call.kind == SmallCall::tile) [[likely]] {
      const void* in[3] = {addresses[call.in[0]], addresses[call.in[1]], addresses[call.in[2]]};
      return call.run(in, addresses[call.out], call.n);
    }
    run_other(call, addresses);
  }

 private:
  class Builder;
  struct Place {
    size_t address, offset;
  };
  void run_other(const SmallCall& call, void* const* addresses) const;

  std::vector<int32_t> offsets_;  ///< bytes
  std::vector<SmallProduct> products_;
  std::vector<RowReduction> reductions_;
  std::vector<char> constants_;
  std::vector<Place> temporary_places_, constant_places_;
  size_t memory_ = 0;
};

}  // namespace mlx::core::cpu
