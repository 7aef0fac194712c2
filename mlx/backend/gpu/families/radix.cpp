// The launches of radix sorts: a block for each short line; else counts, then a pass for each byte.
#include "mlx/backend/gpu/families/radix.h"

#include <algorithm>
#include <bit>

namespace mlx::core::gpu {

namespace {

using device::RadixArguments;

constexpr int64_t kRadixThreads = 256, kDigits = 256, kPlaceBytes = 4;
constexpr int64_t kManyKeys = 1 << 18;
constexpr int64_t kRadixAlign = 256;  // bytes
constexpr int64_t kTickets = 64;      // words before the states, at least one for each pass

int64_t radix_aligned(int64_t bytes) {
  return (bytes + kRadixAlign - 1) / kRadixAlign * kRadixAlign;
}
/// Keys that a thread has at once: as many as the memory of a block has room for, beside counters
/// of each warp.
int64_t most_each(const RadixProblem& p) {
  const int64_t each = p.dtype.size() > 4 ? 16 : 32, key = std::max<int64_t>(p.dtype.size(), 4);
  const int64_t counters = (kRadixThreads / 32 + 1) * kDigits * 4;
  return each * kRadixThreads * key + counters <= p.device->kernel_memory ? each : each / 2;
}
/// Of short lines there are more tiles, which take less time each.
int64_t each_in_pass(const RadixProblem& p) {
  return p.lines * p.n < kManyKeys ? 4 : p.dtype.size() > 4 ? 8 : 16;
}
int64_t radix_tiles(const RadixProblem& p) {
  const int64_t tile = each_in_pass(p) * kRadixThreads;
  return (p.n + tile - 1) / tile;
}
/// Keys that a block counts: fewer where all blocks together would not keep the device busy.
int64_t counted_part(const RadixProblem& p) {
  constexpr int64_t kAtOnce = 4 * kRadixThreads;
  const int64_t share = p.lines * p.n / (4 * p.device->processors);
  const int64_t most = 8 * each_in_pass(p) * kRadixThreads;
  return std::clamp((share + kAtOnce - 1) / kAtOnce * kAtOnce, kAtOnce, most);
}
int64_t passes(const RadixProblem& p) { return p.selects() ? 1 : p.bytes; }
/// Words of 4 bytes that are zero at first: counts, tickets, states.
int64_t count_words(const RadixProblem& p) { return p.lines * p.bytes * kDigits; }
int64_t cleared_words(const RadixProblem& p) {
  return count_words(p) + kTickets + passes(p) * p.lines * radix_tiles(p) * kDigits;
}
/// Keys between passes lie in at most two places.
int64_t buffers(const RadixProblem& p) { return std::min<int64_t>(passes(p) - 1, 2); }
int64_t buffer_bytes(const RadixProblem& p, int64_t element) {
  return radix_aligned(p.lines * p.n * element);
}

}  // namespace

bool RadixProblem::fits() const { return !is_complex(dtype) && n < (int64_t{1} << 30); }
bool RadixProblem::is_short() const { return n <= most_each(*this) * kRadixThreads; }
size_t RadixProblem::workspace() const {
  if (is_short()) return 0;
  return static_cast<size_t>(radix_aligned(cleared_words(*this) * 4) +
                             buffers(*this) * (buffer_bytes(*this, dtype.size()) +
                                               (positions ? buffer_bytes(*this, kPlaceBytes) : 0)));
}

RadixSort::RadixSort(const RadixProblem& problem, DeviceState& device) : problem_(problem) {
  const RadixProblem& q = problem_;
  RadixArguments& p = arguments_;
  p.lines = q.lines;
  p.n = q.n;
  p.stride = q.stride;
  p.passes = q.bytes;
  p.kth = q.kth;
  const std::string form =
      cat(q.positions ? "RadixPositions<" : "RadixValues<", element_type(q.dtype), ">");
  if (q.lines * q.n == 0) return;
  if (q.is_short()) {
    const auto each =
        std::bit_ceil(static_cast<uint64_t>((q.n + kRadixThreads - 1) / kRadixThreads));
    rows_ = (q.kth < 0 ? kernels::radix_rows : kernels::select_rows)(device, form, each);
    return;
  }
  p.tiles = radix_tiles(q);
  p.clear = cleared_words(q);
  p.part = counted_part(q);
  p.parts = (q.n + p.part - 1) / p.part;
  clear_ = kernels::radix_clear(device);
  const int64_t each = each_in_pass(q);
  if (q.selects())
    counts_ = kernels::select_counts(device, form);
  else
    counts_ = kernels::radix_counts(device, form, q.bytes);
  if (q.device->blocks_wait) {
    pass_ = (q.selects() ? kernels::part_line : kernels::radix_pass)(device, form, each);
    return;
  }
  count_tiles_ = kernels::count_tiles(device, form, each, q.selects());
  add_tiles_ = kernels::add_tiles(device);
  pass_ = kernels::place_tiles(device, form, each, q.selects());
}

void RadixSort::launch_pass(const Enqueue& to, const RadixArguments& p) const {
  const int64_t tiles = p.lines * p.tiles;
  if (!count_tiles_) return pass_.launch(to, tiles, p);
  count_tiles_.launch(to, blocks_of(tiles), p);
  add_tiles_.launch(to, blocks_of(p.lines), p);
  pass_.launch(to, blocks_of(tiles), p);
}

void RadixSort::launch(const Enqueue& to, const Operands& at) const {
  if (problem_.lines * problem_.n == 0) return;
  RadixArguments p = arguments_;
  p.in = at.in;
  p.out = at.out;
  p.to = at.keys;
  p.to_at = at.places;
  if (rows_) return rows_.launch(to, blocks_of(p.lines), p);
  p.counts = at.workspace;
  p.ticket = p.counts + count_words(problem_) * 4;
  p.states = p.ticket + kTickets * 4;
  clear_.launch(to, blocks_for(p.clear), p);
  const int64_t parts = blocks_of(p.lines * p.parts);
  if (!problem_.selects()) {
    counts_.launch(to, parts, p);
    return launch_passes(to, at, p);
  }
  for (p.pass = 0; p.pass < p.passes; ++p.pass) {
    p.shift = 8 * (p.passes - 1 - p.pass);
    counts_.launch(to, parts, p);
  }
  launch_pass(to, p);
}

void RadixSort::launch_passes(const Enqueue& to, const Operands& at, RadixArguments& p) const {
  const int64_t keys = at.workspace + radix_aligned(p.clear * 4),
                key_bytes = buffer_bytes(problem_, problem_.dtype.size()),
                places = keys + buffers(problem_) * key_bytes,
                place_bytes = buffer_bytes(problem_, kPlaceBytes);
  for (p.pass = 0; p.pass < p.passes; ++p.pass) {
    const bool last = p.pass == p.passes - 1;
    p.shift = 8 * p.pass;
    p.from = p.pass == 0 ? 0 : p.to;
    p.from_at = p.pass == 0 ? 0 : p.to_at;
    p.out = last ? at.out : 0;
    p.to = last ? at.keys : keys + p.pass % 2 * key_bytes;
    p.to_at = last ? at.places : problem_.positions ? places + p.pass % 2 * place_bytes : 0;
    launch_pass(to, p);
    p.ticket += 4;
    p.states += p.lines * p.tiles * kDigits * 4;
  }
}

}  // namespace mlx::core::gpu
