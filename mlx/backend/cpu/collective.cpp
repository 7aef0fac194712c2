// The host's part of collectives: requests go to the group's channel; rows of all members are
// combined.
#include "mlx/ops/collective.h"

#include <algorithm>
#include <memory>

#include "mlx/backend/cpu/kernels.h"
#include "mlx/core/half.h"
#include "mlx/core/lines.h"

namespace mlx::core {

namespace {

struct Sum {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_same_v<T, bool>)
      return a || b;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                            static_cast<std::make_unsigned_t<T>>(b));
    else
      return a + b;
  }
};

template <class T>
bool is_nan(const T& a) {
  return !(a == a);
}
template <class T>
bool less(const T& a, const T& b) {
  if constexpr (requires { a.imag(); })
    return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
  else
    return a < b;
}
/// As the ops maximum and minimum: NaN where either is.
struct Max {
  template <class T>
  static T of(T a, T b) {
    if constexpr (requires { a.imag(); })
      return is_nan(a) || (!is_nan(b) && less(b, a)) ? a : b;
    else
      return a == a ? (a > b ? a : b) : a;
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    if constexpr (requires { a.imag(); })
      return is_nan(a) || (!is_nan(b) && less(a, b)) ? a : b;
    else
      return a == a ? (a < b ? a : b) : a;
  }
};

/// Elements that are combined at a time: few enough to stay in the first cache. The compiler makes
/// vectors of loops of a known length.
constexpr int64_t kBlock = 512;

template <class Op, class A, class B, class C>
void combine_two(const A* a, const B* b, C* out, int64_t n) {
  auto one = [&](int64_t i) {
    using W = std::conditional_t<sizeof(C) == 2 && !std::is_integral_v<C>, float, C>;
    out[i] = static_cast<C>(Op::template of<W>(static_cast<W>(a[i]), static_cast<W>(b[i])));
  };
  if (n == kBlock)
    for (int64_t i = 0; i < kBlock; ++i) one(i);
  else
    for (int64_t i = 0; i < n; ++i) one(i);
}

/// One block of the rows, of elements T, by partial results of type W.
template <class Op, class T, class W>
void combine_block(std::span<const void* const> rows, int64_t begin, int64_t n, W* parts, T* out) {
  auto row = [&](size_t r) { return static_cast<const T*>(rows[r]) + begin; };
  const size_t ranks = rows.size();
  if (ranks == 2) return combine_two<Op>(row(0), row(1), out + begin, n);
  auto part = [&](size_t r) { return parts + r * kBlock; };  // of r and its right neighbours
  for (size_t r = 0; r + 1 < ranks; r += 2) combine_two<Op>(row(r), row(r + 1), part(r), n);
  if (ranks % 2)
    for (int64_t i = 0; i < n; ++i) part(ranks - 1)[i] = static_cast<W>(row(ranks - 1)[i]);
  for (size_t width = 2; width < ranks; width *= 2)
    for (size_t r = 0; r + width < ranks; r += 2 * width)
      combine_two<Op>(part(r), part(r + width), part(r), n);
  for (int64_t i = 0; i < n; ++i) out[begin + i] = static_cast<T>(parts[i]);
}

template <class Op>
void combine(Dtype dtype, std::span<const void* const> rows, void* out, int64_t count) {
  dispatch(dtype, [&]<class T>(TypeTag<T>) {
    using W = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;
    const std::unique_ptr<W[]> parts(new W[rows.size() * kBlock]);
    for (int64_t i = 0; i < count; i += kBlock)
      combine_block<Op, T, W>(rows, i, std::min(kBlock, count - i), parts.get(),
                              static_cast<T*>(out));
  });
}

}  // namespace

void combine_rows(Collective kind, Dtype dtype, std::span<const void* const> rows, void* out,
                  int64_t count) {
  if (kind == Collective::all_max) return combine<Max>(dtype, rows, out, count);
  if (kind == Collective::all_min) return combine<Min>(dtype, rows, out, count);
  combine<Sum>(dtype, rows, out, count);
}

namespace cpu {

namespace {

void run_collective(const KernelArgs& args) {
  const auto& a = static_cast<const CollectiveAttrs&>(*args.attrs);
  const bool receives = a.kind == Collective::recv;
  const View& out = args.out[0];
  const Ticket ticket{*args.in.back().as<uint64_t>()};
  const bool between_two = receives || a.kind == Collective::send;
  const std::string line = text_of_line(ticket.line());
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

constexpr KernelEntry kEntries[] = {entry(op_all_sum, true),
                                    entry(op_all_max, true),
                                    entry(op_all_min, true),
                                    entry(op_all_gather, false),
                                    entry(op_sum_scatter, false),
                                    entry(op_broadcast, true),
                                    entry(op_all_to_all, false),
                                    entry(op_send, true),
                                    {.op = &op_recv, .run = run_collective}};

}  // namespace

const std::span<const KernelEntry> collective_kernels = kEntries;

}  // namespace cpu

}  // namespace mlx::core
