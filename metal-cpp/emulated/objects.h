// Metal's objects for compute, on the CPU.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "compiler.h"
#include "runtime.h"
#include "threads.h"

namespace emulated {

Class& buffer_class();
Class& library_class();
Class& function_class();
Class& pipeline_class();
Class& encoder_class();
Class& command_buffer_class();
Class& queue_class();
Class& event_class();

constexpr size_t kZone = 256;  // bytes on each side of a buffer

/// MTLBuffer. Memory of the device's own has zones of fixed bytes on both sides, where a write is
/// an error; new memory holds NaN bytes. The device has it at another address than the host. Memory
/// of the host that is wrapped has neither zones nor another address.
struct Buffer : Object {
  explicit Buffer(size_t length);
  Buffer(void* memory, size_t length);
  ~Buffer() override;
  /// Whether the zones are as they were.
  bool intact() const;

  const size_t length;
  char* const contents;
  char* const on_device;

  static constexpr size_t kHostPage = 16 << 10;  // bytes; wrapped memory consists of such pages

 private:
  struct Memory {
    char *host, *device;
  };
  Buffer(size_t length, Memory memory);
  static Memory map(size_t length);
  bool wrapped() const { return contents == on_device; }
};

/// MTLEvent.
struct Event : Object {
  Event();
  void set(unsigned long number);
  void wait_for(unsigned long number);

  std::mutex mutex;
  std::condition_variable changed;
  unsigned long value = 0;
};

/// MTLLibrary.
struct Library : Object {
  explicit Library(std::shared_ptr<Compiled> c);
  const std::shared_ptr<Compiled> compiled;
};

/// MTLFunction and MTLComputePipelineState.
struct Function : Object {
  Function(std::string kernel_name, const Kernel* k, Library* from, Class& c);
  const std::string name;
  const Kernel* const kernel;
  const Owner<Library> library;
};

/// Bytes that were copied as an argument, with zones around them as a buffer of the device has.
class Constant {
 public:
  Constant(const char* data, size_t n);
  Constant(const Constant&) = delete;
  ~Constant();
  char* data() { return &memory_[kZone]; }
  size_t length() const { return memory_.size() - 2 * kZone; }
  bool intact() const;

 private:
  std::vector<char> memory_;
};

/// One recorded dispatch, with what it keeps alive; or a step of an event.
struct Recorded {
  Dispatch dispatch;
  std::vector<Owner<Buffer>> buffers;  // by index
  std::vector<std::shared_ptr<Constant>> constants;
  Owner<Function> pipeline;
  std::string error;  // found while recording
  Owner<Event> event = {};
  unsigned long number = 0;
  bool signals = false;
};

/// A thread that runs command buffers one after another.
class Worker {
 public:
  Worker();
  /// Ends the thread once it has done all work. The work itself may end its worker.
  ~Worker();
  void add(std::function<void()> work);

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> work;
    bool closed = false;
  };
  static void loop(const std::shared_ptr<Shared>& shared);
  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

/// MTLCommandQueue.
struct Queue : Object {
  Queue();
  Worker worker;
};

/// MTLCommandBuffer.
struct CommandBuffer : Object {
  explicit CommandBuffer(Queue* q);
  void run();

  const Owner<Queue> queue;
  std::vector<Recorded> recorded;
  std::vector<Owner<Buffer>> used;  // by their addresses
  std::string problem;              // a misuse while recording
  bool encoding = false, committed = false;
  std::atomic<bool> over = false;
  std::promise<void> ended;
  std::shared_future<void> end;
  Owner<Error> error;
};

/// MTLComputeCommandEncoder.
struct Encoder : Object {
  explicit Encoder(CommandBuffer* to);
  void dispatch(Triple grid, Triple group);
  /// Keeps the first misuse, which fails the command buffer.
  void misuse(const std::string& text);

  const Owner<CommandBuffer> commands;
  Recorded next;
  std::array<bool, kMaxBuffers> bound = {};
};

}  // namespace emulated
