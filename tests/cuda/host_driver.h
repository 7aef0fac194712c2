// Shared parts of the driver of the host.
#pragma once

#include <cstddef>
#include <functional>

#define EXPORT extern "C" __attribute__((visibility("default")))

inline constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kLaunchFailed = 719;

/// Calls that fail on request (mlx_host_fail): of memory, kernels, copies, libraries, events,
/// pinned memory, and what loads or compiles code.
enum Failure : int {
  kFailAllocation,
  kFailLaunch,
  kFailCopy,
  kFailLibrary,
  kFailEvent,
  kFailPinned,
  kFailModule,
  kFailures
};
bool fails_now(Failure kind);

/// Where `bytes` bytes at an address of the device lie on the host; null where they are not its.
unsigned char* device_memory(unsigned long long address, size_t bytes);
/// The same of an address that a kernel has written.
unsigned char* memory_of_kernel(unsigned long long address, size_t bytes);
/// The plugin did what it must not.
void count_fault();

class Stream;
void push(Stream& stream, std::function<void()> work);
