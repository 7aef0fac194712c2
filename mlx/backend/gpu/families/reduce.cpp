// Reductions: the layout of the operand decides whether a warp or a thread has an output, and into
// how many chunks long reductions are cut. Results depend on neither.
#include "mlx/ops/reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mlx/backend/gpu/families/reduce_form.h"
#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

ReduceForm reduce_form(Reduction kind, Dtype t, int64_t count) {
  const std::string in = element_type(t);
  auto sum = [&](const char* name, Accumulator a, const char* finish) {
    return ReduceForm{cat(name, "<", in, ", ", a.type, ">"), finish, a.size};
  };
  const Accumulator value = value_of(t);
  auto extreme = [&](bool largest) {
    return ReduceForm{cat("Extreme<", in, ", ", value.type, largest ? ", true>" : ", false>"),
                      "Plain", value.size};
  };
  auto position = [&](bool largest) {
    return ReduceForm{cat("ArgExtreme<", in, ", ", value.type, largest ? ", true, " : ", false, ",
                          count < INT32_MAX ? "int32_t>" : "int64_t>"),
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

namespace {

using device::ReduceArguments;
constexpr int64_t kThreads = 256, kLanes = 32, kBlock = 512, kMostChunks = 8192;
constexpr uint64_t kFew = 16;  // elements that a thread takes at once

struct Shapes {
  ReduceArguments arguments = {};
  bool columns = false;
  int64_t warps = 0;  ///< or threads, for columns
};

/// The axes of the input, kept ones and reduced ones.
void split(const ReduceAttrs& a, const Layout& in, Shape (&shapes)[2], Strides (&strides)[2]) {
  for (size_t d = 0; d < in.shape.size(); ++d) {
    const bool reduced = std::ranges::binary_search(a.axes, static_cast<int>(d));
    shapes[reduced].push_back(in.shape[d]);
    strides[reduced].push_back(in.strides[d]);
  }
}

/// How the work is cut. Few outputs with much behind them are cut at powers of two.
bool plan(const ReduceAttrs& a, const Layout& in, int processors, Shapes& s) {
  Shape shapes[2];
  Strides strides[2];
  split(a, in, shapes, strides);
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
  const int64_t wanted = int64_t{64} * processors * (s.columns ? kLanes : 1);
  // A warp with a row reads ahead: fewer of them keep the memory busy.
  const int64_t few = wanted / (s.columns ? 2 : 8);
  if (p.kept_count <= few && p.reduced_count > 4 * kBlock) {
    p.chunk = kBlock;
    while (p.chunk * std::max<int64_t>(wanted / p.kept_count, 1) < p.reduced_count ||
           p.chunk * kMostChunks < p.reduced_count)
      p.chunk *= 2;
    p.chunks = (p.reduced_count + p.chunk - 1) / p.chunk;
  }
  return true;
}

const ReduceAttrs& attrs_of(const Attrs* attrs) { return attrs_as<ReduceAttrs>(attrs); }

constexpr int kMostOperands = 8, kMostInstructions = 16;
constexpr size_t kShortProgram = 4;  // of which many elements are computed at once

/// The operands of a program, which an element of what is reduced is computed from. False where
/// they have too many axes.
bool set_operands(const Step& step, std::vector<device::ProgramOperand>& to) {
  const ReduceAttrs& a = attrs_of(step.attrs.get());
  for (int k = 0; k < step.n_inputs; ++k) {
    Shape shapes[2];
    Strides strides[2];
    split(a, step.operands[k], shapes, strides);
    device::ProgramOperand& o = to.emplace_back();
    device::Axes* const axes[] = {&o.kept, &o.reduced};
    for (int part : {0, 1})
      if (!set_axes({&axes[part], 1}, shapes[part], {strides[part]})) return false;
  }
  return true;
}

/// How far an operand's element of a reduction is, where `position` says which; one axis is common.
std::string computed_offset(const device::Axes& axes, const std::string& name,
                            const char* position) {
  if (axes.rank > 1) return cat("offset_of(", name, ", ", position, ")");
  if (axes.strides[0] == 0) return "0";
  return axes.strides[0] == 1 ? position : cat(position, " * ", name, ".strides[0]");
}
/// A type Arguments, and a type Source which computes elements from it.
std::string computing_source(const Step& step, const std::vector<device::ProgramOperand>& from) {
  const Program& p = step.program;
  const size_t inputs = p.inputs.size(), constants = p.constants.size();
  std::string members, starts, loads;
  for (size_t k = 0; k < inputs; ++k) {
    const char* type = element_type(Dtype(p.inputs[k]));
    members += cat("  DevicePointer<const ", type, "> in", k, ";\n");
    starts += cat(",\n      in", k, "(memory<const ", type, ">(p.in_[", k,
                  "].address) + offset_of(p.in_[", k, "].kept, output))");
    loads += cat("      const ", type, " v", k, " = in", k, "[",
                 computed_offset(from[k].reduced, cat("p.in_[", k, "].reduced"), "i"), "];\n");
  }
  for (size_t c = 0; c < constants; ++c) {
    const char* type = element_type(Dtype(p.constants[c]));
    loads += cat("      const ", type, " v", inputs + c, " = constant<", type, ">(p.constants[",
                 2 * c, "], p.constants[", 2 * c + 1, "]);\n");
  }
  return cat("struct Arguments : ReduceArguments {\n  ProgramOperand in_[", inputs,
             "];\n  int64_t constants[", 2 * constants + 1,
             "];\n};\nstruct Source {\n"
             "  static constexpr int kBatch = ",
             p.code.size() <= kShortProgram ? 16 : 4,
             ";\n"
             "  const Arguments& p;\n",
             members, "  MLX_FN Source(const Arguments& p, int64_t output)\n    : p(p)", starts,
             " {}\n"
             "  MLX_FN auto operator()(int64_t i) const {\n",
             loads, print_values(p), "      return v", p.outputs[0], ";\n  }\n};\n");
}

/// Threads that have neighbouring outputs by fours, or 0 where these are not side by side. The
/// address of the input has to be a multiple of as many elements, too.
constexpr int64_t kWide = 4, kMostWideBytes = 4, kMostWideAccumulator = 16;
int64_t wide_threads(const Shapes& s, const Layout& in, const ReduceForm& form) {
  const ReduceArguments& p = s.arguments;
  const bool side_by_side = p.kept.rank == 1 && p.kept.strides[0] == 1 && p.reduced.rank == 1 &&
                            p.reduced.strides[0] % kWide == 0 && p.kept_count % kWide == 0;
  if (!side_by_side || static_cast<int64_t>(in.dtype.size()) > kMostWideBytes ||
      form.accumulator > kMostWideAccumulator)
    return 0;
  const int64_t threads = p.kept_count / kWide;
  return threads >= 32 ? 32 : threads >= 16 ? 16 : 8;
}

/// The function that reduces, the arguments of its template behind the source, and outputs of a
/// block. Short reductions have as many threads, or a thread as many elements, as they need.
struct Variant {
  const KernelMaker<ReduceArguments>& make;
  std::string sizes;
  int64_t outputs;
};
Variant variant_of(const Shapes& s) {
  const ReduceArguments& p = s.arguments;
  const auto n = static_cast<uint64_t>(p.reduced_count);
  const bool is_short = p.chunks == 1 && n > 0;
  if (s.columns) {
    if (is_short && n <= kFew) return {kernels::reduce_few, cat(", ", std::bit_ceil(n)), kThreads};
    // A thread for each output and chunk, where that keeps the device busy.
    constexpr int64_t kMany = int64_t{1} << 19;
    if (p.kept_count * p.chunks >= kMany) return {kernels::reduce_columns, "", kThreads};
    return {kernels::reduce_shared_columns, "", kLanes};
  }
  if (!is_short || n > kBlock) return {kernels::reduce_rows, "", kThreads / kLanes};
  const int64_t lanes = std::min<int64_t>(static_cast<int64_t>(std::bit_ceil(n)), kLanes);
  const auto each = std::bit_ceil((n + kLanes - 1) / kLanes);
  return {kernels::reduce_short, cat(", ", lanes, ", ", each), kThreads / lanes};
}

class ReduceKernel final : public StepKernel<ReduceArguments> {
 public:
  ReduceKernel(const Step& step, DeviceState& device)
      : StepKernel(step),
        computes_(!step.program.code.empty()),
        n_constants_(step.program.constants.size()) {
    const ReduceAttrs& a = attrs_of(step.attrs.get());
    const Layout in = computes_ ? computed_input(step) : step.operands[0];
    Shapes shapes;
    plan(a, in, device.processors, shapes);
    p = shapes.arguments;
    if (computes_) set_operands(step, operands_);
    bind(p.in, computes_ ? -1 : 0);
    bind(p.out, step.n_inputs);
    bind(p.partials, step.workspace);
    const ReduceForm form = reduce_form(a.kind, in.dtype, p.reduced_count);
    const std::string types = cat(form.operation, ", ", form.finish, ", ",
                                  element_type(step.operands[step.n_inputs].dtype));
    Variant variant = variant_of(shapes);
    const bool shares = &variant.make == &kernels::reduce_shared_columns;
    if (const int64_t wide = shares && !computes_ ? wide_threads(shapes, in, form) : 0) {
      narrow_ = cat(types, ", FromMemory<", element_type(in.dtype), ", true>");
      alignment_ = kWide * static_cast<int64_t>(in.dtype.size());
      variant.outputs = kWide * wide;
      kernel = kernels::reduce_wide_columns(device, cat(types, ", ", wide));
    } else if (computes_) {
      const KernelRow& row = variant.make.row;
      computing_.function =
          device.kernel(row.file,
                        computing_source(step, operands_) +
                            row.text(cat(types, ", Source", variant.sizes), "Arguments"),
                        row.name().c_str());
    } else {
      const bool one = p.reduced.rank == 1;
      kernel = variant.make(device, cat(types, ", FromMemory<", element_type(in.dtype),
                                        one ? ", true>" : ", false>", variant.sizes));
    }
    // Threads that share an output's chunks.
    const int64_t group = p.chunks <= 16 ? 1 : p.chunks <= 64 ? kLanes : kThreads;
    if (p.chunks > 1) chunks_ = kernels::reduce_chunks(device, types, group);
    const int64_t most = int64_t{32} * device.processors;
    auto some = [&](int64_t n, int64_t each) { return std::min((n + each - 1) / each, most); };
    blocks = some(p.kept_count * p.chunks, variant.outputs);
    chunk_blocks_ = some(p.kept_count, kThreads / group);
  }

 private:
  void run(const Enqueue& to, ReduceArguments& bound,
           std::span<const uint64_t> operands) const override {
    if (p.kept_count == 0) return;
    if (computes_)
      compute(to, bound, operands);
    else if (!narrow_.empty() && bound.in % alignment_ != 0)
      KernelOn<ReduceArguments>(
          to.keep(kernels::reduce_shared_columns(to.device(), narrow_).function()))
          .launch(to, blocks, bound);
    else
      kernel.launch(to, blocks, bound);
    if (chunks_) chunks_.launch(to, chunk_blocks_, bound);
  }
  /// Launches the kernel with a program, whose operands and constants follow the arguments.
  void compute(const Enqueue& to, const ReduceArguments& bound,
               std::span<const uint64_t> operands) const {
    constexpr size_t kOwn = sizeof(ReduceArguments) / 8,
                     kOperand = sizeof(device::ProgramOperand) / 8;
    std::vector<int64_t> words(1 + kOwn + operands_.size() * kOperand + 2 * n_constants_ + 1);
    words[0] = static_cast<int64_t>(words.size()) - 1;
    std::memcpy(&words[1], &bound, sizeof(bound));
    for (size_t k = 0; k < operands_.size(); ++k) {
      device::ProgramOperand o = operands_[k];
      o.address = address(operands, static_cast<int>(k));
      std::memcpy(&words[1 + kOwn + k * kOperand], &o, sizeof(o));
    }
    for (size_t c = 0; c < n_constants_; ++c)
      std::memcpy(&words[1 + kOwn + operands_.size() * kOperand + 2 * c], to.constants[c].bytes,
                  sizeof(to.constants[c].bytes));
    computing_.launch(to, blocks, words);
  }

  const bool computes_;
  const size_t n_constants_;
  std::vector<device::ProgramOperand> operands_;
  Kernel computing_;
  KernelOn<ReduceArguments> chunks_;
  std::string narrow_;  ///< arguments of a kernel for other addresses; or empty
  int64_t alignment_ = 1;
  int64_t chunk_blocks_ = 0;
};

bool find(const Attrs* attrs, std::span<const Layout> operands, int, const DeviceState& device,
          Requirements& needs) {
  const ReduceAttrs& a = attrs_of(attrs);
  const Layout& out = operands[1];
  Shapes s;
  if (!plan(a, operands[0], device.processors, s)) return false;
  if (!is_rows(out)) return false;
  needs.prologue = true;
  const ReduceArguments& p = s.arguments;
  if (p.chunks > 1)
    needs.workspace =
        static_cast<size_t>(p.chunks * p.kept_count *
                            reduce_form(a.kind, operands[0].dtype, p.reduced_count).accumulator);
  return true;
}

constexpr KernelEntry kEntries[] = {{"reduce", find, prepare_as<ReduceKernel>},
                                    {"arg_reduce", find, prepare_as<ReduceKernel>}};

}  // namespace

Layout computed_input(const Step& step) {
  const Program& p = step.program;
  const Shape& shape = step.operands[0].shape;
  return {shape, row_major(shape), 0, Dtype(p.code[p.outputs[0] - p.first_instr()].out)};
}

bool computes_input(const Step& step, const DeviceState&) {
  std::vector<device::ProgramOperand> operands;
  return step.n_inputs > 0 && step.n_inputs <= kMostOperands && step.program.numberings.empty() &&
         step.program.code.size() <= kMostInstructions && set_operands(step, operands);
}

const std::span<const KernelEntry> reduce_kernels = kEntries;

}  // namespace mlx::core::gpu
