// Runs the compiled code of a fused program over tiles.
#include <algorithm>
#include <cstring>
#include <optional>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/fused_chains.h"
#include "mlx/backend/cpu/fused_code.h"
#include "mlx/backend/cpu/fused_load.h"
#include "mlx/backend/cpu/fused_numbers.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

/// One thread's pass over a range of tiles.
class Worker {
 public:
  Worker(const FusedCode& c, void* const* operands, const Scalar* constants,
         std::vector<Chain> chains, char* tiles, char* blocks);
  void run(int64_t begin, int64_t end);
  /// Computes elements in row-major order.
  void run_elements(int64_t first, int64_t n);
  /// Forgets what was packed of inputs, whose content has changed.
  void forget() { std::fill(loaded_.begin(), loaded_.end(), nullptr); }

 private:
  void run_tiles(int64_t begin, int64_t end);
  void set_moves();
  void start(int64_t index);
  void load(int k);
  char* load_box(const Operand& o, char* to, const char* from, size_t axis) const;
  const char* store_box(const Operand& o, char* to, const char* from, size_t axis) const;
  char* address(size_t k) const;
  void place();
  void run_tile();
  void run_code(int64_t n);
  void run_pieces(int64_t first, int64_t n);
  void run_pair();
  void generate(const Micro& m);
  void run_block();
  void run_chain(Chain& chain, int64_t n);
  void finish_chain(Chain& chain, int64_t done, int64_t left);
  void advance();

  const FusedCode& c_;
  char* const* base_;
  char *tiles_, *blocks_;
  SmallVector<void*, 24> value_;        // address of each value in this tile
  SmallVector<bool, 8> indirect_;       // outputs that are stored through their tile
  SmallVector<const char*, 8> loaded_;  // source address of a packed input's tile
  SmallVector<TileFn, 8> run_;
  std::vector<Chain> chains_;
  Shape position_;            // element index per loop axis
  Shape extent_;              // extent of the current tile
  Shape loaded_extent_;       // extent of the tiles of the packed inputs
  SmallVector<char*, 8> at_;  // address of the tile's first element, per operand
  bool second_ = false;       // this is the second tile of a pair
  /// The distances of an operand between pieces of rows, if all operands lie in memory.
  struct Move {
    int64_t row, element;  // bytes
    int value;             // at that address, or -1
  };
  SmallVector<Move, 8> moves_;
};

Worker::Worker(const FusedCode& c, void* const* operands, const Scalar* constants,
               std::vector<Chain> chains, char* tiles, char* blocks)
    : c_(c),
      base_(reinterpret_cast<char* const*>(operands)),
      tiles_(tiles),
      blocks_(blocks),
      value_(c.slot_of.size()),
      indirect_(c.output_values.size()),
      loaded_(c.operands.size()),
      chains_(std::move(chains)),
      position_(c.loop.size()),
      extent_(c.loop.size(), 1),
      at_(c.operands.size()) {
  for (size_t v = 0; v < value_.size(); ++v)
    if (c.slot_of[v] >= 0) value_[v] = tiles_ + c.slot_of[v] * c.tile_bytes;
  for (size_t k = 0; k < c.constants.size(); ++k)
    if (void* slot = value_[c.n_inputs + k])
      c.isa->fill(slot, constants[k].bytes, std::min(c.tile, c.elements),
                  Dtype(c.constants[k]).size());
  for (size_t o = 0; o < indirect_.size(); ++o) {
    const auto& operand = c.operands[c.n_inputs + o];
    indirect_[o] = operand.path == Path::packed;
    for (int i = 0; i < c.n_inputs && i < 32; ++i)
      if ((c.read_later[o] >> i & 1) && operands[i] == operands[c.n_inputs + o])
        indirect_[o] = true;
  }
  auto bypasses = [&](uint16_t value) {
    auto out = std::find(c.output_values.begin(), c.output_values.end(), value);
    size_t o = out - c.output_values.begin();
    bool nt =
        o < indirect_.size() && c.operands[c.n_inputs + o].far && !indirect_[o] && !c.reread[o];
    for (int i = 0; nt && i < c.n_inputs; ++i) nt = operands[i] != operands[c.n_inputs + o];
    return nt;
  };
  set_moves();
  for (const Micro& m : c.code)
    run_.push_back(m.streaming && bypasses(m.result) ? m.streaming : m.tile);
  for (Chain& chain : chains_)
    for (Chain::Use& u : chain.uses) u.streams = u.writes && bypasses(u.value);
}

void Worker::set_moves() {
  const size_t rank = c_.loop.size();
  if (c_.piece || c_.shift || rank > 2 || (rank == 2 && c_.box[0] != 1)) return;
  for (const Operand& o : c_.operands)
    if (o.tile >= 0) return;
  for (size_t k = 0; k < c_.operands.size(); ++k) {
    const Operand& o = c_.operands[k];
    const bool out = k >= static_cast<size_t>(c_.n_inputs), direct = o.path == Path::direct;
    moves_.push_back({rank == 2 ? o.strides[0] * o.itemsize : 0, o.strides.back() * o.itemsize,
                      out      ? c_.output_values[k - c_.n_inputs]
                      : direct ? static_cast<int>(k)
                               : -1});
  }
}

void Worker::start(int64_t index) {
  for (int k = static_cast<int>(c_.loop.size()) - 1; k >= 0; --k) {
    int64_t n = (c_.passes[k] + c_.box[k] - 1) / c_.box[k];
    position_[k] = index % n * c_.box[k];
    index /= n;
  }
}

void Worker::advance() {
  for (int k = static_cast<int>(c_.loop.size()) - 1; k >= 0; --k) {
    position_[k] += c_.box[k];
    if (position_[k] < c_.passes[k]) return;
    position_[k] = 0;
  }
}

void Worker::load(int k) {
  const Operand& o = c_.operands[k];
  if (loaded_[k] == at_[k] && loaded_extent_ == extent_) return;
  loaded_[k] = at_[k];
  load_box(o, tiles_ + o.tile * c_.tile_bytes, at_[k], 0);
}

/// Packs the tile's part of an operand from an axis on; returns the end of the packed data.
char* Worker::load_box(const Operand& o, char* to, const char* from, size_t axis) const {
  const size_t rank = extent_.size();
  if (axis + 2 >= rank) {
    const bool two = rank > 1;
    const int64_t rows = two ? extent_[rank - 2] : 1, columns = extent_[rank - 1];
    load_block(*c_.isa, to, from, rows, columns, two ? o.strides[rank - 2] : 0, o.strides.back(),
               o.itemsize);
    return to + rows * columns * o.itemsize;
  }
  const char* first = to;
  for (int64_t i = 0; i < extent_[axis]; ++i) {
    if (i == 0 || o.strides[axis] != 0) {
      first = to;
      to = load_box(o, to, from + i * o.strides[axis] * o.itemsize, axis + 1);
    } else {
      const size_t bytes = static_cast<size_t>(to - first) / i;
      copy_bytes(to, first, static_cast<int64_t>(bytes));
      to += bytes;
    }
  }
  return to;
}

/// The inverse, from the tile to memory; returns the end of the data that was read.
const char* Worker::store_box(const Operand& o, char* to, const char* from, size_t axis) const {
  if (axis + 1 == extent_.size()) {
    const int64_t bytes = extent_[axis] * o.itemsize;
    copy_bytes(to, from, bytes);
    return from + bytes;
  }
  if (axis + 2 == extent_.size() && extent_[axis + 1] * o.itemsize <= kShortRowBytes) {
    const int64_t bytes = extent_[axis + 1] * o.itemsize;
    copy_rows_of_bytes(from, bytes, to, o.strides[axis] * o.itemsize, bytes, extent_[axis]);
    return from + extent_[axis] * bytes;
  }
  for (int64_t i = 0; i < extent_[axis]; ++i)
    from = store_box(o, to + i * o.strides[axis] * o.itemsize, from, axis + 1);
  return from;
}

char* Worker::address(size_t k) const {
  const Operand& o = c_.operands[k];
  int64_t offset = 0;
  for (size_t d = 0; d < c_.loop.size(); ++d) offset += position_[d] * o.strides[d];
  return base_[k] + offset * o.itemsize;
}

/// Sets the operand addresses of the tile at the current position, and packs inputs; blocked inputs
/// are already in place.
void Worker::place() {
  for (size_t k = 0; k < c_.operands.size(); ++k) {
    const Operand& o = c_.operands[k];
    at_[k] = address(k);
    if (static_cast<int>(k) < c_.n_inputs) {
      if (o.path == Path::direct)
        value_[k] = at_[k];
      else if (o.tile >= 0)
        load(static_cast<int>(k));
    } else if (size_t out = k - c_.n_inputs; !indirect_[out]) {
      value_[c_.output_values[out]] = at_[k];
    }
  }
  loaded_extent_ = extent_;
}

void Worker::run_chain(Chain& chain, int64_t n) {
  const LinkKernels& k = c_.isa->links();
  set_repeated(chain, k, at_.data(), n);
  int64_t bursts = n / k.burst, done = bursts * k.burst;
  if (bursts > 0) {
    for (const Chain::Use& u : chain.uses) {
      Link& link = chain.links[u.link];
      link.operand = value_[u.value];
      if (u.writes)
        link.run =
            u.streams && reinterpret_cast<uintptr_t>(link.operand) % 64 == 0 ? u.stream : u.store;
    }
    k.run(chain.links.data(), bursts);
  }
  if (done < n) finish_chain(chain, done, n - done);
}

/// The elements that do not fill a burst: computed on copies padded with the last of them.
void Worker::finish_chain(Chain& chain, int64_t done, int64_t left) {
  const LinkKernels& k = c_.isa->links();
  char* copies = tiles_ + c_.n_tiles * c_.tile_bytes;
  for (const Chain::Use& u : chain.uses) {
    char* copy = copies + u.copy * k.burst * sizeof(float);
    Link& link = chain.links[u.link];
    link.operand = copy;
    if (u.writes) link.run = u.store;
    if (!u.brings) continue;
    const char* last = copy + (left - 1) * u.itemsize;
    std::memcpy(copy, static_cast<char*>(value_[u.value]) + done * u.itemsize, left * u.itemsize);
    c_.isa->fill(copy + left * u.itemsize, last, k.burst - left, u.itemsize);
  }
  k.run(chain.links.data(), 1);
  for (const Chain::Use& u : chain.uses)
    if (u.writes)
      std::memcpy(static_cast<char*>(value_[u.value]) + done * u.itemsize,
                  copies + u.copy * k.burst * sizeof(float), left * u.itemsize);
}

void Worker::run_tile() {
  place();
  run_code(num_elements(extent_));
}

/// Computes the n elements of the tile at `at_`.
void Worker::run_code(int64_t n) {
  auto chain = chains_.begin();
  for (size_t k = 0; k < c_.code.size(); ++k) {
    const Micro& m = c_.code[k];
    if (!m.run.empty()) {
      run_chain(*chain++, n);
      continue;
    }
    if (m.numbering >= 0) {
      generate(m);
      continue;
    }
    const void* in[3];
    for (size_t a = 0; a < m.args.size(); ++a) in[a] = value_[m.args[a]];
    run_[k](in, value_[m.result], n);
  }
  for (size_t out = 0; out < indirect_.size(); ++out) {
    const size_t k = c_.n_inputs + out;
    const Operand& o = c_.operands[k];
    if (indirect_[out]) store_box(o, at_[k], tiles_ + o.tile * c_.tile_bytes, 0);
  }
}

/// Computes an instruction that reads element numbers.
void Worker::generate(const Micro& m) {
  const Numbering& how = c_.numberings[m.numbering];
  NumberedBox box{0, how.strides, extent_};
  for (size_t d = 0; d < position_.size(); ++d) box.first += position_[d] * how.strides[d];
  if (m.args.empty()) return fill_range(how, m.type, box, value_[m.result]);
  static const Strides still{};
  auto strides = [&](uint16_t v) -> const Strides& {
    return v < c_.n_inputs ? c_.operands[v].strides : still;
  };
  const KeyTiles key{static_cast<const uint32_t*>(value_[m.args[0]]),
                     static_cast<const uint32_t*>(value_[m.args[1]]), strides(m.args[0]),
                     strides(m.args[1])};
  auto* out = static_cast<uint32_t*>(value_[m.result]);
  if (!c_.shift) return fill_words(how, key, box, out);
  char* words = tiles_ + m.words * c_.tile_bytes;
  const int64_t n = num_elements(extent_);
  if (second_)
    std::memcpy(out, words, n * sizeof(uint32_t));
  else
    fill_word_pairs(how, key, box.first, n, out, reinterpret_cast<uint32_t*>(words));
}

/// Processes the tile at the current position, and the one whose random words come from the same
/// calls of the generator.
void Worker::run_pair() {
  run_tile();
  position_[0] += c_.shift;
  extent_[0] = std::min(extent_[0], c_.loop[0] - position_[0]);
  second_ = true;
  if (extent_[0] > 0) run_tile();
  second_ = false;
  position_[0] -= c_.shift;
}

/// Transposes the blocked inputs, then processes the rows.
void Worker::run_block() {
  int64_t *at = &position_.back(), *extent = &extent_.back();
  const int64_t row = at[-1], column = at[0], rows = extent[-1], columns = extent[0];
  for (int k = 0; k < c_.n_inputs; ++k) {
    const Operand& o = c_.operands[k];
    if (o.path != Path::block) continue;
    const int64_t* last = &o.strides.back();
    copy_strided(address(k), {last[-1], last[0]}, blocks_ + o.block, {columns, 1}, {rows, columns},
                 o.itemsize);
  }
  extent[-1] = 1;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; c += c_.piece) {
      at[-1] = row + r;
      at[0] = column + c;
      for (int k = 0; k < c_.n_inputs; ++k)
        if (const Operand& o = c_.operands[k]; o.path == Path::block)
          value_[k] = blocks_ + o.block + (r * columns + c) * o.itemsize;
      extent[0] = std::min(c_.piece, columns - c);
      run_tile();
    }
  }
  at[-1] = row;
  at[0] = column;
}

void Worker::run(int64_t begin, int64_t end) {
  if (moves_.empty()) {
    run_tiles(begin, end);
  } else {
    const int64_t length = c_.loop.back(), piece = c_.box.back();
    // Divisions take longer than a short row.
    const int64_t pieces = piece >= length ? 1 : (length + piece - 1) / piece;
    auto first = [&](int64_t t) {
      return pieces == 1 ? t * length : t / pieces * length + t % pieces * piece;
    };
    run_pieces(first(begin), std::min(first(end), c_.elements) - first(begin));
  }
  if (c_.streams) c_.isa->fence();
}

void Worker::run_tiles(int64_t begin, int64_t end) {
  start(begin);
  for (int64_t t = begin; t < end; ++t, advance()) {
    for (size_t k = 0; k < c_.loop.size(); ++k)
      extent_[k] = std::min(c_.box[k], c_.passes[k] - position_[k]);
    if (c_.piece)
      run_block();
    else if (c_.shift)
      run_pair();
    else
      run_tile();
  }
}

/// Computes elements of which tiles are pieces of rows, with little work for each tile.
void Worker::run_pieces(int64_t first, int64_t n) {
  const size_t last = c_.loop.size() - 1;
  const int64_t length = c_.loop[last], most = c_.box[last];
  const Move* moves = moves_.data();
  const size_t operands = moves_.size();
  char** at = at_.data();
  void** value = value_.data();
  int64_t row = 0, column = first;
  if (first >= length) row = first / length, column = first % length;
  while (n > 0) {
    const int64_t columns = std::min({most, length - column, n});
    for (size_t k = 0; k < operands; ++k) {
      const Move& m = moves[k];
      at[k] = base_[k] + row * m.row + column * m.element;
      if (m.value >= 0) value[m.value] = at[k];
    }
    position_[0] = row;
    position_[last] = column;
    extent_[last] = columns;
    run_code(columns);
    n -= columns;
    column += columns;
    if (column == length) ++row, column = 0;
  }
}

void Worker::run_elements(int64_t first, int64_t n) {
  if (!moves_.empty()) return run_pieces(first, n);
  const size_t last = c_.loop.size() - 1;
  int64_t outer = first;
  for (size_t k = last + 1; k-- > 0; outer /= c_.loop[k]) position_[k] = outer % c_.loop[k];
  while (n > 0) {
    int64_t columns = std::min({c_.box[last], c_.loop[last] - position_[last], n}), rows = 1;
    if (last > 0 && columns == c_.loop[last])
      rows = std::min({c_.box[last - 1], c_.loop[last - 1] - position_[last - 1], n / columns});
    if (last > 0) extent_[last - 1] = rows;
    extent_[last] = columns;
    run_tile();
    n -= rows * columns;
    position_[last] += columns;
    for (size_t k = last; k > 0 && position_[k] >= c_.loop[k]; --k) {
      position_[k] = 0;
      position_[k - 1] += k == last ? rows : 1;
    }
  }
}

/// Bytes of the tiles of a worker, with the copies for partial bursts.
size_t tile_memory(const FusedCode& c, const std::vector<Chain>& chains) {
  size_t copies = 0;
  for (const Chain& chain : chains)
    copies = std::max<size_t>(copies, chain.copies * c.isa->links().burst * sizeof(float));
  return c.n_tiles * c.tile_bytes + copies;
}

}  // namespace

void FusedKernel::run(void* const* operands, const Scalar* constants) const {
  const FusedCode& c = *code_;
  if (c.only_copies && operands[0] != operands[1])
    return copy_strided(operands[0], c.operands[0].strides, operands[1], c.operands[1].strides,
                        c.loop, c.operands[0].itemsize);
  const int64_t count = c.tile_count();
  std::vector<Chain> chains = chains_for(c, constants);
  size_t bytes = tile_memory(c, chains) + c.block_bytes;
  auto range = [&](int64_t begin, int64_t end) {
    alignas(64) char local[32 << 10];
    std::optional<Scratch> scratch;
    char* tiles = bytes <= sizeof(local) ? local : scratch.emplace(bytes).get<char>();
    const bool alone = begin == 0 && end == count;
    Worker(c, operands, constants, alone ? std::move(chains) : chains, tiles,
           tiles + bytes - c.block_bytes)
        .run(begin, end);
  };
  int64_t grain =
      std::max<int64_t>(1, std::min((int64_t{64} << 10) / num_elements(c.box), count / 8));
  parallel_for(count, grain, range, c.cost * static_cast<double>(c.elements));
}

bool FusedKernel::is_small() const {
  const FusedCode& c = *code_;
  constexpr int64_t kFew = 4096;  // elements
  return !c.only_copies && !c.streams && c.tile_count() == 1 && c.elements <= kFew;
}

// --- many runs

struct FusedRun::Impl {
  Scratch tiles;
  Worker worker;
  Impl(const FusedCode& c, void* const* operands, const Scalar* constants,
       std::vector<Chain> chains)
      : tiles(tile_memory(c, chains) + c.block_bytes),
        worker(c, operands, constants, chains, tiles.get<char>(),
               tiles.get<char>() + tile_memory(c, chains)) {}
};

FusedRun::FusedRun(const FusedKernel& kernel, void* const* operands, const Scalar* constants)
    : impl_(new Impl(*kernel.code_, operands, constants, chains_for(*kernel.code_, constants))) {}
FusedRun::~FusedRun() = default;
void FusedRun::run() {
  impl_->worker.forget();
  impl_->worker.run(0, 1);
}

// --- elements on demand

struct FusedSource::Impl {
  const FusedCode& code;
  void* const* operands;
  const Scalar* constants;
  std::vector<Chain> chains;
};

FusedSource::FusedSource(const FusedKernel& kernel, void* const* operands, const Scalar* constants)
    : impl_(new Impl{*kernel.code_, operands, constants, chains_for(*kernel.code_, constants)}) {}
FusedSource::~FusedSource() = default;
double FusedSource::cost() const {
  return impl_->code.cost * static_cast<double>(impl_->code.elements);
}

struct FusedSource::Reader::Impl {
  explicit Impl(const FusedSource::Impl& s)
      : tiles(tile_memory(s.code, s.chains)),
        operands(s.operands, s.operands + s.code.operands.size()),
        itemsize(s.code.operands.back().itemsize),
        worker(s.code, operands.data(), s.constants, s.chains, tiles.get<char>(), nullptr) {}
  Scratch tiles;
  std::vector<void*> operands;
  int itemsize;
  Worker worker;
};

FusedSource::Reader::Reader(const FusedSource& source) : impl_(new Impl(*source.impl_)) {}
FusedSource::Reader::~Reader() = default;
void FusedSource::Reader::read(int64_t first, int64_t n, void* out) {
  // The result's address is set such that this range is written to `out`.
  impl_->operands.back() =
      reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(out) - first * impl_->itemsize);
  impl_->worker.run_elements(first, n);
}

// --- rows of a unit

struct FusedRows::Impl {
  const FusedCode& code;
  Worker worker;
};

size_t FusedRows::memory(const FusedKernel& kernel) {
  return tile_memory(*kernel.code_, kernel.code_->chains);
}
FusedRows::FusedRows(const FusedKernel& kernel, void* const* operands, const Scalar* constants,
                     void* memory)
    : impl_(new Impl{*kernel.code_, Worker(*kernel.code_, operands, constants,
                                           chains_for(*kernel.code_, constants),
                                           static_cast<char*>(memory), nullptr)}) {}
FusedRows::~FusedRows() = default;
FusedRows::FusedRows(FusedRows&&) noexcept = default;
void FusedRows::run(int64_t first, int64_t n) {
  impl_->worker.forget();
  impl_->worker.run_elements(first, n);
}
void FusedRows::finish() {
  if (impl_->code.streams) impl_->code.isa->fence();
}

}  // namespace mlx::core::cpu
