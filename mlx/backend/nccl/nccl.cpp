// The functions of NCCL and its communicators. Its calls return at once, and are asked whether they
// are done, so that waits can end.
#include "mlx/backend/nccl/nccl.h"

#include <dlfcn.h>

#include <chrono>
#include <climits>
#include <cstring>
#include <mutex>
#include <thread>

#include "mlx/backend/cuda/hardware.h"
#include "mlx/backend/cuda/libraries.h"
#include "mlx/backend/engine.h"
#include "mlx/backend/gpu/threads.h"

namespace mlx::core::cuda {

namespace {

// NCCL's functions and values of its enumerations. Declared here, so that no header of its package
// is needed.
using Comm = struct OpaqueComm*;
using Id = DeviceLinks::Id;
static_assert(sizeof(Id) == 128);
/// The options of a communicator as of version 2.18; undefined ones have defaults.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = 21800;
  int blocking = 0;
  int group_size = INT_MIN, fewest_blocks = INT_MIN, most_blocks = INT_MIN;
  const char* network = nullptr;
  int shared = INT_MIN;
};
enum Status : int { success = 0, in_progress = 7 };
enum Number : int {
  of_int8,
  of_uint8,
  of_int32,
  of_uint32,
  of_int64,
  of_uint64,
  of_float16,
  of_float32,
  of_float64,
  of_bfloat16
};
enum Reduction : int { sum = 0, maximum = 2, minimum = 3 };

#define MLX_NCCL_FUNCTIONS(X)                                                                      \
  X(version, ncclGetVersion, (int*))                                                               \
  X(make_id, ncclGetUniqueId, (Id*))                                                               \
  X(init, ncclCommInitRankConfig, (Comm*, int, Id, int, Config*))                                  \
  X(async_error, ncclCommGetAsyncError, (Comm, int*))                                              \
  X(abort, ncclCommAbort, (Comm))                                                                  \
  X(finalize, ncclCommFinalize, (Comm))                                                            \
  X(destroy, ncclCommDestroy, (Comm))                                                              \
  X(all_reduce, ncclAllReduce, (const void*, void*, size_t, int, int, Comm, StreamHandle))         \
  X(all_gather, ncclAllGather, (const void*, void*, size_t, int, Comm, StreamHandle))              \
  X(reduce_scatter, ncclReduceScatter, (const void*, void*, size_t, int, int, Comm, StreamHandle)) \
  X(broadcast, ncclBroadcast, (const void*, void*, size_t, int, int, Comm, StreamHandle))          \
  X(send, ncclSend, (const void*, size_t, int, int, Comm, StreamHandle))                           \
  X(receive, ncclRecv, (void*, size_t, int, int, Comm, StreamHandle))                              \
  X(group_start, ncclGroupStart, ())                                                               \
  X(group_end, ncclGroupEnd, ())

struct Nccl {
#define MLX_NCCL_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  MLX_NCCL_FUNCTIONS(MLX_NCCL_MEMBER)
#undef MLX_NCCL_MEMBER
  const char* (*error_text)(int) = nullptr;
  const char* (*last_error)(Comm) = nullptr;
  std::string problem;
};

Nccl open_nccl() {
  Nccl n;
  void* library = open_library_of_device("MLX_CUDA_NCCL", {"libnccl.so.2"});
  if (!library) {
    n.problem = "libnccl.so.2 is not found; the package nvidia-nccl-cu13 has it";
    return n;
  }
  auto find = [&]<class F>(F& f, const char* name) {
    f = reinterpret_cast<F>(dlsym(library, name));
    if (!f && n.problem.empty()) n.problem = cat("the library of NCCL has no ", name);
  };
#define MLX_NCCL_FIND(name, symbol, parameters) find(n.name, #symbol);
  MLX_NCCL_FUNCTIONS(MLX_NCCL_FIND)
#undef MLX_NCCL_FIND
  find(n.error_text, "ncclGetErrorString");
  find(n.last_error, "ncclGetLastError");
  int version = 0;
  if (n.problem.empty() && n.version(&version) == success && version < 21800)
    n.problem = cat("NCCL of version ", version, "; 21800 (2.18) and later are accepted");
  return n;
}
const Nccl& nccl() {
  static const Nccl& n = *[] {
    auto* opened = new Nccl;
    gpu::on_own_stack([&] { *opened = open_nccl(); });
    gpu::drain_at_exit();
    return opened;
  }();
  return n;
}

std::string text_of(int status, Comm comm) {
  const char* more = comm ? nccl().last_error(comm) : nullptr;
  return cat("NCCL: ", nccl().error_text(status), more && *more ? cat(" (", more, ")") : "");
}
void check_nccl(int status, Comm comm = nullptr) {
  if (status != success && status != in_progress)
    throw CommunicationError("[distributed] " + text_of(status, comm));
}

/// How NCCL adds and compares elements: its type, and how many of them an element is; none: it does
/// not.
struct Elements {
  int type = -1;
  size_t each = 1;
};
Elements elements_of(Collective kind, Dtype t) {
  switch (t.val()) {
    case Dtype::Val::bool_:
      return {of_uint8};
    case Dtype::Val::int8:
      return {of_int8};
    case Dtype::Val::uint8:
      return {of_uint8};
    case Dtype::Val::int32:
      return {of_int32};
    case Dtype::Val::uint32:
      return {of_uint32};
    case Dtype::Val::int64:
      return {of_int64};
    case Dtype::Val::uint64:
      return {of_uint64};
    case Dtype::Val::float16:
      return {of_float16};
    case Dtype::Val::bfloat16:
      return {of_bfloat16};
    case Dtype::Val::float32:
      return {of_float32};
    case Dtype::Val::float64:
      return {of_float64};
    case Dtype::Val::complex64:
    case Dtype::Val::complex128:
      if (kind != Collective::all_sum && kind != Collective::sum_scatter) return {};
      return {t.size() == 8 ? of_float32 : of_float64, 2};
    default:
      return {};
  }
}

int reduction_of(Collective kind, Dtype t) {
  if (kind == Collective::all_max || (t == bool_ && kind != Collective::all_min)) return maximum;
  return kind == Collective::all_min ? minimum : sum;
}

class NcclLink final : public DeviceLink {
 public:
  NcclLink(const Id& id, int rank, int size, CudaHardware& hardware, const Wait& wait)
      : rank_(rank), size_(size), hardware_(hardware) {
    hardware_.enter();
    Config config;
    check_nccl(nccl().init(&comm_, size, id, rank, &config), comm_);
    try {
      settle(wait);
    } catch (...) {
      abort();
      throw;
    }
  }
  ~NcclLink() override { abort(); }

  void enqueue(const Message& m, const DeviceOperands& o, const Wait& wait) override {
    std::unique_lock lock(mutex_);
    if (!comm_) throw CommunicationError("[distributed] NCCL: the group was broken off");
    check_nccl(give(m, reinterpret_cast<const char*>(o.in), reinterpret_cast<char*>(o.out),
                    static_cast<StreamHandle>(o.stream)),
               comm_);
    settle(wait);
  }
  std::string error() override {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !comm_) return {};
    int status = success;
    nccl().async_error(comm_, &status);
    return status == success || status == in_progress ? std::string() : text_of(status, comm_);
  }
  void abort() noexcept override {
    std::lock_guard lock(mutex_);
    if (!comm_) return;
    hardware_.begin(nullptr);
    nccl().abort(comm_);
    comm_ = nullptr;
  }
  void close(const Wait& wait) override {
    std::lock_guard lock(mutex_);
    if (!comm_) return;
    hardware_.enter();
    check_nccl(nccl().finalize(comm_), comm_);
    settle(wait);
    nccl().destroy(comm_);
    comm_ = nullptr;
  }

 private:
  /// Waits until the last call has been taken: by a thread of NCCL within some 50 us, or after a
  /// connection to other ranks.
  void settle(const Wait& wait) {
    using Clock = std::chrono::steady_clock;
    constexpr auto kSpin = std::chrono::microseconds(300), kPause = std::chrono::microseconds(20);
    constexpr auto kConnecting = std::chrono::milliseconds(5);
    const auto start = Clock::now();
    for (;;) {
      int status = in_progress;
      check_nccl(nccl().async_error(comm_, &status), comm_);
      check_nccl(status, comm_);
      if (status == success) return;
      const auto waited = Clock::now() - start;
      if (waited < kSpin) {
        std::this_thread::yield();
      } else if (waited < kConnecting) {
        std::this_thread::sleep_for(kPause);
      } else {
        wait();
      }
    }
  }

  int give(const Message& m, const char* in, char* out, StreamHandle stream) {
    const Nccl& n = nccl();
    const auto count = static_cast<size_t>(m.count), bytes = count * m.dtype.size();
    const Elements e = elements_of(m.kind, m.dtype);
    switch (m.kind) {
      case Collective::all_gather:
        return n.all_gather(in, out, bytes, of_uint8, comm_, stream);
      case Collective::broadcast:
        return n.broadcast(in, out, bytes, of_uint8, m.peer, comm_, stream);
      case Collective::all_to_all:
        return give_parts(in, out, bytes / static_cast<size_t>(size_), stream);
      case Collective::sum_scatter:
        return n.reduce_scatter(in, out, count * e.each / static_cast<size_t>(size_), e.type,
                                reduction_of(m.kind, m.dtype), comm_, stream);
      default:
        return n.all_reduce(in, out, count * e.each, e.type, reduction_of(m.kind, m.dtype), comm_,
                            stream);
    }
  }
  int give_parts(const char* in, char* out, size_t part, StreamHandle stream) {
    const Nccl& n = nccl();
    check_nccl(n.group_start());
    int status = success;
    for (int j = 0; j < size_ && (status == success || status == in_progress); ++j) {
      const size_t at = static_cast<size_t>(j) * part;
      status = n.send(in + at, part, of_uint8, j, comm_, stream);
      if (status == success || status == in_progress)
        status = n.receive(out + at, part, of_uint8, j, comm_, stream);
    }
    const int ended = n.group_end();
    return status == success || status == in_progress ? ended : status;
  }

  const int rank_, size_;
  CudaHardware& hardware_;
  std::mutex mutex_;
  Comm comm_ = nullptr;
};

class NcclLinks final : public DeviceLinks {
 public:
  std::string missing() override { return nccl().problem; }
  std::string version() override {
    int v = 0;
    check_nccl(nccl().version(&v));
    return cat("NCCL ", v / 10000, ".", v / 100 % 100, ".", v % 100);
  }
  bool carries(Collective kind, Dtype dtype) const override {
    switch (kind) {
      case Collective::all_gather:
      case Collective::broadcast:
      case Collective::all_to_all:
        return true;
      case Collective::all_sum:
      case Collective::all_max:
      case Collective::all_min:
      case Collective::sum_scatter:
        return elements_of(kind, dtype).type >= 0;
      default:
        return false;
    }
  }
  Id make_id() override {
    Id id{};
    check_nccl(nccl().make_id(&id));
    return id;
  }
  std::string name_of(int device) override { return hardware_of(gpu::device(device)).uuid; }
  std::shared_ptr<DeviceLink> connect(const Id& id, int rank, int size, int device,
                                      const DeviceLink::Wait& wait) override {
    auto link = std::make_shared<NcclLink>(id, rank, size, hardware_of(gpu::device(device)), wait);
    gpu::drain_at_exit();
    return link;
  }
};

}  // namespace

void offer_nccl() {
  static auto& links = *new NcclLinks;
  device_links = &links;
}

}  // namespace mlx::core::cuda
