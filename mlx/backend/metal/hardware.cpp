// The functions of device.h by those of Metal.
#include "mlx/backend/metal/hardware.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "mlx/backend/metal/library.h"
#include "mlx/core/error.h"

namespace mlx::core::metal {

namespace {

constexpr unsigned long kMostShared = 32 << 10;        // bytes, for blocks whose threads share some
constexpr size_t kMostCopied = 4096;                   // bytes of arguments
constexpr unsigned long kPage = 16 << 10;              // bytes, on Apple's processors
constexpr int kMostDispatches = 100;                   // of a command buffer
constexpr int kProcessors = 8;                         // Metal does not tell how many there are
constexpr const char* kEmulated = "emulated";          // the device of the tests
constexpr const char* kWatched = "emulated, watched";  // the same with a sanitizer

using Commands = std::shared_ptr<::metal::CommandBuffer>;

[[noreturn]] void fail_with(const std::string& text) {
  throw ExecutionError(text.starts_with("[metal]") ? text : "[metal] " + text);
}

}  // namespace

/// A queue, and the command buffer that is being recorded.
struct MetalHardware::Stream {
  std::mutex mutex;
  ::metal::Queue queue;
  std::shared_ptr<::metal::Event> event;
  unsigned long number = 0;  ///< that the event has after the last record
  Commands open = {};
  ::metal::Encoder encoder = {};
  uint64_t version = 0;  ///< of the buffers that the encoder uses
  int dispatches = 0;
  std::vector<Commands> since = {};  ///< committed after the last record
  Commands last = {};                ///< committed
};

/// The end of what a stream had.
struct MetalHardware::Recorded {
  std::vector<Commands> commands;
  std::shared_ptr<::metal::Event> event;
  unsigned long number;
};

/// A compiled source and its kernel.
struct MetalHardware::Module {
  ::metal::Library library;
  ::metal::Pipeline pipeline;
  bool shares;  ///< its kernel may have memory of the block
};

MetalHardware::Stream& MetalHardware::stream_of(StreamHandle handle) {
  return *reinterpret_cast<Stream*>(handle);
}
MetalHardware::Recorded& MetalHardware::event_of(EventHandle handle) {
  return *reinterpret_cast<Recorded*>(handle);
}

void MetalHardware::start_capture(const std::string& path) {
  objc::Pool pool;
  try {
    ::metal::Capture::start(device_, path);
  } catch (const ::metal::Error& e) {
    fail_with(e.what());
  }
}
void MetalHardware::stop_capture() {
  objc::Pool pool;
  if (!::metal::Capture::under_way())
    fail<ExecutionError>("metal", "no capture has begun; start_capture begins one");
  ::metal::Capture::stop();
}

//--- memory

void BufferTable::add(Address begin, const ::metal::Buffer& buffer) {
  const auto host = reinterpret_cast<Address>(buffer.contents());
  ranges_[begin] = {buffer.length(), begin == host ? buffer.gpu_address() : host};
}
void BufferTable::remove(Address begin) { ranges_.erase(begin); }
bool BufferTable::find(Address address, Address& place) const {
  auto it = ranges_.upper_bound(address);
  if (it == ranges_.begin()) return false;
  --it;
  if (address - it->first > it->second.size) return false;
  place = it->second.other + (address - it->first);
  return true;
}

void MetalHardware::check_process() const {
  if (getpid() != process_)
    fail<ExecutionError>("gpu", "the work was given to the GPU before this process was forked; ",
                         "wait for it before the fork, or start child processes by spawn");
}

MetalHardware::MetalHardware() : process_(getpid()) {
  objc::Pool pool;
  device_ = ::metal::Device::standard();
  limit = device_.working_set();
  processors = kProcessors;
  block_memory = kernel_memory = kMostShared;
  fragments = blocks_wait = false;
  // The emulated device sees writes beside a buffer, so that each block is one.
  const std::string name = device_.name();
  watched = name == kWatched;
  parts = name != kEmulated && !watched;
}
MetalHardware::~MetalHardware() = default;

Address MetalHardware::alloc(size_t bytes) {
  objc::Pool pool;
  if (bytes > device_.max_buffer()) return 0;
  try {
    ::metal::Buffer buffer = device_.buffer(bytes);
    std::lock_guard lock(mutex_);
    return keep(std::move(buffer));
  } catch (const ::metal::Error&) {
    return 0;
  }
}
void MetalHardware::free(Address address) noexcept {
  std::lock_guard lock(mutex_);
  forget(address);
}
Address MetalHardware::keep(::metal::Buffer buffer) {
  const Address address = buffer.gpu_address();
  by_device_.add(address, buffer);
  buffers_.emplace(address, std::move(buffer));
  ++version_;
  return address;
}
void MetalHardware::forget(Address address) {
  by_device_.remove(address);
  buffers_.erase(address);
  ++version_;
}

/// Whole pages are wrapped, once for all that use the same ones.
Address MetalHardware::wrap(void* host, size_t bytes) {
  const auto begin = reinterpret_cast<Address>(host);
  if (!bytes || begin % kPage || bytes % kPage || bytes > device_.max_buffer()) return 0;
  objc::Pool pool;
  std::lock_guard lock(mutex_);
  const auto after = wrapped_.lower_bound(begin);
  if (after != wrapped_.end() && after->first == begin && after->second.bytes == bytes) {
    ++after->second.users;
    return after->second.address;
  }
  // A place in the device's memory has one buffer.
  if (after != wrapped_.end() && after->first < begin + bytes) return 0;
  if (after != wrapped_.begin()) {
    const auto& [other, before] = *std::prev(after);
    if (other + before.bytes > begin) return 0;
  }
  ::metal::Buffer buffer = device_.buffer_over(host, bytes);
  if (!buffer) return 0;
  const Address address = keep(std::move(buffer));
  wrapped_.emplace(begin, Wrapped{bytes, address, 1});
  return address;
}
void MetalHardware::unwrap(void* host) noexcept {
  std::lock_guard lock(mutex_);
  const auto found = wrapped_.find(reinterpret_cast<Address>(host));
  if (--found->second.users > 0) return;
  forget(found->second.address);
  wrapped_.erase(found);
}
void* MetalHardware::alloc_host(size_t bytes) {
  const Address address = alloc(bytes);
  if (!address) fail<MemoryError>("malloc", "requested ", bytes, " bytes; the device has no more");
  std::lock_guard lock(mutex_);
  const ::metal::Buffer& buffer = buffers_.at(address);
  void* const host = buffer.contents();
  std::memset(host, 0, bytes);
  by_host_.add(reinterpret_cast<Address>(host), buffer);
  return host;
}
Address MetalHardware::seen_by_device(const void* place) {
  std::shared_lock lock(mutex_);
  Address address = 0;
  by_host_.find(reinterpret_cast<Address>(place), address);
  return address;
}
void* MetalHardware::seen_by_host(Address address) {
  std::shared_lock lock(mutex_);
  Address place = 0;
  by_device_.find(address, place);
  return reinterpret_cast<void*>(place);
}

//--- streams

StreamHandle MetalHardware::make_stream(int) {
  objc::Pool pool;
  auto s = std::make_unique<Stream>();
  s->queue = device_.queue();
  s->event = std::make_shared<::metal::Event>(device_.event());
  return reinterpret_cast<StreamHandle>(s.release());
}
void MetalHardware::free_stream(StreamHandle stream) noexcept { delete &stream_of(stream); }

::metal::Encoder& MetalHardware::encoder(Stream& s) {
  if (!s.open) {
    s.open = std::make_shared<::metal::CommandBuffer>(s.queue.command_buffer());
    s.dispatches = 0;
  }
  if (!s.encoder) {
    s.encoder = s.open->encoder();
    s.version = 0;
  }
  std::shared_lock lock(mutex_);
  if (s.version != version_) {
    std::vector<objc::Id> all;
    for (const auto& [address, buffer] : buffers_) all.push_back(buffer.id());
    s.encoder.use(all.data(), all.size());
    s.version = version_;
  }
  return s.encoder;
}

void MetalHardware::commit(Stream& s) {
  if (s.encoder) s.encoder.end();
  s.encoder = {};
  if (!s.open) return;
  s.open->commit();
  s.since.push_back(s.open);
  s.last = std::move(s.open);
  s.open = {};
}

void MetalHardware::launch(const DeviceCall& kernel, StreamHandle stream) {
  objc::Pool pool;
  Stream& s = stream_of(stream);
  std::lock_guard lock(s.mutex);
  ::metal::Encoder& e = encoder(s);
  const Module& module = *reinterpret_cast<const Module*>(kernel.function.handle);
  e.pipeline(module.pipeline);
  if (module.shares) e.threadgroup_memory(0, kMostShared);
  const std::span<const int64_t> words = kernel.arguments.subspan(1);
  if (words.size_bytes() <= kMostCopied) {
    e.bytes(0, words.data(), words.size_bytes());
  } else {
    const ::metal::Buffer block = device_.buffer(words.size_bytes());
    std::memcpy(block.contents(), words.data(), words.size_bytes());
    e.buffer(0, block);
  }
  e.dispatch_groups({static_cast<unsigned long>(kernel.blocks), 1, 1},
                    {static_cast<unsigned long>(kernel.threads), 1, 1});
  if (++s.dispatches >= kMostDispatches) commit(s);
}

unsigned long MetalHardware::most_threads(FunctionHandle kernel) {
  objc::Pool pool;
  return reinterpret_cast<const Module*>(kernel)->pipeline.max_threads();
}

void MetalHardware::run(FunctionHandle kernel, const Grid& grid,
                        std::span<const Argument> arguments, StreamHandle stream) {
  objc::Pool pool;
  Stream& s = stream_of(stream);
  std::lock_guard lock(s.mutex);
  ::metal::Encoder& e = encoder(s);
  e.pipeline(reinterpret_cast<const Module*>(kernel)->pipeline);
  for (unsigned long k = 0; k < arguments.size(); ++k) {
    const Argument& a = arguments[k];
    if (!a.bytes.empty()) {
      e.bytes(k, a.bytes.data(), a.bytes.size());
      continue;
    }
    std::shared_lock buffers(mutex_);
    const auto after = buffers_.upper_bound(a.address);
    if (after == buffers_.begin()) fail<ExecutionError>("metal", "memory that no buffer has");
    const auto& [begin, buffer] = *std::prev(after);
    e.buffer(k, buffer, a.address - begin);
  }
  const auto size = [](const unsigned long (&n)[3]) { return ::metal::Size{n[0], n[1], n[2]}; };
  e.dispatch_threads(size(grid.threads), size(grid.group));
  if (++s.dispatches >= kMostDispatches) commit(s);
}

EventHandle MetalHardware::record(StreamHandle stream) {
  objc::Pool pool;
  Stream& s = stream_of(stream);
  std::lock_guard lock(s.mutex);
  if (s.open) {
    if (s.encoder) s.encoder.end();
    s.encoder = {};
    s.open->signal(*s.event, ++s.number);
    commit(s);
  } else if (!s.since.empty()) {
    s.open = std::make_shared<::metal::CommandBuffer>(s.queue.command_buffer());
    s.open->signal(*s.event, ++s.number);
    commit(s);
  }
  auto e = std::make_unique<Recorded>(Recorded{std::move(s.since), s.event, s.number});
  s.since.clear();
  if (e->commands.empty() && s.last) e->commands.push_back(s.last);
  return reinterpret_cast<EventHandle>(e.release());
}
void MetalHardware::free_event(EventHandle event) noexcept { delete &event_of(event); }

bool MetalHardware::reached(EventHandle event, std::exception_ptr& fault) {
  objc::Pool pool;
  const Recorded& e = event_of(event);
  for (const Commands& c : e.commands) {
    if (c->has_ended()) continue;
    if (getpid() == process_) return false;
    try {
      check_process();
    } catch (...) {
      fault = std::current_exception();
    }
    return true;
  }
  for (const Commands& c : e.commands)
    if (const std::string text = c->failure(); !text.empty() && !fault) {
      try {
        fail_with(text);
      } catch (...) {
        fault = std::current_exception();
      }
    }
  return true;
}
void MetalHardware::wait(EventHandle event) {
  if (getpid() != process_) return;
  objc::Pool pool;
  for (const Commands& c : event_of(event).commands) c->wait_for_end();
}

void MetalHardware::stream_waits(StreamHandle stream, EventHandle event) {
  objc::Pool pool;
  const Recorded& e = event_of(event);
  if (e.commands.empty()) return;
  Stream& s = stream_of(stream);
  std::lock_guard lock(s.mutex);
  if (s.encoder) s.encoder.end();
  s.encoder = {};
  if (!s.open) {
    s.open = std::make_shared<::metal::CommandBuffer>(s.queue.command_buffer());
    s.dispatches = 0;
  }
  s.open->wait_for(*e.event, e.number);
}

void MetalHardware::wait_stream(StreamHandle stream) {
  check_process();
  objc::Pool pool;
  Stream& s = stream_of(stream);
  std::vector<Commands> commands;
  {
    std::lock_guard lock(s.mutex);
    commit(s);
    commands = s.since;
    if (s.last) commands.push_back(s.last);
  }
  for (const Commands& c : commands) c->wait_for_end();
  for (const Commands& c : commands)
    if (const std::string text = c->failure(); !text.empty()) fail_with(text);
}

void MetalHardware::copy(Way way, Address to, Address from, size_t bytes, StreamHandle stream) {
  // Memory is the host's too: it copies, once the work before is done.
  wait_stream(stream);
  void* const target = way == Way::to_host ? reinterpret_cast<void*>(to) : seen_by_host(to);
  const void* const source =
      way == Way::to_device ? reinterpret_cast<const void*>(from) : seen_by_host(from);
  std::memmove(target, source, bytes);
  if (way != Way::within) copied_ += bytes;
}

//--- kernels

std::string MetalHardware::compile(const std::string& source) { return whole_source(source); }

FunctionHandle MetalHardware::load(const std::string& code, const char* name, void*& module) {
  if (!module) {
    objc::Pool pool;
    try {
      auto made = std::make_unique<Module>();
      made->library = device_.library(code);
      made->pipeline = device_.pipeline(made->library.function(name));
      made->shares = shares_memory(code);
      module = made.release();
    } catch (const ::metal::Error& e) {
      fail_with(e.what());
    }
  }
  return reinterpret_cast<FunctionHandle>(module);
}
void MetalHardware::unload(void* module) noexcept { delete static_cast<Module*>(module); }
const gpu::KernelTarget* MetalHardware::target() const { return &metal_target; }

}  // namespace mlx::core::metal
