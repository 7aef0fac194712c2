// Names, options and listening sockets.
#include "mlx/distributed/sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

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

namespace {

/// Systems without SOCK_CLOEXEC set the flag in a second call.
[[maybe_unused]] Socket own(int fd) {
  if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return Socket(fd);
}

}  // namespace

Socket open_socket(int family) {
#ifdef SOCK_CLOEXEC
  return Socket(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
#else
  return own(socket(family, SOCK_STREAM, 0));
#endif
}
Socket accept_at(int listener) {
#ifdef SOCK_CLOEXEC
  return Socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
#else
  return own(accept(listener, nullptr, nullptr));
#endif
}
void set_blocking(int fd, bool on) {
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, on ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

Bell::Bell() {
  if (pipe(ends_) != 0)
    fail<CommunicationError>("init", "no pipe: ", strerror(errno), "; open files are too many");
  for (int end : ends_) {
    fcntl(end, F_SETFD, FD_CLOEXEC);
    set_blocking(end, false);
  }
}
Bell::~Bell() { close(); }
void Bell::close() noexcept {
  for (int& end : ends_)
    if (end >= 0) ::close(std::exchange(end, -1));
}
void Bell::ring() noexcept { (void)!write(ends_[1], "", 1); }

bool close_ended(int& fd) noexcept {
  if (fd < 0) return true;
  std::array<char, 4096> rest;
  ssize_t n = 0;
  do {
    n = ::recv(fd, rest.data(), rest.size(), MSG_DONTWAIT);
  } while (n > 0 || (n < 0 && errno == EINTR));
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  close(std::exchange(fd, -1));
  return true;
}

Socket listen_at(const Address& a, int rank) {
  AddressList list;
  resolve(a, true, list);
  int error = 0;
  for (addrinfo* i = list.first; i; i = i->ai_next) {
    Socket s = open_socket(i->ai_family);
    if (!s) continue;
    set_blocking(s.fd(), false);
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
