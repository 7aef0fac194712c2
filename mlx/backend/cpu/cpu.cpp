// The CPU as a backend: host memory, kernels from the table, fused programs through the
// interpreter.
#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/executable.h"
#include "mlx/backend/cpu/streams.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/core/error.h"

namespace mlx::core::cpu {

namespace {

struct CpuMemory final : MemoryControl {
  size_t active() const override { return active_memory(); }
  size_t peak() const override { return peak_memory(); }
  size_t cached() const override { return cache_memory(); }
  void reset_peak() override { reset_peak_memory(); }
  void clear_cache() override { cpu::clear_cache(); }
  size_t limit(Limit which) const override {
    return which == soft ? memory_limit() : which == cache ? cache_limit() : memory_ceiling();
  }
  size_t limit(Limit which, size_t n) override {
    return which == soft    ? set_memory_limit(n)
           : which == cache ? set_cache_limit(n)
                            : set_memory_ceiling(n);
  }
};

/// True if each row is contiguous, or one repeated element. Other operands are better transposed
/// block by block, in a step of their own.
bool lies_along_rows(const Layout& l) {
  return l.shape.empty() || l.shape.back() == 1 || l.strides.back() == 0 || l.strides.back() == 1;
}

/// True if elements are computed in the order of the rows.
bool runs_along_rows(const Step& step) {
  // Random words are generated in pairs far apart.
  for (const Instr& i : step.program.code)
    if (i.op == OpId::random_bits) return false;
  for (int k = 0; k < step.n_inputs; ++k)
    if (!lies_along_rows(step.operands[k])) return false;
  return true;
}

void run_copy(const Transfer& c) {
  try {
    for (const auto& e : c.after) e->wait();
  } catch (...) {
    return c.done->fail(std::current_exception(), {nullptr});
  }
  copy_bytes(static_cast<char*>(c.to->host) + c.to_offset,
             static_cast<const char*>(c.from->host) + c.from_offset, static_cast<int64_t>(c.bytes));
  c.done->signal();
}

class CpuBackend final : public Backend {
 public:
  Caps caps(int) const override {
    static const auto row_bytes = static_cast<int64_t>(l2_size() / 2);
    Caps caps;
    caps.row_bytes = row_bytes;
    caps.whole_attention_vjp = true;
    return caps;
  }
  DeviceInfo info(int) const override {
    return {{"device_name", std::string("cpu")},
            {"architecture", std::string(isa_name(isa()))},
            {"matrix_unit", std::string(tile_arithmetic_name())},
            {"memory_size", total_memory()},
            {"threads", static_cast<size_t>(num_threads())}};
  }
  MemoryControl& memory(int) override { return memory_; }

  Ref<Buffer> alloc(size_t bytes, Stream) override {
    HostBlock block = allocate(bytes);
    try {
      return make_ref<CpuBuffer>(block);
    } catch (...) {
      free_block(block);
      throw;
    }
  }
  Ref<Buffer> wrap(void* data, size_t bytes, int, Ref<RefCounted> owner) override {
    return make_ref<CpuBuffer>(data, bytes, std::move(owner));
  }
  void* address(const Buffer& buffer) override { return buffer.host; }
  void copy(Transfer c) override {
    submit(Stream(kCopyStream, Device::cpu),
           [copy = std::make_shared<Transfer>(std::move(c))] { run_copy(*copy); });
  }

  Requirements find(const OpDef& op, const Attrs* attrs, std::span<const Layout> operands,
                    int n_inputs, int) override {
    const KernelEntry* k = find_kernel(op);
    if (!k) fail<ValueError>(op.name, "no kernel on the CPU; register one with register_kernel");
    Requirements r{.inputs = {},
                   .in_place = k->in_place,
                   .workspace = k->workspace ? k->workspace(operands, n_inputs, attrs) : 0,
                   .prologue = k->takes_source && k->takes_source(operands[0], attrs),
                   .keeps_order = k->keeps_order};
    // The mask has 32 bits; all ones mean any number of inputs.
    if (uint32_t mask = k->contiguous_inputs(attrs))
      for (int i = 0; i < n_inputs; ++i) {
        bool rows = i < 32 ? mask >> i & 1 : mask == ~0u;
        r.inputs.push_back(rows ? Accepts::rows : Accepts::any);
      }
    return r;
  }
  bool fuses(const Instr&, int) override { return true; }
  bool fuses_prologue(const Step& step, int) override {
    return step.n_inputs > 0 && runs_along_rows(step);
  }
  int64_t rows_of(const Step& step, int) override {
    if (!step.loop.empty() || step.workspace >= 0 || !runs_along_rows(step)) return 0;
    if (!step.op) return kAnyRows;
    const KernelEntry* k = find_kernel(*step.op);
    const Layout& in = step.operands[0];
    const int axes = k && k->rows ? k->rows(in, step.attrs.get()) : 0;
    int64_t rows = 1;
    for (int d = 0; d < axes; ++d) rows *= in.shape[d];
    // Long rows, of which there are few, are divided among the threads.
    return rows < 2 * num_threads() ? 0 : rows;
  }

  std::shared_ptr<const Executable> prepare(Work work) override {
    return prepare_work(std::move(work));
  }
  void launch(Launch l) override {
    if (l.blocking && runs_here(l.stream)) return run_launch(std::move(l));
    Stream stream = l.stream;
    submit(stream,
           [launch = std::make_shared<Launch>(std::move(l))] { run_launch(std::move(*launch)); });
  }
  void synchronize(Stream s) override { drain(s); }

 private:
  CpuMemory memory_;
};

const bool registered = (register_backend(Device::cpu, std::make_unique<CpuBackend>()), true);

}  // namespace

}  // namespace mlx::core::cpu
