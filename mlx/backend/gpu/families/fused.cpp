// Launches of printed programs: their walks, arguments and kernels.
#include "mlx/backend/gpu/families/fused.h"

#include <algorithm>
#include <cstring>

namespace mlx::core::gpu {

namespace {

constexpr int64_t kFusedThreads = 256;
constexpr int64_t kLeastTiledSide = 16, kLeastTiled = 4096;  // elements of what tiles pay for

bool is_wide(int64_t count) { return count > INT64_C(0x7fffffff); }

Walk walk_of(const Shape& shape, const Strides& strides, const Strides& dense) {
  bool scalar = true, same = true;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] <= 1) continue;
    scalar = scalar && strides[d] == 0;
    same = same && strides[d] == dense[d];
  }
  if (same || scalar) return same ? Walk::dense : Walk::scalar;
  return strides.back() == 1 ? Walk::rows : strides.back() == 0 ? Walk::columns : Walk::strided;
}
bool is_along(Walk w) { return w == Walk::dense || w == Walk::rows; }

/// The axis, of `shape`, along which an operand's elements are neighbours; or -1.
int across_axis(const Shape& shape, const Strides& strides) {
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    if (strides[d] == 1 && shape[d] >= kLeastTiledSide) return static_cast<int>(d);
  return -1;
}
/// Plans tiles, of at most `most` bytes, for inputs across the last axis, along which a cache line
/// has one element.
void plan_tiles(const Program& p, const Shape& shape, const std::vector<Strides>& strides,
                int64_t most, ProgramForm& form) {
  if (shape.back() < kLeastTiledSide || num_elements(shape) < kLeastTiled) return;
  for (size_t k = p.inputs.size(); k < form.operands.size(); ++k)
    if (!is_along(form.operands[k])) return;
  int64_t bytes = 0;
  for (size_t k = 0; k < p.inputs.size(); ++k) {
    const int axis = form.operands[k] == Walk::strided ? across_axis(shape, strides[k]) : -1;
    if (axis < 0 || (bytes > 0 && axis != form.tile_axis)) continue;
    const int64_t size = Dtype(p.inputs[k]).size();
    if ((bytes + size) * 32 * 33 > most) continue;
    bytes += size;
    form.tile_axis = axis;
    form.operands[k] = Walk::across;
  }
  if (bytes == 0) return;
  form.tile = bytes * 64 * 65 <= most ? 64 : 32;
  auto with_strides = [](Walk& w) {
    if (w != Walk::scalar && w != Walk::across) w = Walk::strided;
  };
  for (Walk& w : form.operands) with_strides(w);
  for (Walk& w : form.numberings) with_strides(w);
  form.wide = false;
}
/// Whether rows of V neighbours begin at multiples of V elements.
bool begins_at_multiples(const Layout& l, const Shape& shape, const Strides& strides, int v) {
  if (l.offset % v != 0) return false;
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    if (shape[d] > 1 && strides[d] % v != 0) return false;
  return true;
}
/// Plans vectors where all operands lie along the last axis; else all are merely strided.
void plan_vectors(const Step& step, const Shape& shape, const std::vector<Strides>& strides,
                  ProgramForm& form) {
  const Program& p = step.program;
  bool along = true;
  for (size_t k = 0; k < form.operands.size(); ++k) {
    const Walk w = form.operands[k];
    along = along && (k < p.inputs.size() ? w != Walk::strided : is_along(w));
  }
  for (Walk w : form.numberings) along = along && w != Walk::strided;
  if (along) {
    form.vector = widest_vector(p, form);
    while (!form.all_dense() && shape.back() % form.vector) form.vector /= 2;
    // A thread would write neighbours one by one, far from those of the next thread.
    for (size_t k = step.n_inputs; k < step.operands.size(); ++k)
      while (!begins_at_multiples(step.operands[k], shape, strides[k], form.vector))
        form.vector /= 2;
  }
  if (form.vector > 1) return;
  auto plain = [](Walk& w) {
    if (ProgramForm::has_strides(w)) w = Walk::strided;
  };
  for (Walk& w : form.operands) plain(w);
  for (Walk& w : form.numberings) plain(w);
}

/// Puts axes into the order in which a result has them in memory, so that neighbouring threads
/// write neighbours.
void order_axes(Shape& shape, std::vector<Strides>& strides, size_t result) {
  SmallVector<int, 8> order;
  for (size_t d = 0; d < shape.size(); ++d) order.push_back(static_cast<int>(d));
  const Strides by = strides[result];
  auto precedes = [&](int a, int b) { return std::abs(by[a]) > std::abs(by[b]); };
  if (std::is_sorted(order.begin(), order.end(), precedes)) return;
  std::stable_sort(order.begin(), order.end(), precedes);
  auto permute = [&](auto& of) {
    const Shape before(of.begin(), of.end());
    for (size_t d = 0; d < order.size(); ++d) of[d] = before[order[d]];
  };
  permute(shape);
  for (Strides& s : strides) permute(s);
}

int64_t word(double x) { return std::bit_cast<int64_t>(x); }

}  // namespace

int64_t blocks_for(int64_t count) {
  return std::min<int64_t>((count + kFusedThreads - 1) / kFusedThreads, 1 << 16);
}

void Kernel::launch(const Enqueue& to, int64_t blocks, std::span<const int64_t> arguments) const {
  to.queue.enqueue({.function = function, .blocks = blocks, .arguments = arguments});
}

ProgramForm form_of(const Step& step, Shape& shape, std::vector<Strides>& strides,
                    int64_t block_memory) {
  const Program& p = step.program;
  shape = step.operands[step.n_inputs].shape;
  strides.reserve(step.operands.size() + p.numberings.size());
  for (const Layout& l : step.operands) strides.push_back(l.strides);
  for (const Numbering& n : p.numberings) strides.push_back(n.strides);
  order_axes(shape, strides, static_cast<size_t>(step.n_inputs));
  collapse_axes(shape, strides);
  const Strides dense = row_major(shape);
  ProgramForm form;
  for (size_t k = 0; k < strides.size(); ++k) {
    const Walk walk = walk_of(shape, strides[k], dense);
    if (k < step.operands.size())
      form.operands.push_back(walk);
    else
      form.numberings.push_back(walk);
  }
  const int64_t count = num_elements(shape);
  form.wide = is_wide(count);
  form.rank = form.all_dense() ? 1 : static_cast<int>(shape.size());
  if (form.rank > 1) plan_tiles(p, shape, strides, block_memory, form);
  if (form.tile == 0) plan_vectors(step, shape, strides, form);
  form.pairs = count > 0 && paired_words(p, form, count) != nullptr;
  if (takes_table(p, form, count)) form.table = ProgramForm::Table::read;
  return form;
}

FusedKernel::FusedKernel(const Step& step, DeviceState& device) {
  Shape shape;
  std::vector<Strides> strides;
  form_ = form_of(step, shape, strides, device.hardware->block_memory);
  count_ = num_elements(shape);
  const ProgramArguments at(step.program, form_);
  auto compiled = [&](const ProgramForm& form) {
    constexpr const char* kName = "program";
    return device.kernels->find(
        brief_of(step.program, form),
        [&] { return print_program(step.program, form, kName, *device.hardware->target()); },
        kName);
  };
  kernel_.function = compiled(form_);
  if (form_.table == ProgramForm::Table::read) {
    ProgramForm writes = form_;
    writes.table = ProgramForm::Table::write;
    table_ = Table{{compiled(writes)}, 1 + at.operands[1], 1 + at.table};
  }
  fill(step, at, shape, strides);
  int64_t all = 0;
  if (form_.tile) {
    auto tiles = [&](int64_t length) { return (length + form_.tile - 1) / form_.tile; };
    all = count_ ? count_ / shape.back() * tiles(shape.back()) / shape[form_.tile_axis] *
                       tiles(shape[form_.tile_axis])
                 : 0;
  } else {
    const int64_t a_block = kFusedThreads * unrolled(step.program, form_) * form_.vector;
    all = (count_ + a_block - 1) / a_block;
  }
  // Enough blocks to fill the device several times over; each goes on with what is left.
  blocks_ = std::min(all, int64_t{32} * device.processors);
}

void FusedKernel::fill(const Step& step, const ProgramArguments& at, const Shape& shape,
                       const std::vector<Strides>& strides) {
  const Program& p = step.program;
  arguments_.resize(1 + at.words);
  arguments_[0] = at.words;
  int64_t* words = arguments_.data() + 1;
  words[ProgramArguments::kCount] = count_;
  for (int d = 0; d < form_.rank; ++d)
    words[ProgramArguments::kShape + d] = form_.all_dense() ? count_ : shape[d];
  auto put = [&](const Strides& s, int where) {
    for (size_t d = 0; d < s.size(); ++d) words[where + d] = s[d];
  };
  for (size_t k = 0; k < step.operands.size(); ++k) {
    const Layout& l = step.operands[k];
    addresses_.push_back(at.operands[k]);
    offsets_.push_back(l.offset * l.dtype.size());
    if (ProgramForm::has_strides(form_.operands[k])) put(strides[k], at.operands[k] + 1);
  }
  for (int where : at.constants) values_.push_back(where);
  for (size_t k = 0; k < p.numberings.size(); ++k) {
    const Numbering& n = p.numberings[k];
    int where = at.numberings[k];
    if (ProgramForm::has_strides(form_.numberings[k])) {
      put(strides[step.operands.size() + k], where);
      where += form_.rank;
    }
    const int64_t values[] = {n.count, word(n.start), word(n.step), n.int_start, n.int_step};
    std::ranges::copy(values, words + where);
  }
}

void FusedKernel::launch(const Enqueue& to, std::span<const uint64_t> operands,
                         const Scalar* constants) const {
  if (count_ == 0) return;
  std::vector<int64_t> arguments = arguments_;
  for (size_t k = 0; k < addresses_.size(); ++k)
    arguments[1 + addresses_[k]] = static_cast<int64_t>(operands[k]) + offsets_[k];
  for (size_t c = 0; c < values_.size(); ++c)
    std::memcpy(&arguments[1 + values_[c]], constants[c].bytes, sizeof(constants[c].bytes));
  if (table_) write_table(to, arguments);
  kernel_.launch(to, blocks_, arguments);
}

/// Enqueues the kernel that writes the table, for the constants of the launch.
void FusedKernel::write_table(const Enqueue& to, std::vector<int64_t>& arguments) const {
  const auto table = static_cast<int64_t>(to.take(kTableEntries * sizeof(uint16_t)));
  std::vector<int64_t> own = arguments;
  own[0] = table_->address_read - 1;  // words: the last one is the address of what is read
  own[1 + ProgramArguments::kCount] = own[1 + ProgramArguments::kShape] = kTableEntries;
  own[table_->address_written] = table;
  own.pop_back();
  table_->writes.launch(to, blocks_for(kTableEntries / form_.vector), own);
  arguments[table_->address_read] = table;
}

}  // namespace mlx::core::gpu
