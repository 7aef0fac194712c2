// Counts and sums of weights by value or by bin.
#include "mlx/ops/counting.h"

#include <algorithm>
#include <bit>

#include "mlx/backend/common/count_order.h"
#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/index.h"

namespace mlx::core::gpu {

namespace {

using device::CountArguments;

constexpr int64_t kManyThreads = 1 << 15, kMostParts = 4096;
constexpr int64_t kManyBlocks = 1024;  // which add up at once

/// The counts of a step.
struct Form {
  const CountAttrs& attrs;
  const Layout& in;
  const Layout* edges = nullptr;
  const Layout* weights = nullptr;
  Form(const Attrs* a, std::span<const Layout> operands, int n_inputs)
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

class CountKernel final : public OpKernel {
 public:
  CountKernel(const Step& step, const Form& form, DeviceState& device)
      : arguments_(form.plan()),
        bins_bytes_(form.bins_bytes()),
        edges_(form.edges ? 1 : 0),
        weights_(form.weights ? 1 + edges_ : 0),
        out_(step.n_inputs),
        workspace_(step.workspace),
        unsigned_(form.in.dtype == uint64) {
    for (const Layout& l : step.operands) offsets_.push_back(l.offset * l.dtype.size());
    if (arguments_.length == 0) return;
    auto kernel = [&](const std::string& call, bool in_step = false) {
      return device.kernel("counting",
                           cat(in_step ? "MLX_IN_STEP_KERNEL" : "MLX_KERNEL",
                               "(count_kernel, CountArguments, p) { ", call, "(p); }\n"),
                           "count_kernel");
    };
    const std::string finder = form.finder(), sum = form.sum();
    clear_.function = kernel(cat("clear_sums<", finder, ", ", sum, ">"));
    results_.function = kernel(cat("write_counts<", sum, ">"));
    if (form.ordered()) {
      bins_.function = kernel(cat("find_bins<", finder, ">"));
      add_.function = kernel(cat("count_in_order<", sum, ", ", kCountBlock, ">"));
    } else {
      add_.function = kernel(cat("count_at_once<", finder, ", ", sum, ">"), true);
    }
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (arguments_.length == 0) return;
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    ArgumentBlock<CountArguments> block{.p = arguments_};
    CountArguments& p = block.p;
    p.in = address(0);
    if (edges_) p.edges = address(edges_);
    if (weights_) p.weights = address(weights_);
    p.out = address(out_);
    p.bins = static_cast<int64_t>(operands[workspace_]);
    p.table = p.bins + bins_bytes_;
    p.record = static_cast<int64_t>(to.record);
    clear_.launch(to, blocks_for(p.length * p.chunks * p.copies), block.all());
    if (p.n > 0) {
      const int64_t all = blocks_for(p.n);
      if (bins_.function) {
        bins_.launch(to, all, block.all());
        add_.launch(to, blocks_for(p.chunks * p.copies * p.parts), block.all());
      } else {
        add_.launch(to, std::min(all, kManyBlocks), block.all());
      }
    }
    results_.launch(to, blocks_for(p.length), block.all());
  }
  bool checks() const override { return true; }
  void raise(const device::ErrorRecord& record) const override {
    if (record.operand == 1) bad_bins();
    bad_count(unsigned_ ? std::to_string(static_cast<uint64_t>(record.value))
                        : std::to_string(record.value),
              arguments_.first, arguments_.length);
  }

 private:
  CountArguments arguments_;
  Kernel clear_, bins_, add_, results_;
  SmallVector<int64_t, 8> offsets_;
  int64_t bins_bytes_;
  int edges_, weights_, out_, workspace_;
  bool unsigned_;
};

bool find_count(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
                const DeviceState&, Requirements& needs) {
  const Layout& out = operands[n_inputs];
  for (int k = 0; k < n_inputs; ++k) needs.inputs.push_back(Accepts::rows);
  needs.workspace = Form(attrs, operands, n_inputs).workspace();
  return is_row_contiguous(out.shape, out.strides);
}
std::unique_ptr<const OpKernel> prepare_count(const Step& step, DeviceState& device) {
  const std::span<const Layout> operands(step.operands.data(), step.outputs_end());
  return std::make_unique<const CountKernel>(step, Form(step.attrs.get(), operands, step.n_inputs),
                                             device);
}

constexpr KernelEntry kEntries[] = {{"count", find_count, prepare_count}};

}  // namespace

const std::span<const KernelEntry> counting_kernels = kEntries;

}  // namespace mlx::core::gpu
