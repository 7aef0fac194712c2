// Compiles a fused program for given layouts: loops and tiles, runs of ops, tile slots.
#include "mlx/backend/cpu/fused.h"

#include <algorithm>

#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/fused_code.h"
#include "mlx/core/error.h"

namespace mlx::core::cpu {

const ElementwiseKernels& loaded_kernels() {
  static const ElementwiseKernels& loaded = MLX_FOR_ISA(elementwise_kernels);
  return loaded;
}

int arity_of(OpId op) {
  static constexpr uint8_t arity[] = {
#define E(name, n, ...) n,
#include "mlx/ops/elementwise.def"
#undef E
      1, 1, 0, 2};
  return arity[static_cast<int>(op)];
}

namespace {

constexpr int64_t kTileBytes = 24 << 10;  // all tiles of a program together
constexpr int64_t kMaxTile = 2048;
constexpr int64_t kLongRow = 512;    // elements, from which on packing costs more than a tile
constexpr int64_t kLongTile = 8192;  // for programs without tiles in memory
constexpr int64_t kBlockRows = 64;   // for blocks of an input that is read across its rows
constexpr int64_t kBlockBytes = 256 << 10;  // they stay in the second-level cache

/// Ops that cost little more than the memory traffic.
bool cheap(OpId op) {
  return op == OpId::add || op == OpId::subtract || op == OpId::multiply || op == OpId::divide ||
         op == OpId::maximum || op == OpId::minimum || op == OpId::copy || op == OpId::cast ||
         op == OpId::position;
}

/// Axes in the memory order of the first output, merged if all operands and numberings allow it.
void loop_axes(const Step& step, Shape& loop, std::vector<Strides>& strides) {
  const Layout& out = step.operands[step.n_inputs];
  SmallVector<int, 8> order;
  for (size_t i = 0; i < out.shape.size(); ++i)
    if (out.shape[i] != 1) order.push_back(static_cast<int>(i));
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return out.strides[a] != out.strides[b] ? out.strides[a] > out.strides[b] : a < b;
  });
  for (int k : order) loop.push_back(out.shape[k]);
  strides.reserve(step.operands.size() + step.program.numberings.size());
  auto add = [&](const Strides& all) {
    Strides s;
    for (int k : order) s.push_back(all[k]);
    strides.push_back(std::move(s));
  };
  for (const Layout& l : step.operands) add(l.strides);
  for (const Numbering& n : step.program.numberings) add(n.strides);
  collapse_axes(loop, strides);
}

/// True if the elements of a box are contiguous in memory.
bool lies_densely(const Strides& strides, const Shape& box) {
  int64_t step = 1;
  for (size_t k = box.size(); k-- > 0; step *= box[k])
    if (box[k] > 1 && strides[k] != step) return false;
  return true;
}

}  // namespace

void FusedCode::choose_loops(const Step& step) {
  std::vector<Strides> strides;
  loop_axes(step, loop, strides);
  elements = num_elements(loop);
  operands.reserve(step.operands.size());
  for (size_t k = 0; k < step.operands.size(); ++k)
    operands.push_back({strides[k], step.operands[k].dtype.size(), Path::direct});
  numberings = step.program.numberings;
  for (size_t k = 0; k < numberings.size(); ++k)
    numberings[k].strides = strides[operands.size() + k];
}

/// Tiles are processed in pairs if all random words are numbered like the elements, and the second
/// half of the words starts at an index of the first axis.
void FusedCode::choose_pairs() {
  passes = loop;
  bool random = false;
  for (const Micro& m : code) {
    if (m.numbering < 0 || m.args.empty()) continue;
    random = true;
    const Numbering& n = numberings[m.numbering];
    if (by_range || piece || n.count != elements || n.strides != row_major(loop)) return;
    for (uint16_t word : m.args)
      if (word < n_inputs && operands[word].strides != Strides(loop.size(), 0)) return;
  }
  if (!random || (loop.size() > 1 && loop[0] % 2 != 0)) return;
  shift = passes[0] = (loop[0] + 1) / 2;
}

/// Inputs that are contiguous along the outer axis are transposed by blocks of whole cache lines;
/// everything else then runs along the block's rows.
bool FusedCode::choose_block() {
  if (loop.size() < 2 || loop.back() < kBlockRows || loop[loop.size() - 2] < kBlockRows / 2)
    return false;
  int64_t across = 0;
  for (int k = 0; k < n_inputs; ++k) {
    const Strides& s = operands[k].strides;
    if (s.back() == 0 || std::abs(s.back()) == 1 || std::abs(s[s.size() - 2]) != 1) continue;
    operands[k].path = Path::block;
    across += operands[k].itemsize;
  }
  if (across == 0) return false;
  const int64_t rows = std::min(kBlockRows, loop[loop.size() - 2]);
  const int64_t fitting = std::max(kBlockRows, kBlockBytes / (rows * across) / 64 * 64);
  const int64_t columns = std::min(loop.back(), fitting);
  box = Shape(loop.size(), 1);
  box[loop.size() - 2] = rows;
  box.back() = columns;
  piece = tile = std::min(columns, tile);
  for (auto& o : operands) {
    if (o.path == Path::block) {
      o.block = block_bytes;
      block_bytes += rows * columns * o.itemsize;
    } else {
      o.path = o.strides.back() == 1 ? Path::direct : Path::packed;
    }
  }
  return true;
}

/// True if a tile that has the axes behind `axis` completely would have to pack an operand to
/// contain more than one index of `axis`: one that is contiguous there, or has one element.
bool FusedCode::packs_with(size_t axis) const {
  return std::ranges::any_of(operands, [&](const Operand& o) {
    int64_t step = 1;
    bool dense = true, still = true;
    for (size_t k = loop.size(); --k > axis; step *= loop[k]) {
      dense = dense && o.strides[k] == step;
      still = still && o.strides[k] == 0;
    }
    return (dense && o.strides[axis] != step) || still;
  });
}

/// A tile contains the innermost axes completely while they fit, and a part of the next one. Long
/// rows are tiles of their own where this saves packing. The tiles of a range, which may start at
/// any element, are rows.
void FusedCode::choose_tile() {
  if (!by_range && choose_block()) return;
  box = Shape(loop.size(), 1);
  const size_t outermost = by_range ? loop.size() - std::min<size_t>(loop.size(), 2) : 0;
  int64_t size = 1;
  for (size_t k = loop.size(); k-- > outermost;) {
    if (size >= kLongRow && packs_with(k)) break;
    box[k] = std::clamp<int64_t>(tile / size, 1, std::max<int64_t>(loop[k], 1));
    size *= box[k];
    if (box[k] < loop[k]) break;
  }
  const bool one_row =
      std::ranges::all_of(box.begin(), box.end() - 1, [](int64_t n) { return n == 1; });
  for (size_t k = 0; k < operands.size(); ++k) {
    Operand& o = operands[k];
    const bool repeated = one_row && o.strides.back() == 0 && static_cast<int>(k) < n_inputs;
    o.path = lies_densely(o.strides, box) ? Path::direct : repeated ? Path::repeated : Path::packed;
  }
  tile = size;
}

namespace {

/// Converts instructions to micro-ops.
class Coder {
 public:
  Coder(const Program& p, FusedCode& out) : p_(p), out_(out) {
    use_counts_.resize(p.first_instr() + p.code.size());
    for (const Instr& i : p.code) {
      if (!reads_index(i.op)) use_counts_[i.a] += 1;
      if (arity_of(i.op) > 1 && i.b != i.a) use_counts_[i.b] += 1;
      if (arity_of(i.op) > 2 && i.c != i.a && i.c != i.b) use_counts_[i.c] += 1;
    }
    for (uint16_t v : p.outputs) use_counts_[v] += 2;  // a stored value is needed in memory
  }

  void code() {
    constexpr size_t kFew = 4;  // of most programs
    out_.code.reserve(std::min(p_.code.size(), kFew));
    for (size_t k = 0; k < p_.code.size();) {
      size_t end = k;
      while (end < p_.code.size() && runs(p_.code[end])) ++end;
      if (end - k >= 2 || (end > k && runs_alone(p_.code[k])))
        add_run(k, end);
      else
        add_single(k), end = k + 1;
      k = end;
    }
  }

 private:
  /// Ops of float32 and of 16-bit floats, and conversions between these: they compute in float32.
  bool runs(const Instr& i) const {
    if (reads_index(i.op) || arity_of(i.op) > 2) return false;
    const bool wide = i.type == Dtype::Val::float32;
    if (i.op == OpId::cast)
      return wide != (i.out == Dtype::Val::float32) && is_run_type(i.type) && is_run_type(i.out);
    if (i.type != i.out || !is_run_type(i.type)) return false;
    // Copies keep the bits of a NaN; a tile of 16-bit floats has no kernel of float32.
    return wide ||
           (i.op != OpId::copy &&
            (arity_of(i.op) == 1 || out_.isa->links().find_link(i.op, LinkForm::tile, i.type)));
  }
  static bool is_run_type(Dtype::Val t) { return t == Dtype::Val::float32 || is_narrow(t); }
  static bool is_narrow(Dtype::Val t) {
    return t == Dtype::Val::float16 || t == Dtype::Val::bfloat16;
  }
  uint16_t value(size_t k) const { return static_cast<uint16_t>(p_.first_instr() + k); }
  bool is_constant(uint16_t v) const {
    return is_input(v) ? is_repeated(v) : static_cast<int>(v) < p_.first_instr();
  }
  /// One op is a run too where that saves a tile of equal numbers.
  bool reads_repeated(const Instr& i) const {
    return arity_of(i.op) == 2 && is_repeated(i.a) != is_repeated(i.b);
  }
  bool runs_alone(const Instr& i) const {
    return reads_repeated(i) || (is_narrow(i.type) && i.op != OpId::cast);
  }
  bool is_repeated(uint16_t v) const {
    return is_input(v) && out_.operands[v].path == Path::repeated;
  }

  void add_single(size_t k) {
    const Instr& i = p_.code[k];
    const ElementwiseKernels& isa = *out_.isa;
    Micro m;
    if (reads_index(i.op)) {
      m.numbering = i.a;
      m.type = i.out;
      if (i.op == OpId::random_bits) m.args = {i.b, i.c};
      m.result = value(k);
      return out_.code.push_back(std::move(m));
    }
    m.tile = i.op == OpId::cast ? isa.find_cast(i.type, i.out) : isa.find_tile(i.op, i.type);
    m.streaming = i.op == OpId::cast ? nullptr : isa.find_tile_nt(i.op, i.type);
    if (!m.tile)
      fail<TypeError>("eval", "no kernel for elementwise op ", static_cast<int>(i.op), " on ",
                      dtype_name(i.type));
    m.args = {i.a, i.b, i.c};
    m.args.resize(arity_of(i.op));
    m.result = value(k);
    out_.code.push_back(std::move(m));
  }

  void add_run(size_t k, size_t end) {
    Micro m;
    m.run.reserve(2 * (end - k));
    find_products(k, end);
    int held = -1;
    for (size_t at = k; at < end; ++at) {
      if (product_[at]) continue;
      add_step(m.run, p_.code[at], held);
      held = value(at);
      size_t next = at + 1;
      while (next < end && product_[next]) ++next;
      bool next_alone = next < end && reads(p_.code[next], value(at));
      if (use_counts_[value(at)] > static_cast<int>(next_alone))
        m.run.push_back({.act = RunStep::store,
                         .form = LinkForm::tile,
                         .value = value(at),
                         .type = p_.code[at].out});
    }
    join_stores(m.run);
    out_.code.push_back(std::move(m));
  }
  /// Joins a rounding and a store of a value that no later step needs in registers.
  static void join_stores(std::vector<RunStep>& run) {
    size_t n = 0;
    for (size_t k = 0; k < run.size(); ++k) {
      const bool joined = run[k].act == RunStep::store && n > 0 &&
                          run[n - 1].act == RunStep::round && run[n - 1].type == run[k].type &&
                          (k + 1 == run.size() || run[k + 1].act == RunStep::load);
      run[joined ? n - 1 : n] = run[k];
      if (joined)
        run[n - 1].act = RunStep::round_store;
      else
        ++n;
    }
    run.resize(n);
  }
  static bool reads(const Instr& i, uint16_t v) {
    return i.a == v || (arity_of(i.op) > 1 && i.b == v);
  }

  /// Marks products of an input and a constant that are the second operand of one sum or product of
  /// the run: they are computed there instead of being stored.
  void find_products(size_t k, size_t end) {
    product_.clear();
    product_.resize(p_.code.size());
    for (size_t at = k + 2; at < end; ++at) {
      const Instr& i = p_.code[at];
      if ((i.op != OpId::add && i.op != OpId::multiply) || i.a == i.b) continue;
      // The current value is that of the last instruction, or of the one before such a product.
      bool last = !reads(i, value(at - 2)) || !reads(i, value(at - 1)) || !scales(at - 1);
      if (last && !reads(i, value(at - 1))) continue;
      size_t hand = last ? at - 1 : at - 2;
      int made = (i.a == value(hand) ? i.b : i.a) - p_.first_instr();
      if (made >= static_cast<int>(k) && scales(made)) product_[made] = true;
    }
  }
  bool scales(size_t k) const {
    const Instr& i = p_.code[k];
    return i.op == OpId::multiply && !is_narrow(i.out) && use_counts_[value(k)] == 1 &&
           ((is_input(i.a) && is_constant(i.b)) || (is_input(i.b) && is_constant(i.a)));
  }
  bool is_input(uint16_t v) const { return v < p_.inputs.size(); }

  void add_step(std::vector<RunStep>& run, const Instr& i, int held) {
    add_op(run, i, held);
    if (is_narrow(i.out)) run.push_back({.act = RunStep::round, .type = i.out});
  }
  /// `held`: the value in the registers, or -1.
  void add_op(std::vector<RunStep>& run, const Instr& i, int held) {
    bool binary = arity_of(i.op) == 2;
    if (held < 0 || !reads(i, static_cast<uint16_t>(held))) {
      held = binary && is_constant(i.a) && !is_constant(i.b) ? i.b : i.a;
      run.push_back({.act = RunStep::load,
                     .form = LinkForm::tile,
                     .value = static_cast<uint16_t>(held),
                     .type = i.type});
    }
    if (i.op == OpId::cast) return;
    if (!binary) return run.push_back({RunStep::apply, LinkForm::unary, i.op, 0});
    if (i.a == i.b) return run.push_back({RunStep::apply, LinkForm::both, i.op, 0});
    bool commutes = i.op == OpId::add || i.op == OpId::multiply;
    bool first = i.a != held;
    uint16_t other = first ? i.a : i.b;
    first = first && !commutes;
    if (int made = other - p_.first_instr(); made >= 0 && product_[made]) {
      const Instr& j = p_.code[made];
      const bool tile_first = is_input(j.a) && is_constant(j.b);
      auto [tile, factor] = tile_first ? std::pair(j.a, j.b) : std::pair(j.b, j.a);
      return run.push_back(
          {RunStep::apply, LinkForm::scaled, i.op, tile, factor, is_repeated(factor)});
    }
    LinkForm form = first ? LinkForm::tile_first : LinkForm::tile;
    const bool constant =
        is_constant(other) && out_.isa->links().find_link(i.op, LinkForm::constant, i.type);
    if (constant) form = first ? LinkForm::constant_first : LinkForm::constant;
    run.push_back({RunStep::apply, form, i.op, other, 0, constant && is_repeated(other), i.type});
  }

  const Program& p_;
  FusedCode& out_;
  SmallVector<int, 32> use_counts_;
  SmallVector<bool, 32> product_;  // per instruction: it is part of a later one
};

/// Tile accesses of one op: some tiles are read, then one may be written. The accesses of a run are
/// made again for each of its bursts.
struct TileAccess {
  SmallVector<uint16_t, 4> reads;
  int write = -1;
  size_t micro = 0;  ///< which of the code has it
};

std::vector<TileAccess> tile_accesses(const std::vector<Micro>& code) {
  std::vector<TileAccess> out;
  size_t most = code.size();
  for (const Micro& m : code) most += m.run.size();
  out.reserve(most);
  for (size_t k = 0; k < code.size(); ++k) {
    const Micro& m = code[k];
    if (m.run.empty()) out.push_back({m.args, m.result, k});
    for (const RunStep& s : m.run) {
      if (s.act == RunStep::store || s.act == RunStep::round_store)
        out.push_back({{}, s.value, k});
      else if (reads_tile(s.form))
        out.push_back({{s.value}, -1, k});
    }
  }
  return out;
}

/// Slots of values that no later access reads.
class FreeSlots {
 public:
  void add(int slot, size_t micro, size_t bytes) { list_.push_back({slot, micro, bytes}); }
  /// A slot for a value of elements of so many bytes, or -1. A value whose elements have other
  /// bytes would lie over bursts that the same run has still to read.
  int take(size_t micro, size_t bytes) {
    for (size_t k = list_.size(); k-- > 0;) {
      const Freed f = list_[k];
      if (f.micro == micro && f.bytes != bytes) continue;
      list_[k] = list_.back();
      list_.pop_back();
      return f.slot;
    }
    return -1;
  }

 private:
  struct Freed {
    int slot;
    size_t micro, bytes;
  };
  SmallVector<Freed, 16> list_;
};

}  // namespace

void FusedCode::add_code(const Program& p) { Coder(p, *this).code(); }

/// Tile slots: packed operands, and constants that are read as tiles, keep theirs; results share
/// slots by live range.
void FusedCode::assign_tiles(const Program& p) {
  int first = p.first_instr();
  slot_of.resize(first + p.code.size(), -1);
  for (auto& o : operands)
    if (o.path == Path::packed) o.tile = n_tiles++;
  for (Micro& m : code)
    if (shift && m.numbering >= 0 && !m.args.empty()) m.words = n_tiles++;
  for (int k = 0; k < n_inputs; ++k) slot_of[k] = operands[k].tile;
  std::vector<TileAccess> accesses = tile_accesses(code);
  SmallVector<int, 32> last(slot_of.size(), -1), output_of(slot_of.size(), -1);
  for (size_t t = 0; t < accesses.size(); ++t)
    for (uint16_t v : accesses[t].reads) last[v] = static_cast<int>(t);
  for (int k = 0; k < n_inputs; ++k)
    if (operands[k].path == Path::repeated && last[k] >= 0)
      slot_of[k] = operands[k].tile = n_tiles++;
  for (int c = n_inputs; c < first; ++c)
    if (last[c] >= 0) slot_of[c] = n_tiles++;
  for (size_t o = 0; o < p.outputs.size(); ++o) output_of[p.outputs[o]] = static_cast<int>(o);
  read_later.resize(p.outputs.size());
  reread.resize(p.outputs.size());
  FreeSlots free;
  auto bytes_of = [&](int v) { return Dtype(p.code[v - first].out).size(); };
  for (size_t t = 0; t < accesses.size(); ++t) {
    int v = accesses[t].write, now = static_cast<int>(t);
    if (int o = v < 0 ? -1 : output_of[v]; o >= 0) {
      reread[o] = last[v] >= 0;
      for (int i = 0; i < n_inputs && i < 32; ++i)
        if (last[i] > now) read_later[o] |= 1u << i;
      // Stored through a tile if it must not be written in place while an input is read later.
      Operand& operand = operands[n_inputs + o];
      if (operand.tile < 0 && read_later[o]) operand.tile = n_tiles++;
      slot_of[v] = operand.tile;
    } else if (v >= 0) {
      const int slot = free.take(accesses[t].micro, bytes_of(v));
      slot_of[v] = slot >= 0 ? slot : n_tiles++;
    }
    const auto& reads = accesses[t].reads;
    for (size_t a = 0; a < reads.size(); ++a) {
      int u = reads[a];
      bool again = std::find(reads.begin(), reads.begin() + a, u) != reads.begin() + a;
      if (u >= first && output_of[u] < 0 && last[u] == now && !again)
        free.add(slot_of[u], accesses[t].micro, bytes_of(u));
    }
  }
}

void FusedCode::estimate(const Step& step, std::optional<uint64_t> far,
                         std::span<const int64_t> ahead) {
  double bytes = 0;
  for (const Operand& o : operands) {
    bool broadcast = std::find(o.strides.begin(), o.strides.end(), 0) != o.strides.end();
    bytes += broadcast ? 0 : o.itemsize;
  }
  cost = bytes / 20 + 0.05 * static_cast<double>(step.program.code.size());
  for (const Instr& i : step.program.code)
    cost += cheap(i.op) ? 0 : i.op != OpId::random_bits ? 0.3 : shift ? 0.5 : 1;
  const bool large = bytes * static_cast<double>(elements) >= static_cast<double>(l3_size());
  streams = far.value_or(large) != 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    Operand& o = operands[k];
    o.far = far ? k < 64 && (*far >> k & 1) : large;
    if (k >= ahead.size() || ahead[k] == 0) continue;
    o.far = streams = true;
    o.ahead = ahead[k];
  }
}

void FusedCode::compile(const Step& step, std::optional<uint64_t> far,
                        std::span<const int64_t> ahead) {
  const Program& p = step.program;
  isa = &loaded_kernels();
  n_inputs = step.n_inputs;
  constants = p.constants;
  choose_loops(step);
  int widest = 1;
  for (const Instr& i : p.code)
    widest = std::max(
        {widest, int{Dtype(reads_index(i.op) ? i.out : i.type).size()}, int{Dtype(i.out).size()}});
  for (const Operand& o : operands) widest = std::max(widest, o.itemsize);
  int64_t live =
      static_cast<int64_t>(operands.size() + std::min<size_t>(p.code.size(), 4) + constants.size());
  tile = kMaxTile;
  while (tile > 64 && live * tile * widest > kTileBytes) tile /= 2;
  choose_tile();
  add_code(p);
  choose_pairs();
  for (uint16_t v : p.outputs) output_values.push_back(v);
  assign_tiles(p);
  // Without tiles in memory, longer tiles cost less while the threads still get equal parts.
  if (n_tiles == 0 && loop.size() == 1)
    tile = box[0] = std::min(loop[0], std::clamp(elements / 64 / 1024 * 1024, tile, kLongTile));
  else if (n_tiles == 0 && by_range && tile == box.back())
    tile = box.back() = std::min(loop.back(), kLongTile);
  tile_bytes = (tile * widest + 63) / 64 * 64;
  estimate(step, far, ahead);
  chains = make_chains(*this);
  only_copies =
      n_inputs == 1 && constants.empty() && p.code.size() == 1 && p.code[0].op == OpId::copy;
}

int64_t FusedCode::tile_count() const {
  int64_t n = 1;
  for (size_t k = 0; k < loop.size(); ++k) n *= (passes[k] + box[k] - 1) / box[k];
  return n;
}

FusedKernel::FusedKernel(const Step& step) {
  auto code = std::make_unique<FusedCode>();
  code->compile(step);
  code_ = std::move(code);
}
FusedKernel::FusedKernel(const Step& step, const Layout& result) {
  Step alone;
  alone.program = step.program;
  alone.n_inputs = step.n_inputs;
  alone.operands.assign(step.operands.begin(), step.operands.begin() + step.n_inputs);
  alone.operands.push_back(result);
  auto code = std::make_unique<FusedCode>();
  code->by_range = true;
  code->compile(alone);
  for (Operand& o : code->operands) o.far = o.far && &o != &code->operands.back();
  code_ = std::move(code);
}
FusedKernel::FusedKernel(const Step& step, uint64_t far, std::span<const int64_t> ahead) {
  auto code = std::make_unique<FusedCode>();
  code->by_range = true;
  code->compile(step, far, ahead);
  code_ = std::move(code);
}
FusedKernel::~FusedKernel() = default;
FusedKernel::FusedKernel(FusedKernel&&) noexcept = default;

}  // namespace mlx::core::cpu
