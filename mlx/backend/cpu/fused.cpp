#include "mlx/backend/cpu/fused.h"

#include <algorithm>
#include <numeric>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/elementwise.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/core/error.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kTileBytes = 24 << 10;  // all tiles of a program together
constexpr int64_t kMaxTile = 512;
constexpr int64_t kBlock = 32;  // edge of a block where an input is read across its rows

/// How an operand is brought in or out, given the shape of the tile.
enum class Path : uint8_t {
  direct,  ///< contiguous over the tile: used in place
  packed,  ///< copied to or from a tile of its own
};

struct Operand {
  Strides strides;  // elements, per loop axis
  int itemsize;
  Path path;
  int tile = -1;  // tile slot, where packed
};

struct Micro {
  TileFn run = nullptr;
  TileFn streaming = nullptr;  // the same with non-temporal stores
  SmallVector<uint16_t, 8> args;
  uint16_t result = 0;
};

const ElementwiseKernels& loaded_kernels() {
  static const ElementwiseKernels* const tables[] = {
      &v2::elementwise_kernels, &avx2::elementwise_kernels, &avx512::elementwise_kernels};
  return *tables[static_cast<int>(isa())];
}

/// Copies a block of rows and columns, given by element strides, to packed memory.
void load_block(const ElementwiseKernels& k, char* to, const char* from, int64_t rows,
                int64_t columns, int64_t outer, int64_t inner, int itemsize) {
  if (rows == 1) {
    k.load_strided(to, from, inner, columns, itemsize);
  } else if (columns > 1 && inner != 0 && inner != 1) {
    k.load_transposed(to, from, rows, columns, outer, inner, itemsize);
  } else {
    int64_t row_bytes = columns * itemsize;
    for (int64_t r = 0; r < rows; ++r, to += row_bytes) {
      if (r > 0 && outer == 0)
        std::memcpy(to, to - row_bytes, row_bytes);
      else
        k.load_strided(to, from + r * outer * itemsize, inner, columns, itemsize);
    }
  }
}

/// Ops that cost little more than the pass over memory.
bool cheap(OpId op) {
  return op == OpId::add || op == OpId::subtract || op == OpId::multiply || op == OpId::divide ||
         op == OpId::maximum || op == OpId::minimum || op == OpId::copy || op == OpId::cast;
}

int arity_of(OpId op) {
  static constexpr uint8_t arity[] = {
#define E(name, n, ...) n,
#include "mlx/ops/elementwise.def"
#undef E
      1, 1};
  return arity[static_cast<int>(op)];
}

}  // namespace

struct FusedCode {
  const ElementwiseKernels* isa;
  Shape loop;             // iteration axes, outermost first; at least one
  int64_t rows, columns;  // of a tile
  int64_t tile;           // elements a tile slot holds
  int64_t elements;
  std::vector<Operand> operands;
  int n_inputs;
  std::vector<int> constant_tiles, constant_sizes;
  std::vector<Dtype::Val> constants;
  std::vector<Micro> code;
  std::vector<int> slot_of;          // value -> tile slot; operands of path direct have none
  std::vector<int> output_values;    // value of each output
  std::vector<uint32_t> read_later;  // per output: inputs read after it is written
  std::vector<bool> reread;          // per output: a later micro-op reads it
  int n_tiles = 0;
  int64_t tile_bytes;
  double cost;               // nanoseconds an element, one thread, roughly
  bool streams;              // larger than the caches: bypass them when storing
  bool only_copies = false;  // one input to one output as it is

  void choose_loops(const Step& step);
  void choose_tile();
  void compile(const Step& step);
  void add_code(const Program& p);
  void assign_tiles(const Program& p);
  void estimate(const Step& step);
  int64_t tile_count() const {
    int64_t n = (loop.back() + columns - 1) / columns;
    for (size_t k = 0; k + 1 < loop.size(); ++k)
      n *= k + 2 == loop.size() ? (loop[k] + rows - 1) / rows : loop[k];
    return n;
  }
};

namespace {

/// Axes in the order in which the first output lies, merged where every operand allows.
void loop_axes(const Step& step, Shape& loop, std::vector<Strides>& strides) {
  const Layout& out = step.operands[step.n_inputs];
  std::vector<int> order;
  for (size_t i = 0; i < out.shape.size(); ++i)
    if (out.shape[i] != 1) order.push_back(static_cast<int>(i));
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return out.strides[a] > out.strides[b]; });
  for (int k : order) loop.push_back(out.shape[k]);
  for (const Layout& l : step.operands) {
    Strides s;
    for (int k : order) s.push_back(l.strides[k]);
    strides.push_back(std::move(s));
  }
  collapse_axes(loop, strides);
}

}  // namespace

void FusedCode::choose_loops(const Step& step) {
  std::vector<Strides> strides;
  loop_axes(step, loop, strides);
  elements = num_elements(loop);
  for (size_t k = 0; k < step.operands.size(); ++k)
    operands.push_back({strides[k], step.operands[k].dtype.size(), Path::direct});
}

/// A tile is `rows` x `columns` of the two innermost axes: whole rows where they are short, a piece
/// of one row where they are long, a square where an input runs along the rows.
void FusedCode::choose_tile() {
  int64_t inner = loop.back(), outer = loop.size() > 1 ? loop[loop.size() - 2] : 1;
  bool across = false;
  for (int k = 0; k < n_inputs; ++k) {
    const Strides& s = operands[k].strides;
    across |=
        s.size() > 1 && s.back() != 0 && std::abs(s.back()) != 1 && std::abs(s[s.size() - 2]) == 1;
  }
  if (across && inner >= kBlock && outer >= kBlock) {
    rows = columns = kBlock;
    if (rows * columns > tile) rows = std::max<int64_t>(8, tile / columns);
  } else {
    columns = std::min(inner, tile);
    rows = columns < inner ? 1 : std::clamp<int64_t>(tile / std::max<int64_t>(inner, 1), 1, outer);
  }
  for (auto& o : operands) {
    const Strides& s = o.strides;
    bool row = s.back() == 1 || columns == 1;
    bool joined = rows == 1 || (columns == inner && s.size() > 1 && s[s.size() - 2] == inner);
    o.path = row && joined ? Path::direct : Path::packed;
  }
  tile = std::max<int64_t>(rows * columns, 1);
}

namespace {

/// Finds runs of micro-ops that one kernel does in a single pass, each rounded on its own.
class Combiner {
 public:
  Combiner(const Program& p, const ElementwiseKernels& isa) : p_(p), isa_(isa) {
    uses_.assign(p.first_instr() + p.code.size(), 0);
    for (const Instr& i : p.code) {
      const uint16_t args[] = {i.a, i.b, i.c};
      for (int k = 0; k < arity_of(i.op); ++k) ++uses_[args[k]];
    }
    for (uint16_t v : p.outputs) uses_[v] += 2;  // a stored value needs a result of its own
  }

  /// The micro-op that starts at instruction `k`; moves `k` past what it covers.
  Micro next(size_t& k) const {
    Micro m;
    if (p_.code[k].type == Dtype::Val::float32 && (wrapped(k, m) || chain(k, m) || pair(k, m)))
      return m;
    const Instr& i = p_.code[k];
    m.run = i.op == OpId::cast ? isa_.find_cast(i.type, i.out) : isa_.find_tile(i.op, i.type);
    m.streaming = i.op == OpId::cast ? nullptr : isa_.find_tile_nt(i.op, i.type);
    if (!m.run)
      fail<TypeError>("eval", "no kernel for elementwise op ", static_cast<int>(i.op), " on ",
                      dtype_name(i.type));
    m.args = {i.a, i.b, i.c};
    m.args.resize(arity_of(i.op));
    m.result = value(k++);
    return m;
  }

 private:
  uint16_t value(size_t k) const { return static_cast<uint16_t>(p_.first_instr() + k); }

  /// True where instruction k + 1 is the only reader of k's value, and reads it once.
  bool leads_on(size_t k) const {
    if (k + 1 >= p_.code.size() || uses_[value(k)] != 1) return false;
    const Instr& i = p_.code[k + 1];
    if (i.type != Dtype::Val::float32) return false;
    return i.a == value(k) || (arity_of(i.op) > 1 && i.b == value(k));
  }
  /// The operand of a binary instruction that is not `v`.
  static uint16_t other(const Instr& i, uint16_t v) { return i.a == v ? i.b : i.a; }
  static bool commutes(OpId op) { return op == OpId::add || op == OpId::multiply; }

  bool wrapped(size_t& k, Micro& m) const {
    size_t at = k;
    bool scaled = p_.code[at].op == OpId::multiply && leads_on(at);
    if (scaled) ++at;
    const Instr& f = p_.code[at];
    if (arity_of(f.op) != 1 || f.type != Dtype::Val::float32) return false;
    bool tail = leads_on(at) && commutes(p_.code[at + 1].op);
    OpId after = tail ? p_.code[at + 1].op : OpId::copy;
    if (!scaled && !tail) return false;
    m.run = isa_.find_wrapped(f.op, scaled, after);
    if (!m.run) return false;
    m.args = {scaled ? p_.code[k].a : f.a};
    if (scaled) m.args.push_back(p_.code[k].b);
    if (tail) m.args.push_back(other(p_.code[at + 1], value(at)));
    at += tail;
    m.result = value(at);
    k = at + 1;
    return true;
  }

  bool chain(size_t& k, Micro& m) const {
    auto simple = [](OpId op) { return commutes(op) || op == OpId::subtract; };
    if (!simple(p_.code[k].op)) return false;
    OpId ops[4] = {p_.code[k].op};
    m.args = {p_.code[k].a, p_.code[k].b};
    int length = 1;
    size_t at = k;
    while (length < 4 && leads_on(at)) {
      const Instr& i = p_.code[at + 1];
      if (!simple(i.op) || (i.op == OpId::subtract && i.a != value(at))) break;
      m.args.push_back(other(i, value(at)));
      ops[length++] = i.op;
      ++at;
    }
    if (length < 2) return false;
    m.run = isa_.find_chain(ops, length, false);
    m.streaming = isa_.find_chain(ops, length, true);
    m.result = value(at);
    k = at + 1;
    return m.run;
  }

  bool pair(size_t& k, Micro& m) const {
    const Instr& i = p_.code[k];
    if (arity_of(i.op) != 2 || !leads_on(k)) return false;
    const Instr& j = p_.code[k + 1];
    if (arity_of(j.op) != 2) return false;
    m.run = isa_.find_pair(i.op, j.op, j.b == value(k));
    if (!m.run) return false;
    m.args = {i.a, i.b, other(j, value(k))};
    m.result = value(k + 1);
    k += 2;
    return true;
  }

  const Program& p_;
  const ElementwiseKernels& isa_;
  std::vector<int> uses_;
};

}  // namespace

void FusedCode::add_code(const Program& p) {
  Combiner combiner(p, *isa);
  for (size_t k = 0; k < p.code.size();) code.push_back(combiner.next(k));
}

/// Tile slots: packed operands and constants keep theirs; results share them by lifetime.
void FusedCode::assign_tiles(const Program& p) {
  int first = p.first_instr();
  slot_of.assign(first + p.code.size(), -1);
  for (auto& o : operands)
    if (o.path == Path::packed) o.tile = n_tiles++;
  for (int k = 0; k < n_inputs; ++k) slot_of[k] = operands[k].tile;
  for (size_t c = 0; c < constants.size(); ++c) slot_of[n_inputs + c] = n_tiles++;
  std::vector<int> last(slot_of.size(), -1), output_of(slot_of.size(), -1);
  for (size_t k = 0; k < code.size(); ++k)
    for (uint16_t a : code[k].args) last[a] = static_cast<int>(k);
  for (size_t o = 0; o < p.outputs.size(); ++o) output_of[p.outputs[o]] = static_cast<int>(o);
  read_later.assign(p.outputs.size(), 0);
  reread.assign(p.outputs.size(), false);
  std::vector<int> free;
  for (size_t k = 0; k < code.size(); ++k) {
    int v = code[k].result;
    if (int o = output_of[v]; o >= 0) {
      // Outputs keep a tile in reserve: they may not be written in place while inputs are read
      // later.
      Operand& operand = operands[n_inputs + o];
      if (operand.tile < 0) operand.tile = n_tiles++;
      slot_of[v] = operand.tile;
      reread[o] = last[v] >= 0;
      for (int i = 0; i < n_inputs && i < 32; ++i)
        if (last[i] > static_cast<int>(k)) read_later[o] |= 1u << i;
    } else {
      if (free.empty()) free.push_back(n_tiles++);
      slot_of[v] = free.back();
      free.pop_back();
    }
    const auto& args = code[k].args;
    for (size_t a = 0; a < args.size(); ++a) {
      int u = args[a];
      bool again = std::find(args.begin(), args.begin() + a, u) != args.begin() + a;
      if (u >= first && output_of[u] < 0 && last[u] == static_cast<int>(k) && !again)
        free.push_back(slot_of[u]);
    }
  }
}

void FusedCode::estimate(const Step& step) {
  double bytes = 0;
  for (const Operand& o : operands) {
    bool broadcast = std::find(o.strides.begin(), o.strides.end(), 0) != o.strides.end();
    bytes += broadcast ? 0 : o.itemsize;
  }
  cost = bytes / 20 + 0.05 * static_cast<double>(code.size());
  for (const Instr& i : step.program.code) cost += cheap(i.op) ? 0 : 0.3;
  streams = bytes * static_cast<double>(elements) >= static_cast<double>(l3_size());
}

void FusedCode::compile(const Step& step) {
  const Program& p = step.program;
  isa = &loaded_kernels();
  n_inputs = step.n_inputs;
  constants = p.constants;
  choose_loops(step);
  add_code(p);
  int widest = 1;
  for (const Instr& i : p.code)
    widest = std::max({widest, int{Dtype(i.type).size()}, int{Dtype(i.out).size()}});
  for (const Operand& o : operands) widest = std::max(widest, o.itemsize);
  int64_t live =
      static_cast<int64_t>(operands.size() + std::min<size_t>(code.size(), 4) + constants.size());
  tile = kMaxTile;
  while (tile > 64 && live * tile * widest > kTileBytes) tile /= 2;
  choose_tile();
  for (uint16_t v : p.outputs) output_values.push_back(v);
  assign_tiles(p);
  tile_bytes = (tile * widest + 63) / 64 * 64;
  estimate(step);
  only_copies =
      n_inputs == 1 && constants.empty() && p.code.size() == 1 && p.code[0].op == OpId::copy;
}

namespace {

/// One thread's pass over a range of tiles.
class Worker {
 public:
  Worker(const FusedCode& c, void* const* operands, const Scalar* constants, char* tiles);
  void run(int64_t begin, int64_t end);

 private:
  void start(int64_t index);
  void load(int k, int64_t rows, int64_t columns);
  void store(int k, int64_t rows, int64_t columns);
  void advance();

  const FusedCode& c_;
  char* const* base_;
  char* tiles_;
  std::vector<void*> value_;         // address of each value in this tile
  std::vector<bool> indirect_;       // outputs that go through their tile
  std::vector<const char*> loaded_;  // what a packed input's tile holds
  std::vector<TileFn> run_;
  std::vector<int64_t> position_;  // element index per loop axis
  std::vector<char*> at_;          // address of the tile's first element, per operand
  int64_t loaded_rows_ = 0, loaded_columns_ = 0;
};

Worker::Worker(const FusedCode& c, void* const* operands, const Scalar* constants, char* tiles)
    : c_(c),
      base_(reinterpret_cast<char* const*>(operands)),
      tiles_(tiles),
      value_(c.slot_of.size()),
      indirect_(c.output_values.size()),
      loaded_(c.operands.size(), nullptr),
      position_(c.loop.size(), 0),
      at_(c.operands.size()) {
  for (size_t v = 0; v < value_.size(); ++v)
    if (c.slot_of[v] >= 0) value_[v] = tiles_ + c.slot_of[v] * c.tile_bytes;
  for (size_t k = 0; k < c.constants.size(); ++k)
    c.isa->fill(value_[c.n_inputs + k], constants[k].bytes, std::min(c.tile, c.elements),
                Dtype(c.constants[k]).size());
  for (size_t o = 0; o < indirect_.size(); ++o) {
    const auto& operand = c.operands[c.n_inputs + o];
    indirect_[o] = operand.path == Path::packed;
    for (int i = 0; i < c.n_inputs && i < 32; ++i)
      if ((c.read_later[o] >> i & 1) && operands[i] == operands[c.n_inputs + o])
        indirect_[o] = true;
  }
  for (const Micro& m : c.code) {
    auto out = std::find(c.output_values.begin(), c.output_values.end(), m.result);
    size_t o = out - c.output_values.begin();
    bool nt = c.streams && m.streaming && o < indirect_.size() && !indirect_[o] && !c.reread[o];
    for (int i = 0; nt && i < c.n_inputs; ++i) nt = operands[i] != operands[c.n_inputs + o];
    run_.push_back(nt ? m.streaming : m.run);
  }
}

void Worker::start(int64_t index) {
  for (int k = static_cast<int>(c_.loop.size()) - 1; k >= 0; --k) {
    int64_t step = k + 1 == static_cast<int>(c_.loop.size())   ? c_.columns
                   : k + 2 == static_cast<int>(c_.loop.size()) ? c_.rows
                                                               : 1;
    int64_t n = (c_.loop[k] + step - 1) / step;
    position_[k] = index % n * step;
    index /= n;
  }
}

void Worker::advance() {
  for (int k = static_cast<int>(c_.loop.size()) - 1; k >= 0; --k) {
    position_[k] += k + 1 == static_cast<int>(c_.loop.size())   ? c_.columns
                    : k + 2 == static_cast<int>(c_.loop.size()) ? c_.rows
                                                                : 1;
    if (position_[k] < c_.loop[k]) return;
    position_[k] = 0;
  }
}

void Worker::load(int k, int64_t rows, int64_t columns) {
  const Operand& o = c_.operands[k];
  if (loaded_[k] == at_[k] && loaded_rows_ == rows && loaded_columns_ == columns) return;
  loaded_[k] = at_[k];
  int64_t inner = o.strides.back();
  int64_t outer = o.strides.size() > 1 ? o.strides[o.strides.size() - 2] : 0;
  load_block(*c_.isa, tiles_ + o.tile * c_.tile_bytes, at_[k], rows, columns, outer, inner,
             o.itemsize);
}

void Worker::store(int k, int64_t rows, int64_t columns) {
  const Operand& o = c_.operands[k];
  int64_t outer = o.strides.size() > 1 ? o.strides[o.strides.size() - 2] : columns;
  const char* from = tiles_ + o.tile * c_.tile_bytes;
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(at_[k] + r * outer * o.itemsize, from + r * columns * o.itemsize,
                columns * o.itemsize);
}

void Worker::run(int64_t begin, int64_t end) {
  start(begin);
  size_t rank = c_.loop.size();
  for (int64_t t = begin; t < end; ++t, advance()) {
    int64_t columns = std::min(c_.columns, c_.loop[rank - 1] - position_[rank - 1]);
    int64_t rows = rank > 1 ? std::min(c_.rows, c_.loop[rank - 2] - position_[rank - 2]) : 1;
    for (size_t k = 0; k < c_.operands.size(); ++k) {
      const Operand& o = c_.operands[k];
      int64_t offset = 0;
      for (size_t d = 0; d < rank; ++d) offset += position_[d] * o.strides[d];
      at_[k] = base_[k] + offset * o.itemsize;
      if (static_cast<int>(k) < c_.n_inputs) {
        if (o.path == Path::direct)
          value_[k] = at_[k];
        else
          load(static_cast<int>(k), rows, columns);
      } else if (size_t out = k - c_.n_inputs; !indirect_[out]) {
        value_[c_.output_values[out]] = at_[k];
      }
    }
    loaded_rows_ = rows;
    loaded_columns_ = columns;
    int64_t n = rows * columns;
    for (size_t k = 0; k < c_.code.size(); ++k) {
      const Micro& m = c_.code[k];
      const void* in[5];
      for (size_t a = 0; a < m.args.size(); ++a) in[a] = value_[m.args[a]];
      run_[k](in, value_[m.result], n);
    }
    for (size_t out = 0; out < indirect_.size(); ++out)
      if (indirect_[out]) store(c_.n_inputs + static_cast<int>(out), rows, columns);
  }
  if (c_.streams) c_.isa->fence();
}

}  // namespace

FusedKernel::FusedKernel(const Step& step) {
  auto code = std::make_unique<FusedCode>();
  code->compile(step);
  code_ = std::move(code);
}
FusedKernel::~FusedKernel() = default;
FusedKernel::FusedKernel(FusedKernel&&) noexcept = default;

void FusedKernel::run(void* const* operands, const Scalar* constants) const {
  const FusedCode& c = *code_;
  if (c.only_copies && operands[0] != operands[1])
    return copy_strided(operands[0], c.operands[0].strides, operands[1], c.operands[1].strides,
                        c.loop, c.operands[0].itemsize);
  int64_t tiles = c.tile_count();
  auto range = [&](int64_t begin, int64_t end) {
    size_t bytes = c.n_tiles * c.tile_bytes;
    alignas(64) char local[32 << 10];
    if (bytes <= sizeof(local)) {
      Worker(c, operands, constants, local).run(begin, end);
    } else {
      Scratch scratch(bytes);
      Worker(c, operands, constants, scratch.get<char>()).run(begin, end);
    }
  };
  int64_t grain = std::max<int64_t>(1, std::min<int64_t>(128, tiles / 8));
  parallel_for(tiles, grain, range, c.cost * static_cast<double>(c.elements));
}

}  // namespace mlx::core::cpu
