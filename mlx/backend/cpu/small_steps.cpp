// Lays out small steps as calls, and runs these.
#include "mlx/backend/cpu/small_steps.h"

#include <algorithm>
#include <cstring>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/fused_code.h"
#include "mlx/ops/matmul.h"
#include "mlx/ops/reduce.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kMostElements = 64;  // of an operand: more are better computed tile by tile

bool is_small(const Shape& shape) {
  const int64_t n = num_elements(shape);
  return n > 0 && n <= kMostElements;
}

/// Bytes from the first element to each element, in row-major order of the given axes.
SmallVector<int32_t, 64> offsets_along(const Layout& l, std::span<const int> axes) {
  Shape shape;
  Strides strides;
  for (int k : axes) {
    shape.push_back(l.shape[k]);
    strides.push_back(l.strides[k]);
  }
  SmallVector<int32_t, 64> out;
  Odometer<1> at(shape, {strides});
  for (int64_t n = num_elements(shape); n-- > 0; at.next())
    out.push_back(static_cast<int32_t>(at[0] * l.dtype.size()));
  return out;
}

bool are_dense(const SmallVector<int32_t, 64>& offsets, int itemsize) {
  for (size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i] != static_cast<int32_t>(i) * itemsize) return false;
  return true;
}

SmallVector<int, 8> all_axes(const Layout& l) {
  SmallVector<int, 8> axes;
  for (size_t k = 0; k < l.shape.size(); ++k) axes.push_back(static_cast<int>(k));
  return axes;
}

/// The axes in the order in which the elements lie.
SmallVector<int, 8> axes_in_memory(const Layout& l) {
  SmallVector<int, 8> axes = all_axes(l);
  std::ranges::stable_sort(axes, std::ranges::greater{}, [&](int k) { return l.strides[k]; });
  return axes;
}

bool repeats(const Layout& l) {
  for (size_t k = 0; k < l.shape.size(); ++k)
    if (l.shape[k] > 1 && l.strides[k] == 0) return true;
  return false;
}

}  // namespace

/// The calls of one step, which become part of the function once all of them are found.
class SmallSteps::Builder {
 public:
  Builder(SmallSteps& owner, size_t addresses) : owner_(owner), addresses_(addresses) {}

  bool step(const Step& s, std::span<const Operand> operands, const Scalar* constants) {
    if (!s.loop.empty() || s.unit || !s.routines.empty() || s.epilogue >= 0) return false;
    for (const Layout& l : s.operands)
      if (!is_small(l.shape)) return false;
    if (!s.op) return fused(s, operands, constants);
    if (s.workspace >= 0) return false;
    if (s.op == &op_matmul || s.op == &op_addmm) return product(s, operands);
    return s.op == &op_reduce && reduction(s, operands, constants);
  }

  /// Elements at offsets become dense, or the reverse.
  void move(SmallCall::Kind kind, std::span<const int32_t> offsets, int itemsize, uint32_t from,
            uint32_t to) {
    const auto first = static_cast<uint32_t>(owner_.offsets_.size() + offsets_.size());
    offsets_.insert(offsets_.end(), offsets.begin(), offsets.end());
    calls_.push_back({.kind = kind,
                      .itemsize = static_cast<uint8_t>(itemsize),
                      .n = static_cast<int32_t>(offsets.size()),
                      .item = first,
                      .in = {from},
                      .out = to});
  }

  void finish(size_t& addresses, std::vector<SmallCall>& calls) {
    auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(calls, calls_);
    append(owner_.offsets_, offsets_);
    append(owner_.products_, products_);
    append(owner_.reductions_, reductions_);
    append(owner_.constants_, constants_);
    append(owner_.temporary_places_, temporary_places_);
    append(owner_.constant_places_, constant_places_);
    owner_.memory_ = std::max(owner_.memory_, memory_);
    addresses = addresses_;
  }

 private:
  static constexpr size_t kAlignment = 64;

  uint32_t temporary(int64_t elements, Dtype type) {
    temporary_places_.push_back({addresses_, memory_});
    memory_ += (elements * type.size() + kAlignment - 1) / kAlignment * kAlignment;
    return static_cast<uint32_t>(addresses_++);
  }
  uint32_t constant(const Scalar& value, int64_t elements, Dtype type) {
    const size_t offset = owner_.constants_.size() + constants_.size();
    constant_places_.push_back({addresses_, offset});
    for (int64_t i = 0; i < elements; ++i)
      constants_.insert(constants_.end(), value.bytes, value.bytes + type.size());
    constants_.resize((constants_.size() + kAlignment - 1) / kAlignment * kAlignment);
    return static_cast<uint32_t>(addresses_++);
  }
  /// The address of an operand's elements one after another, in row-major order of the axes.
  uint32_t dense(const Layout& l, std::span<const int> axes, uint32_t address) {
    const auto offsets = offsets_along(l, axes);
    if (are_dense(offsets, l.dtype.size())) return address;
    const uint32_t packed = temporary(num_elements(l.shape), l.dtype);
    move(SmallCall::pick, {offsets.data(), offsets.size()}, l.dtype.size(), address, packed);
    return packed;
  }

  /// The calls of a program: inputs, which `values` begins with, are dense.
  bool code(const Program& p, int64_t n, const Scalar* constants, std::vector<uint32_t>& values,
            std::span<const int64_t> targets) {
    const ElementwiseKernels& isa = loaded_kernels();
    for (size_t k = 0; k < p.constants.size(); ++k)
      values.push_back(constant(constants[k], n, Dtype(p.constants[k])));
    for (size_t k = 0; k < p.code.size(); ++k) {
      const Instr& i = p.code[k];
      if (reads_index(i.op)) return false;
      const int arity = arity_of(i.op);
      const TileFn run =
          i.op == OpId::cast ? isa.find_cast(i.type, i.out) : isa.find_tile(i.op, i.type);
      if (!run) return false;
      const uint32_t a = values[i.a];
      SmallCall call{.n = static_cast<int32_t>(n), .in = {a, a, a}, .run = run};
      if (arity > 1) call.in[1] = values[i.b];
      if (arity > 2) call.in[2] = values[i.c];
      call.out = targets[k] >= 0 ? static_cast<uint32_t>(targets[k]) : temporary(n, Dtype(i.out));
      values.push_back(call.out);
      calls_.push_back(call);
    }
    return true;
  }

  bool fused(const Step& s, std::span<const Operand> operands, const Scalar* constants) {
    const Program& p = s.program;
    const int first = p.first_instr(), outputs = static_cast<int>(p.outputs.size());
    const Layout& result = s.operands[s.n_inputs];
    const SmallVector<int, 8> order = axes_in_memory(result);
    const std::span<const int> axes(order.data(), order.size());
    std::vector<uint32_t> values;
    for (int k = 0; k < s.n_inputs; ++k)
      values.push_back(dense(s.operands[k], axes, operands[k].address));
    // Values are computed where they are stored, unless that is read later.
    std::vector<int64_t> targets(p.code.size(), -1);
    std::vector<bool> stored(outputs);
    for (int o = 0; o < outputs; ++o) {
      const int made = p.outputs[o] - first;
      const auto offsets = offsets_along(s.operands[s.n_inputs + o], axes);
      stored[o] = targets[made] < 0 &&
                  are_dense(offsets, s.operands[s.n_inputs + o].dtype.size()) &&
                  !is_read_after(s, operands, values, o, made);
      if (stored[o]) targets[made] = operands[s.n_inputs + o].address;
    }
    const int64_t n = num_elements(result.shape);
    if (!code(p, n, constants, values, targets)) return false;
    for (int o = 0; o < outputs; ++o) {
      if (stored[o]) continue;
      const Layout& l = s.operands[s.n_inputs + o];
      const auto offsets = offsets_along(l, axes);
      move(SmallCall::put, {offsets.data(), offsets.size()}, l.dtype.size(), values[p.outputs[o]],
           operands[s.n_inputs + o].address);
    }
    return true;
  }

  /// Whether an input in the memory of an output is read in place by a later instruction than the
  /// one that computes the output, or by this one at another address.
  static bool is_read_after(const Step& s, std::span<const Operand> operands,
                            const std::vector<uint32_t>& values, int output, int made) {
    const Operand& out = operands[s.n_inputs + output];
    const Layout& written = s.operands[s.n_inputs + output];
    for (int k = 0; k < s.n_inputs; ++k) {
      const Operand& in = operands[k];
      if (values[k] != in.address || in.memory != out.memory) continue;
      const Layout& read = s.operands[k];
      const int64_t in_end = in.begin + num_elements(read.shape) * read.dtype.size();
      const int64_t out_end = out.begin + num_elements(written.shape) * written.dtype.size();
      if (in.begin >= out_end || out.begin >= in_end) continue;
      const bool same = in.begin == out.begin && read.dtype.size() == written.dtype.size();
      for (size_t at = static_cast<size_t>(made) + same; at < s.program.code.size(); ++at) {
        const Instr& i = s.program.code[at];
        const int arity = arity_of(i.op);
        if (i.a == k || (arity > 1 && i.b == k) || (arity > 2 && i.c == k)) return true;
      }
    }
    return false;
  }

  bool product(const Step& s, std::span<const Operand> operands) {
    const bool adds = s.op == &op_addmm;
    double alpha = 1, beta = 0;
    if (adds) {
      const auto& attrs = attrs_as<AddmmAttrs>(s.attrs.get());
      alpha = attrs.alpha;
      beta = attrs.beta;
    }
    Layout layouts[3];
    SmallCall call{.kind = SmallCall::product};
    for (int k = 0; k < s.n_inputs; ++k) {
      layouts[k] = s.operands[k];
      call.in[k] = operands[k].address;
      if (!repeats(layouts[k])) continue;
      const auto axes = all_axes(layouts[k]);
      call.in[k] = dense(layouts[k], {axes.data(), axes.size()}, call.in[k]);
      layouts[k].strides = row_major(layouts[k].shape);
    }
    auto found = SmallProduct::of(layouts[adds], layouts[adds + 1], adds ? &layouts[0] : nullptr,
                                  s.operands[s.n_inputs], alpha, beta);
    if (!found) return false;
    call.item = static_cast<uint32_t>(owner_.products_.size() + products_.size());
    call.out = operands[s.n_inputs].address;
    if (!adds) call.in[2] = call.in[1], call.in[1] = call.in[0];
    products_.push_back(*found);
    calls_.push_back(call);
    return true;
  }

  /// A reduction, of what a program computes or of the input.
  bool reduction(const Step& s, std::span<const Operand> operands, const Scalar* constants) {
    const auto& attrs = attrs_as<ReduceAttrs>(s.attrs.get());
    Layout in = s.operands[0];
    uint32_t address = operands[0].address;
    const Program& p = s.program;
    if (!p.code.empty()) {
      const auto axes = all_axes(in);
      std::vector<uint32_t> values;
      for (int k = 0; k < s.n_inputs; ++k)
        values.push_back(dense(s.operands[k], {axes.data(), axes.size()}, operands[k].address));
      const std::vector<int64_t> targets(p.code.size(), -1);
      if (!code(p, num_elements(in.shape), constants, values, targets)) return false;
      address = values[p.outputs[0]];
      in = {in.shape, row_major(in.shape), 0, Dtype(p.code[p.outputs[0] - p.first_instr()].out)};
    }
    SmallVector<int, 8> axes;
    int64_t elements = 1;
    for (size_t k = 0; k < in.shape.size(); ++k)
      if (!std::ranges::binary_search(attrs.axes, static_cast<int>(k)))
        axes.push_back(static_cast<int>(k));
    for (int k : attrs.axes) {
      axes.push_back(k);
      elements *= in.shape[k];
    }
    const Layout& out = s.operands[s.n_inputs];
    SmallCall call{.kind = SmallCall::reduction,
                   .n = static_cast<int32_t>(num_elements(out.shape)),
                   .item = static_cast<uint32_t>(owner_.reductions_.size() + reductions_.size()),
                   .in = {dense(in, {axes.data(), axes.size()}, address)},
                   .out = operands[s.n_inputs].address};
    reductions_.emplace_back(attrs.kind, in.dtype, out.dtype, elements);
    calls_.push_back(call);
    return true;
  }

  SmallSteps& owner_;
  size_t addresses_, memory_ = 0;
  std::vector<SmallCall> calls_;
  std::vector<int32_t> offsets_;
  std::vector<SmallProduct> products_;
  std::vector<RowReduction> reductions_;
  std::vector<char> constants_;
  std::vector<Place> temporary_places_, constant_places_;
};

bool SmallSteps::add(const Step& step, std::span<const Operand> operands, const Scalar* constants,
                     size_t& addresses, std::vector<SmallCall>& calls) {
  Builder builder(*this, addresses);
  if (!builder.step(step, operands, constants)) return false;
  builder.finish(addresses, calls);
  return true;
}

bool SmallSteps::add_copy(const Layout& from, uint32_t source, uint32_t target,
                          std::vector<SmallCall>& calls) {
  if (!is_small(from.shape)) return false;
  size_t addresses = 0;
  Builder builder(*this, addresses);
  const auto axes = all_axes(from);
  const auto offsets = offsets_along(from, {axes.data(), axes.size()});
  builder.move(SmallCall::pick, {offsets.data(), offsets.size()}, from.dtype.size(), source,
               target);
  builder.finish(addresses, calls);
  return true;
}

void SmallSteps::place(void** addresses, char* memory) const {
  for (const Place& p : temporary_places_) addresses[p.address] = memory + p.offset;
  for (const Place& p : constant_places_)
    addresses[p.address] = const_cast<char*>(constants_.data()) + p.offset;
}

namespace {

template <int Size>
struct Item {
  char bytes[Size];
};

template <class T>
void pick_items(const char* from, const int32_t* offsets, int64_t n, char* to) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * sizeof(T), from + offsets[i], sizeof(T));
}
template <class T>
void put_items(const char* from, const int32_t* offsets, int64_t n, char* to) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + offsets[i], from + i * sizeof(T), sizeof(T));
}

/// f(an item of that size)
template <class F>
void with_item(int size, F f) {
  switch (size) {
    case 1:
      return f(Item<1>());
    case 2:
      return f(Item<2>());
    case 4:
      return f(Item<4>());
    case 8:
      return f(Item<8>());
    default:
      return f(Item<16>());
  }
}

}  // namespace

void SmallSteps::run_other(const SmallCall& c, void* const* addresses) const {
  const auto* in = static_cast<const char*>(addresses[c.in[0]]);
  auto* out = static_cast<char*>(addresses[c.out]);
  switch (c.kind) {
    case SmallCall::pick:
      return with_item(c.itemsize,
                       [&]<class T>(T) { pick_items<T>(in, offsets_.data() + c.item, c.n, out); });
    case SmallCall::put:
      return with_item(c.itemsize,
                       [&]<class T>(T) { put_items<T>(in, offsets_.data() + c.item, c.n, out); });
    case SmallCall::product:
      return products_[c.item].run(addresses[c.in[1]], addresses[c.in[2]], in, out);
    default:
      return reductions_[c.item].run(in, reductions_[c.item].elements(), c.n, out);
  }
}

}  // namespace mlx::core::cpu
