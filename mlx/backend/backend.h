// The whole boundary between the engine and a backend. Core, ops, transforms and runtime know no
// more of a backend than this page; a backend is a registration, never an #include outside its
// room.
//
// Contract
//  * Kernels' operands are bindings (opaque buffer, byte offset), never pointers.
//  * `launch` may return before the work is done. Work on one stream runs in order. The launch's
//    `done` event is signalled, or failed with the error, when its last step is over.
//  * A launch first waits for the events in `after`; if one of them failed, it fails with that
//  error
//    and runs nothing.
//  * Buffers and events that a launch names are kept alive by the launch until `done`.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mlx/core/array.h"
#include "mlx/runtime/program.h"

namespace mlx::core {

struct Caps {
  bool host_memory;   ///< the host reads and writes its buffers in place (`host_pointer`)
  bool asynchronous;  ///< blocking launches may still run elsewhere
};

struct Binding {
  Buffer* buffer = nullptr;
  int64_t offset = 0;  ///< bytes
};

/// One kernel invocation, complete but for buffers and parameters. `operands` are the inputs, then
/// the outputs; each is bound to a slot of the launch. An op with a program reads what that
/// computes, row-contiguous in the iteration's shape, instead of an input of its own.
struct Step {
  const OpDef* op = nullptr;  ///< null for a fused program
  Ref<const Attrs> attrs;
  Program program;  ///< the layouts of its operands have the iteration's shape
  std::vector<Layout> operands;
  SmallVector<int, 8> slots;  ///< binding of each operand; the layout's offset counts from there
  int n_inputs = 0;
  int workspace = -1;       ///< slot of the scratch memory, or -1
  int first_parameter = 0;  ///< constants of the program in the launch's parameters
  uint32_t origin = 0;      ///< the line of the program that built it, where that is recorded
  std::string name() const;
};

/// Stands around the steps that host memory's backends run, while somebody watches them.
struct StepObserver {
  virtual ~StepObserver() = default;
  /// Runs the step by `kernel`. `operands` are addresses of the operands' first elements,
  /// `constants` the values of a program's constants.
  virtual void run(const Step& step, std::span<void* const> operands, const Scalar* constants,
                   const std::function<void()>& kernel) = 0;
};
/// The observer, or null. Steps that were prepared while there was one know how to describe
/// themselves; others are not shown to it.
extern std::atomic<StepObserver*> step_observer;

/// What a kernel wants from the planner.
struct Requirements {
  uint32_t contiguous = 0;  ///< bit i: input i must be row-contiguous
  uint32_t in_place = 0;  ///< bit i: the first output may be input i's buffer, if equally laid out
  size_t workspace = 0;   ///< bytes
  bool computed = false;  ///< the only input may be computed by a program as it is read
};

/// Prepared steps, immutable, launched any number of times.
struct Executable {
  virtual ~Executable() = default;
};

struct Launch {
  std::shared_ptr<const Executable> executable;
  std::vector<Binding> bindings;
  std::vector<Scalar> parameters;
  std::vector<Ref<Event>> after;
  std::vector<Ref<Storage>> keep;
  Ref<Event> done;
  Stream stream;
  bool blocking = false;  ///< the caller waits: the work may run on its thread
};

/// A backend's allocator, for those who watch and limit it. Sizes are bytes.
struct MemoryControl {
  enum Limit { soft, cache, hard };
  virtual ~MemoryControl() = default;
  virtual size_t active() const = 0;
  virtual size_t peak() const = 0;
  virtual size_t cached() const = 0;
  virtual void reset_peak() = 0;
  virtual void clear_cache() = 0;
  virtual size_t limit(Limit which) const = 0;
  /// Sets a limit; returns the previous one.
  virtual size_t limit(Limit which, size_t bytes) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Caps caps() const = 0;
  virtual int device_count() const { return 1; }
  virtual DeviceInfo info(int device) const = 0;

  /// Throws MemoryError beyond the hard ceiling. The buffer may be reused by later work on the
  /// stream at once after `free`.
  virtual Buffer* alloc(size_t bytes) = 0;
  virtual void free(Buffer* buffer) = 0;
  /// Bytes that the buffer really has.
  virtual size_t capacity(Buffer* buffer) const = 0;
  virtual MemoryControl& memory() = 0;
  /// Address of the bytes where the host can reach them, else null.
  virtual void* host_pointer(Buffer* buffer) = 0;
  /// A buffer over host memory that outlives it; only where caps().host_memory.
  virtual Buffer* wrap(void* data, size_t bytes) = 0;
  /// Blocking copies between the host and a buffer. The buffer's last write is over.
  virtual void copy_in(Buffer* dst, const void* src, size_t bytes) = 0;
  virtual void copy_out(void* dst, Buffer* src, size_t bytes) = 0;

  /// Whether there is a kernel for the op on these operands (inputs, then outputs), and its wishes.
  /// Throws NotImplemented-like ValueError naming op and dtypes where there is none.
  virtual Requirements find(const OpDef& op, const Attrs* attrs, std::span<const Layout> operands,
                            int n_inputs) = 0;
  virtual std::shared_ptr<const Executable> prepare(std::vector<Step> steps) = 0;
  virtual void launch(Launch launch) = 0;
  /// Waits for everything launched on the stream so far.
  virtual void synchronize(Stream s) = 0;
};

/// Makes a backend serve a device type. At most one each; later registrations replace earlier ones.
void register_backend(Device::DeviceType type, std::unique_ptr<Backend> backend);
/// The backend of a device; throws ValueError where there is none.
Backend& backend_of(Device device);
/// The backend of the host's memory: the CPU.
Backend& host_backend();

}  // namespace mlx::core
