// The host's part of collectives: requests go to the group's channel; rows of all members are
// combined.
#include "mlx/ops/collective.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/core/lines.h"

namespace mlx::core {

namespace {

/// Elements that are combined at a time where there are more than two rows: their partial results
/// stay in the first cache.
constexpr int64_t kCollectiveBlock = 1024;

OpId op_of(Collective kind) {
  if (kind == Collective::all_max) return OpId::maximum;
  return kind == Collective::all_min ? OpId::minimum : OpId::add;
}

/// Combines more than two rows of one dtype.
class Tree {
 public:
  Tree(Collective kind, Dtype dtype, size_t ranks)
      : type_(kind == Collective::all_sum && is_half(dtype) ? float32 : dtype),
        item_(static_cast<int64_t>(dtype.size())),
        part_bytes_(kCollectiveBlock * static_cast<int64_t>(type_.size())),
        level_(ranks),
        parts_(new char[ranks * static_cast<size_t>(part_bytes_)]) {
    const cpu::ElementwiseKernels& kernels = cpu::loaded_kernels();
    combine_ = kernels.find_tile(op_of(kind), type_);
    if (type_ == dtype) return;
    widen_ = kernels.find_cast(dtype, type_);
    narrow_ = kernels.find_cast(type_, dtype);
  }

  /// Combines `n` elements of each row, from `begin` on.
  void run(std::span<const void* const> rows, int64_t begin, int64_t n, void* out) {
    char* to = static_cast<char*>(out) + begin * item_;
    for (size_t r = 0; r < rows.size(); ++r) {
      level_[r] = static_cast<const char*>(rows[r]) + begin * item_;
      if (!widen_) continue;
      widen_(&level_[r], part(r), n);
      level_[r] = part(r);
    }
    for (size_t left = rows.size(); left > 1; left = (left + 1) / 2) {
      // The part that is written is the first that is read, or one that was read before.
      for (size_t r = 0; r + 1 < left; r += 2) {
        void* sum = left == 2 && !narrow_ ? to : part(r / 2);
        combine_(&level_[r], sum, n);
        level_[r / 2] = sum;
      }
      if (left % 2) level_[left / 2] = level_[left - 1];
    }
    if (narrow_) narrow_(level_.data(), to, n);
  }

 private:
  static bool is_half(Dtype t) { return t == float16 || t == bfloat16; }
  char* part(size_t r) { return parts_.get() + static_cast<int64_t>(r) * part_bytes_; }

  const Dtype type_;  ///< of partial results
  const int64_t item_, part_bytes_;
  cpu::TileFn combine_, widen_ = nullptr, narrow_ = nullptr;
  std::vector<const void*> level_;
  const std::unique_ptr<char[]> parts_;
};

}  // namespace

void combine_rows(Collective kind, Dtype dtype, std::span<const void* const> rows, void* out,
                  int64_t count) {
  if (rows.size() == 1) {
    if (rows[0] != out && count) cpu::copy_bytes(out, rows[0], count * dtype.size());
    return;
  }
  // A sum of two 16-bit floats is computed in float32 and rounded once as it is.
  if (rows.size() == 2)
    return cpu::loaded_kernels().find_tile(op_of(kind), dtype)(rows.data(), out, count);
  Tree tree(kind, dtype, rows.size());
  for (int64_t i = 0; i < count; i += kCollectiveBlock)
    tree.run(rows, i, std::min(kCollectiveBlock, count - i), out);
}

namespace cpu {

namespace {

void run_collective(const KernelArgs& args) {
  const auto& a = static_cast<const CollectiveAttrs&>(*args.attrs);
  const bool receives = a.kind == Collective::recv;
  const View& out = args.out[0];
  const Ticket ticket{*args.in.back().as<uint64_t>()};
  const bool between_two = receives || a.kind == Collective::send;
  const std::string& line = text_of_line(ticket.line());
  a.channel->run({.kind = a.kind,
                  .dtype = out.dtype(),
                  .count = receives ? out.size() : args.in[0].size(),
                  .peer = a.peer,
                  .index = between_two ? 0 : ticket.index(),
                  .line = line},
                 receives ? nullptr : args.in[0].data, out.data);
}

constexpr KernelEntry entry(const OpDef& op, bool in_place) {
  return {.op = &op, .run = run_collective, .contiguous = 1, .in_place = in_place};
}

constexpr KernelEntry kCollectiveKernels[] = {entry(op_all_sum, true),
                                              entry(op_all_max, true),
                                              entry(op_all_min, true),
                                              entry(op_all_gather, false),
                                              entry(op_sum_scatter, false),
                                              entry(op_broadcast, true),
                                              entry(op_all_to_all, false),
                                              entry(op_send, true),
                                              {.op = &op_recv, .run = run_collective}};

}  // namespace

const std::span<const KernelEntry> collective_kernels = kCollectiveKernels;

}  // namespace cpu

}  // namespace mlx::core
