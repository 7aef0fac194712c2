// Sockets of TCP, as those that connect ranks use them.
#pragma once

#include <netdb.h>

#include <cstdint>
#include <string_view>

#include "mlx/distributed/tcp.h"

namespace mlx::core::distributed {

uint64_t hash_text(std::string_view text);

/// The addresses of a name and a port.
struct AddressList {
  addrinfo* first = nullptr;
  AddressList() = default;
  AddressList(const AddressList&) = delete;
  ~AddressList() {
    if (first) freeaddrinfo(first);
  }
};
/// Throws CommunicationError. `passive`: to listen there.
void resolve(const Address& a, bool passive, AddressList& list);

void set_option(int fd, int level, int option, int value);
/// A new socket of TCP, which programs that this one starts do not inherit.
Socket open_socket(int family);
/// The next connection of a listening socket, inherited neither.
Socket accept_at(int listener);
void set_blocking(int fd, bool on);
/// A socket that listens at an address, for a rank. Throws CommunicationError.
Socket listen_at(const Address& a, int rank);

/// A pipe that wakes threads in `poll`: readable for good once it was rung.
class Bell {
 public:
  Bell();
  ~Bell();
  Bell(const Bell&) = delete;
  /// The descriptor to poll.
  int fd() const { return ends_[0]; }
  void ring() noexcept;
  /// Gives the pipe back; `ring` does nothing any more.
  void close() noexcept;

 private:
  int ends_[2] = {-1, -1};
};

/// Closes a connection whose other side has been closed, with what has come and was not read; true
/// where it is closed. Closed before, it could take words along that the other side has not read.
bool close_ended(int& fd) noexcept;

/// Lets calls that send and receive end after some seconds.
void limit_calls(int fd, int seconds);

}  // namespace mlx::core::distributed
