// Fuzzing of files and bytes that ranks get from each other: hostfiles, and headers of messages.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mlx/core/error.h"
#include "mlx/distributed/order.h"
#include "mlx/distributed/tcp.h"
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

}  // namespace

void fuzz_ranks(std::string_view bytes) {
  if (bytes.starts_with('[') || bytes.starts_with('{'))
    read_hosts(bytes);
  else
    tell(bytes);
}

}  // namespace mlx::core
