// A mesh over TCP. Data connections carry messages; last words have connections of their own, so
// that they arrive whatever else is under way.
#include "mlx/distributed/tcp.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"
#include "mlx/distributed/pump.h"
#include "mlx/distributed/sockets.h"
#include "mlx/distributed/words.h"

namespace mlx::core::distributed {

namespace {

/// Bytes to one rank: a header and parts, of which `done` bytes are gone.
struct Outgoing {
  Header header;
  std::vector<Part> parts;
  std::unique_ptr<char[]> copy;
  size_t done = 0, total = sizeof(Header);
  bool over() const { return done == total; }
};

/// Bytes from one rank.
struct Incoming {
  Header header;
  std::vector<Part> parts;
  size_t got = 0, total = sizeof(Header);
  bool used = false, agreed = false;
  bool over() const { return !used || got == total; }
};

/// The rest of a message as pieces of memory, for one call of the system.
template <class Message>
int rest_of(Message& m, size_t done, std::array<iovec, 8>& pieces) {
  int n = 0;
  auto add = [&](void* data, size_t bytes) {
    if (done >= bytes) {
      done -= bytes;
      return;
    }
    if (n < static_cast<int>(pieces.size()))
      pieces[static_cast<size_t>(n++)] = {static_cast<char*>(data) + done, bytes - done};
    done = 0;
  };
  add(&m.header, sizeof(Header));
  for (const Part& p : m.parts) add(p.data, p.bytes);
  return n;
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/// The state of the data connection to a rank.
struct Peer {
  std::deque<std::unique_ptr<Outgoing>> backlog;  ///< posted, in order
  bool silent = false;                            ///< nothing more comes: it ended well
};
/// A message to and from several ranks.
struct Transfer {
  Header header;
  const Parties& parties;
  std::vector<Incoming> in;
  std::vector<std::unique_ptr<Outgoing>> out;
  std::vector<pollfd> polled;
  bool disagrees = false;
};

class TcpMesh final : public Mesh {
 public:
  TcpMesh(Connections c, int rank, int size)
      : Mesh(rank, size),
        fds_(std::move(c.data)),
        words_(std::move(c.words)),
        peers_(static_cast<size_t>(size)) {}
  ~TcpMesh() override {
    leave();
    for (int fd : fds_)
      if (fd >= 0) close(fd);
  }

  void exchange(Header h, std::span<const Part> out, std::span<const Part> in,
                const Parties& parties) override {
    Transfer t{h, parties, std::vector<Incoming>(static_cast<size_t>(size)), {}, {}};
    prepare(t, out, in);
    Patience patience(*this, t.header);
    const bool spins = spin_;
    Clock::time_point idle = Clock::now();
    for (;;) {
      bool moved = false;
      for (int j = 0; j < size; ++j) {
        if (j == rank) continue;
        moved |= send_to(j, t);
        moved |= receive_from(j, t);
      }
      if (t.disagrees) tell(t);
      if (missing(t).empty()) break;
      if (moved) {
        patience.progress();
        idle = Clock::now();
        continue;
      }
      constexpr auto kSpin = std::chrono::microseconds(20);
      if (spins && Clock::now() - idle < kSpin) continue;
      wait(t);
      look_at_words(t.header);
      refuse_ended(t);
      check_interrupt();
      patience.check(missing(t));
    }
  }

  void post(Header h, const Part& part) override {
    auto message = std::make_unique<Outgoing>();
    h.bytes = part.bytes;
    message->header = h;
    message->parts = {copied(part, message->copy)};
    message->total += part.bytes;
    look_at_words(h);
    Peer& p = peers_[static_cast<size_t>(part.peer)];
    if (const std::string& end = words_.end_of(part.peer); !end.empty()) refuse(h, end);
    p.backlog.push_back(std::move(message));
    flush(part.peer, h);
    if (!p.backlog.empty()) pump_.start();
  }

  void look(const Header& h) override { look_at_words(h); }

  void fail(const std::string& why) noexcept override {
    if (!set_failure(why)) return;
    words_.say_failure(why);
    wake_.ring();
  }

  void leave() noexcept override {
    if (!is_own_process() || left_.exchange(true)) return;
    if (!failed()) {
      // Posted messages have to arrive; a rank that reads no more is not waited for.
      constexpr auto kLongest = std::chrono::seconds(5);
      const auto end = Clock::now() + kLongest;
      while (!failed() && has_backlog() && Clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (set_failure(cat("rank ", rank, " has left the group"))) words_.say_end();
    wake_.ring();
    pump_.stop();
    for (int fd : fds_)
      if (fd >= 0) shutdown(fd, SHUT_WR);
    words_.close_own_side();
    gone_ = true;
  }

  bool close_ended() noexcept override {
    if (!gone_ || !is_own_process()) return false;
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock) return false;  // a message is about to notice the end
    bool all = words_.close_ended();
    for (int& fd : fds_) all &= distributed::close_ended(fd);
    if (all) wake_.close();
    return all;
  }

  void set_spin(bool on) { spin_ = on; }

 private:
  void prepare(Transfer& t, std::span<const Part> out, std::span<const Part> in) {
    t.out.resize(static_cast<size_t>(size));
    for (const Part& p : out) {
      auto& m = t.out[static_cast<size_t>(p.peer)];
      if (!m) m = std::make_unique<Outgoing>(Outgoing{t.header, {}, {}});
      m->parts.push_back(p);
      m->header.bytes += p.bytes;
      m->total += p.bytes;
    }
    for (const Part& p : in) {
      Incoming& m = t.in[static_cast<size_t>(p.peer)];
      m.used = true;
      m.parts.push_back(p);
      m.total += p.bytes;
    }
    if (t.header.step == 0) look_at_words(t.header);
  }

  std::vector<int> missing(const Transfer& t) const {
    std::vector<int> ranks;
    for (int j = 0; j < size; ++j) {
      const auto& out = t.out[static_cast<size_t>(j)];
      if ((out && !out->over()) || !t.in[static_cast<size_t>(j)].over()) ranks.push_back(j);
    }
    return ranks;
  }

  /// Sends what the connection takes; true where that was something.
  bool send_some(int j, Outgoing& m, const Header& h) {
    bool moved = false;
    while (!m.over()) {
      std::array<iovec, 8> pieces;
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = static_cast<size_t>(rest_of(m, m.done, pieces));
      const ssize_t n =
          sendmsg(fds_[static_cast<size_t>(j)], &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && would_block()) break;
      if (n < 0) lost(j, h, strerror(errno));
      m.done += static_cast<size_t>(n);
      moved = true;
    }
    return moved;
  }

  bool flush(int j, const Header& h) {
    auto& backlog = peers_[static_cast<size_t>(j)].backlog;
    bool moved = false;
    while (!backlog.empty()) {
      moved |= send_some(j, *backlog.front(), h);
      if (!backlog.front()->over()) break;
      backlog.pop_front();
    }
    return moved;
  }

  bool send_to(int j, Transfer& t) {
    bool moved = flush(j, t.header);
    auto& m = t.out[static_cast<size_t>(j)];
    if (m && !m->over() && peers_[static_cast<size_t>(j)].backlog.empty())
      moved |= send_some(j, *m, t.header);
    return moved;
  }

  bool receive_from(int j, Transfer& t) {
    Incoming& m = t.in[static_cast<size_t>(j)];
    Peer& p = peers_[static_cast<size_t>(j)];
    bool moved = false;
    while (!m.over() && !p.silent) {
      if (t.disagrees && m.got >= sizeof(Header)) break;
      std::array<iovec, 8> pieces;
      msghdr message{};
      message.msg_iov = pieces.data();
      // The data of a message that disagrees is not used: its receiver fails.
      message.msg_iovlen = static_cast<size_t>(rest_of(m, m.got, pieces));
      const bool head = m.got < sizeof(Header);
      const ssize_t n = recvmsg(fds_[static_cast<size_t>(j)], &message, MSG_DONTWAIT);
      if (n < 0 && would_block()) break;
      if (n <= 0) {
        const std::string why = n == 0 ? "it closed the connection" : strerror(errno);
        words_.wait_for(j, t.header);
        if (words_.end_of(j).empty()) lost(j, t.header, why);
        p.silent = true;
        break;
      }
      m.got += static_cast<size_t>(n);
      moved = true;
      if (!head || m.got < sizeof(Header)) continue;
      const size_t expected = m.total - sizeof(Header);
      m.agreed = t.header.agrees(m.header) && m.header.bytes == expected;
      if (!m.agreed) t.disagrees = true;
    }
    return moved;
  }

  /// Throws the stories of all ranks, as far as these arrive within a moment.
  [[noreturn]] void tell(Transfer& t) {
    constexpr auto kMoment = std::chrono::milliseconds(200);
    const auto end = Clock::now() + kMoment;
    auto known = [&](const Incoming& m) { return !m.used || m.got >= sizeof(Header); };
    while (Clock::now() < end && !std::ranges::all_of(t.in, known)) {
      for (int j = 0; j < size; ++j) {
        if (j == rank) continue;
        send_to(j, t);
        receive_from(j, t);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::vector<Story> stories{{t.parties.rank_of(rank), t.header}};
    for (int j = 0; j < size; ++j) {
      const Incoming& m = t.in[static_cast<size_t>(j)];
      if (m.used && known(m)) stories.emplace_back(t.parties.rank_of(j), m.header);
    }
    fail_message(t.header, disagreement(std::move(stories)));
  }

  /// Waits until a connection is ready, a little at most.
  void wait(Transfer& t) {
    t.polled.clear();
    t.polled.push_back({wake_.fd(), POLLIN, 0});
    for (int j = 0; j < size; ++j) {
      if (j == rank) continue;
      const auto i = static_cast<size_t>(j);
      const auto& out = t.out[i];
      const bool sends = (out && !out->over()) || !peers_[i].backlog.empty();
      const bool receives = !t.in[i].over() && !peers_[i].silent;
      const int events = (receives ? POLLIN : 0) | (sends ? POLLOUT : 0);
      if (events) t.polled.push_back({fds_[i], static_cast<short>(events), 0});
      if (words_.end_of(j).empty()) t.polled.push_back({words_.fd(j), POLLIN, 0});
    }
    const int slice = interruptible() ? 50 : 1000;  // milliseconds
    poll(t.polled.data(), t.polled.size(), slice);
  }

  /// Reads last words. Throws where a rank has failed or is gone, and where this one has.
  void look_at_words(const Header& h) {
    if (failed()) throw CommunicationError(failure());
    words_.read(h);
  }

  /// A data connection is over; its rank may have said why.
  [[noreturn]] void lost(int j, const Header& h, const std::string& why) {
    words_.wait_for(j, h);
    if (const std::string& end = words_.end_of(j); !end.empty()) refuse(h, end);
    fail_message(h, cat("lost rank ", j, ": ", why));
  }
  [[noreturn]] static void refuse(const Header& h, const std::string& end) {
    fail_message(h, end + ", but " + describe(h) + " needs it");
  }

  void refuse_ended(const Transfer& t) {
    for (int j = 0; j < size; ++j)
      if (peers_[static_cast<size_t>(j)].silent && !t.in[static_cast<size_t>(j)].over())
        refuse(t.header, words_.end_of(j));
  }

  // --- messages that were posted and wait for room

  bool has_backlog() {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock) return true;  // a message is under way
    return std::ranges::any_of(peers_, [](const Peer& p) { return !p.backlog.empty(); });
  }

  /// True where something is left. Done by the pump, while no message is under way, which does the
  /// same.
  bool send_backlog() {
    bool left = false;
    try {
      for (int j = 0; j < size; ++j)
        if (auto& backlog = peers_[static_cast<size_t>(j)].backlog; !backlog.empty() && !failed()) {
          const Header h = backlog.front()->header;
          flush(j, h);
          left |= !backlog.empty();
        }
    } catch (const CommunicationError& e) {
      fail(e.what());
    }
    return left;
  }

  std::vector<int> fds_;  ///< the data connection to each other rank
  LastWords words_;
  std::vector<Peer> peers_;
  Bell wake_;
  bool spin_ = false;
  std::atomic<bool> left_{false}, gone_{false};
  Pump pump_{mutex, [this] { return send_backlog(); }};
};

}  // namespace

Ref<Mesh> make_tcp_mesh(Connections connections, int rank, int size) {
  auto mesh = make_ref<TcpMesh>(std::move(connections), rank, size);
  // Where ranks are more than processors, a waiting rank leaves its own to another one.
  mesh->set_spin(size <= static_cast<int>(std::thread::hardware_concurrency()));
  return mesh;
}

}  // namespace mlx::core::distributed
