// The engine whose ranks are processes connected by TCP: addresses, connections, and a mesh over
// them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mlx/distributed/mesh.h"

namespace mlx::core::distributed {

/// "10.0.0.1:5000", "[fe80::1]:5000" or "name:5000".
struct Address {
  std::string host, port;
};
/// Throws ExecutionError for a text that is none.
Address parse_address(const std::string& text);

/// A socket that is closed unless it is taken.
class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Socket& operator=(Socket o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Socket();
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int take() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// Where every rank listens; the first of its addresses is the one that others connect to.
struct Hosts {
  std::vector<std::vector<Address>> ranks;
  uint32_t hash = 0;  ///< of the text that it was read from
};
/// The hosts in a file: a list of lists of addresses in JSON. Throws ExecutionError naming the
/// file.
Hosts read_hostfile(const std::string& path);

/// Two connections to each other rank: one for messages, one for last words. Closed by the owner.
struct Connections {
  std::vector<int> data, words;
};
/// Connects with all ranks: waits at most `timeout` seconds, and tells every 10 s about the missing
/// ones. `token` is what all ranks of a launch know; `listener` listens at the rank's address
/// already. Throws CommunicationError.
Connections connect_ranks(const Hosts& hosts, int rank, const std::string& token, double timeout,
                          Socket listener = Socket());

/// The same where rank 0's address alone is known: it listens there, and tells all ranks where the
/// others listen.
Connections connect_by(const Address& first, int rank, int size, const std::string& token,
                       double timeout);

/// The mesh over connections, which it owns.
Ref<Mesh> make_tcp_mesh(Connections connections, int rank, int size);

}  // namespace mlx::core::distributed
