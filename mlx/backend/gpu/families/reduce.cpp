// Reductions: the layout of the operand decides whether a warp or a thread has an output, and into
// how many chunks long reductions are cut. Results depend on neither.
#include "mlx/ops/reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mlx/backend/gpu/families/reduce_form.h"
#include "mlx/backend/gpu/families/reduce_source.h"
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
constexpr int64_t kReduceThreads = 256, kReduceLanes = 32, kReduceBlock = 512,
                  kMostReduceChunks = 8192;
constexpr uint64_t kFew = 16;  // elements that a thread takes at once

struct Shapes {
  ReduceArguments arguments = {};
  bool columns = false;
  int64_t warps = 0;  ///< or threads, for columns
};

/// How the work is cut. Few outputs with much behind them are cut at powers of two.
bool plan_reduction(const ReduceAttrs& a, const Layout& in, int processors, Shapes& s) {
  Shape shapes[2];
  Strides strides[2];
  split_axes(a.axes, in, shapes, strides);
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
  s.columns = p.kept_count >= kReduceLanes && std::abs(kept_step) < std::abs(reduced_step);
  // Enough for several warps on each processor.
  const int64_t wanted = int64_t{64} * processors * (s.columns ? kReduceLanes : 1);
  // A warp with a row reads ahead: fewer of them keep the memory busy.
  const int64_t few = wanted / (s.columns ? 2 : 8);
  if (p.kept_count <= few && p.reduced_count > 4 * kReduceBlock) {
    p.chunk = kReduceBlock;
    while (p.chunk * std::max<int64_t>(wanted / p.kept_count, 1) < p.reduced_count ||
           p.chunk * kMostReduceChunks < p.reduced_count)
      p.chunk *= 2;
    p.chunks = (p.reduced_count + p.chunk - 1) / p.chunk;
  }
  return true;
}

const ReduceAttrs& attrs_of(const Attrs* attrs) { return attrs_as<ReduceAttrs>(attrs); }

constexpr int kMostOperands = 8, kMostInstructions = 16;

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
    if (is_short && n <= kFew) return {kernels::reduce_few, cat(", ", n), kReduceThreads};
    // A thread for each output and chunk, where that keeps the device busy.
    constexpr int64_t kMany = int64_t{1} << 19;
    if (p.kept_count * p.chunks >= kMany) return {kernels::reduce_columns, "", kReduceThreads};
    return {kernels::reduce_shared_columns, "", kReduceLanes};
  }
  if (!is_short || n > kReduceBlock)
    return {kernels::reduce_rows, "", kReduceThreads / kReduceLanes};
  const int64_t lanes = std::min<int64_t>(static_cast<int64_t>(std::bit_ceil(n)), kReduceLanes);
  const auto each = std::bit_ceil((n + kReduceLanes - 1) / kReduceLanes);
  return {kernels::reduce_short, cat(", ", lanes, ", ", each), kReduceThreads / lanes};
}

/// The same for neighbouring outputs of few elements each, which a thread reads all at once.
Variant few_variant(const Shapes& s, const Variant& scalar, const ReduceSource& source,
                    VectorReads& vectors) {
  constexpr int64_t kMany = int64_t{1} << 18;  // outputs, which keep fewer threads busy
  const ReduceArguments& p = s.arguments;
  const int64_t n = p.reduced_count, reads = n * static_cast<int64_t>(source.operands().size());
  if (p.kept_count < kMany || reads > static_cast<int64_t>(kFew)) return scalar;
  vectors = source.vectors(false, kMostNeighbours);
  if (vectors.n == 1) return scalar;
  return {kernels::reduce_vector_few, cat(", ", vectors.n, ", ", n), kReduceThreads * vectors.n};
}

/// The same where a thread reads neighbours at once, or the variant, where operands do not lie so.
Variant vector_variant(const Shapes& s, const Variant& scalar, const ReduceSource& source,
                       const ReduceForm& form, const DeviceState& device, VectorReads& reads) {
  constexpr int64_t kMostAccumulator = 16;
  const ReduceArguments& p = s.arguments;
  const bool along = &scalar.make == &kernels::reduce_rows,
             across = &scalar.make == &kernels::reduce_shared_columns,
             few = &scalar.make == &kernels::reduce_few;
  if ((!along && !across && !few) || form.accumulator > kMostAccumulator) return scalar;
  if (few) return few_variant(s, scalar, source, reads);
  // More outputs than the fewest would leave too few threads.
  reads = along ? source.vectors(true, kMostNeighbours) : source.vectors(false, kLeastNeighbours);
  if (reads.n == 1) return scalar;
  if (across) {
    // Strips are narrower where there would be few blocks, so that each has less to read.
    int64_t shared = 32;
    auto few_blocks = [&] {
      const int64_t strip = reads.n * shared;
      return strip > p.kept_count ||
             (p.kept_count + strip - 1) / strip * p.chunks < 2 * device.processors;
    };
    while (shared > 8 && few_blocks()) shared /= 2;
    return {kernels::reduce_vector_columns, cat(", ", reads.n, ", ", shared), reads.n * shared};
  }
  // Threads of a warp read the blocks of an output or chunk, or those of several.
  const auto chunk_blocks = static_cast<uint64_t>((p.chunk + kReduceBlock - 1) / kReduceBlock);
  const auto groups =
      static_cast<int64_t>(std::min(std::bit_ceil(chunk_blocks), static_cast<uint64_t>(reads.n)));
  return {kernels::reduce_vector_rows, cat(", ", reads.n, ", ", groups),
          kReduceThreads / kReduceLanes * reads.n / groups};
}

class ReduceKernel final : public StepKernel<ReduceArguments> {
 public:
  ReduceKernel(const Step& step, DeviceState& device)
      : StepKernel(step), n_constants_(step.program.constants.size()) {
    const ReduceAttrs& a = attrs_of(step.attrs.get());
    const bool computes = !step.program.code.empty();
    const Layout in = computes ? computed_input(step) : step.operands[0];
    Shapes shapes;
    plan_reduction(a, in, device.processors, shapes);
    p = shapes.arguments;
    source_.set(step, a.axes);
    bind(p.in, computes ? -1 : 0);
    bind(p.out, step.n_inputs);
    bind(p.partials, step.workspace);
    const ReduceForm form = reduce_form(a.kind, in.dtype, p.reduced_count);
    const std::string types = cat(form.operation, ", ", form.finish, ", ",
                                  element_type(step.operands[step.n_inputs].dtype));
    const Variant scalar = variant_of(shapes);
    const Variant variant = vector_variant(shapes, scalar, source_, form, device, reads_);
    any_ = source_of(step, types, scalar, {});
    own_.function = reads_.n > 1 ? source_of(step, types, variant, reads_).compiled(device)
                                 : any_.compiled(device);
    // Threads that share an output's chunks, of which each reads several at once.
    constexpr int64_t kEach = 16, kManyOutputs = 8192;
    const int64_t group =
        p.chunks <= kEach || (p.chunks <= 4 * kEach && p.kept_count >= kManyOutputs) ? 1
        : p.chunks <= 2 * kEach * kReduceLanes ? kReduceLanes
                                               : kReduceThreads;
    if (p.chunks > 1) chunks_ = kernels::reduce_chunks(device, types, group);
    const int64_t most = int64_t{32} * device.processors;
    auto some = [&](int64_t n, int64_t each) { return std::min((n + each - 1) / each, most); };
    blocks = some(p.kept_count * p.chunks, variant.outputs);
    any_blocks_ = some(p.kept_count * p.chunks, scalar.outputs);
    chunk_blocks_ = some(p.kept_count, kReduceThreads / group);
  }

 private:
  /// The source of a kernel.
  struct Source {
    const char* file = nullptr;
    std::string text, name;
    Function compiled(DeviceState& device) const { return device.kernel(file, text, name.c_str()); }
  };
  Source source_of(const Step& step, const std::string& types, const Variant& variant,
                   const VectorReads& reads) const {
    const KernelRow& row = variant.make.row;
    const std::string list = cat(types, ", ", source_.type(reads), variant.sizes);
    return {row.file,
            source_.definition(step.program, reads) +
                row.text(list, source_.computes() ? "Arguments" : nullptr),
            row.name()};
  }

  void run(const Enqueue& to, ReduceArguments& bound,
           std::span<const uint64_t> operands) const override {
    if (p.kept_count == 0) return;
    SmallVector<int64_t, 8> addresses;
    for (size_t k = 0; k < source_.operands().size(); ++k)
      addresses.push_back(address(operands, static_cast<int>(k)));
    const bool fits = reads_.n == 1 || source_.aligned(reads_, addresses);
    const Kernel other{fits ? Function{} : to.keep(any_.compiled(to.device()))};
    const Kernel& kernel = fits ? own_ : other;
    const int64_t own_blocks = fits ? blocks : any_blocks_;
    if (source_.computes())
      kernel.launch(to, own_blocks, computing_words(to, bound, addresses));
    else
      kernel.launch(to, own_blocks, ArgumentBlock<ReduceArguments>{.p = bound}.all());
    if (chunks_) chunks_.launch(to, chunk_blocks_, bound);
  }
  /// The arguments of a kernel with a program, whose operands and constants follow.
  std::vector<int64_t> computing_words(const Enqueue& to, const ReduceArguments& bound,
                                       std::span<const int64_t> addresses) const {
    constexpr size_t kOwn = sizeof(ReduceArguments) / 8,
                     kOperand = sizeof(device::ProgramOperand) / 8;
    const auto& operands = source_.operands();
    std::vector<int64_t> words(1 + kOwn + operands.size() * kOperand + 2 * n_constants_ + 1);
    words[0] = static_cast<int64_t>(words.size()) - 1;
    std::memcpy(&words[1], &bound, sizeof(bound));
    for (size_t k = 0; k < operands.size(); ++k) {
      device::ProgramOperand o = operands[k];
      o.address = addresses[k];
      std::memcpy(&words[1 + kOwn + k * kOperand], &o, sizeof(o));
    }
    for (size_t c = 0; c < n_constants_; ++c)
      std::memcpy(&words[1 + kOwn + operands.size() * kOperand + 2 * c], to.constants[c].bytes,
                  sizeof(to.constants[c].bytes));
    return words;
  }

  const size_t n_constants_;
  ReduceSource source_;
  VectorReads reads_;
  Kernel own_;
  Source any_;  ///< of the kernel for addresses that are no multiples of neighbours
  KernelOn<ReduceArguments> chunks_;
  int64_t any_blocks_ = 0, chunk_blocks_ = 0;
};

bool find_reduction(const Attrs* attrs, std::span<const Layout> operands, int,
                    const DeviceState& device, Requirements& needs) {
  const ReduceAttrs& a = attrs_of(attrs);
  const Layout& out = operands[1];
  Shapes s;
  if (!plan_reduction(a, operands[0], device.processors, s)) return false;
  if (!is_rows(out)) return false;
  needs.prologue = true;
  const ReduceArguments& p = s.arguments;
  if (p.chunks > 1)
    needs.workspace =
        static_cast<size_t>(p.chunks * p.kept_count *
                            reduce_form(a.kind, operands[0].dtype, p.reduced_count).accumulator);
  return true;
}

constexpr KernelEntry kReduceKernels[] = {{"reduce", find_reduction, prepare_as<ReduceKernel>},
                                          {"arg_reduce", find_reduction, prepare_as<ReduceKernel>}};

}  // namespace

Layout computed_input(const Step& step) {
  const Program& p = step.program;
  const Shape& shape = step.operands[0].shape;
  return {shape, row_major(shape), 0, Dtype(p.code[p.outputs[0] - p.first_instr()].out)};
}

bool computes_input(const Step& step, const DeviceState&) {
  ReduceSource source;
  return step.n_inputs > 0 && step.n_inputs <= kMostOperands && step.program.numberings.empty() &&
         step.program.code.size() <= kMostInstructions &&
         source.set(step, attrs_of(step.attrs.get()).axes);
}

const std::span<const KernelEntry> reduce_kernels = kReduceKernels;

}  // namespace mlx::core::gpu
