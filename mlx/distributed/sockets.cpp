// Names, options and listening sockets.
#include "mlx/distributed/sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mlx/core/error.h"

namespace mlx::core::distributed {

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

uint64_t hash_text(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ull;
  return h;
}

void resolve(const Address& a, bool passive, AddressList& list) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  if (int e = getaddrinfo(a.host.c_str(), a.port.c_str(), &hints, &list.first))
    core::fail<CommunicationError>("init", "address ", a.host, ":", a.port, ": ", gai_strerror(e),
                                   "; names and addresses of this network are accepted");
}

void set_option(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

Socket listen_at(const Address& a, int rank) {
  AddressList list;
  resolve(a, true, list);
  int error = 0;
  for (addrinfo* i = list.first; i; i = i->ai_next) {
    Socket s(socket(i->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!s) continue;
    set_option(s.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (bind(s.fd(), i->ai_addr, i->ai_addrlen) == 0 && listen(s.fd(), 256) == 0) return s;
    error = errno;
  }
  fail<CommunicationError>("init", "rank ", rank, " cannot listen at ", a.host, ":", a.port, ": ",
                           strerror(error),
                           "; a free port of this machine is needed, and one "
                           "process for each rank");
}

void limit_calls(int fd, int seconds) {
  const timeval limit{seconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

}  // namespace mlx::core::distributed
