// Buffers, recorded dispatches, and their errors.
#include "objects.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "poison.h"

namespace emulated {

namespace {

constexpr size_t kPage = 4096;
constexpr unsigned char kZoneByte = 0xff;  // NaN as any float, so that reads show as well
// Pages of larger buffers are not touched.
constexpr size_t kMostFilled = size_t{1} << 30;

/// Bytes of a buffer with a page before it and at least a zone behind it.
size_t mapped(size_t length) { return (length + kZone + 2 * kPage - 1) / kPage * kPage; }

/// Tells AddressSanitizer of the bytes around a mapped buffer.
void watch(const char* place, size_t length) {
  poison(place, kPage);
  poison(place + kPage + length, mapped(length) - kPage - length);
}
void unmap(char* contents, size_t length) {
  unpoison(contents - kPage, mapped(length));
  munmap(contents - kPage, mapped(length));
}

bool untouched(const char* zone) {
  static const std::vector<char> bytes(kZone, static_cast<char>(kZoneByte));
  return std::memcmp(zone, bytes.data(), kZone) == 0;
}

std::string text(const Triple& t) {
  return std::to_string(t.x) + " x " + std::to_string(t.y) + " x " + std::to_string(t.z);
}

}  // namespace

Buffer::Memory Buffer::map(size_t length) {
  const size_t size = mapped(length);
  const int file = memfd_create("buffer", 0);
  void* places[2] = {MAP_FAILED, MAP_FAILED};
  if (file >= 0 && ftruncate(file, static_cast<off_t>(size)) == 0)
    for (void*& place : places)
      place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  if (places[0] == MAP_FAILED || places[1] == MAP_FAILED) {
    if (places[0] != MAP_FAILED) munmap(places[0], size);
    throw std::bad_alloc();
  }
  char* const first = static_cast<char*>(places[0]);
  if (length <= kMostFilled) {
    std::memset(first, kZoneByte, size);
  } else {
    std::memset(first + kPage - kZone, kZoneByte, kZone);
    std::memset(first + kPage + length, kZoneByte, kZone);
  }
  for (void* place : places) watch(static_cast<char*>(place), length);
  return {static_cast<char*>(places[0]) + kPage, static_cast<char*>(places[1]) + kPage};
}

Buffer::Buffer(size_t n) : Buffer(n, map(n)) {}
Buffer::Buffer(size_t n, Memory memory)
    : Object(buffer_class()), length(n), contents(memory.host), on_device(memory.device) {}
Buffer::Buffer(void* memory, size_t n)
    : Buffer(n, Memory{static_cast<char*>(memory), static_cast<char*>(memory)}) {}
Buffer::~Buffer() {
  if (wrapped()) return;
  unmap(contents, length);
  unmap(on_device, length);
}
bool Buffer::intact() const {
  return kAddressSanitizer || wrapped() ||
         (untouched(contents - kZone) && untouched(contents + length));
}

Constant::Constant(const char* data, size_t n) : memory_(n + 2 * kZone) {
  std::memset(memory_.data(), kZoneByte, memory_.size());
  std::memcpy(this->data(), data, n);
  poison(memory_.data(), kZone);
  poison(this->data() + n, kZone);
}
Constant::~Constant() { unpoison(memory_.data(), memory_.size()); }
bool Constant::intact() const {
  return kAddressSanitizer ||
         (untouched(memory_.data()) && untouched(&memory_[memory_.size() - kZone]));
}

Event::Event() : Object(event_class()) {}
void Event::set(unsigned long number) {
  std::lock_guard lock(mutex);
  value = std::max(value, number);
  changed.notify_all();
}
void Event::wait_for(unsigned long number) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return value >= number; });
}

Library::Library(std::shared_ptr<Compiled> c) : Object(library_class()), compiled(std::move(c)) {}

Function::Function(std::string kernel_name, const Kernel* k, Library* from, Class& c)
    : Object(c), name(std::move(kernel_name)), kernel(k), library(from) {}

Worker::Worker()
    : shared_(std::make_shared<Shared>()), thread_([shared = shared_] { loop(shared); }) {}

Worker::~Worker() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
  }
  shared_->changed.notify_all();
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

void Worker::add(std::function<void()> work) {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->work.push_back(std::move(work));
  }
  shared_->changed.notify_all();
}

void Worker::loop(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return shared->closed || !shared->work.empty(); });
    if (shared->work.empty()) return;
    auto work = std::move(shared->work.front());
    shared->work.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // may end the worker
    lock.lock();
  }
}

Queue::Queue() : Object(queue_class()) {}

CommandBuffer::CommandBuffer(Queue* q)
    : Object(command_buffer_class()), queue(q), end(ended.get_future().share()) {}

/// The first error of a recorded dispatch: found before, while it runs, or in the zones after it.
std::string run_recorded(const Recorded& r) {
  if (!r.error.empty()) return r.error;
  std::string error = run(r.dispatch);
  const auto look = [&](size_t i, const auto& argument, size_t length) {
    if (error.empty() && !argument.intact())
      error = "[metal] kernel '" + r.dispatch.name + "' wrote outside of buffer " +
              std::to_string(i) + ", which has " + std::to_string(length) + " bytes";
  };
  for (size_t i = 0; i < r.buffers.size(); ++i) {
    if (r.buffers[i]) look(i, *r.buffers[i].get(), r.buffers[i]->length);
    if (r.constants[i]) look(i, *r.constants[i], r.constants[i]->length());
  }
  return error;
}

void CommandBuffer::run() {
  std::string failed = problem;
  for (const Recorded& r : recorded) {
    // Other queues wait for what a command buffer that fails would have signalled.
    if (r.event) {
      if (r.signals) r.event->set(r.number);
      if (!r.signals && failed.empty()) r.event->wait_for(r.number);
    } else if (failed.empty()) {
      failed = run_recorded(r);
    }
  }
  for (const Owner<Buffer>& b : used)
    if (failed.empty() && !b->intact())
      failed = "[metal] a kernel wrote outside of a buffer of " + std::to_string(b->length) +
               " bytes that it had by its address";
  recorded.clear();
  used.clear();
  if (!failed.empty()) {
    auto* e = new Error(failed);
    error = Owner<Error>(e);
    release(e);
  }
  over = true;
}

Encoder::Encoder(CommandBuffer* to) : Object(encoder_class()), commands(to) {
  next.buffers.resize(kMaxBuffers);
  next.constants.resize(kMaxBuffers);
}

void Encoder::misuse(const std::string& problem) {
  if (commands->problem.empty()) commands->problem = "[metal] " + problem;
}

/// The error of a dispatch whose threadgroups or arguments are not as the device needs them.
std::string refused(const Recorded& r, const std::array<bool, kMaxBuffers>& bound) {
  const Triple g = r.dispatch.group, all = r.dispatch.grid;
  const std::string kernel = "[metal] kernel '" + r.dispatch.name + "': ";
  const size_t threads = size_t{g.x} * g.y * g.z;
  if (threads == 0 || threads > kMaxThreads)
    return kernel + "threadgroups of " + text(g) + " threads given; accepted: 1 to " +
           std::to_string(kMaxThreads) + " threads";
  if (size_t{all.x} * all.y * all.z == 0)
    return kernel + "a grid of " + text(all) + " threads given";
  for (unsigned i = 0; i < kMaxBuffers; ++i) {
    if ((r.dispatch.kernel->buffers >> i) & 1 && !bound[i])
      return kernel + "argument " + std::to_string(i) + " is not bound";
    if ((r.dispatch.kernel->shared >> i) & 1 && r.dispatch.shared_sizes[i] == 0)
      return kernel + "the size of threadgroup argument " + std::to_string(i) + " is not set";
  }
  return {};
}

void Encoder::dispatch(Triple grid, Triple group) {
  if (!next.pipeline) return misuse("a dispatch without a pipeline");
  next.dispatch.kernel = next.pipeline->kernel;
  next.dispatch.code = next.pipeline->library->compiled->code();
  next.dispatch.name = next.pipeline->name;
  next.dispatch.grid = grid;
  next.dispatch.group = group;
  next.error = refused(next, bound);
  commands->recorded.push_back(next);
}

}  // namespace emulated
