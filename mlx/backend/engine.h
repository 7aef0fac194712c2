// The interface between collectives and the engines that carry them: a channel is one group of
// processes as one of its members sees it. The kernels of collectives know no more of an engine
// than this page.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
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

/// One group. Requests run one at a time, in the order in which they are made.
class MLX_API Channel : public RefCounted {
 public:
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The communication queue of this process: one for all of its groups.
  virtual Stream queue() const = 0;
  /// True for the group of all processes that a launcher started, which exported functions name.
  virtual bool is_world() const = 0;
  /// The group of the members of one color, ordered by key, then by rank. All members call it.
  virtual Ref<Channel> split(int color, int key) = 0;
  /// Runs a request to its end; a send ends when its bytes are taken. Memory of `in` and `out` is
  /// row-contiguous; they may be the same where the sizes are equal. Throws CommunicationError.
  virtual void run(const Message& message, const void* in, void* out) = 0;

  /// The number of a collective that the program asks for now: from 1.
  uint64_t next_index() { return last_index_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  std::atomic<uint64_t> last_index_{0};
};

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
