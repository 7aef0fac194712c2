// Sorts updates by their targets, or has them claim these, and applies them.
#include "mlx/backend/gpu/families/sorted_updates.h"

#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/families/index.h"

namespace mlx::core::gpu {

namespace {

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }
/// Keys, sorted keys, positions; then the memory of the sort.
int64_t key_bytes(const Targets& t) { return aligned(t.count * t.key().size()); }
int64_t place_bytes(const Targets& t) { return aligned(t.count * 4); }

}  // namespace

// The highest number of all is no target's. It need not be sorted behind the others: with an index
// that is out of range, the result is not used.
Dtype Targets::key() const { return last < INT64_C(0xffffffff) ? uint32 : uint64; }
RadixProblem Targets::problem() const {
  int64_t bytes = 1;
  while (bytes < 8 && last >> (8 * bytes)) ++bytes;
  return {key(), true, 1, count, 1, bytes};
}
size_t Targets::workspace() const {
  if (claimed()) return static_cast<size_t>(key_bytes(*this) + aligned((last + 1) * 4));
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
  auto kernel = [&](const std::string& call) {
    return device.kernel(
        "scatter",
        cat("MLX_KERNEL(scatter_kernel, SortedUpdatesArguments, p) { ", call, "(p); }\n"),
        "scatter_kernel");
  };
  const std::string rest =
      cat(", ", element_type(targets.key()),
          p.positions * p.columns > INT32_MAX / 2 ? ", uint64_t>" : ", uint32_t>");
  if (targets.claimed()) {
    clear_.function = kernel("clear_claims");
    apply_.function = kernel(cat("apply_claimed<", element_type(bits_of(dtype)), rest));
  } else {
    sort_.emplace(targets.problem(), device);
    apply_.function = kernel(cat("apply_sorted<", scatter_instance(targets.mode, dtype), rest));
  }
}

int64_t SortedUpdates::begin(const Enqueue& to, int64_t workspace) const {
  if (sort_) return 0;
  ArgumentBlock<device::SortedUpdatesArguments> block{.p = arguments_};
  block.p.claims = workspace + key_bytes(targets_);
  clear_.launch(to, blocks_for(arguments_.targets), block.all());
  return block.p.claims;
}

void SortedUpdates::launch(const Enqueue& to, int64_t workspace, int64_t updates,
                           int64_t out) const {
  ArgumentBlock<device::SortedUpdatesArguments> block{.p = arguments_};
  block.p.out = out;
  block.p.updates = updates;
  block.p.keys = workspace;
  block.p.claims = workspace + key_bytes(targets_);
  if (sort_) {
    block.p.keys = block.p.claims;
    block.p.places = block.p.keys + key_bytes(targets_);
    sort_->launch(to, {.in = workspace,
                       .out = 0,
                       .keys = block.p.keys,
                       .places = block.p.places,
                       .workspace = block.p.places + place_bytes(targets_)});
  }
  apply_.launch(to, blocks_for(arguments_.positions * arguments_.columns), block.all());
}

}  // namespace mlx::core::gpu
