// NCCL's functions on the driver of the host, between processes of one machine: MLX_CUDA_NCCL names
// the library. Ranks are connected by local sockets; everybody sends everything to everybody.
//
//  * As NCCL's, work compares nothing: ranks that disagree wait for each other, or get bytes that
//    mean something else. A rank that is gone is an error of the communicator, and the work goes on
//    waiting until it is broken off.
//  * Calls fail on request (mlx_host_fail). MLX_HOST_NCCL_HANG=n: the n-th piece of work never
//  ends.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "host_driver.h"
#include "mlx/core/half.h"

using mlx::core::bfloat16_t;
using mlx::core::float16_t;

namespace {

enum Status : int { ok = 0, system_error = 2, invalid_argument = 4, remote_error = 6, busy = 7 };
struct Id {
  char text[128];
};

struct Comm {
  int rank = 0, size = 0;
  std::vector<int> fds;
  std::atomic<int> status{busy};
  std::atomic<bool> aborted{false};
  std::atomic<int> under_way{0};
  std::thread connector;
};

std::atomic<int> works{0};

void pause_briefly() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

/// The name of a rank's socket, which no file has.
socklen_t set_name(sockaddr_un& a, const Id& id, int rank) {
  a.sun_family = AF_UNIX;
  const int n = std::snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "%s-%d", id.text, rank);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(n));
}

/// Each rank connects to those below it, and says its number.
void connect_all(Comm& c, Id id) {
  sockaddr_un name{};
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bind(listener, reinterpret_cast<sockaddr*>(&name), set_name(name, id, c.rank));
  listen(listener, 64);
  for (int j = 0; j < c.rank; ++j) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un other{};
    const socklen_t length = set_name(other, id, j);
    while (connect(fd, reinterpret_cast<sockaddr*>(&other), length) && !c.aborted) pause_briefly();
    if (write(fd, &c.rank, sizeof c.rank) == sizeof c.rank) c.fds[static_cast<size_t>(j)] = fd;
  }
  for (int left = c.size - 1 - c.rank; left > 0 && !c.aborted;) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      pause_briefly();
      continue;
    }
    int rank = 0;
    if (read(fd, &rank, sizeof rank) == sizeof rank) c.fds[static_cast<size_t>(rank)] = fd, --left;
  }
  close(listener);
  c.status = ok;
}

/// Bytes to and from one rank.
struct Part {
  int peer;
  const unsigned char* out;
  size_t out_bytes;
  unsigned char* in;
  size_t in_bytes;
};

/// True where all bytes have arrived.
bool exchange(Comm& c, std::vector<Part> parts) {
  auto left = [&] {
    size_t n = 0;
    for (const Part& p : parts) n += p.out_bytes + p.in_bytes;
    return n;
  };
  while (left()) {
    if (c.aborted) return false;
    bool moved = false;
    for (Part& p : parts) {
      const int fd = c.fds[static_cast<size_t>(p.peer)];
      if (p.out_bytes) {
        const ssize_t n = send(fd, p.out, p.out_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) p.out += n, p.out_bytes -= static_cast<size_t>(n), moved = true;
        if (n < 0 && errno != EAGAIN) c.status = remote_error;
      }
      if (p.in_bytes) {
        const ssize_t n = recv(fd, p.in, p.in_bytes, MSG_DONTWAIT);
        if (n > 0) p.in += n, p.in_bytes -= static_cast<size_t>(n), moved = true;
        if (n == 0) c.status = remote_error;
      }
    }
    if (!moved) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

/// Enqueues work of a communicator on a stream.
int enqueue(Comm* c, Stream* stream, std::function<void()> work) {
  if (fails_now(kFailLibrary)) return system_error;
  static const char* hang = std::getenv("MLX_HOST_NCCL_HANG");
  const bool hangs = ++works == (hang ? std::atoi(hang) : 0);
  ++c->under_way;
  push(*stream, [c, hangs, work = std::move(work)] {
    while (hangs && !c->aborted) pause_briefly();
    if (!c->aborted) work();
    --c->under_way;
  });
  return ok;
}

unsigned char* at(const void* address, size_t bytes) {
  return device_memory(reinterpret_cast<unsigned long long>(address), bytes);
}

using Rows = std::vector<std::vector<unsigned char>>;
/// The bytes of all ranks, by rank; empty where the work was broken off.
Rows gather(Comm& c, const unsigned char* mine, size_t bytes) {
  Rows rows(static_cast<size_t>(c.size), std::vector<unsigned char>(bytes));
  std::vector<Part> parts;
  for (int j = 0; j < c.size; ++j) {
    auto& row = rows[static_cast<size_t>(j)];
    if (j == c.rank)
      std::memcpy(row.data(), mine, bytes);
    else
      parts.push_back({j, mine, bytes, row.data(), bytes});
  }
  return exchange(c, parts) ? std::move(rows) : Rows();
}

template <class T>
T combine_two(int op, T a, T b) {
  if (op == 2) return a < b ? b : a;
  if (op == 3) return b < a ? b : a;
  return static_cast<T>(a + b);
}
/// In pairs, then pairs of pairs; 16-bit floats in float32.
template <class T, class Wide = T>
void combine(int op, const Rows& rows, size_t begin, size_t bytes, unsigned char* out) {
  std::vector<Wide> parts(rows.size());
  for (size_t i = 0; i < bytes; i += sizeof(T)) {
    for (size_t r = 0; r < rows.size(); ++r) {
      T element;
      std::memcpy(&element, rows[r].data() + begin + i, sizeof(T));
      parts[r] = static_cast<Wide>(element);
    }
    for (size_t width = 1; width < rows.size(); width *= 2)
      for (size_t r = 0; r + width < rows.size(); r += 2 * width)
        parts[r] = combine_two(op, parts[r], parts[r + width]);
    const T total = static_cast<T>(parts[0]);
    std::memcpy(out + i, &total, sizeof(T));
  }
}
/// By NCCL's numbers of types.
using Combine = void (*)(int, const Rows&, size_t, size_t, unsigned char*);
constexpr Combine kCombines[] = {combine<int8_t>,           combine<uint8_t>, combine<int32_t>,
                                 combine<uint32_t>,         combine<int64_t>, combine<uint64_t>,
                                 combine<float16_t, float>, combine<float>,   combine<double>,
                                 combine<bfloat16_t, float>};
constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

/// Sends and receives between ncclGroupStart and ncclGroupEnd.
struct Group {
  int depth = 0;
  Comm* comm = nullptr;
  Stream* stream = nullptr;
  std::vector<Part> parts;
};
thread_local Group group;

int add_part(const Part& p, Comm* c, Stream* stream) {
  if (!group.depth) return invalid_argument;  // the plugin groups them
  group.comm = c;
  group.stream = stream;
  group.parts.push_back(p);
  return ok;
}

}  // namespace

EXPORT int ncclGetVersion(int* v) { return *v = 22800, ok; }
EXPORT int ncclGetUniqueId(Id* id) {
  static std::atomic<int> last{0};
  std::snprintf(id->text, sizeof id->text, "mlx-host-nccl-%d-%d", getpid(), ++last);
  return ok;
}
EXPORT const char* ncclGetErrorString(int status) {
  return status == remote_error ? "remote process exited" : "unhandled system error";
}
EXPORT const char* ncclGetLastError(Comm*) { return "from the host driver"; }

EXPORT int ncclCommInitRankConfig(Comm** comm, int size, Id id, int rank, void*) {
  if (fails_now(kFailLibrary)) return system_error;
  Comm* c = *comm = new Comm;
  c->rank = rank;
  c->size = size;
  c->fds.assign(static_cast<size_t>(size), -1);
  c->connector = std::thread([c, id] { connect_all(*c, id); });
  return busy;
}
EXPORT int ncclCommGetAsyncError(Comm* c, int* status) { return *status = c->status, ok; }
EXPORT int ncclCommFinalize(Comm*) { return ok; }
EXPORT int ncclCommAbort(Comm* c) {
  c->aborted = true;
  c->connector.join();
  while (c->under_way) pause_briefly();
  for (int fd : c->fds)
    if (fd >= 0) close(fd);
  delete c;
  return ok;
}
EXPORT int ncclCommDestroy(Comm* c) { return ncclCommAbort(c); }

EXPORT int ncclAllReduce(const void* in, void* out, size_t count, int type, int op, Comm* c,
                         Stream* s) {
  const size_t bytes = count * kSizes[type];
  unsigned char *from = at(in, bytes), *to = at(out, bytes);
  if (!from || !to) return count_fault(), invalid_argument;
  return enqueue(c, s, [=] {
    if (const Rows rows = gather(*c, from, bytes); !rows.empty())
      kCombines[type](op, rows, 0, bytes, to);
  });
}
EXPORT int ncclReduceScatter(const void* in, void* out, size_t count, int type, int op, Comm* c,
                             Stream* s) {
  const size_t part = count * kSizes[type], bytes = part * static_cast<size_t>(c->size);
  unsigned char *from = at(in, bytes), *to = at(out, part);
  if (!from || !to) return count_fault(), invalid_argument;
  return enqueue(c, s, [=] {
    if (const Rows rows = gather(*c, from, bytes); !rows.empty())
      kCombines[type](op, rows, part * static_cast<size_t>(c->rank), part, to);
  });
}
EXPORT int ncclAllGather(const void* in, void* out, size_t count, int type, Comm* c, Stream* s) {
  const size_t bytes = count * kSizes[type];
  unsigned char *from = at(in, bytes), *to = at(out, bytes * static_cast<size_t>(c->size));
  if (!from || !to) return count_fault(), invalid_argument;
  return enqueue(c, s, [=] {
    const Rows rows = gather(*c, from, bytes);
    for (size_t j = 0; j < rows.size(); ++j) std::memcpy(to + j * bytes, rows[j].data(), bytes);
  });
}
EXPORT int ncclBroadcast(const void* in, void* out, size_t count, int type, int root, Comm* c,
                         Stream* s) {
  const size_t bytes = count * kSizes[type];
  unsigned char *from = at(in, bytes), *to = at(out, bytes);
  if (!from || !to) return count_fault(), invalid_argument;
  return enqueue(c, s, [=] {
    std::vector<Part> parts;
    if (c->rank != root) {
      parts.push_back({root, nullptr, 0, to, bytes});
    } else {
      for (int j = 0; j < c->size; ++j)
        if (j != root) parts.push_back({j, from, bytes, nullptr, 0});
      if (to != from) std::memcpy(to, from, bytes);
    }
    exchange(*c, parts);
  });
}
EXPORT int ncclSend(const void* in, size_t count, int type, int peer, Comm* c, Stream* s) {
  const size_t bytes = count * kSizes[type];
  unsigned char* from = at(in, bytes);
  if (!from) return count_fault(), invalid_argument;
  return add_part({peer, from, bytes, nullptr, 0}, c, s);
}
EXPORT int ncclRecv(void* out, size_t count, int type, int peer, Comm* c, Stream* s) {
  const size_t bytes = count * kSizes[type];
  unsigned char* to = at(out, bytes);
  if (!to) return count_fault(), invalid_argument;
  return add_part({peer, nullptr, 0, to, bytes}, c, s);
}
EXPORT int ncclGroupStart() { return ++group.depth, ok; }
EXPORT int ncclGroupEnd() {
  if (--group.depth || group.parts.empty()) return ok;
  Comm* c = group.comm;
  return enqueue(c, group.stream, [c, parts = std::move(group.parts)] {
    std::vector<Part> others;
    Part own{};
    for (const Part& p : parts) {
      if (p.peer != c->rank)
        others.push_back(p);
      else if (p.in)
        own.in = p.in, own.in_bytes = p.in_bytes;
      else
        own.out = p.out;
    }
    if (own.in) std::memcpy(own.in, own.out, own.in_bytes);
    exchange(*c, others);
  });
}
