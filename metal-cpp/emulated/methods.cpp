// Selectors of Metal's objects, and what each does.
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "capture.h"
#include "objects.h"
#include "poison.h"

namespace emulated {

namespace {

/// MTLSize.
struct Size {
  unsigned long x, y, z;
};
Triple triple(Size s) {
  return {static_cast<unsigned>(s.x), static_cast<unsigned>(s.y), static_cast<unsigned>(s.z)};
}

// Where each use of memory is watched, the backend gives every array a buffer of its size.
constexpr const char* kName = kAddressSanitizer ? "emulated, watched" : "emulated";

/// MTLDevice.
struct Device : Object {
  Device();
};

/// MTLCompileOptions. The emulated compiler has no fast math to switch off.
struct CompileOptions : Object {
  CompileOptions();
};

Id new_error(const std::string& text) {
  auto* e = new Error(text);
  return autorelease(e);
}

Id new_library(Object*, Selector, String* source, Object*, Id* error) {
  std::string problem;
  auto compiled = compile(source->text, problem);
  if (compiled) return new Library(std::move(compiled));
  if (error) *error = new_error(problem);
  return nullptr;
}

/// Memory of the host as a buffer: whole pages, which their owner keeps.
Id new_buffer_over(Object*, Selector, void* memory, unsigned long n, unsigned long,
                   Id deallocator) {
  const auto place = reinterpret_cast<uintptr_t>(memory);
  const bool whole = place % Buffer::kHostPage == 0 && n % Buffer::kHostPage == 0;
  return memory && n && whole && !deallocator ? new Buffer(memory, n) : nullptr;
}

Id new_function(Library* l, Selector, String* name) {
  const Kernel* k = l->compiled->find(name->text);
  return k ? new Function(name->text, k, l, function_class()) : nullptr;
}

Id new_pipeline(Object*, Selector, Function* f, Id*) {
  return new Function(f->name, f->kernel, f->library.get(), pipeline_class());
}

void set_buffer(Encoder* e, Selector, Buffer* b, unsigned long offset, unsigned long index) {
  if (index >= kMaxBuffers)
    return e->misuse("argument " + std::to_string(index) + " given; accepted: 0 to " +
                     std::to_string(kMaxBuffers - 1));
  if (b && offset > b->length)
    return e->misuse("offset " + std::to_string(offset) + " given for a buffer of " +
                     std::to_string(b->length) + " bytes");
  e->next.buffers[index] = Owner<Buffer>(b);
  e->next.constants[index] = nullptr;
  e->next.dispatch.buffers[index] = b ? b->on_device + offset : nullptr;
  e->bound[index] = b != nullptr;
}

void set_bytes(Encoder* e, Selector, const char* data, unsigned long n, unsigned long index) {
  if (index >= kMaxBuffers)
    return e->misuse("argument " + std::to_string(index) + " given; accepted: 0 to " +
                     std::to_string(kMaxBuffers - 1));
  if (n > kMaxConstants)
    return e->misuse(std::to_string(n) + " bytes given for argument " + std::to_string(index) +
                     "; accepted: at most " + std::to_string(kMaxConstants));
  e->next.buffers[index] = {};
  e->next.constants[index] = std::make_shared<Constant>(data, n);
  e->next.dispatch.buffers[index] = e->next.constants[index]->data();
  e->bound[index] = true;
}

void use_buffers(Encoder* e, Selector, Buffer* const* buffers, unsigned long n, unsigned long) {
  for (unsigned long k = 0; k < n; ++k) e->commands->used.emplace_back(buffers[k]);
}

/// A step of an event, which stands between encoders.
template <bool kSignals>
void encode_event(CommandBuffer* c, Selector, Event* event, unsigned long number) {
  if (c->encoding && c->problem.empty())
    c->problem = "[metal] an event was encoded before an encoder ended";
  Recorded step;
  step.event = Owner<Event>(event);
  step.number = number;
  step.signals = kSignals;
  c->recorded.push_back(step);
}

void set_shared(Encoder* e, Selector, unsigned long size, unsigned long index) {
  if (index >= kMaxBuffers || size % 16 != 0)
    return e->misuse(std::to_string(size) + " bytes given for threadgroup argument " +
                     std::to_string(index) + "; accepted: multiples of 16, arguments 0 to " +
                     std::to_string(kMaxBuffers - 1));
  e->next.dispatch.shared_sizes[index] = size;
}

void dispatch_groups(Encoder* e, Selector, Size groups, Size threads) {
  const Triple g = triple(groups), t = triple(threads);
  e->dispatch({g.x * t.x, g.y * t.y, g.z * t.z}, t);
}

Id new_encoder(CommandBuffer* c, Selector) {
  if (c->committed || c->encoding) {
    if (c->problem.empty()) c->problem = "[metal] an encoder was made before the last one ended";
  }
  c->encoding = true;
  return autorelease(new Encoder(c));
}

std::atomic<long> commits = 0, failing_commit = 0;  // numbers of committed buffers, from 1

void commit(CommandBuffer* c, Selector) {
  if (c->encoding && c->problem.empty())
    c->problem = "[metal] a command buffer was committed before its encoder ended";
  c->committed = true;
  if (++commits == failing_commit && c->problem.empty())
    c->problem = "[metal] a failure that a test asked for";
  for (const Recorded& r : c->recorded)
    if (!r.event) note_in_capture(r.dispatch.name);
  // The worker's reference ends before the wait for it does.
  c->queue->worker.add([keep = Owner<CommandBuffer>(c)]() mutable {
    std::promise<void> ended = std::move(keep->ended);
    keep->run();
    keep = {};
    ended.set_value();
  });
}

Class buffers() {
  Class c = object_class("MTLBuffer");
  c.add("contents", +[](Buffer* b, Selector) -> void* { return b->contents; });
  c.add("length", +[](Buffer* b, Selector) -> unsigned long { return b->length; });
  c.add("gpuAddress", +[](Buffer* b, Selector) -> void* { return b->on_device; });
  return c;
}
Class libraries() {
  Class c = object_class("MTLLibrary");
  c.add("newFunctionWithName:", new_function);
  return c;
}
Class pipelines() {
  Class c = object_class("MTLComputePipelineState");
  c.add(
      "maxTotalThreadsPerThreadgroup",
      +[](Object*, Selector) -> unsigned long { return kMaxThreads; });
  c.add("threadExecutionWidth", +[](Object*, Selector) -> unsigned long { return kSimdWidth; });
  return c;
}
Class encoders() {
  Class c = object_class("MTLComputeCommandEncoder");
  c.add(
      "setComputePipelineState:",
      +[](Encoder* e, Selector, Function* p) { e->next.pipeline = Owner<Function>(p); });
  c.add("setBuffer:offset:atIndex:", set_buffer);
  c.add("setBytes:length:atIndex:", set_bytes);
  c.add("setThreadgroupMemoryLength:atIndex:", set_shared);
  c.add("useResources:count:usage:", use_buffers);
  c.add("dispatchThreadgroups:threadsPerThreadgroup:", dispatch_groups);
  c.add(
      "dispatchThreads:threadsPerThreadgroup:", +[](Encoder* e, Selector, Size grid, Size threads) {
        e->dispatch(triple(grid), triple(threads));
      });
  c.add("endEncoding", +[](Encoder* e, Selector) { e->commands->encoding = false; });
  return c;
}
Class command_buffers() {
  Class c = object_class("MTLCommandBuffer");
  c.add("computeCommandEncoder", new_encoder);
  c.add("commit", commit);
  c.add("encodeSignalEvent:value:", encode_event<true>);
  c.add("encodeWaitForEvent:value:", encode_event<false>);
  c.add(
      "status", +[](CommandBuffer* b, Selector) -> unsigned long {
        return !b->committed ? 0 : !b->over ? 2 : b->error ? 5 : 4;
      });
  c.add("waitUntilCompleted", +[](CommandBuffer* b, Selector) { b->end.wait(); });
  c.add("error", +[](CommandBuffer* b, Selector) -> Id { return b->error.get(); });
  return c;
}
Class queues() {
  Class c = object_class("MTLCommandQueue");
  c.add(
      "commandBuffer", +[](Queue* q, Selector) -> Id { return autorelease(new CommandBuffer(q)); });
  return c;
}
unsigned long physical_bytes(Object*, Selector) {
  return static_cast<unsigned long>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<unsigned long>(sysconf(_SC_PAGESIZE));
}
Class devices() {
  Class c = object_class("MTLDevice");
  c.add("release", +[](Object* o, Selector) { release(o), look_for_leaks(); });
  c.add("name", +[](Object*, Selector) -> Id { return autorelease(new String(kName)); });
  c.add(
      "maxThreadgroupMemoryLength", +[](Object*, Selector) -> unsigned long { return kMaxShared; });
  c.add("recommendedMaxWorkingSetSize", physical_bytes);
  c.add("maxBufferLength", physical_bytes);
  c.add("newEvent", +[](Object*, Selector) -> Id { return new Event; });
  c.add("newCommandQueue", +[](Object*, Selector) -> Id { return new Queue; });
  c.add(
      "newBufferWithLength:options:", +[](Object*, Selector, unsigned long n, unsigned long) -> Id {
        try {
          return n == 0 ? nullptr : new Buffer(n);
        } catch (const std::bad_alloc&) {
          return nullptr;
        }
      });
  c.add("newBufferWithBytesNoCopy:length:options:deallocator:", new_buffer_over);
  c.add("newLibraryWithSource:options:error:", new_library);
  c.add("newComputePipelineStateWithFunction:error:", new_pipeline);
  return c;
}
Class compile_options() {
  Class c = object_class("MTLCompileOptions");
  c.add("setFastMathEnabled:", +[](Object*, Selector, bool) {});
  return c;
}

}  // namespace

// Classes live as long as the process.
#define EMULATED_CLASS(NAME, MAKE)         \
  Class& NAME() {                          \
    static Class& made = *new Class(MAKE); \
    return made;                           \
  }
EMULATED_CLASS(buffer_class, buffers())
EMULATED_CLASS(library_class, libraries())
EMULATED_CLASS(function_class, object_class("MTLFunction"))
EMULATED_CLASS(pipeline_class, pipelines())
EMULATED_CLASS(encoder_class, encoders())
EMULATED_CLASS(command_buffer_class, command_buffers())
EMULATED_CLASS(queue_class, queues())
EMULATED_CLASS(event_class, object_class("MTLEvent"))
EMULATED_CLASS(device_class, devices())
EMULATED_CLASS(options_class, compile_options())
#undef EMULATED_CLASS

namespace {
Device::Device() : Object(device_class()) {}
CompileOptions::CompileOptions() : Object(options_class()) {}
}  // namespace

Object* default_device() {
  static Object* const device = [] {
    add_class("MTLCompileOptions", [](Object*, Selector) -> Id { return new CompileOptions; });
    add_capture_classes();
    auto* const made = new Device;
    stays(*made);
    return made;
  }();
  return device;
}

void look_for_leaks() {
  if (default_device()->references > 1 || pools_open() > 0 || objects_alive() == 0) return;
  std::fprintf(stderr, "[metal] objects outlive the device: %s\n", names_of_objects().c_str());
  std::abort();
}

}  // namespace emulated

extern "C" {

/// The number of command buffers that were committed.
__attribute__((visibility("default"))) long emulated_commits() { return emulated::commits; }

/// Makes a command buffer fail: the first that is committed after `others` more.
__attribute__((visibility("default"))) void emulated_fail(long others) {
  emulated::failing_commit = emulated::commits + others + 1;
}

}  // extern "C"
