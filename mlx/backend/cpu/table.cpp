// The kernel table of the CPU, by op. Elementwise ops have no rows: they run in fused programs.
#include <deque>
#include <mutex>
#include <unordered_map>

#include "mlx/backend/cpu/kernels.h"

namespace mlx::core::cpu {

namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<const OpDef*, const KernelEntry*> rows;
  std::deque<KernelEntry> added;
  Table() {
#define MLX_ADD_FAMILY(name) \
  for (const KernelEntry& e : name) rows.emplace(e.op, &e);
    MLX_KERNEL_FAMILIES(MLX_ADD_FAMILY)
#undef MLX_ADD_FAMILY
  }
};

Table& table() {
  static auto& t = *new Table;
  return t;
}

}  // namespace

void register_kernel(const KernelEntry& entry) {
  std::lock_guard lock(table().mutex);
  // The replaced row stays alive: prepared executables point to it.
  table().rows[entry.op] = &table().added.emplace_back(entry);
}

const KernelEntry* find_kernel(const OpDef& op) {
  std::lock_guard lock(table().mutex);
  auto it = table().rows.find(&op);
  return it == table().rows.end() ? nullptr : it->second;
}

}  // namespace mlx::core::cpu
