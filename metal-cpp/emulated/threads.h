// Threadgroups on the CPU: a fiber for each thread that stops at a barrier or an exchange.
#pragma once

#include <array>
#include <string>

#include "device.h"

namespace emulated {

/// Where the instructions of a library are.
struct Code {
  const char *begin = nullptr, *end = nullptr;
};

/// One dispatch of a kernel.
struct Dispatch {
  const Kernel* kernel = nullptr;
  Code code;         // of the kernel's library
  std::string name;  // of the kernel
  std::array<void*, kMaxBuffers> buffers = {};
  std::array<size_t, kMaxBuffers> shared_sizes = {};
  Triple grid{1, 1, 1};   // threads
  Triple group{1, 1, 1};  // threads of a full threadgroup
};

/// Runs a dispatch on the calling thread. Returns an empty text, or an error that names the kernel,
/// the threadgroup and a thread; the threads that remain are abandoned.
///
/// The environment variable MLX_EMULATION_ORDER says in which order threads run between two
/// collectives: `even` (the default) takes SIMD groups in turns, from collective to collective;
/// `forward` and `backward` let a SIMD group run up to the next barrier; an integer is the seed of
/// random turns. With MLX_EMULATION_SUBNORMALS=flush, subnormal operands and results of float32
/// arithmetic are zeros of their sign; `keep` is the default. MLX_EMULATION_SECONDS limits the
/// processor time of a dispatch, by default to 300 seconds.
std::string run(const Dispatch& dispatch);

/// The functions that kernels call on the thread that runs them.
extern const Hooks hooks;

}  // namespace emulated
