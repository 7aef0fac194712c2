#include "executable.h"

#include <algorithm>
#include <cstring>

#include "control.h"
#include "mlx/backend/shared/borrow.h"
#include "mlx/backend/shared/launch.h"
#include "mlx/core/error.h"
#include "mlx/ops/custom.h"
#include "mlx/runtime/observe.h"
#include "program.h"

namespace mlx::core::fake {

namespace {

/// Kernels run where the device's memory can be read.
struct MemoryCopies final : BorrowCopies {
  void to_host(void* to, uint64_t from, size_t bytes) override {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  }
  void to_device(uint64_t to, const void* from, size_t bytes) override {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  }
};

/// A step with a prologue, as the same op on the program's dense result.
Step without_prologue(Step step) {
  const Program& p = step.program;
  const Shape shape = step.operands[0].shape;
  const Dtype type(p.code[p.outputs[0] - p.first_instr()].out);
  step.operands.erase(step.operands.begin(), step.operands.begin() + step.n_inputs);
  step.operands.insert(step.operands.begin(), {shape, row_major(shape), 0, type});
  if (step.workspace >= 0) step.workspace = step.workspace - step.n_inputs + 1;
  step.program = {};
  step.n_inputs = 1;
  return step;
}

/// A step with an epilogue, as the op that writes its result dense.
Step without_epilogue(const Step& step) {
  Step op = step;
  const Layout& out = step.operands[step.n_inputs];
  op.operands.assign(step.operands.begin(), step.operands.begin() + step.epilogue);
  op.operands.push_back({out.shape, row_major(out.shape), 0, Dtype(step.program.inputs[0])});
  if (step.workspace >= 0) op.operands.push_back(step.operands[step.workspace]);
  op.program = {};
  op.n_inputs = step.epilogue;
  op.epilogue = -1;
  op.workspace = step.workspace >= 0 ? step.epilogue + 1 : -1;
  return op;
}

/// The op of a step, for the CPU.
Step op_alone(const Step& step) {
  if (step.epilogue >= 0) return without_epilogue(step);
  return step.program.code.empty() ? step : without_prologue(step);
}

struct Prepared {
  Step step;
  bool watched = false;
  std::unique_ptr<const BorrowedStep> borrowed = {};
};
struct FakeExecutable final : Executable {
  std::vector<Prepared> steps;
  size_t arena_bytes = 0;
};

bool is_primitive(const Step& s) { return s.op == &op_primitive || s.op == &op_primitive_bundle; }

/// The operand at all positions of the step's loop.
Layout whole(const Step& s, int k) {
  Layout l = s.operands[k];
  for (size_t d = s.loop.size(); d-- > 0;) {
    l.shape.insert(l.shape.begin(), s.loop[d]);
    l.strides.insert(l.strides.begin(), s.advance[k][d]);
  }
  return l;
}

/// One step of a launch, with the addresses that its operands are bound to.
class Running {
 public:
  Running(const Prepared& prepared, const Launch& launch, const Ref<DeviceBuffer>& arena)
      : p_(prepared), step_(prepared.step), launch_(launch), arena_(arena) {
    for (size_t k = 0; k < step_.slots.size(); ++k) {
      const Binding& b = launch.arguments.bindings()[step_.slots[k]];
      base_.push_back((b.buffer ? device_bytes(*b.buffer) : arena->data()) + b.offset);
    }
  }

  void run() {
    StepObserver* observer = p_.watched ? step_observer.load() : nullptr;
    if (!observer) return run_kernel();
    const bool look = observer->looks_for_nans() && !reads_nan();
    const auto start = Clock::now();
    try {
      run_kernel();
    } catch (const ExtensibleError& e) {
      const std::string line = origin_text(step_.origin);
      if (line.empty()) throw;
      e.throw_with("; built at " + line);
    }
    observer->report(step_, start, Clock::now(),
                     look && has_nan(step_.n_inputs, step_.outputs_end()));
  }

 private:
  void* first(int k) const {
    const Layout& l = step_.operands[k];
    return base_[k] + l.offset * l.dtype.size();
  }
  const Scalar* constants() const { return launch_.arguments.constants() + step_.first_constant; }

  void run_kernel() {
    if (!step_.op) return run_fused();
    if (is_primitive(step_)) return run_primitive();
    if (step_.epilogue >= 0) return run_with_epilogue();
    if (!step_.program.code.empty()) return run_on_program();
    run_borrowed(base_);
  }
  void run_borrowed(const SmallVector<unsigned char*, 8>& base) {
    ++counts().borrowed;
    SmallVector<uint64_t, 8> operands;
    for (unsigned char* p : base) operands.push_back(reinterpret_cast<uint64_t>(p));
    MemoryCopies copies;
    p_.borrowed->run({operands.data(), operands.size()}, nullptr, copies);
  }

  void run_fused() {
    SmallVector<void*, 8> operands;
    for (size_t k = 0; k < base_.size(); ++k) operands.push_back(first(static_cast<int>(k)));
    run_program(step_.program, step_.operands[step_.n_inputs].shape,
                {operands.data(), operands.size()}, step_.operands, constants());
  }

  /// The program's result, dense, then the op over it.
  void run_on_program() {
    const Program& p = step_.program;
    const Shape& shape = step_.operands[0].shape;
    const Dtype type(p.code[p.outputs[0] - p.first_instr()].out);
    std::vector<std::max_align_t> result(num_elements(shape) * type.size() / 16 + 1);
    SmallVector<void*, 8> operands;
    std::vector<Layout> layouts(step_.operands.begin(), step_.operands.begin() + step_.n_inputs);
    for (int k = 0; k < step_.n_inputs; ++k) operands.push_back(first(k));
    operands.push_back(result.data());
    layouts.push_back({shape, row_major(shape), 0, type});
    run_program(p, shape, {operands.data(), operands.size()}, layouts, constants());
    SmallVector<unsigned char*, 8> base;
    base.push_back(reinterpret_cast<unsigned char*>(result.data()));
    for (size_t k = step_.n_inputs; k < base_.size(); ++k) base.push_back(base_[k]);
    run_borrowed(base);
  }

  std::pair<unsigned char*, unsigned char*> bytes_of(int k) const {
    const Layout& l = step_.operands[k];
    auto [begin, last] = extent(l.shape, l.strides);
    const int64_t size = l.dtype.size();
    return {base_[k] + (l.offset + begin) * size, base_[k] + (l.offset + last + 1) * size};
  }
  /// Kernels that write their result in parts would read what they have written.
  bool writes_inputs_of_op() const {
    for (int o = step_.n_inputs; o < step_.outputs_end(); ++o)
      for (int k = 0; k < step_.epilogue; ++k) {
        auto [begin, end] = bytes_of(k);
        auto [first, last] = bytes_of(o);
        if (num_elements(step_.operands[k].shape) && begin < last && first < end) return true;
      }
    return false;
  }

  /// The op's result, dense, then the program over it.
  void run_with_epilogue() {
    if (writes_inputs_of_op())
      fail<ExecutionError>("fake", step_.op->name, " writes over an input of its op");
    const Program& p = step_.program;
    const Shape& shape = step_.operands[step_.n_inputs].shape;
    const Dtype type(p.inputs[0]);
    std::vector<std::max_align_t> result(num_elements(shape) * type.size() / 16 + 1);
    SmallVector<unsigned char*, 8> base(base_.begin(), base_.begin() + step_.epilogue);
    base.push_back(reinterpret_cast<unsigned char*>(result.data()));
    if (step_.workspace >= 0) base.push_back(base_[step_.workspace]);
    run_borrowed(base);
    SmallVector<void*, 8> operands;
    std::vector<Layout> layouts{{shape, row_major(shape), 0, type}};
    operands.push_back(result.data());
    for (int k = step_.epilogue; k < step_.outputs_end(); ++k) {
      operands.push_back(first(k));
      layouts.push_back(step_.operands[k]);
    }
    run_program(p, shape, {operands.data(), operands.size()}, layouts, constants());
  }

  array as_array(int k, const Shape& at) const {
    return operand_array(step_, k, at, launch_, arena_.get());
  }
  void run_primitive() {
    Primitive& primitive = *static_cast<const PrimitiveAttrs*>(step_.attrs.get())->primitive;
    Shape at(step_.loop.size(), 0);
    for (int64_t n = num_elements(step_.loop); n-- > 0;) {
      Arrays inputs, outputs;
      for (int k = 0; k < step_.n_inputs; ++k) inputs.push_back(as_array(k, at));
      for (int k = step_.n_inputs; k < step_.outputs_end(); ++k) outputs.push_back(as_array(k, at));
      primitive.eval_gpu(inputs, outputs);
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < step_.loop[d]) break;
        at[d] = 0;
      }
    }
  }

  bool has_nan(int first_operand, int end) const {
    for (int k = first_operand; k < end; ++k) {
      const Layout l = whole(step_, k);
      if (num_elements(l.shape) && core::has_nan({first(k), l})) return true;
    }
    return false;
  }
  bool reads_nan() const {
    const Program& p = step_.program;
    for (size_t c = 0; c < p.constants.size(); ++c)
      if (core::has_nan({constants()[c].bytes, {{}, {}, 0, Dtype(p.constants[c])}})) return true;
    return has_nan(0, step_.n_inputs);
  }

  const Prepared& p_;
  const Step& step_;
  const Launch& launch_;
  const Ref<DeviceBuffer>& arena_;
  SmallVector<unsigned char*, 8> base_;
};

const FakeExecutable& own(const Executable& e) { return static_cast<const FakeExecutable&>(e); }

}  // namespace

unsigned char* device_bytes(const Buffer& buffer) {
  auto* own = dynamic_cast<const DeviceBuffer*>(&buffer);
  if (!own)
    fail<ExecutionError>("fake", "a buffer of another device; those of this one are accepted");
  return own->data();
}

std::shared_ptr<const Executable> prepare_work(Work work) {
  auto x = std::make_shared<FakeExecutable>();
  x->arena_bytes = work.arena_bytes;
  const bool watched = step_observer.load() != nullptr;
  for (Step& s : work.steps) {
    check_program(s.program);
    Prepared p{std::move(s), watched};
    if (p.step.op && !is_primitive(p.step))
      p.borrowed = std::make_unique<const BorrowedStep>(op_alone(p.step), work.device);
    x->steps.push_back(std::move(p));
  }
  return x;
}

size_t arena_bytes(const Executable& executable) { return own(executable).arena_bytes; }

Outcome run_steps(const Launch& launch, const Ref<DeviceBuffer>& arena) {
  const auto bindings = launch.arguments.bindings();
  std::exception_ptr error;
  std::vector<bool> unwritten(bindings.size());
  for (const Prepared& p : own(*launch.executable).steps) {
    const auto& slots = p.step.slots;
    const bool reached = error && std::any_of(slots.begin(), slots.begin() + p.step.n_inputs,
                                              [&](int s) { return unwritten[s]; });
    if (!reached) {
      try {
        Running(p, launch, arena).run();
        continue;
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    }
    for (size_t k = p.step.n_inputs; k < slots.size(); ++k) unwritten[slots[k]] = true;
  }
  Outcome out{error, {}};
  for (size_t b = 0; b < bindings.size(); ++b)
    if (unwritten[b] && bindings[b].buffer) out.unwritten.push_back(bindings[b].buffer);
  return out;
}

}  // namespace mlx::core::fake
