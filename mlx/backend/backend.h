// The whole boundary between the engine and a backend. Core, ops, transforms and runtime know no
// more of a backend than this page; a backend is a registration, never an #include outside its
// folder.
//
// Contract
//  * Kernels' operands are bindings (opaque buffer, byte offset), never pointers.
//  * `launch` and `copy` may return before the work is done. Work on one stream runs in order. The
//    `done` event is signalled, or failed with the error, when the last step is over; or it gets a
//    Completion, before the call returns, from which the engine learns the same.
//  * They first wait for the events in `after`: on the device for events with a completion of the
//    same backend, on the host for others, but never on the thread that calls. If one of them
//    failed, the work fails with that error, and no step runs.
//  * An error after which the work can succeed (`can_resume`) suspends `done` instead, where the
//    backend can go on with it later.
//  * Buffers that a launch names are kept alive by its arguments until `done`.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mlx/backend/arguments.h"
#include "mlx/backend/program.h"
#include "mlx/core/api.h"
#include "mlx/core/array.h"

namespace mlx::core {

/// The planner's view of a device.
struct Caps {
  int alignment = 64;  ///< bytes, of temporaries
  /// The largest fused program: elementwise nodes, operands read, results stored.
  int fused_nodes = 64, fused_inputs = 16, fused_outputs = 12;
  /// Bytes that the values of one row may have in a unit of rows (RowUnit); 0: there are no units.
  int64_t row_bytes = 0;
  int64_t unit_bytes = 64 << 10;  ///< of the largest operand, from which a unit of rows is made
  /// The derivative of attention is one step for float32 and any number of features; else for 16
  /// bits and up to 128 features, and a formula for others.
  bool whole_attention_vjp = false;
};

/// How the elements of an operand lie, as far as a kernel cares.
enum class Accepts : uint8_t {
  any,     ///< any strides, zero and negative ones too
  matrix,  ///< the last axis or the one before has stride 1, and neither overlaps the other
  dense,   ///< one gapless run of memory, axes in any order
  rows,    ///< row-contiguous
};

struct RowUnit;
struct Routine;

/// One kernel invocation, complete except for buffers and constants. `operands` are the inputs,
/// then the outputs; each is bound to a slot of the launch. An op with a program reads what that
/// computes, row-contiguous in the iteration's shape, instead of reading an input (prologue); or
/// the outputs are what the program computes from the op's result, rounded to its dtype, which is
/// its value 0 and no operand, and from further inputs, which follow the op's (epilogue).
struct Step {
  const OpDef* op = nullptr;  ///< null for a fused program
  Ref<const Attrs> attrs;
  Program program;  ///< the layouts of its operands have the iteration's shape
  std::vector<Layout> operands;
  SmallVector<int, 8> slots;  ///< binding of each operand; the layout's offset counts from there
  int n_inputs = 0;
  int epilogue = -1;       ///< where the inputs of a program that is an epilogue begin, or -1
  int workspace = -1;      ///< operand that is scratch memory, or -1
  int first_constant = 0;  ///< the program's constants among those of the launch
  Shape loop;  ///< the step runs at each position of a loop of these lengths; empty: once
  std::vector<Strides> advance;         ///< with a loop: elements that operands move along its axes
  std::shared_ptr<const RowUnit> unit;  ///< instead of an op or a program: steps that share rows
  /// Of an op that runs functions: their steps, in the order of its attributes.
  std::vector<std::shared_ptr<const Routine>> routines = {};
  uint32_t origin = 0;  ///< the line of the program that built it, where that is recorded
  std::string name() const;
  /// Past the last output: a workspace is no output.
  int outputs_end() const { return workspace >= 0 ? workspace : static_cast<int>(operands.size()); }
};

/// Steps that run over some rows at a time, one step after another, so that a row is read from
/// memory once. A row is a range of the elements of the unit's operands and temporaries: in the
/// iteration of a step of n elements, those from r * n / rows on. Results of one step that another
/// one reads lie in the same row. The slots of the steps are numbers of the unit's operands, or
/// -1 - t for temporary t, whose rows lie one after another. The unit's step has the operands, each
/// with its first layout among the steps; its name lists theirs.
struct RowUnit {
  int64_t rows = 0;
  std::vector<Step> steps;
  std::vector<int64_t> temporaries;  ///< bytes of a row of each
};

/// The steps of a function that an op runs, planned for a device. The inputs and outputs of the
/// function are row-contiguous; temporaries lie in an arena, which is the end of the workspace of
/// the op's step.
struct Routine {
  /// Where a binding of the steps begins.
  struct Place {
    enum Kind : uint8_t { input, output, arena, constant } kind = arena;
    int index = 0;       ///< of the input, the output or the constant
    int64_t offset = 0;  ///< bytes
  };
  /// An output that no step writes at its place: copied from here after the steps.
  struct Copy {
    int output;
    Place from;
    Layout layout;  ///< of what is copied; offsets count from the place
  };
  std::vector<Step> steps;  ///< bound to `places`
  std::vector<Place> places;
  std::vector<Copy> copies;
  std::vector<Scalar> constants;
  int n_inputs = 0, n_outputs = 0;
  size_t arena_bytes = 0;
  Space space = Space::host;  ///< of the device
};
/// Alignment of the arena of a routine, and of everything in the workspace in front of it.
inline constexpr size_t kRoutineAlignment = 64;

/// The wishes of a kernel to the planner.
struct Requirements {
  SmallVector<Accepts, 8> inputs;  ///< of each input; empty where all take any layout
  uint32_t in_place = 0;  ///< bit i: the first output may be input i's buffer, if equally laid out
  size_t workspace = 0;   ///< bytes
  bool prologue = false;  ///< the only input may be computed by a program as it is read
  bool epilogue = false;  ///< a program may be applied to the only output as it is written
  /// The first output has the layout of the first input, where that is dense and of its shape;
  /// else it is in rows.
  bool keeps_order = false;
};

/// Steps of one device in order, and the memory that they share.
struct Work {
  std::vector<Step> steps;
  size_t arena_bytes = 0;  ///< of temporaries; bindings without a buffer lie in it
  Device device;
};

/// Prepared work, immutable, launched any number of times. It owns its arena: one for each launch
/// that may run at the same time, at the same addresses again where the backend cares.
struct MLX_API Executable {
  virtual ~Executable() = default;
  bool complete = true;  ///< false: a step has no kernel and fails; a later plan may have one
};

struct Launch {
  std::shared_ptr<const Executable> executable;
  Arguments arguments;
  std::vector<Ref<Event>> after;
  Ref<Event> done;
  Stream stream;
  bool blocking = false;  ///< the caller waits: the work may run on its thread
};

/// The stream of copies that belong to no stream of the program.
inline constexpr int kCopyStream = -1;

/// Bytes moved from one space to another; one of them is the backend's, the other that or host
/// memory.
struct Transfer {
  Ref<Buffer> from, to;
  int64_t from_offset = 0, to_offset = 0;
  size_t bytes = 0;
  Stream stream;
  std::vector<Ref<Event>> after;
  Ref<Event> done;
};

using Clock = std::chrono::steady_clock;

/// Backend::rows_of: any division into rows.
inline constexpr int64_t kAnyRows = -1;

/// Sees the steps that run, while they are watched (backend/common/steps.h runs them so).
struct MLX_API StepObserver {
  virtual ~StepObserver() = default;
  /// A step that is over. `made_nan`: of inputs without NaN. Throws what the launch fails with.
  virtual void report(const Step& step, Clock::time_point start, Clock::time_point end,
                      bool made_nan) = 0;
  /// The error of a step with the line of the program that built it.
  virtual std::exception_ptr describe(const Step& step, std::exception_ptr error) = 0;
  /// True where NaNs are looked for.
  virtual bool looks_for_nans() const = 0;
};
/// The observer, or null. Steps that were prepared while there was one know how to describe
/// themselves; others are not shown to it.
extern MLX_API std::atomic<StepObserver*> step_observer;

/// The memory of a device, for statistics and limits. Sizes are bytes.
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

class MLX_API Backend {
 public:
  virtual ~Backend() = default;
  virtual int device_count() const { return 1; }
  virtual Caps caps(int device) const = 0;
  virtual DeviceInfo info(int device) const = 0;
  virtual MemoryControl& memory(int device) = 0;

  /// Memory for work on a stream, whose earlier work may still use it. Throws MemoryError.
  virtual Ref<Buffer> alloc(size_t bytes, Stream stream) = 0;
  /// A buffer of the device's space over host memory. It keeps `owner`, which keeps the memory.
  /// Null where the device cannot reach it.
  virtual Ref<Buffer> wrap(void* data, size_t bytes, int device, Ref<RefCounted> owner = {}) = 0;
  /// The address that kernels know the bytes by, for exchange with other libraries.
  virtual void* address(const Buffer& buffer) = 0;
  virtual void copy(Transfer copy) = 0;

  /// Whether there is a kernel for the op on these operands (inputs, then outputs), and its wishes.
  /// Throws ValueError naming op and dtypes where there is none.
  virtual Requirements find(const OpDef& op, const Attrs* attrs, std::span<const Layout> operands,
                            int n_inputs, int device) = 0;
  /// Whether the device may run functions of the op: then they are planned for it, and
  /// `runs_functions` is asked about the step with the plans. Otherwise the host runs them.
  virtual bool may_run_functions(const OpDef&) { return false; }
  virtual bool runs_functions(const Step&, int) { return false; }
  /// Whether fused programs may contain the instruction.
  virtual bool fuses(const Instr& code, int device) = 0;
  /// Whether the step, an op with a program, runs as one kernel. The outputs of an epilogue may lie
  /// in the memory of the program's own inputs, element on element, but not in that of the op's.
  virtual bool fuses_prologue(const Step& step, int device) = 0;
  virtual bool fuses_epilogue(const Step&, int) { return false; }
  /// How many rows the step has that may run in parts, in a unit: the leading axes of an op, which
  /// do not mix. kAnyRows for a program that can be divided anywhere; 0 where the step has to run
  /// as a whole.
  virtual int64_t rows_of(const Step&, int) { return 0; }
  /// Whether one unit of `rows` rows may have these steps, in this order: asked with all its steps
  /// each time that a unit grows.
  virtual bool shares_rows(std::span<const Step* const>, int64_t, int) { return true; }
  /// May compile, and take long: it is called without locks.
  virtual std::shared_ptr<const Executable> prepare(Work work) = 0;
  virtual void launch(Launch launch) = 0;
  /// Waits for everything launched on the stream so far.
  virtual void synchronize(Stream s) = 0;
  /// Gives back the parts of the device that a stream has, when its work is over: its thread has
  /// ended.
  virtual void release(Stream) {}
  /// A stream that was given back belongs to a thread again.
  virtual void acquire(Stream) {}
};

/// Makes a backend serve a device type, each of its devices a space. At most one backend a type;
/// later registrations replace earlier ones.
MLX_API void register_backend(Device::DeviceType type, std::unique_ptr<Backend> backend);
/// The backend of a device; throws ValueError where there is none.
MLX_API Backend& backend_of(Device device);
/// The backend of the host's memory: the CPU.
MLX_API Backend& host_backend();
/// The memory space of a device, and the device of a space.
MLX_API Space space_of(Device device);
Device device_of(Space space);

}  // namespace mlx::core
