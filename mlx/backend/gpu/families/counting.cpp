// Counts and sums of weights by value or by bin.
#include "mlx/ops/counting.h"

#include <algorithm>
#include <bit>

#include "mlx/backend/common/count_order.h"
#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

namespace {

using device::CountArguments;

constexpr int64_t kManyThreads = 1 << 15, kMostParts = 4096;
constexpr int64_t kManyBlocks = 1024;  // which add up at once

/// The counts of a step.
struct CountForm {
  const CountAttrs& attrs;
  const Layout& in;
  const Layout* edges = nullptr;
  const Layout* weights = nullptr;
  CountForm(const Attrs* a, std::span<const Layout> operands, int n_inputs)
      : attrs(attrs_as<CountAttrs>(a)), in(operands[0]) {
    const int next = attrs.bins == Bins::values ? 1 : 2;
    if (next == 2) edges = &operands[1];
    if (n_inputs > next) weights = &operands[next];
  }
  /// Sums of floats depend on the order.
  bool ordered() const { return weights && is_inexact(weights->dtype); }
  int64_t sum_bytes() const { return !weights ? 4 : is_complex(weights->dtype) ? 16 : 8; }
  CountArguments plan() const {
    CountArguments p = {};
    p.n = num_elements(in.shape);
    p.length = attrs.length;
    p.first = attrs.first;
    p.chunk = p.n;
    p.chunks = p.copies = p.parts = 1;
    if (!ordered()) return p;
    // On the CPU, a bin more takes the elements that are in none.
    const CountOrder order = count_order(p.n, p.length + (edges != nullptr), sum_bytes());
    p.chunk = order.chunk;
    p.chunks = order.chunks;
    p.copies = order.copies;
    const auto share = static_cast<uint64_t>(kManyThreads / (p.chunks * p.copies));
    const auto bins = static_cast<uint64_t>(std::max<int64_t>(p.length, 1));
    p.parts = std::clamp<int64_t>(static_cast<int64_t>(std::bit_floor(std::min(share, bins))), 1,
                                  kMostParts);
    return p;
  }
  int64_t bins_bytes() const { return ordered() ? (num_elements(in.shape) * 4 + 15) / 16 * 16 : 0; }
  size_t workspace() const {
    const CountArguments p = plan();
    return static_cast<size_t>(bins_bytes() + p.length * p.chunks * p.copies * sum_bytes());
  }
  /// The type that finds bins, and the one that adds, in the source of kernels.
  std::string finder() const {
    const std::string x = element_type(in.dtype);
    if (!edges) return cat("ByValue<", x, ">");
    return cat("ByEdges<", x, ", ", element_type(edges->dtype), ", ",
               attrs.bins == Bins::even ? "true" : "false", ">");
  }
  std::string sum() const {
    return cat("Weights<", weights ? element_type(weights->dtype) : "One", ">");
  }
};

class CountKernel final : public StepKernel<CountArguments> {
 public:
  CountKernel(const Step& step, DeviceState& device)
      : StepKernel(step), unsigned_(step.operands[0].dtype == uint64) {
    const CountForm form(step.attrs.get(), found_operands(step), step.n_inputs);
    p = form.plan();
    bind(p.in, 0);
    bind(p.edges, form.edges ? 1 : -1);
    bind(p.weights, form.weights ? step.n_inputs - 1 : -1);
    bind(p.out, step.n_inputs);
    bind(p.bins, step.workspace);
    bind_record(p.record);
    bins_bytes_ = form.bins_bytes();
    if (p.length == 0) return;
    const std::string finder = form.finder(), sum = form.sum();
    clear_ = kernels::clear_sums(device, finder, sum);
    results_ = kernels::write_counts(device, sum);
    if (form.ordered()) {
      bins_ = kernels::find_bins(device, finder);
      kernel = kernels::count_in_order(device, sum, kCountBlock);
    } else {
      kernel = kernels::count_at_once(device, finder, sum);
    }
  }
  void raise(const device::ErrorRecord& record) const override {
    if (record.operand == 1) bad_bins();
    bad_count(unsigned_ ? std::to_string(static_cast<uint64_t>(record.value))
                        : std::to_string(record.value),
              p.first, p.length);
  }

 private:
  void run(const Enqueue& to, CountArguments& bound, std::span<const uint64_t>) const override {
    if (p.length == 0) return;
    bound.table = bound.bins + bins_bytes_;
    clear_.launch(to, blocks_for(p.length * p.chunks * p.copies), bound);
    const int64_t all = blocks_for(p.n);
    if (bins_) bins_.launch(to, all, bound);
    const int64_t added = p.n == 0 ? 0
                          : bins_  ? blocks_for(p.chunks * p.copies * p.parts)
                                   : std::min(all, kManyBlocks);
    kernel.launch(to, added, bound);
    results_.launch(to, blocks_for(p.length), bound);
  }
  KernelOn<CountArguments> clear_, bins_, results_;
  int64_t bins_bytes_ = 0;
  bool unsigned_;
};

bool find_count(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                const DeviceState&, Requirements& needs) {
  needs.workspace = CountForm(attrs, operands, n_inputs).workspace();
  return all_in_rows(operands, n_inputs, needs);
}

constexpr KernelEntry kCountingKernels[] = {{"count", find_count, prepare_as<CountKernel>}};

}  // namespace

const std::span<const KernelEntry> counting_kernels = kCountingKernels;

}  // namespace mlx::core::gpu
