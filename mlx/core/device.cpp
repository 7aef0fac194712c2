// The table of streams, each thread's defaults, and the registry of backends.
#include "mlx/core/device.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "mlx/backend/backend.h"
#include "mlx/backend/interop.h"
#include "mlx/core/environment.h"
#include "mlx/core/error.h"
#include "mlx/core/plugin.h"
#include "mlx/core/stream_choices.h"

namespace mlx::core {

namespace {

enum class Sharing : uint8_t { owner, anyone };
struct StreamEntry {
  Device device;
  std::thread::id owner;
  Sharing sharing;
};

std::mutex table_mutex;
std::deque<StreamEntry>& table() {
  static auto& t = *new std::deque<StreamEntry>;
  return t;
}
/// The backends by device type, and the devices that have a memory space. A space keeps its number
/// when a later backend replaces the one that registered it.
struct Registry {
  std::mutex mutex;
  std::vector<std::pair<Device::DeviceType, Backend*>> backends;
  std::vector<Device> spaces;
};
Registry& registry() {
  static auto& r = *new Registry;
  return r;
}

Backend* find_backend(Device::DeviceType type) {
  if (type != Device::cpu) load_plugins();
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  for (auto& [t, backend] : r.backends)
    if (t == type) return backend;
  return nullptr;
}

/// The GPU where there is one, unless MLX_DEVICE says otherwise.
Device first_default() {
  check_variable("MLX_DEVICE", {"cpu", "gpu"});
  if (variable_has("MLX_DEVICE", "cpu")) return Device::cpu;
  if (find_backend(Device::gpu)) return Device::gpu;
  if (variable_has("MLX_DEVICE", "gpu"))
    throw std::runtime_error("[environment] MLX_DEVICE=gpu given, but no GPU was found: " +
                             missing_gpu() + "; accepted: cpu.");
  return Device::cpu;
}
std::atomic<Device>& global_default() {
  static std::atomic<Device> d = first_default();
  return d;
}

/// Streams whose thread has ended, which later threads get.
std::map<Device, std::vector<int>>& released() {
  static auto& r = *new std::map<Device, std::vector<int>>;
  return r;
}

/// State of one thread: its default stream per device, its streams, its copies of named streams.
struct ThreadStreams {
  std::vector<Stream> defaults, own, copies;
  bool own_copies = false;
  std::unordered_map<int, Stream> named;
  ~ThreadStreams() { release(); }
  /// Gives the streams back.
  void release() {
    for (Stream s : std::exchange(own, {})) {
      backend_of(s.device).release(s);
      std::lock_guard lock(table_mutex);
      released()[s.device].push_back(s.index);
    }
    defaults.clear();
    copies.clear();
    named.clear();
  }
};
thread_local ThreadStreams mine;
/// A cached stream of a thread, or none. Caches the default stream that was requested last, since
/// most nodes request the same one.
struct CachedStream {
  int index = -1;
  Device device;
};
struct CachedStreams {
  CachedStream last_default;
  CachedStream scope;            ///< of the innermost StreamScope
  std::optional<Device> device;  ///< the thread's default, in a block that chose one
};
thread_local constinit CachedStreams cached_streams;
/// Not inlined: the compiler would repeat the thread-local lookup for each use of the result.
[[gnu::noinline]] CachedStreams& streams_of_thread() { return cached_streams; }
std::atomic<int> next_name{0};
std::atomic<const StreamChoices* (*)()> choices_now{nullptr};

/// The innermost open choice that fits, or null.
template <class F>
StreamChoice* chosen(F&& fits) {
  auto* now = choices_now.load(std::memory_order_acquire);
  if (!now) [[likely]]
    return nullptr;
  const StreamChoices* choices = now();
  if (!choices) return nullptr;
  for (auto it = choices->rbegin(); it != choices->rend(); ++it)
    if ((*it)->open && (*it)->thread == std::this_thread::get_id() && fits(**it)) return it->get();
  return nullptr;
}
StreamChoice* chosen_on(Device d) {
  return chosen([&](const StreamChoice& c) { return c.stream.device == d; });
}
/// The device that a block of this thread's code chose.
std::optional<Device> chosen_device(const CachedStreams& cached) {
  if (cached.device) return cached.device;
  if (StreamChoice* c = chosen([](const StreamChoice&) { return true; })) return c->device;
  return std::nullopt;
}

Stream add_stream(Device d, Sharing sharing) {
  Backend& backend = backend_of(d);
  const StreamEntry entry{d, std::this_thread::get_id(), sharing};
  std::unique_lock lock(table_mutex);
  if (std::vector<int>& free = released()[d]; !free.empty()) {
    const Stream again(free.back(), d);
    free.pop_back();
    table()[again.index] = entry;
    lock.unlock();
    backend.acquire(again);
    return again;
  }
  table().push_back(entry);
  return Stream(static_cast<int>(table().size()) - 1, d);
}

/// Whether the calling thread may use the stream.
bool may_use(const StreamEntry& e) {
  return e.sharing == Sharing::anyone || e.owner == std::this_thread::get_id();
}

Stream check_owner(Stream s) {
  std::lock_guard lock(table_mutex);
  if (s.index < 0 || s.index >= static_cast<int>(table().size()))
    fail<ValueError>("stream", "index ", s.index, "; streams come from new_stream");
  if (!may_use(table()[s.index]))
    fail<ExecutionError>("stream", to_string(s), " belongs to another thread; ",
                         "use a stream of this thread or a thread-local one");
  return s;
}

}  // namespace

void register_backend(Device::DeviceType type, std::unique_ptr<Backend> backend) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto known = std::ranges::find(r.backends, type, &std::pair<Device::DeviceType, Backend*>::first);
  for (int k = 0; k < backend->device_count(); ++k) {
    Device d(type, k);
    if (std::ranges::find(r.spaces, d) != r.spaces.end()) continue;
    if (r.spaces.size() == kMaxSpaces)
      fail<ValueError>("register_backend", "more than ", kMaxSpaces, " devices");
    // Host memory is space 0, whichever backend is registered first.
    if (r.spaces.empty()) r.spaces.push_back(Device(Device::cpu));
    if (std::ranges::find(r.spaces, d) == r.spaces.end()) r.spaces.push_back(d);
  }
  // An earlier backend stays alive: its storages may outlive the replacement.
  if (known != r.backends.end())
    known->second = backend.release();
  else
    r.backends.emplace_back(type, backend.release());
}

Space space_of(Device device) {
  if (device == Device(Device::cpu)) return Space::host;
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto it = std::ranges::find(r.spaces, device);
  if (it == r.spaces.end()) fail<ValueError>("device", to_string(device), " has no memory space");
  return static_cast<Space>(it - r.spaces.begin());
}

Device device_of(Space space) {
  if (space == Space::host) return Device::cpu;
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  return r.spaces.at(static_cast<size_t>(space));
}

Backend& backend_of(Device d) {
  if (d == Device(Device::cpu)) return host_backend();
  Backend* b = find_backend(d.type);
  if (!b)
    fail<ValueError>("device", to_string(d), " is not available here",
                     d.type == Device::gpu ? ": " + missing_gpu() : "");
  if (d.index < 0 || d.index >= b->device_count())
    fail<ValueError>("device", to_string(d), " is not available here; devices 0 to ",
                     b->device_count() - 1, " are");
  return *b;
}
Interop* interop_of(Device d) {
  Backend* b = find_backend(d.type);
  return b && d.index >= 0 && d.index < b->device_count() ? dynamic_cast<Interop*>(b) : nullptr;
}
Backend& host_backend() {
  static Backend& b = *find_backend(Device::cpu);
  return b;
}

bool is_available(const Device& d) { return d.index >= 0 && d.index < device_count(d.type); }
int device_count(Device::DeviceType type) {
  Backend* b = find_backend(type);
  return b ? b->device_count() : 0;
}

const DeviceInfo& device_info(const Device& d) {
  thread_local std::map<Device, DeviceInfo> known;
  DeviceInfo& info = known[d];
  // In place: references to the entries stay valid.
  for (auto& [key, value] : backend_of(d).info(d.index)) info[key] = std::move(value);
  return info;
}

namespace {

/// The one object for a device, which lives as long as the process.
const Device& lasting(Device d) {
  static constexpr Device first[] = {Device::cpu, Device::gpu};
  if (d.index == 0) return first[static_cast<int>(d.type)];
  static std::mutex mutex;
  static auto& others = *new std::set<Device>;
  std::lock_guard lock(mutex);
  return *others.insert(d).first;
}

}  // namespace

const Device& default_device() {
  const std::optional<Device> own = chosen_device(cached_streams);
  return lasting(own ? *own : global_default().load());
}
void set_default_device(const Device& d) {
  backend_of(d);
  if (std::optional<Device>& own = cached_streams.device)
    own = d;
  else if (StreamChoice* c = chosen([](const StreamChoice&) { return true; }))
    c->device = d;
  else
    global_default() = d;
}
void leave_default_gpu() {
  if (global_default().load().type == Device::gpu) global_default() = Device(Device::cpu);
}
std::optional<Device> set_thread_device(std::optional<Device> d) {
  return std::exchange(cached_streams.device, d);
}

void set_stream_choices(const StreamChoices* (*now)()) { choices_now = now; }

std::optional<Stream> peek_default_stream(Device d) {
  if (StreamChoice* c = chosen_on(d)) return c->stream;
  for (Stream s : mine.defaults)
    if (s.device == d) return s;
  return std::nullopt;
}

namespace {

Stream default_stream(Device d, CachedStreams& cached) {
  if (StreamChoice* c = chosen_on(d)) return c->stream;
  CachedStream& last = cached.last_default;
  if (last.index >= 0 && last.device == d) return Stream(last.index, d);
  auto earlier = peek_default_stream(d);
  Stream s = earlier ? *earlier : new_stream(d);
  if (!earlier) mine.defaults.push_back(s);
  last = {s.index, d};
  return s;
}

}  // namespace

Stream default_stream(Device d) { return default_stream(d, cached_streams); }

void set_default_stream(Stream s) {
  check_owner(s);
  if (StreamChoice* c = chosen_on(s.device)) {
    c->stream = s;
    return;
  }
  cached_streams.last_default = {};
  for (Stream& d : mine.defaults) {
    if (d.device == s.device) {
      d = s;
      return;
    }
  }
  mine.defaults.push_back(s);
}

Stream new_stream(Device d) {
  Stream s = add_stream(d, Sharing::owner);
  mine.own.push_back(s);
  return s;
}
Stream new_thread_unsafe_stream(Device d) { return add_stream(d, Sharing::anyone); }

Stream copy_stream(Device d) {
  if (!mine.own_copies) return Stream(kCopyStream, d);
  auto it = std::ranges::find(mine.copies, d, &Stream::device);
  return it != mine.copies.end() ? *it : mine.copies.emplace_back(new_stream(d));
}
void use_own_copy_streams() { mine.own_copies = true; }

ThreadLocalStream new_thread_local_stream(Device d) {
  backend_of(d);
  return ThreadLocalStream(next_name++, d);
}
Stream stream_from_thread_local_stream(ThreadLocalStream tls) {
  auto it = mine.named.find(tls.index);
  if (it == mine.named.end()) it = mine.named.emplace(tls.index, new_stream(tls.device)).first;
  return it->second;
}

std::vector<Stream> get_streams() { return mine.own; }
void clear_streams() {
  for (Stream s : mine.own) backend_of(s.device).synchronize(s);
  mine.release();
  cached_streams.last_default = {};
}

Device stream_device(int index) {
  std::lock_guard lock(table_mutex);
  return table().at(index).device;
}

Stream usable_stream(int index) {
  const StreamEntry e = [&] {
    std::lock_guard lock(table_mutex);
    return table().at(index);
  }();
  return may_use(e) ? Stream(index, e.device) : default_stream(e.device);
}

namespace {

Stream to_stream(const StreamOrDevice& s, Device fallback, CachedStreams& cached) {
  const CachedStream& scope = cached.scope;
  switch (s.index()) {
    case 0:
      if (scope.index >= 0 && scope.device == fallback) return Stream(scope.index, fallback);
      return default_stream(fallback, cached);
    case 1:
      return check_owner(std::get<Stream>(s));
    case 2:
      return stream_from_thread_local_stream(std::get<ThreadLocalStream>(s));
    case 3:
      return default_stream(std::get<Device>(s));
    default:
      return default_stream(Device(std::get<Device::DeviceType>(s)));
  }
}

}  // namespace

Stream to_stream(const StreamOrDevice& s, Device fallback) {
  return to_stream(s, fallback, cached_streams);
}
Stream to_stream(const StreamOrDevice& s) {
  CachedStreams& cached = streams_of_thread();
  if (cached.scope.index >= 0) return to_stream(s, cached.scope.device, cached);
  const std::optional<Device> own = chosen_device(cached);
  return to_stream(s, own ? *own : global_default().load(), cached);
}

StreamScope::StreamScope() {
  CachedStream& scope = cached_streams.scope;
  before_ = scope.index;
  device_before_ = scope.device;
  scope = {};
}
StreamScope::StreamScope(Stream s) : StreamScope() { cached_streams.scope = {s.index, s.device}; }
StreamScope::~StreamScope() { cached_streams.scope = {before_, device_before_}; }

std::string to_string(const Device& d) {
  return cat("Device(", d.type == Device::cpu ? "cpu" : "gpu", ", ", d.index, ")");
}
std::string to_string(const Stream& s) {
  return cat("Stream(", to_string(s.device), ", ", s.index, ")");
}

}  // namespace mlx::core
