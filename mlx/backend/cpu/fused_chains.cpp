// Finds the runs of float32 ops in a program, and prepares their links once.
#include "mlx/backend/cpu/fused_chains.h"

#include <algorithm>
#include <cstring>

#include "mlx/backend/cpu/divisors.h"
#include "mlx/backend/cpu/fused_code.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kAhead = 2048;            // prefetch distance in bytes
constexpr int64_t kManyElements = 1 << 16;  // minimum size for optimising constant divisions

bool is_divided_by_constant(const RunStep& s) {
  return s.act == RunStep::apply && s.op == OpId::divide && s.form == LinkForm::constant &&
         !s.repeated;
}

/// Selects the handler for x / c depending on c.
void set_divisor(Link& link, const LinkKernels& k) {
  if (divides_exactly(link.constant)) {
    link.constant = 1 / link.constant;
    link.run = k.find_link(OpId::multiply, LinkForm::constant);
  } else if (k.quotient && reciprocal_parts(link.constant, link.high, link.low)) {
    link.run = k.quotient;
  }
}

/// Merges pairs of links for which a joint handler exists.
void join_links(Chain& chain, const Micro& m, const LinkKernels& k) {
  // A division by a constant may have been replaced by a product.
  auto op_at = [&](size_t i) {
    const RunStep& s = m.run[i];
    if (s.act != RunStep::apply) return OpId::copy;
    bool factor = s.op == OpId::divide &&
                  chain.links[i].run == k.find_link(OpId::multiply, LinkForm::constant);
    return factor ? OpId::multiply : s.op;
  };
  for (size_t i = 0; i + 1 < m.run.size(); ++i) {
    LinkFn two = k.find_joint(op_at(i), m.run[i].form, op_at(i + 1), m.run[i + 1].form);
    if (two) chain.links[i++].run = two;
  }
}

Chain make_chain(const FusedCode& c, const Micro& m) {
  const LinkKernels& k = c.isa->links();
  Chain chain;
  SmallVector<uint16_t, 16> tiles;  // values that have a copy
  for (const RunStep& s : m.run) {
    Link link{};
    bool on_tile = reads_tile(s.form);
    if (s.act == RunStep::apply) {
      link.run = k.find_link(s.op, s.form);
      if (!link.run) {
        link.run = k.find_call(s.form);
        link.tile = c.isa->find_tile(s.op, Dtype::Val::float32);
      }
      if (s.form == LinkForm::scaled ||
          (!on_tile && s.form != LinkForm::unary && s.form != LinkForm::both)) {
        const int value = on_tile ? s.factor : s.value;
        auto add = [&](auto& list, int index) {
          list.push_back({static_cast<uint16_t>(chain.links.size()), static_cast<uint16_t>(index)});
        };
        if (s.repeated)
          add(chain.repeated, value);
        else
          add(chain.constants, value - c.n_inputs);
      }
    } else {
      link.run = s.act == RunStep::load ? k.load : k.store;
    }
    if (on_tile) {
      auto at = std::find(tiles.begin(), tiles.end(), s.value) - tiles.begin();
      bool fresh = at == static_cast<int64_t>(tiles.size()), writes = s.act == RunStep::store;
      if (fresh) tiles.push_back(s.value);
      chain.uses.push_back({static_cast<uint16_t>(chain.links.size()), s.value,
                            static_cast<uint8_t>(at), fresh && !writes, writes, false});
    }
    chain.links.push_back(link);
  }
  chain.copies = static_cast<int>(tiles.size());
  chain.divides = c.elements >= kManyElements && std::ranges::any_of(m.run, is_divided_by_constant);
  if (!chain.divides) join_links(chain, m, k);
  if (c.streams) {  // memory operands are prefetched
    for (size_t i = 0, n = chain.uses.size(); i < n; ++i) {
      Chain::Use u = chain.uses[i];
      if (!u.brings || u.value >= c.n_inputs || !c.operands[u.value].far) continue;
      u.link = static_cast<uint16_t>(chain.links.size());
      u.brings = false;
      chain.uses.push_back(u);
      Link touch{};
      touch.run = k.touch;
      touch.ahead = kAhead;
      chain.links.push_back(touch);
    }
  }
  Link end{};
  end.run = k.end;
  chain.links.push_back(end);
  return chain;
}

/// Selects the handlers that depend on the values of divisors.
void set_divisors(Chain& chain, const Micro& m, const LinkKernels& k) {
  for (size_t i = 0; i < m.run.size(); ++i)
    if (is_divided_by_constant(m.run[i])) set_divisor(chain.links[i], k);
  join_links(chain, m, k);
}

}  // namespace

std::vector<Chain> make_chains(const FusedCode& c) {
  std::vector<Chain> out;
  for (const Micro& m : c.code)
    if (!m.run.empty()) out.push_back(make_chain(c, m));
  return out;
}

std::vector<Chain> chains_for(const FusedCode& c, const Scalar* constants) {
  std::vector<Chain> out = c.chains;
  size_t n = 0;
  for (const Micro& m : c.code) {
    if (m.run.empty()) continue;
    Chain& chain = out[n++];
    for (auto [link, index] : chain.constants)
      std::memcpy(&chain.links[link].constant, constants[index].bytes, sizeof(float));
    if (chain.divides) set_divisors(chain, m, c.isa->links());
  }
  return out;
}

}  // namespace mlx::core::cpu
