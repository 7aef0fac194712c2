// Scans. How many lines there are, and how long, decides whether a thread or blocks scan a line;
// results of floats depend on that, and on nothing else.
#include "mlx/ops/scan.h"

#include <algorithm>

#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

namespace {

using device::ScanArguments;

constexpr int64_t kManyLines = 4096, kShort = 64;  // a thread scans a line
constexpr int64_t kScanTile = 2048, kChunk = 8192, kMostScanChunks = 2048;

/// `chunks` is 0 where threads scan lines.
ScanArguments plan_scan(const ScanAttrs& a, const Layout& out) {
  auto p = arguments_of<ScanArguments>(lines_along(out.shape, a.axis));
  p.reverse = a.reverse;
  p.inclusive = a.inclusive;
  const bool walks = a.kind == ScanKind::prod && is_complex(out.dtype);
  if (p.lines >= kManyLines || p.n <= kShort || walks) return p;
  const int64_t share = (p.n + kMostScanChunks - 1) / kMostScanChunks;
  p.chunk = std::max(kChunk, (share + kScanTile - 1) / kScanTile * kScanTile);
  p.chunks = (p.n + p.chunk - 1) / p.chunk;
  return p;
}

/// How a kind of scan combines, in the source of a kernel.
std::string combination(ScanKind kind, Dtype t, bool in_chunks) {
  const std::string in = element_type(t);
  auto running = [&](const char* name, Accumulator a, const char* rest) {
    return cat("Running<", name, "<", in, ", ", a.type, rest, ">>");
  };
  switch (kind) {
    case ScanKind::sum:
      return running("Sum", sum_of(t), "");
    case ScanKind::prod:
      // Products of chunks could overflow where the whole product does not.
      if (in_chunks && is_inexact(t)) return cat("ScaledProduct<", in, ", ", value_of(t).type, ">");
      return running("Product", sum_of(t), "");
    case ScanKind::max:
      return running("Extreme", value_of(t), ", true");
    case ScanKind::min:
      return running("Extreme", value_of(t), ", false");
    default:
      return cat("LogSumExp<", in, ", ", value_of(t).type, ">");
  }
}
/// No smaller than a state of any scan.
constexpr size_t kStateBytes = 32;

class ScanKernel final : public StepKernel<ScanArguments> {
 public:
  ScanKernel(const Step& step, DeviceState& device) : StepKernel(step) {
    const auto& a = attrs_as<ScanAttrs>(step.attrs.get());
    p = plan_scan(a, step.operands[1]);
    bind(p.in, 0);
    bind(p.out, 1);
    const std::string how = combination(a.kind, step.operands[0].dtype, p.chunks > 0);
    if (p.chunks == 0) {
      const bool rows = p.stride == 1;
      blocks = rows ? blocks_of(p.lines, 256) : blocks_for(p.lines);
      kernel = rows ? kernels::scan_rows(device, how) : kernels::scan_lines(device, how);
      return;
    }
    blocks = blocks_of(p.lines * p.chunks);
    kernel = kernels::scan_chunks(device, how, true);
    if (p.chunks == 1) return;
    bind(p.totals, step.workspace);
    totals_ = kernels::scan_chunks(device, how, false);
  }

 private:
  void run(const Enqueue& to, ScanArguments& bound, std::span<const uint64_t>) const override {
    if (totals_) totals_.launch(to, blocks, bound);
    kernel.launch(to, blocks, bound);
  }
  KernelOn<ScanArguments> totals_;
};

std::unique_ptr<const OpKernel> prepare_affine(const Step& step, DeviceState& device) {
  const auto& a = attrs_as<AffineScanAttrs>(step.attrs.get());
  const Layout& out = step.operands[2];
  auto scan = std::make_unique<StepKernel<ScanArguments>>(step);
  scan->p = arguments_of<ScanArguments>(lines_along(out.shape, a.axis));
  scan->p.reverse = a.reverse;
  scan->bind(scan->p.factors, 0);
  scan->bind(scan->p.in, 1);
  scan->bind(scan->p.out, 2);
  scan->kernel = kernels::affine_scan(device, out.dtype, value_of(out.dtype));
  scan->blocks = blocks_for(scan->p.lines);
  return scan;
}

bool find_scan(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
               const DeviceState&, Requirements& needs) {
  const Layout& out = operands[n_inputs];
  const ScanArguments p = plan_scan(attrs_as<ScanAttrs>(attrs), out);
  if (p.chunks > 1) needs.workspace = static_cast<size_t>(p.lines * p.chunks) * kStateBytes;
  return all_in_rows(operands, n_inputs, needs) && operands[0].dtype == out.dtype;
}
bool find_affine(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
                 Requirements& needs) {
  return all_in_rows(operands, n_inputs, needs) && is_inexact(operands[n_inputs].dtype);
}

constexpr KernelEntry kScanKernels[] = {{"scan", find_scan, prepare_as<ScanKernel>},
                                        {"affine_scan", find_affine, prepare_affine}};

}  // namespace

const std::span<const KernelEntry> scan_kernels = kScanKernels;

}  // namespace mlx::core::gpu
