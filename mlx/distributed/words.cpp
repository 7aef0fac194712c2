// Last words over TCP: a kind, a length and a text.
#include "mlx/distributed/words.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "mlx/core/error.h"
#include "mlx/distributed/mesh.h"
#include "mlx/distributed/sockets.h"

namespace mlx::core::distributed {

namespace {

/// The beginning of the words of a rank about its end.
struct Words {
  enum Kind : uint32_t { ended = 1, failed = 2 };
  uint32_t kind = 0, length = 0;
  static constexpr uint32_t kLongest = 4096;
};

}  // namespace

LastWords::LastWords(std::vector<int> fds) : fds_(std::move(fds)), peers_(fds_.size()) {}

LastWords::~LastWords() {
  for (int fd : fds_)
    if (fd >= 0) close(fd);
}

void LastWords::read(const Header& message) {
  for (size_t j = 0; j < fds_.size(); ++j)
    if (fds_[j] >= 0 && peers_[j].ended.empty()) read(static_cast<int>(j), message);
}

void LastWords::wait_for(int rank, const Header& message) {
  if (!end_of(rank).empty()) return;
  pollfd p{fd(rank), POLLIN, 0};
  constexpr int kMomentMs = 300;
  poll(&p, 1, kMomentMs);
  read(rank, message);
}

void LastWords::read(int rank, const Header& message) {
  Peer& p = peers_[static_cast<size_t>(rank)];
  std::array<char, 512> buffer;
  for (;;) {
    const ssize_t n = ::recv(fd(rank), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n > 0) {
      p.heard.append(buffer.data(), static_cast<size_t>(n));
      continue;
    }
    const bool waits = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    const std::string why = n == 0 ? "it ended without a word" : strerror(errno);
    if (!understand(rank, message) && !waits)
      fail_message(message, cat("lost rank ", rank, ": ", why));
    return;
  }
}

/// True where the words are complete; throws where they tell of a failure.
bool LastWords::understand(int rank, const Header& message) {
  Peer& p = peers_[static_cast<size_t>(rank)];
  Words w;
  if (p.heard.size() < sizeof w) return false;
  std::memcpy(&w, p.heard.data(), sizeof w);
  if (w.kind != Words::ended && w.kind != Words::failed)
    fail_message(message, cat("lost rank ", rank, ": it sent damaged last words"));
  const size_t length = std::min(w.length, Words::kLongest);
  if (p.heard.size() < sizeof w + length) return false;
  const std::string text = p.heard.substr(sizeof w, length);
  if (w.kind == Words::ended) {
    p.ended = cat("rank ", rank, " ended normally");
    return true;
  }
  // The error of a collective is that of all its ranks.
  if (text.starts_with('[')) throw CommunicationError(text);
  fail_message(message, text);
}

void LastWords::say_end() noexcept { say(Words::ended, ""); }
void LastWords::say_failure(const std::string& why) noexcept { say(Words::failed, why); }

void LastWords::say(uint32_t kind, const std::string& text) noexcept {
  Words w{kind, static_cast<uint32_t>(std::min<size_t>(text.size(), Words::kLongest))};
  std::array<iovec, 2> pieces{iovec{&w, sizeof w}, iovec{const_cast<char*>(text.data()), w.length}};
  for (int fd : fds_) {
    if (fd < 0) continue;
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    (void)!sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void LastWords::close_own_side() noexcept {
  for (int fd : fds_)
    if (fd >= 0) shutdown(fd, SHUT_WR);
}

bool LastWords::close_ended() noexcept {
  bool all = true;
  for (int& fd : fds_) all &= distributed::close_ended(fd);
  return all;
}

}  // namespace mlx::core::distributed
