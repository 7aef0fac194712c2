// Shared parts of the driver of the host.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

inline constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kLaunchFailed = 719;

/// Calls that fail on request (mlx_host_fail): of memory, kernels, copies, libraries, events,
/// pinned memory, of what loads or compiles code, and of graphs.
enum Failure : int {
  kFailAllocation,
  kFailLaunch,
  kFailCopy,
  kFailLibrary,
  kFailEvent,
  kFailPinned,
  kFailModule,
  kFailGraph,
  kFailures
};
bool fails_now(Failure kind);

/// Where `bytes` bytes at an address of the device lie on the host; null where they are not its.
unsigned char* device_memory(unsigned long long address, size_t bytes);
/// The same of an address that a kernel has written.
unsigned char* memory_of_kernel(unsigned long long address, size_t bytes);
/// The plugin did what it must not.
void count_fault();

/// Of a block in its grid, or a thread in its block.
struct MlxIndex {
  unsigned x, y, z;
};

class Stream;
void push(Stream& stream, std::function<void()> work);
using Works = std::vector<std::function<void()>>;
/// Lets a stream's work go to a list, or with null to the stream again; false where it does
/// already.
bool capture(Stream& stream, Works* list);

struct Function;
/// A status, for a launch that could be made.
int check_launch(const Function* f, MlxIndex grid, MlxIndex block, unsigned shared, Stream* s);
/// A launch of a kernel with these words of arguments.
std::function<void()> kernel_work(const Function* f, MlxIndex grid, MlxIndex block,
                                  std::vector<unsigned long long> arguments);
/// Whether a kernel waits for the one before after it has begun.
bool begins_early(const Function* f);
