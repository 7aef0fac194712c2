// The CPU's table of contents: which kernel runs which op. Elementwise ops need no rows: they run
// in fused programs.
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
    for (auto family :
         {creation_kernels,  concat_kernels,   slice_kernels,     index_kernels,    scatter_kernels,
          reduce_kernels,    softmax_kernels,  scan_kernels,      sort_kernels,     matmul_kernels,
          conv_kernels,      random_kernels,   custom_kernels,    norm_kernels,     rope_kernels,
          attention_kernels, delta_kernels,    quantized_kernels, hadamard_kernels, fft_kernels,
          linalg_kernels,    spectral_kernels, counting_entries,  compact_entries})
      for (const KernelEntry& e : family) rows.emplace(e.op, &e);
  }
};

Table& table() {
  static auto& t = *new Table;
  return t;
}

}  // namespace

void register_kernel(const KernelEntry& entry) {
  std::lock_guard lock(table().mutex);
  // Prepared executables point to the row that it replaces, which therefore stays.
  table().rows[entry.op] = &table().added.emplace_back(entry);
}

const KernelEntry* find_kernel(const OpDef& op) {
  std::lock_guard lock(table().mutex);
  auto it = table().rows.find(&op);
  return it == table().rows.end() ? nullptr : it->second;
}

}  // namespace mlx::core::cpu
