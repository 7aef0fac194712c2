// Sorts updates by their targets, or has them claim these, and applies them.
#include "mlx/backend/gpu/families/sorted_updates.h"

#include <algorithm>
#include <bit>

#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/families/index.h"

namespace mlx::core::gpu {

namespace {

constexpr int64_t kMostColumns = 8, kManyUpdates = 64, kWarp = 32;

int64_t updates_aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }
/// Keys, sorted keys, positions; then the memory of the sort.
int64_t key_bytes(const Targets& t) { return updates_aligned(t.count * t.key().size()); }
int64_t place_bytes(const Targets& t) { return updates_aligned(t.count * 4); }

bool are_neighbours(const device::Axes& axes) { return axes.rank == 1 && axes.strides[0] == 1; }
/// How many columns one access may take, in the updates and in the array.
int64_t columns_together(const device::SortedUpdatesArguments& p, Dtype dtype) {
  constexpr int64_t kAccess = 16, kMost = 8;
  for (int64_t n = std::min(kAccess / dtype.size(), kMost); n > 1; n /= 2)
    if (p.columns % n == 0 && p.unit % n == 0 && are_multiples(p.position, n) &&
        are_neighbours(p.target) && are_neighbours(p.column))
      return n;
  return 1;
}

}  // namespace

// The highest number of all is no target's. It need not be sorted behind the others: with an index
// that is out of range, the result is not used.
Dtype Targets::key() const { return last < INT64_C(0xffffffff) ? uint32 : uint64; }
RadixProblem Targets::problem() const {
  int64_t bytes = 1;
  while (bytes < 8 && last >> (8 * bytes)) ++bytes;
  return {key(), true, 1, count, 1, bytes, device};
}
size_t Targets::workspace() const {
  if (unordered()) return static_cast<size_t>(key_bytes(*this));
  if (claimed()) return static_cast<size_t>(key_bytes(*this) + updates_aligned((last + 1) * 4));
  return static_cast<size_t>(2 * key_bytes(*this) + place_bytes(*this)) + problem().workspace();
}

std::string scatter_instance(ScatterMode mode, Dtype t) {
  static constexpr const char* names[] = {"set", "add", "multiply", "divide", "maximum", "minimum"};
  return cat("Mode::", names[static_cast<int>(mode)], ", ",
             element_type(mode == ScatterMode::set ? bits_of(t) : t));
}

SortedUpdates::SortedUpdates(const Targets& targets, Dtype dtype, const device::ScatterArguments& p,
                             DeviceState& device)
    : targets_(targets) {
  arguments_.positions = p.positions;
  arguments_.columns = p.columns;
  arguments_.unit = targets.unit;
  arguments_.targets = targets.last + 1;
  arguments_.target = p.target;
  arguments_.position = p.position;
  arguments_.column = p.column;
  const char* const index = index_for(p.positions * p.columns);
  if (targets.unordered()) {
    apply_ =
        kernels::add_at_once(device, dtype.size() == 8 ? uint64 : uint32, targets.key(), index);
  } else if (targets.claimed()) {
    clear_ = kernels::clear_claims(device);
    apply_ = kernels::apply_claimed(device, bits_of(dtype), targets.key(), index);
  } else {
    const std::string instance = scatter_instance(targets.mode, dtype);
    // A thread walks the updates of a target alone, where they are few.
    by_warps_ = p.columns <= kMostColumns && p.positions / kManyUpdates >= arguments_.targets;
    if (!by_warps_ && targets.by_shares(p.columns))
      shares_ = std::bit_floor(static_cast<uint64_t>(2 * device.processors));
    else
      sort_.emplace(targets.problem(), device);
    const auto applying = [&](int64_t columns) {
      return by_warps_ ? kernels::apply_runs(device, instance, targets.key())
             : shares_ ? kernels::apply_shares(device, instance, targets.key(), columns)
                       : kernels::apply_sorted(device, instance, targets.key(), index, columns);
    };
    apply_ = applying(1);
    if (by_warps_) return;
    if (!shares_ && p.positions >= device::kLongRun)
      apply_long_ = kernels::apply_long_runs(device, instance, targets.key());
    together_ = columns_together(arguments_, dtype);
    access_ = together_ * dtype.size();
    if (together_ > 1) apply_together_ = applying(together_);
  }
}

int64_t SortedUpdates::begin(const Enqueue& to, int64_t workspace) const {
  if (!clear_) return 0;
  device::SortedUpdatesArguments p = arguments_;
  p.claims = workspace + key_bytes(targets_);
  clear_.launch(to, blocks_for(p.targets), p);
  return p.claims;
}

void SortedUpdates::launch(const Enqueue& to, int64_t workspace, int64_t updates,
                           int64_t out) const {
  device::SortedUpdatesArguments p = arguments_;
  p.out = out;
  p.updates = updates;
  p.keys = workspace;
  p.claims = workspace + key_bytes(targets_);
  if (sort_) {
    p.keys = p.claims;
    p.places = p.keys + key_bytes(targets_);
    sort_->launch(to, {.in = workspace,
                       .out = 0,
                       .keys = p.keys,
                       .places = p.places,
                       .workspace = p.places + place_bytes(targets_)});
  }
  const bool together = apply_together_ && (updates | out) % access_ == 0;
  const auto& apply = together ? apply_together_ : apply_;
  if (shares_) return apply.launch(to, shares_, p);
  const int64_t threads = by_warps_  ? p.targets * p.columns * 32
                          : together ? p.positions * p.columns / together_
                                     : p.positions * p.columns;
  apply.launch(to, blocks_for(threads), p);
  // Warps for long runs, of one column or 32.
  if (apply_long_)
    apply_long_.launch(to, blocks_for(p.positions / device::kLongRun * p.columns * kWarp), p);
}

}  // namespace mlx::core::gpu
