// How ranks meet that know rank 0's address alone: each tells rank 0 at which port it listens, and
// rank 0 answers with the addresses of all.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"
#include "mlx/distributed/sockets.h"

namespace mlx::core::distributed {

namespace {

/// The words of a rank to rank 0.
struct Call {
  uint32_t magic = Header::kMagic ^ 0x4d454554;
  int32_t rank = 0, size = 0;
  uint32_t port = 0;  ///< at which it listens
  uint64_t token = 0;
};
static_assert(sizeof(Call) == 24);
using Place = std::array<char, 272>;  ///< "address:port"; a name has up to 253 characters

constexpr int kCallSeconds = 5;

sockaddr_storage end_of(int fd, bool own) {
  sockaddr_storage a{};
  socklen_t length = sizeof a;
  auto* to = reinterpret_cast<sockaddr*>(&a);
  own ? getsockname(fd, to, &length) : getpeername(fd, to, &length);
  return a;
}
uint32_t port_of(const sockaddr_storage& a) {
  return ntohs(a.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(a).sin6_port
                                       : reinterpret_cast<const sockaddr_in&>(a).sin_port);
}
bool is_loopback(const sockaddr* a) {
  constexpr uint32_t kNetwork = 127;
  if (a->sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr);
  return ntohl(reinterpret_cast<const sockaddr_in*>(a)->sin_addr.s_addr) >> 24 == kNetwork;
}
/// Whether a name is one of this machine's own address that no other machine can reach, such as
/// the host's name on systems that give it 127.0.1.1. The address itself, and localhost, mean that
/// all ranks run here.
bool is_own_name(const Address& a, const addrinfo& resolved) {
  return is_loopback(resolved.ai_addr) && a.host != "localhost" && a.host != "::1" &&
         !a.host.starts_with("127.");
}
const char* all_addresses(const addrinfo& resolved) {
  return resolved.ai_family == AF_INET6 ? "::" : "0.0.0.0";
}
std::string host_of(const sockaddr_storage& a) {
  std::array<char, NI_MAXHOST> text{};
  getnameinfo(reinterpret_cast<const sockaddr*>(&a), sizeof a, text.data(), text.size(), nullptr, 0,
              NI_NUMERICHOST);
  return text.data();
}

class Meeting {
 public:
  Meeting(const Address& first, int rank, int size, const std::string& token, double timeout)
      : first_(first), rank_(rank), size_(size), token_(token), timeout_(timeout) {
    mine_.rank = rank;
    mine_.size = size;
    mine_.token = hash_text(token);
    places_.resize(static_cast<size_t>(size));
  }

  Connections run() {
    BlockingRegion region;
    Socket listener;
    rank_ == 0 ? lead(listener) : follow(listener);
    Hosts hosts;
    std::string all;
    for (const Place& p : places_) {
      all += std::string(p.data()) + "\n";
      hosts.ranks.push_back({parse_address(p.data())});
    }
    hosts.hash = static_cast<uint32_t>(hash_text(all));
    return connect_ranks(hosts, rank_, token_, timeout_, std::move(listener));
  }

 private:
  /// Throws after the timeout; tells every 10 s who is missing.
  void be_patient(const std::string& missing) {
    check_interrupt();
    const double waited = std::chrono::duration<double>(Clock::now() - start_).count();
    if (waited > timeout_)
      fail<CommunicationError>("init", "rank ", rank_, " waited ", static_cast<int64_t>(waited),
                               " s for ", missing, why_);
    if (waited < next_report_) return;
    next_report_ += 10;
    std::fprintf(stderr, "[mlx] rank %d waits for %s%s\n", rank_, missing.c_str(), why_.c_str());
  }

  void set_place(int rank, const std::string& host, uint32_t port) {
    const bool six = host.find(':') != std::string::npos;
    const std::string text = cat(six ? "[" : "", host, six ? "]" : "", ":", port);
    Place& p = places_[static_cast<size_t>(rank)];
    p.fill(0);
    std::memcpy(p.data(), text.data(), std::min(text.size(), p.size() - 1));
  }

  /// Rank 0 waits for the calls of all others, then answers them. Its socket listens on, for their
  /// connections.
  void lead(Socket& listener) {
    AddressList list;
    resolve(first_, true, list);
    const bool everywhere = is_own_name(first_, *list.first);
    listener =
        listen_at(everywhere ? Address{all_addresses(*list.first), first_.port} : first_, rank_);
    set_place(0, first_.host, port_of(end_of(listener.fd(), true)));
    std::vector<Socket> guests(static_cast<size_t>(size_));
    auto missing = [&] {
      std::vector<int> ranks;
      for (int j = 1; j < size_; ++j)
        if (!guests[static_cast<size_t>(j)]) ranks.push_back(j);
      return ranks;
    };
    while (!missing().empty()) {
      be_patient(name_ranks(missing()));
      pollfd p{listener.fd(), POLLIN, 0};
      constexpr int kWaitMs = 20;
      if (poll(&p, 1, kWaitMs) <= 0) continue;
      Socket s = accept_at(listener.fd());
      if (!s) continue;
      limit_calls(s.fd(), kCallSeconds);
      Call call;
      if (::recv(s.fd(), &call, sizeof call, MSG_WAITALL) != sizeof call) continue;
      if (call.magic != mine_.magic || call.rank < 1 || call.rank >= size_) continue;
      if (call.size != size_ || call.token != mine_.token)
        fail<CommunicationError>("init", "rank 0 met a process of another launch (rank ", call.rank,
                                 " of ", call.size, "); all ranks need the same variables");
      // A rank that has given up waiting for an answer calls again.
      const sockaddr_storage from = end_of(s.fd(), false);
      const bool here = everywhere && is_loopback(reinterpret_cast<const sockaddr*>(&from));
      set_place(call.rank, here ? first_.host : host_of(from), call.port);
      guests[static_cast<size_t>(call.rank)] = std::move(s);
    }
    for (Socket& s : guests)
      if (s) (void)!::send(s.fd(), places_.data(), places_.size() * sizeof(Place), MSG_NOSIGNAL);
  }

  /// Another rank: calls until rank 0 answers.
  void follow(Socket& listener) {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
      be_patient("rank 0 at " + first_.host + ":" + first_.port);
      AddressList list;
      resolve(first_, false, list);
      for (addrinfo* i = list.first; i; i = i->ai_next) {
        Socket s = open_socket(i->ai_family);
        if (!s || connect(s.fd(), i->ai_addr, i->ai_addrlen) != 0) {
          why_ = cat(" (", strerror(errno), ")");
          continue;
        }
        const bool everywhere = is_own_name(first_, *i);
        if (!listener)
          listener = listen_at(
              {everywhere ? all_addresses(*i) : host_of(end_of(s.fd(), true)), "0"}, rank_);
        mine_.port = port_of(end_of(listener.fd(), true));
        limit_calls(s.fd(), 1);
        if (::send(s.fd(), &mine_, sizeof mine_, MSG_NOSIGNAL) != sizeof mine_) continue;
        if (hear(s.fd())) return;
      }
    }
  }

  /// Reads the answer of rank 0, which comes when all have called; false where it is gone.
  bool hear(int fd) {
    char* const to = places_.data()->data();
    const size_t bytes = places_.size() * sizeof(Place);
    for (size_t got = 0; got < bytes;) {
      const ssize_t n = ::recv(fd, to + got, bytes - got, 0);
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        be_patient("the other ranks, with rank 0");
        continue;
      }
      if (n <= 0) {
        why_ = " (it gave no answer)";
        return false;
      }
      got += static_cast<size_t>(n);
    }
    return true;
  }

  const Address& first_;
  const int rank_, size_;
  const std::string& token_;
  const double timeout_;
  const Clock::time_point start_ = Clock::now();
  double next_report_ = 10;
  Call mine_;
  std::vector<Place> places_;
  std::string why_;
};

}  // namespace

Connections connect_by(const Address& first, int rank, int size, const std::string& token,
                       double timeout) {
  return Meeting(first, rank, size, token, timeout).run();
}

}  // namespace mlx::core::distributed
