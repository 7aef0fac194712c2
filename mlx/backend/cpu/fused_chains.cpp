// Prepares the links of the runs of a program once.
#include "mlx/backend/cpu/fused_chains.h"

#include <algorithm>
#include <cstring>

#include "mlx/backend/cpu/divisors.h"
#include "mlx/backend/cpu/fused_code.h"
#include "mlx/core/half.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kManyElements = 1 << 16;  // minimum size for optimising constant divisions

bool is_divided_by_constant(const RunStep& s) {
  return s.act == RunStep::apply && s.op == OpId::divide && s.form == LinkForm::constant &&
         !s.repeated;
}

LinkFn product_by_constant(const LinkKernels& k) {
  return k.find_link(OpId::multiply, LinkForm::constant, Dtype::Val::float32);
}

/// Selects the handler for x / c depending on c.
void set_divisor(Link& link, const LinkKernels& k) {
  if (divides_exactly(link.constant)) {
    link.constant = 1 / link.constant;
    link.run = product_by_constant(k);
  } else if (k.quotient && reciprocal_parts(link.constant, link.high, link.low)) {
    link.run = k.quotient;
  }
}

/// Merges pairs of links for which a joint handler exists.
void join_links(Chain& chain, const Micro& m, const LinkKernels& k) {
  // A division by a constant may have been replaced by a product.
  auto op_at = [&](size_t i) {
    const RunStep& s = m.run[i];
    const bool narrow = reads_tile(s.form) && s.type != Dtype::Val::float32;
    if (s.act != RunStep::apply || narrow) return OpId::copy;
    bool factor = s.op == OpId::divide && chain.links[i].run == product_by_constant(k);
    return factor ? OpId::multiply : s.op;
  };
  for (size_t i = 0; i + 1 < m.run.size(); ++i) {
    LinkFn two = k.find_joint(op_at(i), m.run[i].form, op_at(i + 1), m.run[i + 1].form);
    if (two) chain.links[i++].run = two;
  }
}

/// Makes the last link that of an op; its constants are noted in the chain.
void set_op(const FusedCode& c, const RunStep& s, Chain& chain) {
  const LinkKernels& k = c.isa->links();
  Link& link = chain.links.back();
  link.run = k.find_link(s.op, s.form, s.type);
  if (!link.run) {
    link.run = k.find_call(s.form);
    link.tile = c.isa->find_tile(s.op, Dtype::Val::float32);
  }
  const bool scaled = s.form == LinkForm::scaled;
  if (scaled || s.form == LinkForm::constant || s.form == LinkForm::constant_first) {
    const int value = scaled ? s.factor : s.value;
    const auto at = static_cast<uint16_t>(chain.links.size() - 1);
    if (s.repeated) {
      const bool divides = s.op == OpId::divide && s.form == LinkForm::constant;
      chain.repeated.push_back({at, static_cast<uint16_t>(value), s.type});
      chain.divisions.push_back(divides ? link.run : nullptr);
    } else {
      chain.constants.push_back({at, static_cast<uint16_t>(value - c.n_inputs), s.type});
    }
  }
}

LinkMove move_of(RunStep::Act act) {
  switch (act) {
    case RunStep::load:
      return LinkMove::load;
    case RunStep::round:
      return LinkMove::round;
    case RunStep::round_store:
      return LinkMove::round_store;
    default:
      return LinkMove::store;
  }
}

/// Links behind the others that prefetch memory operands.
void add_prefetches(const FusedCode& c, Chain& chain) {
  for (size_t i = 0, n = chain.uses.size(); i < n; ++i) {
    Chain::Use u = chain.uses[i];
    if (!u.brings || u.value >= c.n_inputs || !c.operands[u.value].far) continue;
    u.link = static_cast<uint16_t>(chain.links.size());
    u.brings = false;
    chain.uses.push_back(u);
    Link touch{};
    touch.run = c.isa->links().find_move(
        LinkMove::touch, u.itemsize == 4 ? Dtype::Val::float32 : Dtype::Val::bfloat16);
    touch.ahead = c.operands[u.value].ahead;
    chain.links.push_back(touch);
  }
}

void make_chain(const FusedCode& c, const Micro& m, Chain& chain) {
  const LinkKernels& k = c.isa->links();
  SmallVector<uint16_t, 16> tiles;  // values that have a copy
  chain.links.reserve(m.run.size() + 1);
  for (const RunStep& s : m.run) {
    const bool applies = s.act == RunStep::apply;
    const bool reads = s.act == RunStep::load || (applies && reads_tile(s.form));
    const bool writes = s.act == RunStep::store || s.act == RunStep::round_store;
    chain.links.push_back({});
    if (applies)
      set_op(c, s, chain);
    else
      chain.links.back().run = k.find_move(move_of(s.act), s.type);
    if (reads || writes) {
      auto at = std::find(tiles.begin(), tiles.end(), s.value) - tiles.begin();
      bool fresh = at == static_cast<int64_t>(tiles.size());
      if (fresh) tiles.push_back(s.value);
      const auto around = s.act == RunStep::store ? LinkMove::stream : LinkMove::round_stream;
      chain.uses.push_back({.link = static_cast<uint16_t>(chain.links.size() - 1),
                            .value = s.value,
                            .copy = static_cast<uint8_t>(at),
                            .brings = fresh && reads,
                            .writes = writes,
                            .streams = false,
                            .itemsize = static_cast<uint8_t>(Dtype(s.type).size()),
                            .store = chain.links.back().run,
                            .stream = writes ? k.find_move(around, s.type) : nullptr});
    }
  }
  chain.copies = static_cast<int>(tiles.size());
  chain.divides = c.elements >= kManyElements && std::ranges::any_of(m.run, is_divided_by_constant);
  if (!chain.divides) join_links(chain, m, k);
  if (c.streams) add_prefetches(c, chain);
  chain.links.push_back({});
  chain.links.back().run = k.end;
}

/// Selects the handlers that depend on the values of divisors.
void set_divisors(Chain& chain, const Micro& m, const LinkKernels& k) {
  for (size_t i = 0; i < m.run.size(); ++i)
    if (is_divided_by_constant(m.run[i])) set_divisor(chain.links[i], k);
  join_links(chain, m, k);
}

}  // namespace

float number_at(const void* p, Dtype::Val type) {
  const auto as = [&]<class T>(T number) {
    std::memcpy(&number, p, sizeof(T));
    return static_cast<float>(number);
  };
  if (type == Dtype::Val::bfloat16) return as(bfloat16_t{});
  return type == Dtype::Val::float16 ? as(float16_t{}) : as(0.0f);
}

void set_repeated(Chain& chain, const LinkKernels& k, char* const* inputs, int64_t n) {
  constexpr int64_t kMany = 256;  // elements that pay for the parts of a reciprocal
  for (size_t i = 0; i < chain.repeated.size(); ++i) {
    const auto [at, input, type] = chain.repeated[i];
    Link& link = chain.links[at];
    const float c = link.constant = number_at(inputs[input], type);
    if (!chain.divisions[i]) continue;
    link.run = chain.divisions[i];
    if (n >= kMany && k.corrected_quotient && split_reciprocal(c, link.high, link.low))
      link.run = k.corrected_quotient;
  }
}

std::vector<Chain> make_chains(const FusedCode& c) {
  auto runs = [](const Micro& m) { return !m.run.empty(); };
  std::vector<Chain> out;
  out.reserve(static_cast<size_t>(std::ranges::count_if(c.code, runs)));
  for (const Micro& m : c.code)
    if (runs(m)) make_chain(c, m, out.emplace_back());
  return out;
}

std::vector<Chain> chains_for(const FusedCode& c, const Scalar* constants) {
  std::vector<Chain> out = c.chains;
  size_t n = 0;
  for (const Micro& m : c.code) {
    if (m.run.empty()) continue;
    Chain& chain = out[n++];
    for (auto [link, index, type] : chain.constants)
      chain.links[link].constant = number_at(constants[index].bytes, type);
    if (chain.divides) set_divisors(chain, m, c.isa->links());
  }
  return out;
}

}  // namespace mlx::core::cpu
