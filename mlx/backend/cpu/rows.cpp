// Runs units of rows.
#include "mlx/backend/cpu/rows.h"

#include <algorithm>
#include <optional>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/reduce.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

/// An operand of a part as a kernel sees it: some of its rows.
struct RowLayout {
  Layout layout;      // the leading axes are 1 but the last of them, which counts rows
  int axis = 0;       // that counts rows
  int64_t bytes = 0;  // between rows
};

namespace {

RowLayout row_layout(const Layout& l, int64_t rows) {
  RowLayout out{l};
  int64_t n = 1, stride = 0;
  for (size_t k = 0; n < rows; ++k) {
    n *= l.shape[k];
    out.axis = static_cast<int>(k);
    if (l.shape[k] > 1) stride = l.strides[k];
    out.layout.shape[k] = 1;
  }
  out.layout.strides[out.axis] = stride;
  out.layout.offset = 0;
  out.bytes = stride * l.dtype.size();
  return out;
}

int64_t extent_of_row(const Layout& l, int64_t rows) {
  return num_elements(l.shape) / rows * l.dtype.size();
}

/// The result of a prologue, which is the input of its op.
Layout result_of_prologue(const Step& step) {
  const Shape& shape = step.operands[0].shape;
  const Program& p = step.program;
  return {shape, row_major(shape), 0, Dtype(p.code[p.outputs[0] - p.first_instr()].out)};
}

/// The operands of an op; the result of a prologue is the only input.
std::vector<RowLayout> op_operands(const Step& step, int64_t rows) {
  std::vector<RowLayout> out;
  const bool prologue = !step.program.code.empty();
  if (prologue) out.push_back(row_layout(result_of_prologue(step), rows));
  for (size_t k = prologue ? step.n_inputs : 0; k < step.operands.size(); ++k)
    out.push_back(row_layout(step.operands[k], rows));
  return out;
}

}  // namespace

/// A step of the unit.
struct RowPart {
  Step step;
  const KernelEntry* kernel = nullptr;   // of an op
  std::optional<RowReduction> prepared;  // instead of the kernel
  std::unique_ptr<FusedKernel> program;  // a program, or the prologue of an op
  std::vector<RowLayout> operands;       // of an op; the input first that a prologue computes
  int64_t row_elements = 0;              // of the iteration of a program
  int64_t result_bytes = 0;              // of a row of what a prologue computes
  size_t result = 0, tiles = 0;          // places of that, and of the program's tiles, in memory

  bool has_prologue() const { return step.op && program; }
};

struct RowCode {
  int64_t rows = 0, block = 1;  // `block` rows at a time
  std::vector<RowPart> parts;
  std::vector<int64_t> temporaries;  // bytes of a row
  std::vector<size_t> places;        // of the temporaries in working memory
  size_t memory = 0;
  double cost = 0;  // nanoseconds on one thread

  explicit RowCode(const Step& unit);
  std::vector<int64_t> next_rows(const Step& step, const std::vector<bool>& touched,
                                 std::vector<bool>& fetched) const;
  RowPart make_part(const Step& step, uint64_t far, std::span<const int64_t> ahead) const;
  void choose_block(const Step& unit);
  void place_memory();
};

namespace {

/// True if the operands of a unit are larger than the caches together.
bool is_far(const Step& unit) {
  double bytes = 0;
  for (const Layout& l : unit.operands)
    if (std::ranges::find(l.strides, 0) == l.strides.end())
      bytes += static_cast<double>(num_elements(l.shape) * l.dtype.size());
  return bytes >= static_cast<double>(l3_size());
}

/// Operands of a step that are far: of the unit, if it is.
uint64_t far_operands(bool large, const Step& step, std::vector<bool>& touched) {
  uint64_t far = 0;
  for (size_t k = 0; k < step.slots.size() && k < 64; ++k) {
    const int operand = step.slots[k];
    if (operand < 0) continue;
    // Inputs are far when they are read first.
    if (large && (static_cast<int>(k) >= step.n_inputs || !touched[operand]))
      far |= uint64_t{1} << k;
  }
  for (int k = 0; k < step.n_inputs; ++k)
    if (step.slots[k] >= 0) touched[step.slots[k]] = true;
  return far;
}

/// Results that later steps of the unit read should stay in the caches.
uint64_t kept_outputs(const RowUnit& unit, size_t index) {
  const Step& step = unit.steps[index];
  uint64_t kept = 0;
  for (size_t o = step.n_inputs; o < step.slots.size() && o < 64; ++o)
    for (size_t later = index + 1; later < unit.steps.size(); ++later) {
      const Step& reader = unit.steps[later];
      const auto end = reader.slots.begin() + reader.n_inputs;
      if (std::find(reader.slots.begin(), end, step.slots[o]) != end) kept |= uint64_t{1} << o;
    }
  return kept;
}

}  // namespace

RowCode::RowCode(const Step& unit) {
  const RowUnit& u = *unit.unit;
  rows = u.rows;
  temporaries = u.temporaries;
  choose_block(unit);
  const bool large = is_far(unit);
  std::vector<bool> touched(unit.operands.size()), fetched(unit.operands.size());
  for (size_t i = 0; i < u.steps.size(); ++i) {
    const auto ahead = large ? next_rows(u.steps[i], touched, fetched) : std::vector<int64_t>();
    const uint64_t far = far_operands(large, u.steps[i], touched);
    parts.push_back(make_part(u.steps[i], far & ~kept_outputs(u, i), ahead));
    for (const Layout& l : u.steps[i].operands)
      cost += static_cast<double>(num_elements(l.shape) * l.dtype.size()) / 20;
  }
  place_memory();
}

/// For each input of a program that an op has read before: the distance to the rows of the next
/// block. An op reads faster than memory is, and waits; a program computes meanwhile.
std::vector<int64_t> RowCode::next_rows(const Step& step, const std::vector<bool>& touched,
                                        std::vector<bool>& fetched) const {
  std::vector<int64_t> ahead(step.operands.size());
  for (int k = 0; k < step.n_inputs; ++k) {
    const int slot = step.slots[k];
    if (slot < 0 || fetched[slot]) continue;
    const Layout& l = step.operands[k];
    if (step.program.code.empty()) continue;
    fetched[slot] = true;  // by this program, which reads it first, or ahead
    if (touched[slot] && !step.op && l.strides.back() == 1)
      ahead[k] = row_layout(l, rows).bytes * block;
  }
  return ahead;
}

RowPart RowCode::make_part(const Step& step, uint64_t far, std::span<const int64_t> ahead) const {
  RowPart part;
  part.step = step;
  if (!step.program.code.empty()) part.row_elements = num_elements(step.operands[0].shape) / rows;
  if (!step.op) {
    part.program = std::make_unique<FusedKernel>(step, far, ahead);
    return part;
  }
  part.operands = op_operands(step, rows);
  part.kernel = find_kernel(*step.op);
  part.prepared = RowReduction::of(step, part.operands[0].layout, part.operands[0].axis);
  if (step.program.code.empty()) return part;
  Step prologue;
  prologue.program = step.program;
  prologue.n_inputs = step.n_inputs;
  prologue.operands.assign(step.operands.begin(), step.operands.begin() + step.n_inputs);
  prologue.operands.push_back(result_of_prologue(step));
  const uint64_t inputs = step.n_inputs < 64 ? (uint64_t{1} << step.n_inputs) - 1 : ~uint64_t{0};
  part.program = std::make_unique<FusedKernel>(prologue, far & inputs, ahead);
  part.result_bytes = part.operands[0].bytes;
  return part;
}

/// As many rows as take a half of the second-level cache, with enough blocks for the threads.
void RowCode::choose_block(const Step& unit) {
  int64_t bytes = 1;
  for (int64_t t : temporaries) bytes += t;
  for (const Layout& l : unit.operands) {
    bool shared = true;
    int64_t n = 1;
    for (size_t k = 0; n < rows; n *= l.shape[k++])
      shared = shared && (l.strides[k] == 0 || l.shape[k] == 1);
    if (!shared) bytes += extent_of_row(l, rows);
  }
  for (const Step& step : unit.unit->steps)
    if (step.op && !step.program.code.empty())
      bytes += extent_of_row(result_of_prologue(step), rows);
  const auto fitting = static_cast<int64_t>(l2_size() / 2) / bytes;
  block = std::clamp<int64_t>(fitting, 1, std::max<int64_t>(1, rows / (4 * num_threads())));
}

void RowCode::place_memory() {
  auto take = [&](size_t bytes) {
    const size_t at = memory;
    memory += (bytes + 63) / 64 * 64;
    return at;
  };
  for (int64_t t : temporaries) places.push_back(take(static_cast<size_t>(t * block)));
  for (RowPart& p : parts) {
    if (!p.program) continue;
    p.result = take(static_cast<size_t>(p.result_bytes * block));
    p.tiles = take(FusedRows::memory(*p.program));
  }
}

namespace {

/// Moves an address, which may then lie outside of what it belongs to.
void* moved(const void* p, int64_t bytes) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(p) + static_cast<uintptr_t>(bytes));
}

/// One thread's work on a unit.
class RowRun {
 public:
  RowRun(const RowCode& code, void* const* addresses, const Scalar* constants, char* memory)
      : code_(code), buffers_(addresses), memory_(memory) {
    addresses_.resize(code.parts.size());
    programs_.reserve(code.parts.size());
    start(0);
    for (size_t i = 0; i < code.parts.size(); ++i) {
      const RowPart& part = code.parts[i];
      if (part.program)
        programs_.emplace_back(*part.program, addresses_[i].data(),
                               constants + part.step.first_constant, memory + part.tiles);
    }
  }

  void run(int64_t first, int64_t n) {
    start(first);
    auto program = programs_.begin();
    for (size_t i = 0; i < code_.parts.size(); ++i) {
      const RowPart& part = code_.parts[i];
      if (part.program) (program++)->run(first * part.row_elements, n * part.row_elements);
      if (!part.step.op) continue;
      // The inputs of a prologue are no operands of the op.
      void* const* operands = addresses_[i].data() + (part.program ? part.step.n_inputs : 0);
      if (part.prepared)
        reduce(part, operands, first, n);
      else
        run_op(part, operands, first, n);
    }
  }
  void finish() {
    for (FusedRows& p : programs_) p.finish();
  }

 private:
  /// The address of rows in working memory as if all rows were there.
  char* resident(size_t place, int64_t bytes, int64_t first) const {
    return static_cast<char*>(moved(memory_ + place, -first * bytes));
  }

  /// Sets the addresses of the operands for the block from row `first` on.
  void start(int64_t first) {
    for (size_t i = 0; i < code_.parts.size(); ++i) {
      const RowPart& part = code_.parts[i];
      const Step& step = part.step;
      auto& addresses = addresses_[i];
      addresses.clear();
      for (size_t k = 0; k < step.slots.size(); ++k) {
        if (part.has_prologue() && static_cast<int>(k) == step.n_inputs)
          addresses.push_back(resident(part.result, part.result_bytes, first));
        const Layout& l = step.operands[k];
        const auto t = static_cast<size_t>(-1 - step.slots[k]);
        void* base = step.slots[k] >= 0 ? buffers_[step.slots[k]]
                                        : resident(code_.places[t], code_.temporaries[t], first);
        addresses.push_back(moved(base, l.offset * l.dtype.size()));
      }
    }
  }

  void reduce(const RowPart& part, void* const* operands, int64_t first, int64_t n) const {
    const RowLayout &in = part.operands[0], &out = part.operands[1];
    part.prepared->run(moved(operands[0], first * in.bytes), in.layout.strides[in.axis], n,
                       moved(operands[1], first * out.bytes));
  }

  void run_op(const RowPart& part, void* const* operands, int64_t first, int64_t n) {
    views_.clear();
    layouts_.clear();
    layouts_.reserve(part.operands.size());
    for (size_t k = 0; k < part.operands.size(); ++k) {
      const RowLayout& o = part.operands[k];
      layouts_.push_back(o.layout);
      layouts_.back().shape[o.axis] = n;
      views_.push_back({moved(operands[k], first * o.bytes), &layouts_.back()});
    }
    const size_t inputs = part.has_prologue() ? 1 : part.step.n_inputs;
    std::span<const View> all(views_.data(), views_.size());
    part.kernel->run({.in = all.first(inputs),
                      .out = all.subspan(inputs),
                      .attrs = part.step.attrs.get(),
                      .workspace = nullptr});
  }

  const RowCode& code_;
  void* const* buffers_;
  char* memory_;
  std::vector<std::vector<void*>> addresses_;  // per part, of its operands
  std::vector<FusedRows> programs_;
  std::vector<View> views_;
  std::vector<Layout> layouts_;
};

}  // namespace

RowKernel::RowKernel(const Step& step) : code_(std::make_unique<RowCode>(step)) {}
RowKernel::~RowKernel() = default;
RowKernel::RowKernel(RowKernel&&) noexcept = default;

void RowKernel::run(void* const* addresses, const Scalar* constants) const {
  const RowCode& c = *code_;
  const int64_t blocks = (c.rows + c.block - 1) / c.block;
  parallel_for(
      blocks, 1,
      [&](int64_t begin, int64_t end) {
        Scratch memory(c.memory);
        RowRun run(c, addresses, constants, memory.get<char>());
        for (int64_t b = begin; b < end; ++b) {
          const int64_t first = b * c.block;
          run.run(first, std::min(c.block, c.rows - first));
        }
        run.finish();
      },
      c.cost);
}

}  // namespace mlx::core::cpu
