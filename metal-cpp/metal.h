// A thin interface to Metal's objects for compute: owning handles, and errors as exceptions.
//
//     objc::Pool pool;
//     auto device = metal::Device::standard();
//     auto pipeline = device.pipeline(device.library(source).function("sum_rows"));
//     auto commands = device.queue().command_buffer();
//     auto encoder = commands.encoder();
//     encoder.pipeline(pipeline);
//     encoder.buffer(0, rows);
//     encoder.dispatch_groups({1024, 1, 1}, {256, 1, 1});
//     encoder.end();
//     commands.commit();
//     commands.wait();
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "objc.h"

namespace metal {

using objc::Id;
using objc::Object;

/// A refusal of Metal, with its text.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Threads or threadgroups along each axis, at least 1.
struct Size {
  unsigned long x = 1, y = 1, z = 1;
};

/// The text of an NSString; empty for null.
inline std::string text(Id string) {
  return string ? objc::send<const char*, "UTF8String">(string) : "";
}

/// The text of an NSError; "unknown error" for null.
inline std::string text_of_error(Id error) {
  return error ? text(objc::send<Id, "localizedDescription">(error)) : "unknown error";
}

/// A new NSString.
inline Object string(const std::string& s) {
  constexpr unsigned long kUtf8 = 4;  // NSUTF8StringEncoding
  Id const raw = objc::send<Id, "alloc">(objc::runtime()->find_class("NSString"));
  return Object(objc::send<Id, "initWithBytes:length:encoding:">(
      raw, static_cast<const void*>(s.data()), static_cast<unsigned long>(s.size()), kUtf8));
}

/// Memory that host and device share.
class Buffer : public Object {
 public:
  using Object::Object;
  /// The address for the host.
  void* contents() const { return objc::send<void*, "contents">(id()); }
  /// Size in bytes.
  unsigned long length() const { return objc::send<unsigned long, "length">(id()); }
  /// The address for kernels, which may get it among other data (macOS 13).
  unsigned long gpu_address() const { return objc::send<unsigned long, "gpuAddress">(id()); }
};

/// Orders command buffers of several queues: a number that only grows.
class Event : public Object {
 public:
  using Object::Object;
};

/// A kernel that is ready to run.
class Pipeline : public Object {
 public:
  using Object::Object;
  /// Most threads of a threadgroup.
  unsigned long max_threads() const {
    return objc::send<unsigned long, "maxTotalThreadsPerThreadgroup">(id());
  }
  /// Threads of a SIMD group.
  unsigned long simd_width() const {
    return objc::send<unsigned long, "threadExecutionWidth">(id());
  }
};

/// Compiled source text.
class Library : public Object {
 public:
  using Object::Object;
  /// The kernel of this name; throws Error where the source has none.
  Object function(const std::string& name) const {
    const Object key = string(name);
    Object found(objc::send<Id, "newFunctionWithName:">(id(), key.id()));
    if (!found) throw Error("[metal] no kernel of the library is named '" + name + "'");
    return found;
  }
};

/// Records dispatches into a command buffer. They run in the order of recording, each after the
/// writes of the ones before.
class Encoder : public Object {
 public:
  using Object::Object;
  /// The kernel of the dispatches that follow.
  void pipeline(const Pipeline& p) { objc::send<void, "setComputePipelineState:">(id(), p.id()); }
  /// The argument [[buffer(index)]], 0 to 30: memory from `offset` bytes on.
  void buffer(unsigned long index, const Buffer& b, unsigned long offset = 0) {
    objc::send<void, "setBuffer:offset:atIndex:">(id(), b.id(), offset, index);
  }
  /// The argument [[buffer(index)]]: a copy of at most 4,096 bytes.
  void bytes(unsigned long index, const void* data, unsigned long size) {
    objc::send<void, "setBytes:length:atIndex:">(id(), data, size, index);
  }
  /// Lets the dispatches that follow read and write `count` buffers by their addresses.
  void use(const Id* buffers, unsigned long count) {
    constexpr unsigned long kReadAndWrite = 3;  // MTLResourceUsageRead | MTLResourceUsageWrite
    objc::send<void, "useResources:count:usage:">(id(), buffers, count, kReadAndWrite);
  }
  /// The argument [[threadgroup(index)]]: memory of a threadgroup, in bytes, a multiple of 16.
  void threadgroup_memory(unsigned long index, unsigned long size) {
    objc::send<void, "setThreadgroupMemoryLength:atIndex:">(id(), size, index);
  }
  /// Runs whole threadgroups.
  void dispatch_groups(Size groups, Size threads) {
    objc::send<void, "dispatchThreadgroups:threadsPerThreadgroup:">(id(), groups, threads);
  }
  /// Runs a grid of threads; the last threadgroups are cut to it.
  void dispatch_threads(Size grid, Size threads) {
    objc::send<void, "dispatchThreads:threadsPerThreadgroup:">(id(), grid, threads);
  }
  /// Ends the recording; required before the command buffer is committed.
  void end() { objc::send<void, "endEncoding">(id()); }
};

/// Work that a queue runs as a whole.
class CommandBuffer : public Object {
 public:
  using Object::Object;
  Encoder encoder() {
    return objc::retained<Encoder>(objc::send<Id, "computeCommandEncoder">(id()));
  }
  /// Sets an event to a number once the work before is done; between encoders.
  void signal(const Event& event, unsigned long number) {
    objc::send<void, "encodeSignalEvent:value:">(id(), event.id(), number);
  }
  /// Lets the work that follows wait until an event has a number; between encoders.
  void wait_for(const Event& event, unsigned long number) {
    objc::send<void, "encodeWaitForEvent:value:">(id(), event.id(), number);
  }
  /// Gives the work to the queue.
  void commit() { objc::send<void, "commit">(id()); }
  /// Waits until the work has ended; throws Error with Metal's text if it failed.
  void wait() {
    wait_for_end();
    if (Id const error = objc::send<Id, "error">(id())) throw Error(text_of_error(error));
  }
  /// Waits until the work has ended, well or not.
  void wait_for_end() const { objc::send<void, "waitUntilCompleted">(id()); }
  /// Whether the work has ended.
  bool has_ended() const {
    constexpr unsigned long kCompleted =
        4;  // MTLCommandBufferStatusCompleted; the next is an error
    return objc::send<unsigned long, "status">(id()) >= kCompleted;
  }
  /// Metal's text where the work has failed, else empty.
  std::string failure() const {
    Id const error = objc::send<Id, "error">(id());
    return error ? text_of_error(error) : "";
  }
};

/// Runs command buffers in the order of their commits.
class Queue : public Object {
 public:
  using Object::Object;
  CommandBuffer command_buffer() const {
    return objc::retained<CommandBuffer>(objc::send<Id, "commandBuffer">(id()));
  }
};

/// A GPU.
class Device : public Object {
 public:
  using Object::Object;

  /// Whether this system has a device.
  static bool available() { return objc::runtime() && Device(objc::runtime()->default_device()); }
  /// The system's default device; throws Error where there is none.
  static Device standard() {
    Device device(objc::runtime() ? objc::runtime()->default_device() : nullptr);
    if (!device) throw Error("[metal] this system has no Metal device");
    return device;
  }

  std::string name() const { return text(objc::send<Id, "name">(id())); }
  /// Most bytes of threadgroup memory.
  unsigned long max_threadgroup_memory() const {
    return objc::send<unsigned long, "maxThreadgroupMemoryLength">(id());
  }
  /// Bytes of memory that the device works well with.
  unsigned long working_set() const {
    return objc::send<unsigned long, "recommendedMaxWorkingSetSize">(id());
  }
  /// Most bytes of a buffer.
  unsigned long max_buffer() const { return objc::send<unsigned long, "maxBufferLength">(id()); }
  Event event() const { return Event(objc::send<Id, "newEvent">(id())); }
  Queue queue() const { return Queue(objc::send<Id, "newCommandQueue">(id())); }

  /// New memory of `size` bytes, at least 1; throws Error where there is none left.
  Buffer buffer(unsigned long size) const {
    constexpr unsigned long kShared = 0;  // MTLResourceStorageModeShared
    Buffer made(objc::send<Id, "newBufferWithLength:options:">(id(), size, kShared));
    if (!made) throw Error("[metal] no memory for a buffer of " + std::to_string(size) + " bytes");
    return made;
  }

  /// Memory of the host, whole pages, as a buffer; the caller keeps the memory for as long as the
  /// buffer is used. An empty handle where Metal does not take it.
  Buffer buffer_over(void* memory, unsigned long size) const {
    constexpr unsigned long kShared = 0;  // MTLResourceStorageModeShared
    return Buffer(objc::send<Id, "newBufferWithBytesNoCopy:length:options:deallocator:">(
        id(), memory, size, kShared, static_cast<Id>(nullptr)));
  }

  /// Compiles source text, with arithmetic as written: no fast math. Throws Error with the
  /// compiler's text where it does not compile.
  Library library(const std::string& source) const {
    Id const options_class = objc::runtime()->find_class("MTLCompileOptions");
    const Object options(objc::send<Id, "init">(objc::send<Id, "alloc">(options_class)));
    objc::send<void, "setFastMathEnabled:">(options.id(), false);
    const Object key = string(source);
    Id error = nullptr;
    Library made(objc::send<Id, "newLibraryWithSource:options:error:">(id(), key.id(), options.id(),
                                                                       &error));
    if (!made) throw Error(text_of_error(error));
    return made;
  }

  /// Makes a function ready to run; throws Error with Metal's text.
  Pipeline pipeline(const Object& function) const {
    Id error = nullptr;
    Pipeline made(
        objc::send<Id, "newComputePipelineStateWithFunction:error:">(id(), function.id(), &error));
    if (!made) throw Error(text_of_error(error));
    return made;
  }
};

/// A record of what a device does, in a document that Xcode opens (".gputrace").
class Capture {
 public:
  /// Begins one. Throws Error where the system does not allow it: it does where the environment
  /// variable MTL_CAPTURE_ENABLED is 1.
  static void start(const Device& device, const std::string& path) {
    constexpr long kDocument = 2;  // MTLCaptureDestinationGPUTraceDocument
    Id const all = manager();
    if (!objc::send<bool, "supportsDestination:">(all, kDocument))
      throw Error(
          "[metal] captures to a document are not allowed; the environment variable "
          "MTL_CAPTURE_ENABLED=1 allows them");
    Id const descriptors = objc::runtime()->find_class("MTLCaptureDescriptor");
    const Object descriptor(objc::send<Id, "init">(objc::send<Id, "alloc">(descriptors)));
    const Object name = string(path);
    Id const url =
        objc::send<Id, "fileURLWithPath:">(objc::runtime()->find_class("NSURL"), name.id());
    objc::send<void, "setCaptureObject:">(descriptor.id(), device.id());
    objc::send<void, "setDestination:">(descriptor.id(), kDocument);
    objc::send<void, "setOutputURL:">(descriptor.id(), url);
    Id error = nullptr;
    if (!objc::send<bool, "startCaptureWithDescriptor:error:">(all, descriptor.id(), &error))
      throw Error(text_of_error(error));
  }
  static bool under_way() { return objc::send<bool, "isCapturing">(manager()); }
  /// Ends it, and writes the document.
  static void stop() { objc::send<void, "stopCapture">(manager()); }

 private:
  static Id manager() {
    return objc::send<Id, "sharedCaptureManager">(objc::runtime()->find_class("MTLCaptureManager"));
  }
};

}  // namespace metal
