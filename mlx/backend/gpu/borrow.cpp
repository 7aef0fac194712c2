// Steps on copies of their operands: from the device, through the CPU, and back.

#include "mlx/backend/gpu/borrow.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

namespace mlx::core {

namespace {

/// A run of device memory and its copy on the host.
struct Region {
  uint64_t first, end;
  bool read;  // the host needs the bytes
  Ref<Buffer> copy = {};
  unsigned char* host = nullptr;  // of `first`
};

/// Operands that overlap share a copy, as they share the memory.
std::vector<Region> merge(std::vector<Region> regions, BorrowCopies& copies) {
  std::ranges::sort(regions, {}, &Region::first);
  std::vector<Region> merged;
  for (Region& r : regions) {
    if (!merged.empty() && r.first < merged.back().end) {
      // Bytes that only one of the two covers are kept too.
      merged.back().read = true;
      merged.back().end = std::max(merged.back().end, r.end);
    } else {
      merged.push_back(r);
    }
  }
  for (Region& r : merged) {
    constexpr uint64_t kLine = 64;
    const size_t bytes = r.end - r.first;
    r.copy = host_backend().alloc(bytes + kLine, Stream(0, Device::cpu));
    r.host =
        static_cast<unsigned char*>(r.copy->host) + r.first % kLine;  // aligned as on the device
    if (r.read) copies.to_host(r.host, r.first, bytes);
  }
  return merged;
}

const Region& region_of(const std::vector<Region>& regions, uint64_t at) {
  return *std::ranges::find_if(regions,
                               [&](const Region& r) { return r.first <= at && at < r.end; });
}

/// A stream of the CPU that belongs to the calling thread: blocking work runs at once.
Stream own_stream() {
  static std::atomic<int> next{-1000};
  thread_local const int index = next--;
  return Stream(index, Device::cpu);
}

}  // namespace

BorrowedStep::BorrowedStep(const Step& step, Device device) : step_(step) {
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

void BorrowedStep::run(std::span<const uint64_t> operands, const Scalar* constants,
                       BorrowCopies& copies) const {
  const int count = static_cast<int>(step_.operands.size());
  std::vector<Region> wanted;
  for (int k = 0; k < step_.outputs_end(); ++k) {
    const Range r = range(k);
    if (r.first == r.end) continue;
    // An output may leave gaps, which keep what they hold.
    const int64_t written = num_elements(step_.operands[k].shape) * step_.operands[k].dtype.size();
    wanted.push_back({operands[k] + r.first, operands[k] + r.end,
                      k < step_.n_inputs || written != r.end - r.first});
  }
  const std::vector<Region> regions = merge(std::move(wanted), copies);

  Launch launch;
  launch.executable = executable_;
  launch.arguments = Arguments(count, step_.program.constants.size());
  launch.done = make_ref<Event>();
  launch.stream = own_stream();
  launch.blocking = true;
  for (int k = 0; k < count; ++k) {
    const Range r = range(k);
    if (k == step_.workspace || r.first == r.end) {
      launch.arguments.bind(k, host_backend().alloc(r.end, Stream(0, Device::cpu)), 0);
      continue;
    }
    const Region& region = region_of(regions, operands[k] + r.first);
    auto* start = static_cast<unsigned char*>(region.copy->host);
    launch.arguments.bind(k, region.copy,
                          region.host - start + static_cast<int64_t>(operands[k] - region.first));
  }
  for (size_t c = 0; c < step_.program.constants.size(); ++c)
    launch.arguments.add_constant(constants[c]);
  Ref<Event> done = launch.done;
  host_backend().launch(std::move(launch));
  done->set_launched();
  done->wait_first();
  for (int k = step_.n_inputs; k < step_.outputs_end(); ++k) {
    const Range r = range(k);
    if (r.first == r.end) continue;
    const uint64_t first = operands[k] + r.first;
    const Region& region = region_of(regions, first);
    copies.to_device(first, region.host + (first - region.first), r.end - r.first);
  }
}

namespace {

struct Borrowed {
  std::mutex mutex;
  std::set<std::string, std::less<>> ops;
};
Borrowed& borrowed() {
  static Borrowed all;
  return all;
}

}  // namespace

void note_borrowed(std::string_view op) {
  std::lock_guard lock(borrowed().mutex);
  borrowed().ops.emplace(op);
}

std::string take_borrowed() {
  std::lock_guard lock(borrowed().mutex);
  std::string names;
  for (const std::string& op : borrowed().ops) names += op + ' ';
  borrowed().ops.clear();
  return names;
}

}  // namespace mlx::core
