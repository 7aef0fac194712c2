// Prepares functions of control-flow steps, and runs them.
#include "mlx/backend/cpu/routine.h"

#include <cstring>

#include "mlx/backend/cpu/copy.h"

namespace mlx::core::cpu {

RoutineKernel::RoutineKernel(const Routine& r)
    : inputs(r.n_inputs), outputs(r.n_outputs), constants(r.constants) {
  for (const Step& s : r.steps) add_step(r, s);
  for (const Routine::Copy& c : r.copies) add_copy(c);
}

void RoutineKernel::add_step(const Routine& r, const Step& s) {
  const auto offsets = StepKernel::offsets_of(s);
  const size_t first = n_addresses;
  std::vector<SmallSteps::Operand> operands;
  for (size_t k = 0; k < s.slots.size(); ++k) {
    const Routine::Place& p = r.places[s.slots[k]];
    const auto address = static_cast<uint32_t>(add_address(p, offsets[k]));
    // A number for each memory: of one kind of places, the index has the rest of the bits.
    operands.push_back({address, 4 * p.index + static_cast<int>(p.kind), p.offset + offsets[k]});
  }
  bytes += StepKernel::bytes_of(s);
  const Scalar* first_constant = constants.data() + s.first_constant;
  if (small.add(s, operands, first_constant, n_addresses, calls)) return;
  StepKernel kernel{Step(s)};
  const bool keeps = kernel.program() && kernel.program()->is_small();
  entries.push_back({std::move(kernel), first, s.first_constant, keeps, calls.size()});
}

void RoutineKernel::add_copy(const Routine::Copy& c) {
  const Layout& l = c.layout;
  const size_t size = num_elements(l.shape) * l.dtype.size();
  const size_t from = add_address(c.from, l.offset * l.dtype.size());
  const size_t to = add_address({Routine::Place::output, c.output, 0}, 0);
  bytes += static_cast<int64_t>(2 * size);
  Layout source = l, target = {l.shape, row_major(l.shape), 0, l.dtype};
  source.offset = 0;
  const bool alike = is_row_contiguous(l.shape, l.strides);
  if (!alike &&
      small.add_copy(source, static_cast<uint32_t>(from), static_cast<uint32_t>(to), calls))
    return;
  copies.push_back({from, to, std::move(source), std::move(target), alike ? size : 0});
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
    : kernel_(kernel),
      addresses_(kernel.n_addresses),
      memory_(new char[kernel.small.memory()]),
      programs_(kernel.entries.size()) {
  set(kernel.arena, arena);
  kernel.small.place(addresses_.data(), memory_.get());
  for (auto [address, constant] : kernel.constant_addresses)
    addresses_[address] = const_cast<unsigned char*>(kernel.constants[constant].bytes);
}
RoutineRun::~RoutineRun() = default;

void RoutineRun::run_calls(size_t begin, size_t end) {
  void* const* addresses = addresses_.data();
  const SmallCall* calls = kernel_.calls.data();
  for (size_t i = begin; i < end; ++i) kernel_.small.run(calls[i], addresses);
}

void RoutineRun::run_entry(size_t i) {
  const RoutineKernel::Entry& e = kernel_.entries[i];
  void* const* addresses = &addresses_[e.first_address];
  const Scalar* constants = kernel_.constants.data() + e.first_constant;
  if (!e.keeps) return e.kernel.run(addresses, constants);
  if (!programs_[i])
    programs_[i] = std::make_unique<FusedRun>(*e.kernel.program(), addresses, constants);
  programs_[i]->run();
}

void RoutineRun::run() {
  size_t done = 0;
  for (size_t i = 0; i < kernel_.entries.size(); ++i) {
    run_calls(done, kernel_.entries[i].at);
    done = kernel_.entries[i].at;
    run_entry(i);
  }
  run_calls(done, kernel_.calls.size());
  for (const RoutineKernel::Copy& c : kernel_.copies) {
    if (c.bytes)
      std::memcpy(addresses_[c.to], addresses_[c.from], c.bytes);
    else
      copy_strided({addresses_[c.from], &c.source}, {addresses_[c.to], &c.target});
  }
}

}  // namespace mlx::core::cpu
