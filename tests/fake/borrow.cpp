#include "borrow.h"

#include <algorithm>

#include "control.h"

namespace mlx::core::fake {

namespace {

/// A run of device memory and its copy on the host.
struct Region {
  unsigned char *first, *end;
  Ref<Buffer> copy = {};
  unsigned char* host = nullptr;  // of `first`
};

/// Operands that overlap share a copy, as they share the memory.
std::vector<Region> merge(std::vector<Region> regions) {
  std::ranges::sort(regions, {}, &Region::first);
  std::vector<Region> merged;
  for (Region& r : regions) {
    if (!merged.empty() && r.first < merged.back().end)
      merged.back().end = std::max(merged.back().end, r.end);
    else
      merged.push_back(r);
  }
  for (Region& r : merged) {
    constexpr uintptr_t kLine = 64;
    const size_t bytes = r.end - r.first;
    r.copy = host_backend().alloc(bytes + kLine, Stream(0, Device::cpu));
    // Aligned as the original is.
    r.host =
        static_cast<unsigned char*>(r.copy->host) + reinterpret_cast<uintptr_t>(r.first) % kLine;
    std::memcpy(r.host, r.first, bytes);
  }
  return merged;
}

/// A stream of the CPU that belongs to the calling thread: blocking work runs at once.
Stream own_stream() {
  static std::atomic<int> next{-1000};
  thread_local const int index = next--;
  return Stream(index, Device::cpu);
}

}  // namespace

BorrowedStep::BorrowedStep(const Step& step, Device device) : step_(step) {
  if (step.epilogue >= 0) {
    const Layout& out = step.operands[step.n_inputs];
    step_.operands.assign(step.operands.begin(), step.operands.begin() + step.epilogue);
    step_.operands.push_back({out.shape, row_major(out.shape), 0, Dtype(step.program.inputs[0])});
    if (step.workspace >= 0) step_.operands.push_back(step.operands[step.workspace]);
    step_.program = {};
    step_.n_inputs = step.epilogue;
    step_.epilogue = -1;
    step_.workspace = step.workspace >= 0 ? step.epilogue + 1 : -1;
  } else if (!step.program.code.empty()) {
    const Program& p = step.program;
    const Shape& shape = step.operands[0].shape;
    const Dtype type(p.code[p.outputs[0] - p.first_instr()].out);
    step_.operands.erase(step_.operands.begin(), step_.operands.begin() + step.n_inputs);
    step_.operands.insert(step_.operands.begin(), {shape, row_major(shape), 0, type});
    step_.program = {};
    step_.n_inputs = 1;
    if (step.workspace >= 0) step_.workspace = step.workspace - step.n_inputs + 1;
  }
  step_.slots.clear();
  for (size_t k = 0; k < step_.operands.size(); ++k) step_.slots.push_back(static_cast<int>(k));
  step_.first_constant = 0;
  Work work;
  work.steps.push_back(step_);
  work.device = device;
  executable_ = host_backend().prepare(std::move(work));
}

/// The bytes of an operand at all positions of the loop, from where its offset counts.
BorrowedStep::Range BorrowedStep::range(int operand) const {
  const Layout& l = step_.operands[operand];
  auto [first, last] = extent(l.shape, l.strides);
  if (last < first || num_elements(step_.loop) == 0) return {0, 0};
  for (size_t d = 0; d < step_.loop.size(); ++d) {
    const int64_t way = (step_.loop[d] - 1) * step_.advance[operand][d];
    (way < 0 ? first : last) += way;
  }
  const int64_t size = l.dtype.size();
  return {(l.offset + first) * size, (l.offset + last + 1) * size};
}

void BorrowedStep::run(std::span<unsigned char* const> operands, const void* computed) const {
  ++counts().borrowed;
  const int count = static_cast<int>(step_.operands.size());
  std::vector<Region> wanted;
  for (int k = computed ? 1 : 0; k < step_.outputs_end(); ++k)
    if (Range r = range(k); r.first < r.end)
      wanted.push_back({operands[k] + r.first, operands[k] + r.end});
  std::vector<Region> regions = merge(std::move(wanted));

  Launch launch;
  launch.executable = executable_;
  launch.arguments = Arguments(count, 0);
  launch.done = make_ref<Event>();
  launch.stream = own_stream();
  launch.blocking = true;
  auto region_of = [&](unsigned char* at) {
    return std::ranges::find_if(regions,
                                [&](const Region& r) { return r.first <= at && at < r.end; });
  };
  for (int k = 0; k < count; ++k) {
    const Range r = range(k);
    if (k == 0 && computed) {
      launch.arguments.bind(0, host_backend().wrap(const_cast<void*>(computed), r.end, 0), 0);
    } else if (k == step_.workspace || r.first == r.end) {
      launch.arguments.bind(k, host_backend().alloc(r.end, Stream(0, Device::cpu)), 0);
    } else {
      auto region = region_of(operands[k] + r.first);
      auto* start = static_cast<unsigned char*>(region->copy->host);
      launch.arguments.bind(k, region->copy, region->host - start + (operands[k] - region->first));
    }
  }
  Ref<Event> done = launch.done;
  host_backend().launch(std::move(launch));
  done->set_launched();
  done->wait_first();
  for (int k = step_.n_inputs; k < step_.outputs_end(); ++k) {
    const Range r = range(k);
    if (r.first == r.end) continue;
    auto region = region_of(operands[k] + r.first);
    std::memcpy(operands[k] + r.first, region->host + (operands[k] + r.first - region->first),
                r.end - r.first);
  }
}

}  // namespace mlx::core::fake
