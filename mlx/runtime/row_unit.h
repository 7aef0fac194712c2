// A unit of rows while it grows: which steps fit, and the step that it becomes.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "mlx/runtime/place.h"
#include "mlx/runtime/plan.h"

namespace mlx::core {

/// True for an op that reads so much that it may start a unit.
bool is_large(const Step& step, const Target& target);

/// A unit while it grows: steps of a segment in their order, and the bindings that they use.
class UnitBuilder {
 public:
  UnitBuilder(const Segment& seg, const Target& target) : seg_(seg), target_(target) {}

  /// Starts with an op that works row by row; false where it is none.
  bool start(Step& step, uint32_t in_place);
  /// Whether the step can follow the others, or precede them, and works on the same rows.
  bool admits(const Step& step, bool in_front) const;
  void add(Step& step, uint32_t in_place, bool in_front);
  /// True where the step reads nothing that the unit writes, and writes little.
  bool may_wait_for(const Step& step) const;
  /// True where several steps use rows of many elements.
  bool is_useful() const;
  /// Gives the steps back.
  void release(std::vector<Step>& steps, SmallVector<uint32_t, 4>& in_place);
  /// The unit as one step, and the inputs that its outputs may take the memory of. `inside(b)`:
  /// only the unit uses the binding.
  Step finish(const std::function<bool(int binding)>& inside, uint32_t& in_place);

 private:
  struct Use {
    int binding;
    int last_step;  // that uses it
    int writer = -1;
    int64_t row_elements = 0;  // where it is written here
    int64_t row_bytes = 0;
    int wide = 0;  // steps that use rows of several elements
    Layout layout;
    bool one_layout = true;
  };

  const Use* find(int binding) const {
    auto at = std::ranges::find(uses_, binding, &Use::binding);
    return at == uses_.end() ? nullptr : &*at;
  }
  bool divides(const Step& step) const;
  bool is_one_unit(const Step& step, bool in_front) const;
  bool reads_rows(const Layout& l, int64_t row_elements) const;
  bool is_read_by_rows(int binding, int64_t row_elements) const;
  int64_t row_bytes(const Layout& l) const;
  void note(const Step& step, int index);
  uint32_t free_inputs(const Step& unit, const std::vector<const Use*>& operands) const;

  static constexpr size_t kMost = 24;  // steps

  const Segment& seg_;
  const Target& target_;
  int64_t rows_ = 0, row_bytes_ = 0;
  std::vector<Step> steps_;
  std::vector<uint32_t> in_place_;
  std::vector<Use> uses_;
};

}  // namespace mlx::core
