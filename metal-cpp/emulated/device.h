// The interface between compiled kernels and the emulated device, for both sides.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace emulated {

constexpr unsigned kSimdWidth = 32;
constexpr unsigned kMaxThreads = 1024;   // of a threadgroup
constexpr unsigned kMaxBuffers = 31;     // arguments of a kernel
constexpr size_t kMaxShared = 32 << 10;  // bytes of threadgroup memory
constexpr size_t kMaxConstants = 4096;   // bytes of an argument that is copied

struct Triple {
  unsigned x, y, z;
};

/// The arguments and the position of one thread.
struct Thread {
  void* const* buffers;
  const size_t* shared_sizes;  // of [[threadgroup(i)]] arguments, in bytes
  Triple in_group, group, group_size, full_group_size, groups, grid;
  unsigned lane, simd;
};

/// A thread's position among all threads of the dispatch.
inline Triple in_grid(const Thread& t) {
  return {t.group.x * t.full_group_size.x + t.in_group.x,
          t.group.y * t.full_group_size.y + t.in_group.y,
          t.group.z * t.full_group_size.z + t.in_group.z};
}

/// SIMD groups of the thread's threadgroup; the last one may have fewer lanes.
inline unsigned simd_groups(const Thread& t) {
  return (t.group_size.x * t.group_size.y * t.group_size.z + kSimdWidth - 1) / kSimdWidth;
}

/// The words that the lanes of a SIMD group brought to a collective, and the lanes that did.
struct Collective {
  const uint64_t* words;
  uint32_t active;
};

/// Functions of the device that kernels call.
struct Hooks {
  void (*barrier)(unsigned line);  // of the source
  Collective (*exchange)(uint64_t mine, unsigned line);
  unsigned (*lane)();
  /// Threadgroup memory number `id` of the kernel that runs.
  void* (*shared)(unsigned id, size_t bytes, size_t alignment);
};

/// A kernel of a compiled library, which exports it as `<name>_kernel`.
struct Kernel {
  void (*run)(const Thread&);
  uint64_t buffers;  // bit i: has an argument [[buffer(i)]]
  uint64_t shared;   // bit i: has an argument [[threadgroup(i)]]
};

}  // namespace emulated
