// Identities of devices and streams, and which thread may use which stream. Nothing here executes
// work.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "mlx/core/api.h"

namespace mlx::core {

/// A device type and the index of one device of that type.
struct Device {
  enum class DeviceType { cpu, gpu };
  static constexpr DeviceType cpu = DeviceType::cpu;
  static constexpr DeviceType gpu = DeviceType::gpu;

  constexpr Device(DeviceType type = cpu, int index = 0) : type(type), index(index) {}
  auto operator<=>(const Device&) const = default;

  DeviceType type;
  int index;
};
inline bool operator==(const Device& device, Device::DeviceType type) {
  return device.type == type;
}

/// An in-order queue of work on a device.
struct Stream {
  int index = 0;
  Device device;
  explicit Stream(int index = 0, Device device = {}) : index(index), device(device) {}
  bool operator==(const Stream&) const = default;
  /// By device, then by index.
  auto operator<=>(const Stream& o) const {
    return std::tie(device, index) <=> std::tie(o.device, o.index);
  }
};

/// Names a stream of which each thread has its own copy.
struct ThreadLocalStream : Stream {
  using Stream::Stream;
};

using StreamOrDevice =
    std::variant<std::monostate, Stream, ThreadLocalStream, Device, Device::DeviceType>;

/// Resolves to a stream: the calling thread's default stream if none is given. Throws ValueError
/// for a stream of another thread and for a device that does not exist.
MLX_API Stream to_stream(const StreamOrDevice& s);
/// As above, with a preferred device if none is given.
MLX_API Stream to_stream(const StreamOrDevice& s, Device fallback);

/// For its lifetime, ops of the calling thread that are given no stream run on this stream: rules
/// use it so that derived nodes run where the original node runs. Constructed without a stream, it
/// disables the enclosing scope; used around user code that a rule calls.
class StreamScope {
 public:
  StreamScope();
  explicit StreamScope(Stream s);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  int before_;
  Device device_before_;
};

/// The device of new arrays on this thread; the CPU unless a GPU backend is registered.
MLX_API const Device& default_device();
/// Sets the process's default, or in a block that chose a device (StreamContext) the block's.
MLX_API void set_default_device(const Device& d);
/// Sets the default of the calling thread alone; none: the process's counts again. Returns the
/// thread's earlier one.
MLX_API std::optional<Device> set_thread_device(std::optional<Device> d);
MLX_API bool is_available(const Device& d);
MLX_API int device_count(Device::DeviceType type);

using DeviceInfo = std::unordered_map<std::string, std::variant<std::string, size_t>>;
/// Name, architecture, memory, … of a device.
MLX_API const DeviceInfo& device_info(const Device& d = default_device());

/// The calling thread's default stream on a device, created on first use.
MLX_API Stream default_stream(Device d);
MLX_API std::optional<Stream> peek_default_stream(Device d);
/// The stream of the calling thread's copies that belong to no other stream: that of the device,
/// or the thread's own.
Stream copy_stream(Device d);
/// Separates the copy streams of the calling thread from other threads', for threads that wait for
/// one another: in a shared queue, a waiting copy of one thread would hold back another thread's.
void use_own_copy_streams();
/// Makes a stream the calling thread's default on its device.
MLX_API void set_default_stream(Stream s);
/// A stream that only the calling thread may use.
MLX_API Stream new_stream(Device d);
/// A stream that any thread may use; the caller is responsible for the order of work.
MLX_API Stream new_thread_unsafe_stream(Device d);
MLX_API ThreadLocalStream new_thread_local_stream(Device d);
MLX_API Stream stream_from_thread_local_stream(ThreadLocalStream tls);
/// Streams of the calling thread.
MLX_API std::vector<Stream> get_streams();
/// Releases the calling thread's streams once they are idle.
MLX_API void clear_streams();
/// The device of a stream by its index.
Device stream_device(int index);
/// The stream with that index, or the calling thread's default stream on its device if the stream
/// belongs to another thread.
Stream usable_stream(int index);

MLX_API std::string to_string(const Device& d);
MLX_API std::string to_string(const Stream& s);

}  // namespace mlx::core
