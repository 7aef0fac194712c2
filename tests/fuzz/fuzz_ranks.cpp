// Fuzzing of files and bytes that ranks get from each other: hostfiles, headers of messages, and
// last words.
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mlx/core/error.h"
#include "mlx/distributed/order.h"
#include "mlx/distributed/tcp.h"
#include "mlx/distributed/words.h"
#include "texts.h"

namespace mlx::core {

namespace {

void read_hosts(std::string_view text) {
  const int fd = memfd_create("hosts", MFD_CLOEXEC);
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  try {
    for (const auto& rank : distributed::read_hostfile("/proc/self/fd/" + std::to_string(fd)).ranks)
      if (rank.empty()) std::abort();
  } catch (const ExecutionError&) {
    // Any other error is a find.
  }
  close(fd);
}

/// The stories of ranks, one for each header; the last one may be cut off.
void tell(std::string_view bytes) {
  using distributed::Header;
  std::vector<distributed::Story> stories;
  for (int rank = 0; !bytes.empty() && rank < 8; ++rank) {
    Header h;
    const size_t n = std::min(bytes.size(), sizeof h);
    std::memcpy(static_cast<void*>(&h), bytes.data(), n);
    bytes.remove_prefix(n);
    if (!h.agrees(h) || describe(h).empty()) std::abort();
    stories.emplace_back(rank, h);
  }
  if (!stories.empty() && disagreement(std::move(stories)).empty()) std::abort();
}

/// Last words of rank 1, which come in two parts, and the end of its connection.
void hear(std::string_view bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
  distributed::LastWords words({-1, ends[0]});
  auto say = [&](std::string_view part) {
    if (write(ends[1], part.data(), part.size()) != static_cast<ssize_t>(part.size())) std::abort();
  };
  bool failed = false;
  try {
    say(bytes.substr(0, bytes.size() / 2));
    words.read({});
    say(bytes.substr(bytes.size() / 2));
    shutdown(ends[1], SHUT_WR);
    words.wait_for(1, {});
  } catch (const CommunicationError&) {
    failed = true;
  }
  close(ends[1]);
  if (failed == !words.end_of(1).empty()) std::abort();
}

}  // namespace

void fuzz_ranks(std::string_view bytes) {
  if (bytes.starts_with('[') || bytes.starts_with('{'))
    read_hosts(bytes);
  else if (bytes.starts_with('w'))
    hear(bytes.substr(1));
  else
    tell(bytes);
}

}  // namespace mlx::core
