// The interface between collectives and the engines that carry them: a channel is one group of
// processes as one of its members sees it. The kernels of collectives know no more of an engine
// than this page.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mlx/core/api.h"
#include "mlx/core/device.h"
#include "mlx/core/dtype.h"
#include "mlx/core/ref.h"

namespace mlx::core {

/// Requests of a group: all members make them together, or the last two, two members.
enum class Collective : uint8_t {
  all_sum,
  all_max,
  all_min,
  all_gather,   ///< arrays of all members, one after another
  sum_scatter,  ///< the sum's equal parts, one to each member
  broadcast,    ///< the array of member `peer`, to all
  all_to_all,   ///< equal parts: part j to member j
  barrier,
  split,
  send,
  recv,
};
/// "all_sum", …
MLX_API const char* name_of(Collective kind);

/// One request. All fields but `index` and `line` must be equal in all members.
struct Message {
  Collective kind;
  Dtype dtype;
  int64_t count;  ///< elements of the input; of `recv`: of the output
  int peer = -1;  ///< of broadcast, send and recv
  uint64_t index =
      0;  ///< the how-manieth collective that the program asked this group for; 0: unknown
  std::string_view line = {};  ///< of the program, or empty
};

/// Memory of a device that a request reads and writes, by its addresses, and the device's stream.
struct DeviceOperands {
  uint64_t in = 0, out = 0;
  void* stream = nullptr;
};

/// One group. Requests run one at a time, in the order in which they are made.
class MLX_API Channel : public RefCounted {
 public:
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// "world" for all ranks; behind it, for a group that was split off, the how-manieth split and
  /// its color: "world/1:0". The same in all members, and in every run of a program.
  virtual std::string name() const = 0;
  /// The communication queue of this process: one for all of its groups.
  virtual Stream queue() const = 0;
  /// True for the group of all processes that a launcher started, which exported functions name.
  virtual bool is_world() const = 0;
  /// The group of the members of one color, ordered by key, then by rank. All members call it.
  virtual Ref<Channel> split(int color, int key) = 0;
  /// Runs a request to its end; a send ends when its bytes are taken. Memory of `in` and `out` is
  /// row-contiguous; they may be the same where the sizes are equal. Throws CommunicationError.
  virtual void run(const Message& message, const void* in, void* out) = 0;

  /// Whether such requests run on the queue's device, by `start`, with its memory.
  virtual bool runs_on_device(Collective, Dtype) const { return false; }
  /// Gives a request to the device, when all members make it. Throws CommunicationError.
  virtual void start(const Message&, const DeviceOperands&) {}
  /// The device is past the first request that was started and has not ended; false: its results
  /// are no good.
  virtual void end(bool) noexcept {}
  /// Throws the error of requests that were broken off on the device.
  virtual void check_started() const {}
  /// The process leaves all groups; `well`: not because of an error.
  virtual void close(bool) noexcept {}

  /// The number of a collective that the program asks for now: from 1.
  uint64_t next_index() { return last_index_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  std::atomic<uint64_t> last_index_{0};
};

/// A group in a library that carries requests between devices, as one member has it. Functions
/// throw CommunicationError. `wait` is called while the library is not done, and throws to break
/// off.
class DeviceLink {
 public:
  using Wait = std::function<void()>;
  virtual ~DeviceLink() = default;
  virtual void enqueue(const Message& message, const DeviceOperands& operands,
                       const Wait& wait) = 0;
  /// The error that the library has met meanwhile; empty where all is well.
  virtual std::string error() = 0;
  /// Breaks off what is under way: streams go on, results are no good. Any thread may call it.
  virtual void abort() noexcept = 0;
  /// Ends the group, of which nothing is under way.
  virtual void close(const Wait& wait) = 0;
};

/// Such a library.
class DeviceLinks {
 public:
  using Id = std::array<char, 128>;  ///< of a group
  virtual ~DeviceLinks() = default;
  /// Why it cannot be used; empty where it can.
  virtual std::string missing() = 0;
  /// Its name and version: "NCCL 2.28.9".
  virtual std::string version() = 0;
  virtual bool carries(Collective kind, Dtype dtype) const = 0;
  virtual Id make_id() = 0;
  /// A name that no other device has.
  virtual std::string name_of(int device) = 0;
  /// Meets the other members of a group.
  virtual std::shared_ptr<DeviceLink> connect(const Id& id, int rank, int size, int device,
                                              const DeviceLink::Wait& wait) = 0;
};
/// The library of a plugin that is loaded, or null.
extern MLX_API std::atomic<DeviceLinks*> device_links;

/// The group of all processes as the calling thread sees it; null where the process is alone.
MLX_API Ref<Channel> world_channel();

/// Tells the worlds of a process and its threads apart; 0 where the thread is alone. Recorded
/// functions belong to one world.
MLX_API uint64_t world_number();

/// A request in 64 bits: the last input of the ops, so that plans do not depend on it.
struct Ticket {
  static constexpr int kLineBits = 24;
  static constexpr uint64_t kRecorded = uint64_t{1} << 63;
  uint64_t bits;
  /// `index` as in Message; of a function that is recorded it only tells requests apart.
  static Ticket of(uint64_t index, uint32_t line, bool recorded) {
    return {(recorded ? kRecorded : 0) | (index << kLineBits & ~kRecorded) |
            (line & ((1u << kLineBits) - 1))};
  }
  uint64_t index() const { return bits & kRecorded ? 0 : bits >> kLineBits; }
  uint32_t line() const { return static_cast<uint32_t>(bits & ((1u << kLineBits) - 1)); }
};

/// Combines rows of `count` elements, element by element, into `out`, which may be one of them:
/// rows 0 and 1, 2 and 3, …, then pairs of pairs. 16-bit floats are added in float32 and rounded
/// once; the sum of bools is their disjunction. `kind` is all_sum, all_max or all_min.
void combine_rows(Collective kind, Dtype dtype, std::span<const void* const> rows, void* out,
                  int64_t count);

}  // namespace mlx::core
