// Properties of the machine: instruction set, cache sizes, cores and memory available to this
// process. Everything but available_memory() is read once and cached.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mlx/backend/cpu/isas.def"
#include "mlx/core/api.h"

namespace mlx::core::cpu {

/// The instruction sets of isas.def. On x86-64, `v2` is x86-64-v2, `avx2` adds AVX2, FMA, F16C and
/// BMI, `avx512` adds AVX-512 F, BW, DQ, VL, CD and VNNI; on 64-bit Arm there is `neon`.
#define MLX_NAME(ISA, ...) ISA,
enum class Isa : uint8_t { MLX_EACH_ISA(MLX_NAME) };
#undef MLX_NAME

/// Name of an instruction set as `MLX_CPU_ISA` spells it.
const char* isa_name(Isa isa);

/// The widest instruction set that both the processor and the operating system support.
MLX_API Isa supported_isa();  // exported for tests

/// The instruction set in use: the one that `MLX_CPU_ISA` names, or else supported_isa().
/// Throws std::runtime_error when the variable is unknown or asks for more than is supported.
Isa isa();

/// Arithmetic of bfloat16 products beside that of the instruction set: none, the processor's unit
/// for tiles (AMX), or a model of it in plain C++, which is slow and runs everywhere.
enum class TileArithmetic : uint8_t { none, amx, model };

/// The arithmetic in use. AMX if the processor and the operating system support it and
/// `MLX_CPU_ISA` is unset or `amx`; the model if the variable is `amx-model`.
TileArithmetic tile_arithmetic();

/// "none", "amx" or "amx-model".
const char* tile_arithmetic_name();

/// Selects a function or object of the kernels, which are compiled once per instruction set in a
/// namespace of its name: that of the instruction set in use.
#define MLX_FOR_ISA(NAME) (MLX_EACH_ISA(MLX_IF_ISA, NAME) MLX_BASELINE_ISA::NAME)
#define MLX_IF_ISA(ISA, RATE, FLAGS, NAME) isa() == Isa::ISA ? ISA::NAME:

/// GFLOP/s of a core with the instruction set in use, for estimates of how long work takes.
double isa_rate();

/// True if the AVX-512 BF16 dot products may be used in addition to Isa::avx512, and are faster
/// than products of numbers that are widened to float32.
bool has_fast_bf16_pairs();

/// True if hardware prefetchers stop at the end of a page of 4 KB, as AMD's do: kernels then fetch
/// the next page of a stream themselves, which is slower elsewhere.
bool prefetches_within_pages();

/// Size in bytes of the level 2 cache of one core.
size_t l2_size();

/// Size in bytes of the last-level cache that a core shares with its neighbours.
size_t l3_size();

/// Cores this process may run on: affinity mask and cgroup CPU quota (rounded up), at least 1.
int usable_cores();

/// The number of threads set by `MLX_NUM_THREADS`, or usable_cores() if it is unset. Throws
/// std::runtime_error unless the value is an integer from 1 to 1024.
int default_num_threads();

/// Bytes of memory that this process may use: physical memory or the cgroup's limit.
size_t total_memory();

/// Bytes of memory that are available now (free, reclaimable, swap).
size_t available_memory();

}  // namespace mlx::core::cpu
