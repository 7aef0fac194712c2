// Runs units of rows.
#include "mlx/backend/cpu/rows.h"

#include <algorithm>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
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

}  // namespace

/// A step of the unit.
struct RowPart {
  Step step;
  const KernelEntry* kernel = nullptr;   // of an op
  std::unique_ptr<FusedKernel> program;  // a program, or the prologue of an op
  std::vector<RowLayout> operands;       // of an op; the input first that a prologue computes
  int64_t row_elements = 0;              // of the iteration of a program
};

struct RowCode {
  int64_t rows = 0, block = 1;  // `block` rows at a time
  std::vector<RowPart> parts;
  std::vector<int64_t> temporaries;  // bytes of a row
  std::vector<size_t> places;        // of the temporaries in working memory, then of the tiles
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
  if (!step.program.code.empty()) {
    const Shape& shape = step.operands[0].shape;
    part.row_elements = num_elements(shape) / rows;
    if (!step.op) {
      part.program = std::make_unique<FusedKernel>(step, far, ahead);
      return part;
    }
    const Program& p = step.program;
    const Dtype type(p.code[p.outputs[0] - p.first_instr()].out);
    const Layout input{shape, row_major(shape), 0, type};
    part.program = std::make_unique<FusedKernel>(step, input);
    part.operands.push_back(row_layout(input, rows));
    part.operands.push_back(row_layout(step.operands[step.n_inputs], rows));
  } else {
    for (const Layout& l : step.operands) part.operands.push_back(row_layout(l, rows));
  }
  part.kernel = find_kernel(*step.op);
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
  const auto fitting = static_cast<int64_t>(l2_size() / 2) / bytes;
  block = std::clamp<int64_t>(fitting, 1, std::max<int64_t>(1, rows / (4 * num_threads())));
}

void RowCode::place_memory() {
  auto take = [&](size_t bytes) {
    places.push_back(memory);
    memory += (bytes + 63) / 64 * 64;
  };
  for (int64_t t : temporaries) take(static_cast<size_t>(t * block));
  for (const RowPart& p : parts) take(p.program && !p.step.op ? FusedRows::memory(*p.program) : 0);
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
      : code_(code), buffers_(addresses), constants_(constants), memory_(memory) {
    addresses_.resize(code.parts.size());
    programs_.reserve(code.parts.size());
    start(0);
    for (size_t i = 0; i < code.parts.size(); ++i) {
      const RowPart& part = code.parts[i];
      if (part.step.op) continue;
      programs_.emplace_back(*part.program, addresses_[i].data(),
                             constants + part.step.first_constant,
                             memory + code.places[code.temporaries.size() + i]);
    }
  }

  void run(int64_t first, int64_t n) {
    start(first);
    auto program = programs_.begin();
    for (size_t i = 0; i < code_.parts.size(); ++i) {
      const RowPart& part = code_.parts[i];
      if (part.step.op)
        run_op(part, addresses_[i], first, n);
      else
        (program++)->run(first * part.row_elements, n * part.row_elements);
    }
  }
  void finish() {
    for (FusedRows& p : programs_) p.finish();
  }

 private:
  /// The address of a temporary as if all its rows were there.
  char* temporary(int slot, int64_t first) const {
    const auto t = static_cast<size_t>(-1 - slot);
    return static_cast<char*>(moved(memory_ + code_.places[t], -first * code_.temporaries[t]));
  }

  /// Sets the addresses of the operands for the block from row `first` on.
  void start(int64_t first) {
    for (size_t i = 0; i < code_.parts.size(); ++i) {
      const Step& step = code_.parts[i].step;
      addresses_[i].resize(step.slots.size());
      for (size_t k = 0; k < step.slots.size(); ++k) {
        const Layout& l = step.operands[k];
        void* base = step.slots[k] >= 0 ? buffers_[step.slots[k]] : temporary(step.slots[k], first);
        addresses_[i][k] = moved(base, l.offset * l.dtype.size());
      }
    }
  }

  void run_op(const RowPart& part, const std::vector<void*>& addresses, int64_t first, int64_t n) {
    const Step& step = part.step;
    views_.clear();
    layouts_.clear();
    layouts_.reserve(part.operands.size());
    // The input that a prologue computes has no memory.
    const size_t hidden = part.program ? 1 : 0;
    for (size_t k = 0; k < part.operands.size(); ++k) {
      const RowLayout& o = part.operands[k];
      layouts_.push_back(o.layout);
      layouts_.back().shape[o.axis] = n;
      void* address = nullptr;
      if (k >= hidden) {
        const size_t at = hidden ? step.n_inputs + k - 1 : k;
        address = moved(addresses[at], first * o.bytes);
      }
      views_.push_back({address, &layouts_.back()});
    }
    const size_t inputs = hidden ? 1 : step.n_inputs;
    std::span<const View> all(views_.data(), views_.size());
    const KernelArgs args{.in = all.first(inputs),
                          .out = all.subspan(inputs),
                          .attrs = step.attrs.get(),
                          .workspace = nullptr};
    if (!hidden) return part.kernel->run(args);
    FusedSource source(*part.program, addresses.data(), constants_ + step.first_constant,
                       first * part.row_elements);
    KernelArgs with = args;
    with.source = &source;
    part.kernel->run(with);
  }

  const RowCode& code_;
  void* const* buffers_;
  const Scalar* constants_;
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
