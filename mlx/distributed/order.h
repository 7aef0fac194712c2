// Headers of messages, by which members of a group find out that they do not run the same
// collectives in the same order, and the text that says so.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "mlx/backend/engine.h"

namespace mlx::core::distributed {

/// The header of every message, in memory as on the wire (little-endian, as every supported
/// machine).
struct Header {
  static constexpr uint32_t kMagic = 0x6d6c7802;  ///< changes with the layout
  uint32_t magic = kMagic;
  uint8_t kind = 0;   ///< Collective; sends and receives count as the former
  uint8_t dtype = 0;  ///< Dtype::Val
  uint16_t size = 0;  ///< of the group
  uint32_t group = 0;
  int32_t peer = -1;    ///< of broadcast: the source; of send: the sender in the group
  uint64_t number = 0;  ///< of the collective in the group, as they run: from 1
  uint64_t index = 0;   ///< Message::index
  int64_t count = 0;
  uint64_t bytes = 0;  ///< that follow for this receiver
  uint32_t step = 0;   ///< of the collective
  std::array<char, 76> line = {};

  Collective collective() const { return static_cast<Collective>(kind); }
  /// True where both belong to the same step of the same collective. The lines may differ: two
  /// branches of a program may make one request.
  bool agrees(const Header& o) const;
  void set_line(std::string_view text);
  std::string line_text() const;
};
static_assert(sizeof(Header) == 128);

/// A header and the rank of its sender.
using Story = std::pair<int, Header>;

/// The text of an error: the stories of all ranks; equal ones are told once.
std::string disagreement(std::vector<Story> stories);
/// "all_sum of 1024 float32 (train.py:31)"
std::string describe(const Header& h);
/// "rank 2", "ranks 1, 2 and 3".
std::string name_ranks(const std::vector<int>& ranks);

/// False where MLX_DISTRIBUTED_CHECK=off: indices are not compared.
bool checks_indices();

}  // namespace mlx::core::distributed
