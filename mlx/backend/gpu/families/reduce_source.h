// Where the elements of a reduction come from, as types in the source of kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mlx/backend/gpu/families/family.h"

namespace mlx::core::gpu {

/// The neighbours that a thread reads at once, if it does.
inline constexpr int64_t kLeastNeighbours = 4, kMostNeighbours = 8;

/// How a thread reads: element by element, or N neighbours at once, of one output or of N outputs.
struct VectorReads {
  int64_t n = 1;
  bool along = false;  ///< neighbours are elements of one output
};

/// The operands of a reduction, split into kept and reduced axes: an array, or the inputs of the
/// program that computes what is reduced.
class ReduceSource {
 public:
  /// `axes`: the reduced ones. False where an operand has too many axes.
  bool set(const Step& step, const std::vector<int>& axes);
  bool computes() const { return computes_; }
  const std::vector<device::ProgramOperand>& operands() const { return operands_; }

  /// The most neighbours, up to `most`, that a thread may read at once, of one output or of
  /// several.
  VectorReads vectors(bool along, int64_t most) const;
  /// Whether operands at these addresses may be read so.
  bool aligned(const VectorReads& reads, std::span<const int64_t> addresses) const;

  /// The source's name in kernels, and the text that defines it where they do not have it.
  std::string type(const VectorReads& reads) const;
  std::string definition(const Program& program, const VectorReads& reads) const;

 private:
  /// How the neighbours of an operand lie.
  enum class Spread { together, same, apart };
  Spread spread(size_t operand, const VectorReads& reads) const;
  std::string definition_of_elements(const Program& program) const;
  std::string definition_of_vectors(const Program& program, const VectorReads& reads) const;

  bool computes_ = false;
  std::vector<device::ProgramOperand> operands_;
  std::vector<Dtype> dtypes_;
};

/// The axes of a layout, kept ones and reduced ones.
void split_axes(const std::vector<int>& reduced_axes, const Layout& in, Shape (&shapes)[2],
                Strides (&strides)[2]);

}  // namespace mlx::core::gpu
