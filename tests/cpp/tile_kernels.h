// The tables of elementwise kernels of the CPU, as tests call them directly.
#pragma once

#include <doctest/doctest.h>

#include <random>
#include <tuple>
#include <vector>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/elementwise.h"

namespace mlx::core::cpu {

enum class Row : int {
#define E(name, ...) name,
#include "mlx/ops/elementwise.def"
#undef E
  count,
};
struct RowInfo {
  const char* name;
  int arity;
};
constexpr RowInfo kRows[] = {
#define E(name, arity, ...) {#name, arity},
#include "mlx/ops/elementwise.def"
#undef E
};
constexpr OpId op(Row r) { return static_cast<OpId>(r); }
constexpr OpId kCopy = static_cast<OpId>(static_cast<int>(Row::count) + 1);

template <class F>
void on_each_isa(F body) {
  struct {
    const char* name;
    const ElementwiseKernels& kernels;
    bool runs;
  } isas[] = {
#define MLX_ROW(ISA, ...) {#ISA, ISA::elementwise_kernels, Isa::ISA <= supported_isa()},
      MLX_EACH_ISA(MLX_ROW)
#undef MLX_ROW
  };
  for (auto& isa : isas) {
    if (!isa.runs) continue;
    INFO("instruction set ", isa.name);
    body(isa.kernels);
  }
}

/// `n` elements of a dtype from random small integers and fractions, zero among them, as bytes.
inline std::vector<char> operand(const ElementwiseKernels& k, Dtype t, int n, int seed) {
  std::mt19937 random(seed);
  std::vector<float> x(n);
  for (auto& v : x) v = static_cast<float>(static_cast<int>(random() % 41) - 20) * 0.25f;
  std::vector<char> bytes(n * t.size());
  const void* in[] = {x.data()};
  k.find_cast(Dtype::Val::float32, t)(in, bytes.data(), n);
  return bytes;
}

template <class Out, class... In>
std::vector<Out> run(TileFn fn, const std::vector<In>&... in) {
  REQUIRE(static_cast<bool>(fn));
  const void* p[] = {in.data()...};
  std::vector<Out> out(std::get<0>(std::tie(in...)).size());
  fn(p, out.data(), static_cast<int64_t>(out.size()));
  return out;
}

inline Dtype dtype_at(int i) { return Dtype(static_cast<Dtype::Val>(i)); }

}  // namespace mlx::core::cpu
