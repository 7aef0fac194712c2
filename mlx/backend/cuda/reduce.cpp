// Reductions: how the operand lies decides whether a warp or a thread has an output, and into how
// many chunks long reductions are cut. Results depend on neither.
#include <algorithm>

#include "mlx/backend/cuda/fused.h"
#include "mlx/backend/cuda/kernel.h"
#include "mlx/ops/reduce.h"

namespace mlx::core::cuda {

namespace {

using device::ReduceArguments;
constexpr int64_t kThreads = 256, kLanes = 32, kBlock = 512;

/// The accumulator of an element type, as it is written in a kernel, and its size.
struct Accumulator {
  const char* type;
  int64_t size;
};

Accumulator sum_of(Dtype t) {
  if (t == float16 || t == bfloat16 || t == float32) return {"float", 4};
  if (is_inexact(t)) return {element_type(t), t.size()};
  return t.size() == 8 ? Accumulator{"uint64_t", 8} : Accumulator{"uint32_t", 4};
}
Accumulator value_of(Dtype t) {
  if (t == float16 || t == bfloat16) return {"float", 4};
  return {element_type(t), t.size()};
}

/// What a kind of reduction is in the source of a kernel.
struct Form {
  std::string operation, finish;
  int64_t accumulator;  // bytes
};
Form form_of(Reduction kind, Dtype t) {
  const std::string in = element_type(t);
  auto sum = [&](const char* name, Accumulator a, const char* finish) {
    return Form{cat(name, "<", in, ", ", a.type, ">"), finish, a.size};
  };
  const Accumulator value = value_of(t);
  auto extreme = [&](bool largest) {
    return Form{cat("Extreme<", in, ", ", value.type, largest ? ", true>" : ", false>"), "Plain",
                value.size};
  };
  auto position = [&](bool largest) {
    return Form{cat("ArgExtreme<", in, ", ", value.type, largest ? ", true>" : ", false>"),
                "Position", value.size <= 8 ? 16 : 24};
  };
  switch (kind) {
    case Reduction::sum:
      return sum("Sum", sum_of(t), "Plain");
    case Reduction::prod:
      return sum("Product", sum_of(t), "Plain");
    case Reduction::mean:
      if (is_inexact(t)) return sum("Sum", sum_of(t), "Mean");
      if (t == int64 || t == uint64) return sum("Sum", {"double", 8}, "Mean");
      return sum("Sum", {"int64_t", 8}, "Mean");
    case Reduction::max:
      return extreme(true);
    case Reduction::min:
      return extreme(false);
    case Reduction::any:
      return {cat("Truth<", in, ", false>"), "Any", 1};
    case Reduction::all:
      return {cat("Truth<", in, ", true>"), "All", 1};
    case Reduction::argmax:
      return position(true);
    default:
      return position(false);
  }
}

struct Shapes {
  ReduceArguments arguments = {};
  bool columns = false;
  int64_t warps = 0;  ///< or threads, for columns
};

/// How the work is cut. Few outputs with much behind them are cut at powers of two.
bool plan(const ReduceAttrs& a, const Layout& in, int processors, Shapes& s) {
  Shape shapes[2];
  Strides strides[2];
  for (size_t d = 0; d < in.shape.size(); ++d) {
    const bool reduced = std::ranges::binary_search(a.axes, static_cast<int>(d));
    shapes[reduced].push_back(in.shape[d]);
    strides[reduced].push_back(in.strides[d]);
  }
  ReduceArguments& p = s.arguments;
  p.kept_count = num_elements(shapes[0]);
  p.reduced_count = num_elements(shapes[1]);
  p.chunk = std::max<int64_t>(p.reduced_count, 1);
  p.chunks = 1;
  if (p.kept_count == 0 || p.reduced_count == 0) {
    p.kept.rank = p.reduced.rank = 1;
    return true;
  }
  device::Axes* const axes[] = {&p.kept, &p.reduced};
  for (int k : {0, 1})
    if (!set_axes({&axes[k], 1}, shapes[k], {strides[k]})) return false;
  const int64_t kept_step = p.kept.strides[p.kept.rank - 1];
  const int64_t reduced_step = p.reduced.strides[p.reduced.rank - 1];
  s.columns = p.kept_count >= kLanes && std::abs(kept_step) < std::abs(reduced_step);
  // Enough for several warps on each processor.
  const int64_t wanted = int64_t{32} * processors * (s.columns ? kLanes : 1);
  if (p.kept_count * 2 <= wanted && p.reduced_count > 4 * kBlock) {
    p.chunk = 2 * kBlock;
    while (p.chunk * std::max<int64_t>(wanted / p.kept_count, 1) < p.reduced_count ||
           p.chunk * 1024 < p.reduced_count)
      p.chunk *= 2;
    p.chunks = (p.reduced_count + p.chunk - 1) / p.chunk;
  }
  return true;
}

const ReduceAttrs& attrs_of(const Attrs* attrs) { return attrs_as<ReduceAttrs>(attrs); }

class ReduceKernel final : public OpKernel {
 public:
  ReduceKernel(const Step& step, DeviceState& device) {
    const ReduceAttrs& a = attrs_of(step.attrs.get());
    const Layout &in = step.operands[0], &out = step.operands[1];
    plan(a, in, device.processors, shapes_);
    const Form form = form_of(a.kind, in.dtype);
    const std::string types =
        cat("<", form.operation, ", ", form.finish, ", ", element_type(out.dtype));
    auto kernel = [&](const char* what, const char* rest) {
      const std::string source = cat(
          "#include \"mlx/backend/cuda/device/reduce.cuh\"\n"
          "using namespace mlx::core;\nusing namespace mlx::core::device;\n"
          "MLX_IN_STEP_KERNEL(reduce, ReduceArguments, p) { reduce_",
          what, types, rest, ">(p); }\n");
      return device.kernels->find(source, "reduce");
    };
    main_.function = kernel(shapes_.columns ? "columns" : "rows",
                            shapes_.arguments.reduced.rank == 1 ? ", true" : ", false");
    if (shapes_.arguments.chunks > 1) chunks_.function = kernel("chunks", "");
    const ReduceArguments& p = shapes_.arguments;
    const int64_t a_block = shapes_.columns ? kThreads : kThreads / kLanes;
    const int64_t most = int64_t{32} * device.processors;
    auto blocks = [&](int64_t n, int64_t each) { return std::min((n + each - 1) / each, most); };
    blocks_ = blocks(p.kept_count * p.chunks, a_block);
    chunk_blocks_ = blocks(p.kept_count, kThreads);
    in_offset_ = in.offset * in.dtype.size();
    out_offset_ = out.offset * out.dtype.size();
    workspace_ = step.workspace;
  }

  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (shapes_.arguments.kept_count == 0) return;
    ArgumentBlock<ReduceArguments> block{.p = shapes_.arguments};
    block.p.in = static_cast<int64_t>(operands[0]) + in_offset_;
    block.p.out = static_cast<int64_t>(operands[1]) + out_offset_;
    if (workspace_ >= 0) block.p.partials = static_cast<int64_t>(operands[workspace_]);
    main_.launch(to.stream(), blocks_, block.all());
    if (block.p.chunks > 1) chunks_.launch(to.stream(), chunk_blocks_, block.all());
  }

 private:
  Shapes shapes_;
  Kernel main_, chunks_;
  int64_t blocks_ = 0, chunk_blocks_ = 0, in_offset_ = 0, out_offset_ = 0;
  int workspace_ = -1;
};

bool find(const Attrs* attrs, std::span<const Layout> operands, int, const DeviceState& device,
          Requirements& needs) {
  const ReduceAttrs& a = attrs_of(attrs);
  const Layout& out = operands[1];
  Shapes s;
  if (!plan(a, operands[0], device.processors, s)) return false;
  if (!is_row_contiguous(out.shape, out.strides)) return false;
  const ReduceArguments& p = s.arguments;
  if (p.chunks > 1)
    needs.workspace = static_cast<size_t>(p.chunks * p.kept_count *
                                          form_of(a.kind, operands[0].dtype).accumulator);
  return true;
}

std::unique_ptr<const OpKernel> prepare(const Step& step, DeviceState& device) {
  return std::make_unique<const ReduceKernel>(step, device);
}

constexpr KernelEntry kEntries[] = {{"reduce", find, prepare}, {"arg_reduce", find, prepare}};

}  // namespace

const std::span<const KernelEntry> reduce_kernels = kEntries;

}  // namespace mlx::core::cuda
