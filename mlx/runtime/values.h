// Where the values of a schedule lie while its plan is made: views follow their chain to what has
// an address.
#pragma once

#include "mlx/runtime/steps.h"

namespace mlx::core {

class ValueTable {
 public:
  ValueTable(const Schedule& items, StepBuilder& steps, Plan& plan)
      : items_(items), steps_(steps), plan_(plan), location_of_(items.size(), -1) {
    locations_.reserve(items.size());
  }

  /// The location of an item whose inputs have theirs. Copies that views need run on `stream`.
  const Location& resolve(uint32_t item, int stream);
  /// The location of an item that has one, or of one part of a bundle.
  const Location& at(uint32_t item, int part = 0) const {
    return locations_[location_of_[item] + part];
  }
  bool has(uint32_t item) const { return location_of_[item] >= 0; }
  /// Gives an item its location; parts of a bundle one after another.
  void set(uint32_t item, Location location) { location_of_[item] = add(std::move(location)); }
  void set_parts(uint32_t item, std::vector<Location> parts);

 private:
  int add(Location location) {
    locations_.push_back(std::move(location));
    return static_cast<int>(locations_.size()) - 1;
  }
  int locate_leaf_or_part(uint32_t item);
  int locate_view(const Node& view, int input, int stream);

  const Schedule& items_;
  StepBuilder& steps_;
  Plan& plan_;
  SmallVector<int, 32> location_of_;  // per item, index in locations_, or -1
  std::vector<Location> locations_;
  std::vector<uint32_t> chain_;
};

}  // namespace mlx::core
