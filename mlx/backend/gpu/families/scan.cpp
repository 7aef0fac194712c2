// Scans. How many lines there are, and how long, decides whether a thread or blocks scan a line;
// results of floats depend on that, and on nothing else.
#include "mlx/ops/scan.h"

#include <algorithm>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/index.h"

namespace mlx::core::gpu {

namespace {

using device::ScanArguments;

constexpr int64_t kManyLines = 4096, kShort = 64;  // a thread scans a line
constexpr int64_t kTile = 2048, kChunk = 8192, kMostChunks = 2048;

ScanArguments arguments_of(const Layout& out, int axis, bool reverse) {
  ScanArguments p = {};
  p.n = out.shape[axis];
  p.stride = num_elements(Shape(out.shape.begin() + axis + 1, out.shape.end()));
  p.lines = p.n ? num_elements(out.shape) / p.n : 0;
  p.reverse = reverse;
  return p;
}
/// `chunks` is 0 where threads scan lines.
ScanArguments plan(const ScanAttrs& a, const Layout& out) {
  ScanArguments p = arguments_of(out, a.axis, a.reverse);
  p.inclusive = a.inclusive;
  // Partial products could overflow where the whole product does not.
  if (p.lines >= kManyLines || p.n <= kShort || (a.kind == ScanKind::prod && is_inexact(out.dtype)))
    return p;
  const int64_t share = (p.n + kMostChunks - 1) / kMostChunks;
  p.chunk = std::max(kChunk, (share + kTile - 1) / kTile * kTile);
  p.chunks = (p.n + p.chunk - 1) / p.chunk;
  return p;
}

/// How a kind of scan combines, in the source of a kernel.
std::string combination(ScanKind kind, Dtype t) {
  const std::string in = element_type(t);
  auto running = [&](const char* name, Accumulator a, const char* rest) {
    return cat("Running<", name, "<", in, ", ", a.type, rest, ">>");
  };
  switch (kind) {
    case ScanKind::sum:
      return running("Sum", sum_of(t), "");
    case ScanKind::prod:
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

FunctionHandle kernel(const std::string& call, DeviceState& device) {
  return device.kernel("scan", cat(call), "scan_kernel");
}

class ScanKernel final : public OpKernel {
 public:
  ScanKernel(const Step& step, DeviceState& device) : workspace_(step.workspace) {
    const auto& a = attrs_as<ScanAttrs>(step.attrs.get());
    const Layout &in = step.operands[0], &out = step.operands[1];
    arguments_ = plan(a, out);
    in_ = in.offset * in.dtype.size();
    out_ = out.offset * out.dtype.size();
    const std::string o = combination(a.kind, in.dtype);
    if (arguments_.chunks == 0) {
      const bool rows = arguments_.stride == 1;
      blocks_ = rows ? std::min<int64_t>((arguments_.lines + 31) / 32, 1 << 20)
                     : blocks_for(arguments_.lines);
      results_.function =
          kernel(cat(rows ? "MLX_IN_STEP_KERNEL(scan_kernel, ScanArguments, p) { scan_rows<"
                          : "MLX_KERNEL(scan_kernel, ScanArguments, p) { scan_lines<",
                     o, ">(p); }\n"),
                 device);
      return;
    }
    blocks_ = std::min<int64_t>(arguments_.lines * arguments_.chunks, 1 << 20);
    auto chunks = [&](const char* write) {
      return kernel(cat("MLX_IN_STEP_KERNEL(scan_kernel, ScanArguments, p) { scan_chunks<", o, ", ",
                        write, ">(p); }\n"),
                    device);
    };
    results_.function = chunks("true");
    if (arguments_.chunks > 1) totals_.function = chunks("false");
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (arguments_.lines == 0) return;
    ArgumentBlock<ScanArguments> block{.p = arguments_};
    block.p.in = static_cast<int64_t>(operands[0]) + in_;
    block.p.out = static_cast<int64_t>(operands[1]) + out_;
    if (totals_.function) {
      block.p.totals = static_cast<int64_t>(operands[workspace_]);
      totals_.launch(to, blocks_, block.all());
    }
    results_.launch(to, blocks_, block.all());
  }

 private:
  ScanArguments arguments_;
  Kernel results_, totals_;
  int workspace_;
  int64_t in_, out_, blocks_ = 0;
};

class AffineScan final : public OpKernel {
 public:
  AffineScan(const Step& step, DeviceState& device) {
    const auto& a = attrs_as<AffineScanAttrs>(step.attrs.get());
    const Layout& out = step.operands[2];
    arguments_ = arguments_of(out, a.axis, a.reverse);
    for (int k = 0; k < 3; ++k) offsets_[k] = step.operands[k].offset * out.dtype.size();
    kernel_.function =
        kernel(cat("MLX_KERNEL(scan_kernel, ScanArguments, p) { affine_scan<",
                   element_type(out.dtype), ", ", value_of(out.dtype).type, ">(p); }\n"),
               device);
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (arguments_.lines == 0) return;
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    ArgumentBlock<ScanArguments> block{.p = arguments_};
    block.p.factors = address(0);
    block.p.in = address(1);
    block.p.out = address(2);
    kernel_.launch(to, blocks_for(arguments_.lines), block.all());
  }

 private:
  ScanArguments arguments_;
  Kernel kernel_;
  int64_t offsets_[3];
};

bool find_scan(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
               const DeviceState&, Requirements& needs) {
  const Layout& out = operands[n_inputs];
  if (operands[0].dtype != out.dtype || !is_row_contiguous(out.shape, out.strides)) return false;
  needs.inputs = {Accepts::rows};
  const ScanArguments p = plan(attrs_as<ScanAttrs>(attrs), out);
  if (p.chunks > 1) needs.workspace = static_cast<size_t>(p.lines * p.chunks) * kStateBytes;
  return true;
}
bool find_affine(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
                 Requirements& needs) {
  const Layout& out = operands[n_inputs];
  needs.inputs = {Accepts::rows, Accepts::rows};
  return is_inexact(out.dtype) && is_row_contiguous(out.shape, out.strides);
}
std::unique_ptr<const OpKernel> prepare_scan(const Step& step, DeviceState& device) {
  return std::make_unique<const ScanKernel>(step, device);
}
std::unique_ptr<const OpKernel> prepare_affine(const Step& step, DeviceState& device) {
  return std::make_unique<const AffineScan>(step, device);
}

constexpr KernelEntry kEntries[] = {{"scan", find_scan, prepare_scan},
                                    {"affine_scan", find_affine, prepare_affine}};

}  // namespace

const std::span<const KernelEntry> scan_kernels = kEntries;

}  // namespace mlx::core::gpu
