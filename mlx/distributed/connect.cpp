// Addresses, and how ranks find each other: rank r listens, and connects to the ranks below it.
// Both sides say who they are before a connection counts.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "mlx/core/blocking.h"
#include "mlx/core/error.h"
#include "mlx/distributed/sockets.h"
#include "mlx/distributed/variables.h"

namespace mlx::core::distributed {

namespace {

/// The first words on a connection.
struct Hello {
  uint32_t magic = Header::kMagic ^ 0x48454c4f;
  uint32_t hosts = 0;  ///< hash of the hostfile
  int32_t rank = 0, size = 0;
  uint8_t purpose = 0;  ///< 0: messages, 1: last words
  uint8_t unused[7] = {};
  uint64_t token = 0;
};
static_assert(sizeof(Hello) == 32);

class Connector {
 public:
  Connector(const Hosts& hosts, int rank, const std::string& token, double timeout)
      : hosts_(hosts), rank_(rank), n_(static_cast<int>(hosts.ranks.size())), timeout_(timeout) {
    mine_.hosts = hosts.hash;
    mine_.rank = rank;
    mine_.size = n_;
    mine_.token = hash_text(token);
    for (auto& list : done_) list.resize(static_cast<size_t>(n_));
  }

  Connections run(Socket listener) {
    BlockingRegion region;
    if (listener)
      listeners_.push_back(std::move(listener));
    else if (rank_ + 1 < n_)
      for (const Address& a : hosts_.ranks[static_cast<size_t>(rank_)])
        listeners_.push_back(listen_at(a, rank_));
    const char* told = variable("MLX_RING_VERBOSE");
    if (told) tell_places();
    const Clock::time_point start = Clock::now();
    double next_report = 10;
    for (std::vector<int> missing = missing_ranks(); !missing.empty(); missing = missing_ranks()) {
      const double waited = std::chrono::duration<double>(Clock::now() - start).count();
      if (waited > timeout_)
        fail<CommunicationError>("init", "rank ", rank_, " waited ", static_cast<int64_t>(waited),
                                 " s for ", name_ranks(missing), why_);
      if (waited > next_report) {
        next_report += 10;
        std::fprintf(stderr, "[mlx] rank %d waits for %s%s\n", rank_, name_ranks(missing).c_str(),
                     why_.c_str());
      }
      check_interrupt();
      for (int j = 0; j < rank_; ++j)
        for (uint8_t purpose : {0, 1})
          if (!done_[purpose][static_cast<size_t>(j)]) call(j, purpose);
      answer();
    }
    if (told) std::fprintf(stderr, "[mlx] rank %d is connected to all others\n", rank_);
    Connections all;
    for (auto [from, to] : {std::pair(&done_[0], &all.data), std::pair(&done_[1], &all.words)})
      for (Socket& s : *from) to->push_back(s.take());
    for (auto* list : {&all.data, &all.words})
      for (int fd : *list)
        if (fd >= 0) tune(fd);
    return all;
  }

 private:
  struct Guest {
    Socket socket;
    Hello hello;
    size_t got = 0;
    Clock::time_point since = Clock::now();
  };

  /// Writes which ranks this one calls, and where it listens.
  void tell_places() const {
    auto tell = [this](const std::string& does, const Address& a) {
      std::fprintf(stderr, "[mlx] rank %d %s %s:%s\n", rank_, does.c_str(), a.host.c_str(),
                   a.port.c_str());
    };
    for (int j = 0; j < rank_; ++j)
      tell(cat("calls rank ", j, " at"), hosts_.ranks[static_cast<size_t>(j)][0]);
    if (rank_ + 1 < n_)
      for (const Address& a : hosts_.ranks[static_cast<size_t>(rank_)]) tell("listens at", a);
  }

  std::vector<int> missing_ranks() const {
    std::vector<int> missing;
    for (int j = 0; j < n_; ++j)
      if (j != rank_ && !(done_[0][static_cast<size_t>(j)] && done_[1][static_cast<size_t>(j)]))
        missing.push_back(j);
    return missing;
  }

  /// Throws where a process of this protocol belongs to another launch.
  void check(const Hello& h, int expected) const {
    const char* what = nullptr;
    if (h.size != n_)
      what = "another number of ranks";
    else if (h.hosts != mine_.hosts)
      what = "another hostfile";
    else if (h.token != mine_.token)
      what = "another launch";
    else if (expected >= 0 && h.rank != expected)
      what = "another rank";
    if (what)
      fail<CommunicationError>("init", "rank ", rank_, " met a process of ", what, " (rank ",
                               h.rank, " of ", h.size, "); all ranks need the same hostfile");
  }

  /// Tries to connect to a lower rank. It may not listen yet.
  void call(int j, uint8_t purpose) {
    AddressList list;
    resolve(hosts_.ranks[static_cast<size_t>(j)][0], false, list);
    for (addrinfo* i = list.first; i; i = i->ai_next) {
      Socket s = open_socket(i->ai_family);
      if (!s) continue;
      constexpr int kSeconds = 5;
      limit_calls(s.fd(), kSeconds);
      if (connect(s.fd(), i->ai_addr, i->ai_addrlen) != 0) {
        why_ = cat(" (rank ", j, ": ", strerror(errno), ")");
        continue;
      }
      Hello hello = mine_, theirs;
      hello.purpose = purpose;
      if (::send(s.fd(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) continue;
      if (::recv(s.fd(), &theirs, sizeof theirs, MSG_WAITALL) != sizeof theirs) {
        why_ = cat(" (rank ", j, ": what listens there gave no answer)");
        continue;
      }
      if (theirs.magic != mine_.magic) {
        why_ = cat(" (rank ", j, ": what listens there is no rank of this version)");
        continue;
      }
      check(theirs, j);
      done_[purpose][static_cast<size_t>(j)] = std::move(s);
      return;
    }
  }

  /// Accepts connections and reads who they are; strangers are turned away. Waits a little.
  void answer() {
    std::vector<pollfd> fds;
    for (const Socket& s : listeners_) fds.push_back({s.fd(), POLLIN, 0});
    for (const Guest& g : guests_) fds.push_back({g.socket.fd(), POLLIN, 0});
    constexpr int kWaitMs = 20;
    if (poll(fds.data(), fds.size(), kWaitMs) <= 0) return;
    for (const Socket& l : listeners_) {
      Socket s = accept_at(l.fd());
      if (!s) continue;
      set_blocking(s.fd(), false);
      guests_.push_back({std::move(s), {}});
    }
    std::erase_if(guests_, [&](Guest& g) { return is_over(g); });
  }

  /// Reads from a guest; true where it is a rank now, or gone.
  bool is_over(Guest& g) {
    const ssize_t n =
        ::recv(g.socket.fd(), reinterpret_cast<char*>(&g.hello) + g.got, sizeof g.hello - g.got, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      constexpr auto kLongest = std::chrono::seconds(5);
      return Clock::now() - g.since > kLongest;
    }
    if (n <= 0) return true;
    g.got += static_cast<size_t>(n);
    if (g.got >= sizeof g.hello.magic && g.hello.magic != mine_.magic) return true;
    if (g.got < sizeof g.hello) return false;
    const Hello h = g.hello;
    if (::send(g.socket.fd(), &mine_, sizeof mine_, MSG_NOSIGNAL) != sizeof mine_) return true;
    check(h, -1);
    if (h.rank <= rank_ || h.rank >= n_ || h.purpose > 1) return true;
    Socket& place = done_[h.purpose][static_cast<size_t>(h.rank)];
    if (place && is_open(place))
      fail<CommunicationError>("init", "two processes say that they are rank ", h.rank,
                               "; one process for each rank is accepted");
    set_blocking(g.socket.fd(), true);
    place = std::move(g.socket);
    return true;
  }

  /// False where the other side has given up a connection and made another one.
  static bool is_open(const Socket& s) {
    char byte;
    const ssize_t n = ::recv(s.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
  }

  static void tune(int fd) {
    // Seconds after which a host that does not answer is gone.
    [[maybe_unused]] constexpr int kSilence = 25, kIdle = 10, kBetween = 5, kProbes = 3;
    limit_calls(fd, 0);
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef TCP_USER_TIMEOUT
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kSilence * 1000);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdle);
#else  // macOS
    set_option(fd, IPPROTO_TCP, TCP_KEEPALIVE, kIdle);
#endif
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kBetween);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  }

  const Hosts& hosts_;
  const int rank_, n_;
  const double timeout_;
  Hello mine_;
  std::vector<Socket> listeners_;
  std::vector<Guest> guests_;
  std::array<std::vector<Socket>, 2> done_;
  std::string why_;
};

[[noreturn]] void refuse_hostfile(const std::string& path, const std::string& what) {
  fail<ExecutionError>("init", "hostfile ", path, ": ", what,
                       "; a list with a list of \"address:port\" for each rank is accepted");
}

}  // namespace

Address parse_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  Address a;
  if (colon != std::string::npos) a = {text.substr(0, colon), text.substr(colon + 1)};
  if (a.host.size() > 2 && a.host.front() == '[' && a.host.back() == ']')
    a.host = a.host.substr(1, a.host.size() - 2);
  const bool digits = !a.port.empty() && a.port.size() <= 5 &&
                      std::ranges::all_of(a.port, [](char c) { return c >= '0' && c <= '9'; });
  if (a.host.empty() || !digits || std::stoi(a.port) < 1 || std::stoi(a.port) > 65535)
    fail<ExecutionError>("init", "address '", text, "'; \"address:port\" is accepted");
  return a;
}

Hosts read_hostfile(const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse_hostfile(path, "it cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  Hosts hosts;
  hosts.hash = static_cast<uint32_t>(hash_text(text.str()));
  const auto json = nlohmann::json::parse(text.str(), nullptr, false);
  if (!json.is_array() || json.empty()) refuse_hostfile(path, "it is no list in JSON");
  for (const auto& rank : json) {
    if (!rank.is_array() || rank.empty()) refuse_hostfile(path, "a rank is no list of addresses");
    auto& addresses = hosts.ranks.emplace_back();
    for (const auto& a : rank) {
      if (!a.is_string()) refuse_hostfile(path, "an address is no text");
      addresses.push_back(parse_address(a.get<std::string>()));
    }
  }
  return hosts;
}

Connections connect_ranks(const Hosts& hosts, int rank, const std::string& token, double timeout,
                          Socket listener) {
  return Connector(hosts, rank, token, timeout).run(std::move(listener));
}

}  // namespace mlx::core::distributed
