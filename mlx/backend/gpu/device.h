// The functions that a device with queues brings to this room: all that the backend of a GPU has to
// write, beside the text of its kernels. The rest (queues, completion, memory, copies, prepared
// steps, kernels kept by their source) is in this folder, once for all of them; docs/how/device.md
// is the introduction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "mlx/core/dtype.h"

namespace mlx::core::gpu {

using Address = unsigned long long;  ///< of device memory
using StreamHandle = struct OpaqueStream*;
using EventHandle = struct OpaqueEvent*;
using FunctionHandle = struct OpaqueFunction*;

/// A kernel that is loaded as long as this exists.
struct Function {
  FunctionHandle handle = nullptr;
  std::shared_ptr<const void> module = {};
  explicit operator bool() const { return handle; }
};

/// A launch of a kernel, or a call of a library that enqueues work.
struct DeviceCall {
  Function function = {};  ///< of a kernel
  int64_t blocks = 0;
  /// Of a kernel: the first word counts those behind it, which the kernel gets. Of a library: all
  /// that the work depends on.
  std::span<const int64_t> arguments = {};
  int threads = 256;  ///< of a block
  int shared = 0;     ///< bytes of a block, beside those that the kernel declares
  std::function<void(StreamHandle)> library = {};
};

/// Calls whose work runs one after the other, made as one.
struct DeviceGraph {
  virtual ~DeviceGraph() = default;
  /// Gives the kernel of call k other arguments, or another number of blocks, from the next launch
  /// on.
  virtual void set(size_t k, const DeviceCall& kernel) = 0;
  virtual void launch(StreamHandle stream) = 0;
};

/// Watches the room at work, and lets it fail: for tests.
struct Probe {
  virtual ~Probe() = default;
  /// Throws MemoryError where a block shall be refused.
  virtual void admit(size_t) {}
  virtual void block_taken(Address, size_t) {}
  virtual void block_given(Address, size_t) {}
  /// The error with which a launch, or a copy, shall fail, or null.
  virtual std::exception_ptr launch_starts() { return nullptr; }
  virtual std::exception_ptr copy_starts() { return nullptr; }
  virtual void launch_ends() {}
  /// True while queues are held: nothing waits for all of them.
  virtual bool holds() { return false; }
};

struct ProductLibrary;
struct FourierLibrary;
struct ConvolutionLibrary;
struct FactorLibrary;
struct Warpgroups;

/// The target of printed kernels: how their text begins, and how it finds the thread.
struct KernelTarget {
  const char* head;          ///< a line that includes the device's vocabulary
  const char* folder;        ///< of the families' texts
  const char* declaration;   ///< of a kernel: (name, type of its arguments, their name)
  const char *first, *step;  ///< number of the thread's block, and how many blocks there are
  const char* thread;        ///< number of the thread in its block

  /// The source of a kernel: `text` follows the line that includes a family's text.
  std::string source(const std::string& family, const std::string& text) const {
    return std::string(head) + "#include \"" + folder + family +
           ".cuh\"\nusing namespace mlx::core;\nusing namespace mlx::core::device;\n" + text;
  }
};

/// One device. Functions throw ExecutionError, or MemoryError where memory is short. Queues call
/// them from several threads at once, which have entered the device; functions that throw nothing
/// are called on any thread.
class Hardware {
 public:
  virtual ~Hardware() = default;

  /// Makes the device the calling thread's. Throws ExecutionError where it cannot be used, as in a
  /// forked child.
  virtual void enter() = 0;
  /// The same on the thread that runs a job of a queue, before each.
  virtual void begin(StreamHandle) { enter(); }

  /// Memory; 0 where the device has no more.
  virtual Address alloc(size_t bytes) = 0;
  virtual void free(Address address) noexcept = 0;
  /// Host memory that kernels write to and copies go through without waiting, for ever.
  virtual void* alloc_host(size_t bytes) = 0;
  /// The address that kernels have for a place in host memory of `alloc_host`.
  virtual Address seen_by_device(const void* place) { return reinterpret_cast<Address>(place); }
  /// Where the host has memory of the device, or null.
  virtual void* seen_by_host(Address address) {
    return unified ? reinterpret_cast<void*>(address) : nullptr;
  }
  /// The address of host memory that kernels use in place, or 0 where it has to be copied; `unwrap`
  /// ends that, when no work uses it any more.
  virtual Address wrap(void* host, size_t) { return unified ? reinterpret_cast<Address>(host) : 0; }
  virtual void unwrap(void*) noexcept {}

  /// `number`: of the engine's stream.
  virtual StreamHandle make_stream(int number) = 0;
  /// Gives a stream back, whose work is over.
  virtual void free_stream(StreamHandle stream) noexcept = 0;
  /// Enqueues a copy; addresses of the host are those of its pointers.
  enum class Way { to_device, to_host, within };
  virtual void copy(Way way, Address to, Address from, size_t bytes, StreamHandle stream) = 0;
  virtual void launch(const DeviceCall& kernel, StreamHandle stream) = 0;
  /// A graph of calls that have been made before, or null where the device makes none of them.
  /// Libraries get the stream, on which nothing is enqueued by that; throws what they throw.
  virtual std::unique_ptr<DeviceGraph> graph_of(std::span<const DeviceCall>, StreamHandle) {
    return nullptr;
  }

  /// The end of what the stream has by now.
  virtual EventHandle record(StreamHandle stream) = 0;
  /// Takes an event back at which nothing looks any more.
  virtual void free_event(EventHandle event) noexcept = 0;
  /// Whether the device is past the event; `fault` becomes its error, where it has one.
  virtual bool reached(EventHandle event, std::exception_ptr& fault) = 0;
  /// Blocks until it is, without polling. Errors are those that `reached` gives.
  virtual void wait(EventHandle event) = 0;
  /// Lets the stream wait for the event, on the device.
  virtual void stream_waits(StreamHandle stream, EventHandle event) = 0;
  /// Blocks until the stream has done what it has by now.
  virtual void wait_stream(StreamHandle stream) = 0;

  // Kernels from source, where the room's families are used.
  /// All that compiled code depends on beside its source: compiler, options, architecture. Empty:
  /// it is not kept in files.
  virtual std::string identity() { return {}; }
  /// Machine code of a source.
  virtual std::string compile(const std::string& source) { return source; }
  /// The kernel `name` of machine code; `module`, null for code that is new, keeps it.
  virtual FunctionHandle load(const std::string&, const char*, void*&) { return nullptr; }
  /// Gives a module back, whose kernels nothing runs any more.
  virtual void unload(void*) noexcept {}
  virtual const KernelTarget* target() const { return nullptr; }

  /// Libraries of the device, or null.
  virtual ProductLibrary* products() { return nullptr; }
  virtual FourierLibrary* fourier() { return nullptr; }
  virtual ConvolutionLibrary* convolutions() { return nullptr; }
  virtual FactorLibrary* factors() { return nullptr; }
  /// Launches of kernels by products of warpgroups, or null.
  virtual Warpgroups* warpgroups() { return nullptr; }

  // Facts, set once.
  int processors = 1;
  int64_t cache = int64_t{32} << 20;  ///< bytes of the cache before the memory
  static constexpr int64_t kBlockMemory = 40 << 10;
  int64_t block_memory = kBlockMemory;  ///< bytes that the threads of a block may share
  int64_t kernel_memory = 48 << 10;     ///< the same, of kernels that leave no room for others
  size_t limit = 0;                     ///< bytes of memory for arrays, at first
  bool fragments = true;                ///< products of small matrices by warps
  bool blocks_wait = true;              ///< for blocks that began before them
  bool graphs = false;                  ///< `graph_of` makes them
  bool parts = true;                    ///< small blocks of memory are parts of larger ones
  bool watched = false;                 ///< blocks have the bytes asked for, and serve once
  Probe* probe = nullptr;
  bool unified = false;   ///< addresses are the host's too
  bool on_queue = false;  ///< all jobs run on the queue's thread: functions do their work at once
};

}  // namespace mlx::core::gpu
