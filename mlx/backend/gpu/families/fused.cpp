// Launches of printed programs: their walks, arguments and kernels.
#include "mlx/backend/gpu/families/fused.h"

#include <algorithm>
#include <cstring>

namespace mlx::core::gpu {

namespace {

constexpr int64_t kThreads = 256;

bool is_wide(int64_t count) { return count > INT64_C(0x7fffffff); }

Walk walk_of(const Shape& shape, const Strides& strides, const Strides& dense) {
  bool scalar = true, same = true;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] <= 1) continue;
    scalar = scalar && strides[d] == 0;
    same = same && strides[d] == dense[d];
  }
  return same ? Walk::dense : scalar ? Walk::scalar : Walk::strided;
}

int64_t word(double x) { return std::bit_cast<int64_t>(x); }

}  // namespace

void Kernel::launch(const Enqueue& to, int64_t blocks, std::span<const int64_t> arguments) const {
  to.device().hardware->launch(function, blocks, arguments, to.stream());
}

ProgramForm form_of(const Step& step, Shape& shape, std::vector<Strides>& strides) {
  const Program& p = step.program;
  shape = step.operands[step.n_inputs].shape;
  for (const Layout& l : step.operands) strides.push_back(l.strides);
  for (const Numbering& n : p.numberings) strides.push_back(n.strides);
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
  return form;
}

FusedKernel::FusedKernel(const Step& step, DeviceState& device) {
  Shape shape;
  std::vector<Strides> strides;
  form_ = form_of(step, shape, strides);
  count_ = num_elements(shape);
  const ProgramArguments at(step.program, form_);
  kernel_.function = device.kernels->find(
      print_program(step.program, form_, "program", *device.hardware->target()), "program");
  fill(step, at, shape, strides);
  const int64_t a_block = kThreads * elements_a_thread(form_);
  // Enough blocks to fill the device several times over; each goes on with what is left.
  blocks_ = std::min((count_ + a_block - 1) / a_block, int64_t{32} * device.processors);
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
    if (form_.operands[k] == Walk::strided) put(strides[k], at.operands[k] + 1);
  }
  for (int where : at.constants) values_.push_back(where);
  for (size_t k = 0; k < p.numberings.size(); ++k) {
    const Numbering& n = p.numberings[k];
    int where = at.numberings[k];
    if (form_.numberings[k] == Walk::strided) {
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
  kernel_.launch(to, blocks_, arguments);
}

}  // namespace mlx::core::gpu
