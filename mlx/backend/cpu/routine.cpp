// Prepares functions of control-flow steps, and runs them.
#include "mlx/backend/cpu/routine.h"

#include <cstring>

#include "mlx/backend/cpu/copy.h"

namespace mlx::core::cpu {

RoutineKernel::RoutineKernel(const Routine& r)
    : inputs(r.n_inputs), outputs(r.n_outputs), constants(r.constants) {
  entries.reserve(r.steps.size());
  for (const Step& s : r.steps) {
    const auto offsets = StepKernel::offsets_of(s);
    const size_t first = n_addresses;
    for (size_t k = 0; k < s.slots.size(); ++k) add_address(r.places[s.slots[k]], offsets[k]);
    bytes += StepKernel::bytes_of(s);
    StepKernel kernel(s);
    const bool small = kernel.program() && kernel.program()->is_small();
    entries.push_back({std::move(kernel), first, s.first_constant, small});
  }
  for (const Routine::Copy& c : r.copies) {
    const Layout& l = c.layout;
    const size_t size = num_elements(l.shape) * l.dtype.size();
    const size_t from = add_address(c.from, l.offset * l.dtype.size());
    const size_t to = add_address({Routine::Place::output, c.output, 0}, 0);
    Layout source = l, target = {l.shape, row_major(l.shape), 0, l.dtype};
    source.offset = 0;
    const bool alike = is_row_contiguous(l.shape, l.strides);
    copies.push_back({from, to, std::move(source), std::move(target), alike ? size : 0});
    bytes += static_cast<int64_t>(2 * size);
  }
}

size_t RoutineKernel::add_address(const Routine::Place& p, int64_t offset) {
  const Use use{n_addresses, p.offset + offset};
  if (p.kind == Routine::Place::input)
    inputs[p.index].push_back(use);
  else if (p.kind == Routine::Place::output)
    outputs[p.index].push_back(use);
  else if (p.kind == Routine::Place::arena)
    arena.push_back(use);
  else
    constant_addresses.emplace_back(n_addresses, p.index);
  return n_addresses++;
}

RoutineRun::RoutineRun(const RoutineKernel& kernel, char* arena)
    : kernel_(kernel), addresses_(kernel.n_addresses), programs_(kernel.entries.size()) {
  set(kernel.arena, arena);
  for (auto [address, constant] : kernel.constant_addresses)
    addresses_[address] = const_cast<unsigned char*>(kernel.constants[constant].bytes);
}
RoutineRun::~RoutineRun() = default;

void RoutineRun::run_small(size_t i) {
  const RoutineKernel::Entry& e = kernel_.entries[i];
  if (!programs_[i])
    programs_[i] = std::make_unique<FusedRun>(*e.kernel.program(), &addresses_[e.first_address],
                                              kernel_.constants.data() + e.first_constant);
  programs_[i]->run();
}

void RoutineRun::run() {
  for (size_t i = 0; i < kernel_.entries.size(); ++i) {
    const RoutineKernel::Entry& e = kernel_.entries[i];
    if (e.small)
      run_small(i);
    else
      e.kernel.run(&addresses_[e.first_address], kernel_.constants.data() + e.first_constant);
  }
  for (const RoutineKernel::Copy& c : kernel_.copies) {
    if (c.bytes)
      std::memcpy(addresses_[c.to], addresses_[c.from], c.bytes);
    else
      copy_strided({addresses_[c.from], &c.source}, {addresses_[c.to], &c.target});
  }
}

}  // namespace mlx::core::cpu
