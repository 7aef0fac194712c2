// Properties of the machine: instruction set, cache sizes, cores and memory available to this
// process. Everything but available_memory() is read once and cached.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlx::core::cpu {

/// Instruction sets that kernels are compiled for. `v2` is the baseline (x86-64-v2, or the plain
/// architecture elsewhere), `avx2` adds AVX2, FMA, F16C and BMI, `avx512` adds AVX-512 F, BW, DQ,
/// VL, CD and VNNI.
enum class Isa : uint8_t { v2, avx2, avx512 };

/// Name of an instruction set as `MLX_CPU_ISA` spells it.
const char* isa_name(Isa isa);

/// The widest instruction set that both the processor and the operating system support.
Isa supported_isa();

/// The instruction set in use: `MLX_CPU_ISA` (v2, avx2 or avx512) or else supported_isa().
/// Throws std::runtime_error when the variable is unknown or asks for more than is supported.
Isa isa();

/// Selects a function or object of the kernels, which are compiled once per instruction set in a
/// namespace of its name: that of the instruction set in use.
#if defined(__x86_64__)
#define MLX_FOR_ISA(NAME) \
  (isa() == Isa::avx512 ? avx512::NAME : isa() == Isa::avx2 ? avx2::NAME : v2::NAME)
#else
#define MLX_FOR_ISA(NAME) (v2::NAME)
#endif

/// True if the AVX-512 BF16 dot products may be used in addition to Isa::avx512.
bool has_avx512_bf16();

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
