// Sorts updates by their targets, and applies those of each in order.
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

// The highest number of all is no target's.
Dtype Targets::key() const { return last < INT64_C(0xffffffff) ? uint32 : uint64; }
RadixProblem Targets::problem() const {
  int64_t bytes = 1;
  while (bytes < 8 && last >= (INT64_C(1) << (8 * bytes)) - 1) ++bytes;
  return {key(), true, 1, count, 1, bytes};
}
size_t Targets::workspace() const {
  return static_cast<size_t>(2 * key_bytes(*this) + place_bytes(*this)) + problem().workspace();
}

std::string scatter_instance(ScatterMode mode, Dtype t) {
  static constexpr const char* names[] = {"set", "add", "multiply", "divide", "maximum", "minimum"};
  return cat("Mode::", names[static_cast<int>(mode)], ", ",
             element_type(mode == ScatterMode::set ? bits_of(t) : t));
}

SortedUpdates::SortedUpdates(const Targets& targets, ScatterMode mode, Dtype dtype,
                             const device::ScatterArguments& p, DeviceState& device)
    : targets_(targets), sort_(targets.problem(), device) {
  arguments_.positions = p.positions;
  arguments_.columns = p.columns;
  arguments_.unit = targets.unit;
  arguments_.target = p.target;
  arguments_.position = p.position;
  arguments_.column = p.column;
  const char* number = p.positions * p.columns > INT32_MAX / 2 ? ", uint64_t" : ", uint32_t";
  apply_.function = device.kernel(
      "scatter",
      cat("MLX_KERNEL(scatter_kernel, SortedUpdatesArguments, p) { apply_sorted<",
          scatter_instance(mode, dtype), ", ", element_type(targets.key()), number, ">(p); }\n"),
      "scatter_kernel");
}

void SortedUpdates::launch(const Enqueue& to, int64_t workspace, int64_t updates,
                           int64_t out) const {
  const int64_t keys = workspace + key_bytes(targets_), places = keys + key_bytes(targets_);
  sort_.launch(to, {.in = workspace,
                    .out = 0,
                    .keys = keys,
                    .places = places,
                    .workspace = places + place_bytes(targets_)});
  ArgumentBlock<device::SortedUpdatesArguments> block{.p = arguments_};
  block.p.out = out;
  block.p.updates = updates;
  block.p.keys = keys;
  block.p.places = places;
  apply_.launch(to, blocks_for(arguments_.positions * arguments_.columns), block.all());
}

}  // namespace mlx::core::gpu
