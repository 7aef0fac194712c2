// NVIDIA's driver as the plugin sees it, on the host: with host_compiler.cpp a library that exports
// the functions of mlx/backend/cuda/driver.h and NVRTC's. MLX_CUDA_DRIVER and MLX_CUDA_NVRTC name
// it.
//
//  * Device addresses fault where the host uses them: they carry a mark that kernels' arguments
//    and copies lose. Memory is poisoned when it is given out and when it is freed.
//  * Each stream is a thread that runs late: it waits a little before some of its work.
//  * Kernels are the plugin's own, compiled as C++ (device/host.cuh). The threads of a block are
//    fibers that take turns at barriers and shuffles.
//  * Calls fail on request.
//  * Built with a sanitizer, kernels are too. AddressSanitizer sees what they use beside or after a
//    block, ThreadSanitizer what they use while another thread does.
#include "host_driver.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fibers.h"

extern "C" {
__attribute__((visibility("default"))) thread_local MlxIndex threadIdx, blockIdx, blockDim, gridDim;
}

struct Function {
  void (*kernel)(const void*);
  bool in_step;  // its threads meet at barriers
  bool early;
  void* context;
};
bool begins_early(const Function* f) { return f->early; }

namespace {

constexpr int kInvalidContext = 201, kInvalidHandle = 400, kNotReady = 600;
constexpr int kMostDevices = 4;
constexpr size_t kTotal = size_t{4} << 30;
constexpr int kMostShared = 227 << 10;

// --- what tests ask for

std::atomic<int64_t> contexts_asked{0};
std::atomic<int64_t> calls[kFailures], first_failing[kFailures], after_failing[kFailures];
std::atomic<int64_t> launches{0}, faults{0};
/// At the program's end the number of copies is printed where MLX_HOST_DRIVER_REPORT is set.
struct Report {
  ~Report() {
    if (std::getenv("MLX_HOST_DRIVER_REPORT"))
      std::fprintf(stderr, "copies: %lld\n", static_cast<long long>(calls[kFailCopy]));
  }
} report;

// --- devices

/// MLX_HOST_DRIVER_DEVICES, or one. Each has a context; streams, events and code belong to theirs.
int device_count() {
  static const int count = [] {
    const char* text = std::getenv("MLX_HOST_DRIVER_DEVICES");
    return text ? std::clamp(std::atoi(text), 1, kMostDevices) : 1;
  }();
  return count;
}
char contexts[kMostDevices];
thread_local void* current = nullptr;  // the context

// --- memory

constexpr unsigned long long kMark = 0x4d58ull << 48, kMarkBits = 0xffffull << 48;
constexpr unsigned char kFresh = 0xA5, kFreed = 0xDB;

struct Memory {
  std::mutex mutex;
  std::map<unsigned char*, size_t> blocks;
  size_t used = 0;
};
Memory& memory() {
  static auto& m = *new Memory;
  return m;
}
bool marked(unsigned long long a) { return (a & kMarkBits) == kMark; }
unsigned char* real(unsigned long long a) {
  return reinterpret_cast<unsigned char*>(a & ~kMarkBits);
}
bool is_device_memory(unsigned long long address, size_t bytes) {
  if (!marked(address)) return false;
  Memory& m = memory();
  std::lock_guard lock(m.mutex);
  auto it = m.blocks.upper_bound(real(address));
  if (it == m.blocks.begin()) return false;
  --it;
  return real(address) + bytes <= it->first + it->second;
}

// --- kernels

bool run_kernel(const Function& k, MlxIndex grid, MlxIndex block, const void* arguments) {
  thread_local Fibers threads;
  gridDim = grid;
  blockDim = block;
  if (k.in_step) threads.set(k.kernel, arguments, block);
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {grid.x - 1 - x, y, z};  // no order may matter
        if (k.in_step) {
          if (!threads.run()) return threads.finish(), false;
          continue;
        }
        for (unsigned t = 0; t < block.x * block.y * block.z; ++t) {
          threadIdx = thread_index(t, block);
          k.kernel(arguments);
        }
      }
    }
  }
  threads.finish();
  return true;
}

}  // namespace

bool fails_now(Failure kind) {
  const int64_t n = ++calls[kind];
  return n >= first_failing[kind] && n < after_failing[kind];
}
void count_fault() { ++faults; }
unsigned char* device_memory(unsigned long long address, size_t bytes) {
  return is_device_memory(address, bytes) ? real(address) : nullptr;
}
unsigned char* memory_of_kernel(unsigned long long address, size_t bytes) {
  return marked(address) ? nullptr : device_memory(kMark | address, bytes);
}

// --- streams and events

namespace {

struct Event {
  void* const context = current;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, reached = 0;
  std::atomic<int> status{kSuccess};
};

std::atomic<int> device_status{kSuccess};  // an error of a kernel stays
std::atomic<int64_t> streams{0};           // made and not given back

}  // namespace

class Stream {
 public:
  void* const context = current;
  Stream() : random_(next_seed()) {
    ++streams;
    std::thread([this] { loop(); }).detach();
    std::lock_guard lock(all().mutex);
    all().streams.push_back(this);
  }
  struct All {
    std::mutex mutex;
    std::vector<Stream*> streams;
  };
  static All& all() {
    static auto& a = *new All;
    return a;
  }
  void push(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    if (captured_) return captured_->push_back(std::move(work));
    work_.push_back(std::move(work));
    ++pushed_;
    changed_.notify_all();
  }
  /// Lets work that comes go to a list instead, or to the thread again. False where it does
  /// already.
  bool capture(Works* list) {
    std::lock_guard lock(mutex_);
    if (!captured_ == !list) return false;
    captured_ = list;
    return true;
  }
  /// Its thread goes, once it has done its work.
  void end() {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    const uint64_t last = pushed_;
    changed_.wait(lock, [&] { return done_ >= last; });
  }

 private:
  void loop() {
    const char* text = std::getenv("MLX_HOST_DRIVER_DELAY");
    const unsigned longest = text ? std::atoi(text) : 30;  // microseconds
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !work_.empty() || ended_; });
      if (work_.empty()) break;
      auto work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      if (unsigned r = random_(); longest && r % 4 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds((r >> 2) % longest));
      work();
      work = {};
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
    lock.unlock();
    {
      std::lock_guard others(all().mutex);
      std::erase(all().streams, this);
    }
    --streams;
    delete this;
  }
  static unsigned next_seed() {
    static std::atomic<unsigned> seed{1};
    return seed++;
  }
  std::minstd_rand random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  uint64_t pushed_ = 0, done_ = 0;
  bool ended_ = false;
  Works* captured_ = nullptr;
};
bool capture(Stream& stream, Works* list) { return stream.capture(list); }
void push(Stream& stream, std::function<void()> work) { stream.push(std::move(work)); }

/// The stream of a handle; small numbers are the default ones.
static Stream* named(Stream* handle) {
  if (reinterpret_cast<uintptr_t>(handle) > 2) return handle;
  static auto& standard = *new Stream;
  return &standard;
}

// --- what kernels and tests call

namespace {

struct Module {
  void* library = nullptr;
  int file = -1;
  void* const context = current;
  std::mutex mutex = {};
  std::map<std::string, Function> functions = {};
};
std::atomic<int64_t> modules{0};

}  // namespace

EXPORT void mlx_block_barrier() { Fibers::current()->pause(BlockThread::at_block); }
EXPORT void mlx_shuffle(void* value, int bytes, int lane) {
  Fibers::current()->exchange(value, bytes, lane);
}
EXPORT unsigned mlx_ballot(int predicate) { return Fibers::current()->vote(predicate != 0); }

/// Makes `count` calls of a kind (Failure) fail, from the n-th on that comes now; n = 0: none.
EXPORT void mlx_host_fail(int kind, int64_t n, int64_t count) {
  first_failing[kind] = after_failing[kind] = 0;
  calls[kind] = 0;
  if (n > 0) {
    after_failing[kind] = n + count;
    first_failing[kind] = n;
  }
}
/// How many calls of a kind there were since then.
EXPORT int64_t mlx_host_calls(int kind) { return calls[kind]; }
/// How often a context was asked for.
EXPORT int64_t mlx_host_contexts() { return contexts_asked; }
/// Bytes that are given out, and blocks of them.
EXPORT int64_t mlx_host_bytes() {
  std::lock_guard lock(memory().mutex);
  return static_cast<int64_t>(memory().used);
}
EXPORT int64_t mlx_host_launches() { return launches; }
EXPORT int64_t mlx_host_streams() { return streams; }
EXPORT int64_t mlx_host_faults() { return faults; }

// --- the driver

EXPORT int cuInit(unsigned) {
  // Kernels find their indices and barriers here.
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&mlx_block_barrier), &info))
    dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  return kSuccess;
}
EXPORT int cuDriverGetVersion(int* v) { return *v = 13000, kSuccess; }
EXPORT int cuDeviceGetCount(int* n) { return *n = device_count(), kSuccess; }
EXPORT int cuDeviceGet(int* d, int k) {
  return *d = k, k >= 0 && k < device_count() ? kSuccess : kInvalidValue;
}
EXPORT int cuDeviceGetName(char* text, int n, int) {
  std::snprintf(text, n, "host driver");
  return kSuccess;
}
EXPORT int cuDeviceGetUuid_v2(void* id, int device) {
  return std::memset(id, 7 + device, 16), kSuccess;
}
EXPORT int cuDeviceTotalMem_v2(size_t* n, int) { return *n = kTotal, kSuccess; }
EXPORT int cuDeviceGetAttribute(int* value, int which, int) {
  switch (which) {
    case 1:
      *value = 1024;
      break;
    case 16:
      *value = 2;
      break;
    case 38:
      *value = 8 << 10;  // so small that products are made in parts
      break;
    case 75:
      *value = 9;
      break;
    case 97:
      *value = kMostShared;
      break;
    default:
      *value = 0;
  }
  return kSuccess;
}
EXPORT int cuDeviceGetPCIBusId(char* text, int n, int) {
  std::snprintf(text, n, "0000:00:00.0");
  return kSuccess;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int d) {
  ++contexts_asked;
  return *context = &contexts[d], kSuccess;
}
EXPORT int cuCtxSetCurrent(void* context) { return current = context, kSuccess; }
EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) {
  Memory& m = memory();
  std::lock_guard lock(m.mutex);
  *total = kTotal;
  *free = kTotal - m.used;
  return kSuccess;
}
EXPORT int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  if (!current) return kInvalidContext;
  if (fails_now(kFailAllocation)) return kOutOfMemory;
  Memory& m = memory();
  std::lock_guard lock(m.mutex);
  if (m.used + bytes > kTotal) return kOutOfMemory;
  void* p = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!p) return kOutOfMemory;
  std::memset(p, kFresh, bytes);
  emulated::poison(static_cast<char*>(p) + bytes, (bytes + 255) / 256 * 256 - bytes);
  m.blocks[static_cast<unsigned char*>(p)] = bytes;
  m.used += bytes;
  *address = reinterpret_cast<unsigned long long>(p) | kMark;
  return kSuccess;
}
EXPORT int cuMemFree_v2(unsigned long long address) {
  Memory& m = memory();
  std::lock_guard lock(m.mutex);
  auto it = m.blocks.find(real(address));
  if (!marked(address) || it == m.blocks.end()) return ++faults, kInvalidValue;
  std::memset(it->first, kFreed, it->second);
  m.used -= it->second;
  std::free(it->first);
  m.blocks.erase(it);
  return kSuccess;
}
EXPORT int cuMemHostAlloc(void** p, size_t bytes, unsigned) {
  if (fails_now(kFailPinned)) return kOutOfMemory;
  *p = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *p ? kSuccess : kOutOfMemory;
}
EXPORT int cuMemFreeHost(void* p) { return std::free(p), kSuccess; }

EXPORT int cuStreamCreate(Stream** s, unsigned) {
  if (!current) return kInvalidContext;
  *s = new Stream;
  return kSuccess;
}
/// Its work is over when it is given back.
EXPORT int cuStreamDestroy_v2(Stream* s) { return s->end(), kSuccess; }
EXPORT int cuStreamSynchronize(Stream* s) { return named(s)->wait(), device_status.load(); }
EXPORT int cuCtxSynchronize() {
  std::vector<Stream*> streams;
  {
    std::lock_guard lock(Stream::all().mutex);
    streams = Stream::all().streams;
  }
  for (Stream* s : streams) s->wait();
  return device_status;
}

EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t n, Stream* s) {
  if (fails_now(kFailCopy)) return kLaunchFailed;
  if (!is_device_memory(to, n)) return ++faults, kInvalidValue;
  named(s)->push([=] { std::memcpy(real(to), from, n); });
  return kSuccess;
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t n, Stream* s) {
  if (fails_now(kFailCopy)) return kLaunchFailed;
  if (!is_device_memory(from, n)) return ++faults, kInvalidValue;
  named(s)->push([=] { std::memcpy(to, real(from), n); });
  return kSuccess;
}
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t n,
                                Stream* s) {
  if (fails_now(kFailCopy)) return kLaunchFailed;
  if (!is_device_memory(to, n) || !is_device_memory(from, n)) return ++faults, kInvalidValue;
  named(s)->push([=] { std::memcpy(real(to), real(from), n); });
  return kSuccess;
}

EXPORT int cuEventCreate(Event** e, unsigned) {
  if (!current) return kInvalidContext;
  if (fails_now(kFailEvent)) return kOutOfMemory;
  return *e = new Event, kSuccess;
}
EXPORT int cuEventRecord(Event* e, Stream* s) {
  if (named(s) == s && e->context != s->context) return kInvalidHandle;
  if (fails_now(kFailEvent)) return kLaunchFailed;
  uint64_t number;
  {
    std::lock_guard lock(e->mutex);
    number = ++e->recorded;
  }
  named(s)->push([=] {
    std::lock_guard lock(e->mutex);
    e->reached = number;
    e->changed.notify_all();
  });
  return kSuccess;
}
EXPORT int cuEventQuery(Event* e) {
  std::lock_guard lock(e->mutex);
  if (e->reached < e->recorded) return kNotReady;
  return device_status;
}
EXPORT int cuEventSynchronize(Event* e) {
  std::unique_lock lock(e->mutex);
  const uint64_t last = e->recorded;
  e->changed.wait(lock, [&] { return e->reached >= last; });
  return device_status;
}
EXPORT int cuStreamWaitEvent(Stream* s, Event* e, unsigned) {
  if (fails_now(kFailEvent)) return kLaunchFailed;
  uint64_t number;
  {
    std::lock_guard lock(e->mutex);
    number = e->recorded;
  }
  named(s)->push([=] {
    std::unique_lock lock(e->mutex);
    e->changed.wait(lock, [&] { return e->reached >= number; });
  });
  return kSuccess;
}

EXPORT int cuModuleLoadData(Module** m, const void* code) {
  if (!current) return kInvalidContext;
  if (device_status != kSuccess) return device_status;
  if (fails_now(kFailModule)) return kOutOfMemory;
  // The code is a shared library; its length is in the section headers, which end it.
  const auto* head = static_cast<const unsigned char*>(code);
  if (std::memcmp(head, "\177ELF", 4)) return kInvalidValue;
  uint64_t sections;
  uint16_t size, count;
  std::memcpy(&sections, head + 40, 8);
  std::memcpy(&size, head + 58, 2);
  std::memcpy(&count, head + 60, 2);
  const size_t bytes = sections + size_t{size} * count;
  const int file = memfd_create("kernel", 0);
  if (file < 0 || write(file, code, bytes) != static_cast<ssize_t>(bytes)) return kInvalidValue;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  // The file stays open as long as the library: another one of its path would be taken for this.
  if (!library) {
    std::fprintf(stderr, "host driver: %s\n", dlerror());
    return kInvalidValue;
  }
  *m = new Module{library, file};
  ++modules;
  return kSuccess;
}
EXPORT int cuModuleUnload(Module* m) {
  if (current != m->context) return kInvalidContext;
  dlclose(m->library);
  // Variables of templates keep a library.
  const std::string path = "/proc/self/fd/" + std::to_string(m->file);
  if (void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD))
    dlclose(loaded);
  else
    close(m->file);
  delete m;
  --modules;
  return kSuccess;
}
/// How many modules are loaded.
EXPORT int64_t mlx_host_modules() { return modules; }
EXPORT int cuModuleGetFunction(Function** f, Module* m, const char* name) {
  void* kernel = dlsym(m->library, name);
  if (!kernel) return kInvalidHandle;
  auto is = [&](const char* what) { return dlsym(m->library, (std::string(name) + what).c_str()); };
  std::lock_guard lock(m->mutex);
  const Function found{reinterpret_cast<void (*)(const void*)>(kernel), is("_in_step") != nullptr,
                       is("_early") != nullptr, m->context};
  *f = &m->functions.emplace(name, found).first->second;
  return kSuccess;
}

EXPORT int cuTensorMapEncodeTiled(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*,
                                  const uint32_t*, const uint32_t*, int, int, int, int) {
  return kInvalidValue;  // the device does not copy tiles
}
EXPORT int cuFuncSetAttribute(Function*, int which, int bytes) {
  return which == 8 && bytes <= kMostShared ? kSuccess : kInvalidValue;
}

/// Kernels take one block of arguments, of 8 bytes each. Its bytes are not known here unless it is
/// given as a buffer: the plugin's own blocks say before the first word how many there are.
int check_launch(const Function* f, MlxIndex grid, MlxIndex block, unsigned shared, Stream* s) {
  const auto [gx, gy, gz] = grid;
  const auto [bx, by, bz] = block;
  if (!gx || !gy || !gz || !bx || !by || !bz || uint64_t{bx} * by * bz > 1024 || bz > 64 ||
      shared > kMostShared || gy > 65535 || gz > 65535) {
    ++faults;
    return kInvalidValue;
  }
  if (named(s) == s && f->context != s->context) return kInvalidHandle;
  if (device_status != kSuccess) return device_status;
  return fails_now(kFailLaunch) ? kLaunchFailed : kSuccess;
}
std::function<void()> kernel_work(const Function* f, MlxIndex grid, MlxIndex block,
                                  std::vector<unsigned long long> arguments) {
  ++launches;
  for (auto& w : arguments)
    if (marked(w)) w &= ~kMarkBits;
  return [=, k = *f, arguments = std::move(arguments)] {
    if (run_kernel(k, grid, block, arguments.data())) return;
    std::fprintf(stderr, "host driver: threads of a block wait at different barriers\n");
    ++faults;
    device_status = kLaunchFailed;
  };
}
EXPORT int cuLaunchKernel(Function* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, Stream* s, void** parameters,
                          void** extra) {
  if (const int status = check_launch(f, {gx, gy, gz}, {bx, by, bz}, shared, s)) return status;
  std::vector<unsigned long long> arguments;
  if (extra) {
    // Marks and what follows each: 1 the buffer, 2 its size, 0 the end.
    const size_t bytes = *static_cast<const size_t*>(extra[3]);
    arguments.resize((bytes + 7) / 8);
    std::memcpy(arguments.data(), extra[1], bytes);
  } else {
    const auto* words = static_cast<const unsigned long long*>(parameters[0]);
    arguments.assign(words, words + words[-1]);
  }
  named(s)->push(kernel_work(f, {gx, gy, gz}, {bx, by, bz}, std::move(arguments)));
  return kSuccess;
}

EXPORT int cuGetErrorName(int status, const char** text) {
  *text = status == kOutOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == kLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED"
                                    : "CUDA_ERROR_INVALID_VALUE";
  return kSuccess;
}
EXPORT int cuGetErrorString(int, const char** text) {
  return *text = "from the host driver", kSuccess;
}
