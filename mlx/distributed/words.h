// Last words: the connections by which ranks tell each other that they end, and why. Nothing else
// travels there, so that they arrive whatever is under way.
#pragma once

#include <string>
#include <vector>

#include "mlx/distributed/order.h"

namespace mlx::core::distributed {

/// Last words of all ranks, as one of them gets them.
class LastWords {
 public:
  /// Takes over a connection to each other rank; -1 stands for this one.
  explicit LastWords(std::vector<int> fds);
  ~LastWords();
  LastWords(const LastWords&) = delete;

  /// The connection to a rank.
  int fd(int rank) const { return fds_[static_cast<size_t>(rank)]; }
  /// "rank 1 ended normally" where a rank has said so, else empty.
  const std::string& end_of(int rank) const { return peers_[static_cast<size_t>(rank)].ended; }
  /// Reads the words that have arrived from all ranks. Throws CommunicationError, for a message,
  /// where one has failed, or is gone without a word.
  void read(const Header& message);
  /// The same from one rank, which gets a moment to say something.
  void wait_for(int rank, const Header& message);

  /// Tells all ranks that this one ends well, or that it has failed.
  void say_end() noexcept;
  void say_failure(const std::string& why) noexcept;
  /// Nothing more will be said.
  void close_own_side() noexcept;
  /// Closes the connections that the others have closed; true where that is all.
  bool close_ended() noexcept;

 private:
  struct Peer {
    std::string heard, ended;
  };
  void say(uint32_t kind, const std::string& text) noexcept;
  void read(int rank, const Header& message);
  bool understand(int rank, const Header& message);

  std::vector<int> fds_;
  std::vector<Peer> peers_;
};

}  // namespace mlx::core::distributed
