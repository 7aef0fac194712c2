#include "mlx/backend/cuda/fft_library.h"

#include <dlfcn.h>

#include <atomic>
#include <list>
#include <set>
#include <utility>

#include "mlx/backend/cuda/libraries.h"

namespace mlx::core::cuda {

namespace {

// cuFFT's functions and values of its enumerations. Declared here, so that no header of its package
// is needed.
struct Cufft {
  int (*create)(int*) = nullptr;
  int (*destroy)(int) = nullptr;
  int (*set_stream)(int, StreamHandle) = nullptr;
  int (*set_own_memory)(int, int) = nullptr;
  int (*set_memory)(int, void*) = nullptr;
  int (*plan)(int, int, long long*, long long*, long long, long long, int, long long*, long long,
              long long, int, long long, size_t*, int) = nullptr;
  int (*run)(int, void*, void*, int) = nullptr;
  bool found = false;
};
constexpr int kForward = -1, kInverse = 1;

Cufft open_cufft() {
  Cufft c;
  void* library = open_library_of_device("MLX_CUDA_FFT", {"libcufft.so.12", "libcufft.so.11"});
  if (!library) return c;
  c.found = true;
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    c.found = c.found && function;
  };
  find(c.create, "cufftCreate");
  find(c.destroy, "cufftDestroy");
  find(c.set_stream, "cufftSetStream");
  find(c.set_own_memory, "cufftSetAutoAllocation");
  find(c.set_memory, "cufftSetWorkArea");
  find(c.plan, "cufftXtMakePlanMany");
  find(c.run, "cufftXtExec");
  return c;
}
const Cufft& cufft() {
  static const Cufft c = [] {
    Cufft opened;
    on_own_stack([&] { opened = open_cufft(); });
    drain_at_exit();
    return opened;
  }();
  return c;
}

void check_fft(int status, const char* what) {
  if (status) fail<ExecutionError>("cuda", what, " gives status ", status);
}

/// The library's number for an element type.
int fft_type(bool complex, bool wide) { return (complex ? 4 : 0) + (wide ? 1 : 0); }

/// The first plan of a kind opens more of the library, and so does the first transform.
enum class Use { plan, transform };
void opened(const FftLines& lines, Use use) {
  static std::atomic<uint32_t> known = 0;
  const int kind = 2 * static_cast<int>(lines.kind) + (lines.wide ? 1 : 0);
  const uint32_t bit = 1u << (2 * kind + static_cast<int>(use));
  if (!(known.fetch_or(bit) & bit)) drain_at_exit();
}

}  // namespace

bool has_fft() { return cufft().found; }

FftPlan::FftPlan(const FftLines& lines, const DeviceState& device)
    : device_(device), lines_(lines) {
  const Cufft& c = cufft();
  auto make = [&] {
    device_.enter();
    check_fft(c.create(&handle_), "cufftCreate");
    // The plan has no memory of its own: launches on several streams may use it at once.
    int status = c.set_own_memory(handle_, 0);
    if (status == 0) {
      long long n = lines.n, all = n;
      const bool real_in = lines.kind == FftKind::real, real_out = lines.kind == FftKind::hermitian;
      const int computed = fft_type(true, lines.wide);
      status = c.plan(handle_, 1, &n, &all, lines.in.stride, lines.in.step,
                      fft_type(!real_in, lines.wide), &all, lines.out.stride, lines.out.step,
                      fft_type(!real_out, lines.wide), lines.count, &work_bytes_, computed);
    }
    if (status) {
      c.destroy(handle_);
      check_fft(status, "cufftXtMakePlanMany");
    }
  };
  on_own_stack(make);
}

FftPlan::~FftPlan() {
  try {
    on_own_stack([&] {
      device_.enter();
      cufft().destroy(handle_);
    });
  } catch (const std::exception&) {
    // In a forked child there is nothing to give back.
  }
}

void FftPlan::run(Queue& queue, uint64_t in, uint64_t out, uint64_t work) const {
  const Cufft& c = cufft();
  {
    std::lock_guard lock(mutex_);
    check_fft(c.set_stream(handle_, queue.stream()), "cufftSetStream");
    // The library refuses a work area that begins where its input or output does, even if it needs
    // none; the end of a workspace can be the beginning of either.
    if (work_bytes_ == 0) work = 0;
    check_fft(c.set_memory(handle_, reinterpret_cast<void*>(work)), "cufftSetWorkArea");
    check_fft(
        c.run(handle_, reinterpret_cast<void*>(in), reinterpret_cast<void*>(out),
              lines_.kind == FftKind::inverse || lines_.kind == FftKind::hermitian ? kInverse
                                                                                   : kForward),
        "cufftXtExec");
  }
  opened(lines_, Use::transform);
}

std::shared_ptr<const FftPlan> fft_plan(const FftLines& lines, const DeviceState& device) {
  using Key = std::pair<int, FftLines>;
  using Kept = std::pair<Key, std::shared_ptr<const FftPlan>>;
  constexpr size_t kMost = 64;
  static std::mutex mutex;
  static auto& plans = *new std::list<Kept>;  // the last used first
  static auto& refused = *new std::set<Key>;
  const Key key{device.index, lines};
  std::shared_ptr<const FftPlan> forgotten;  // destroyed without the lock
  std::lock_guard lock(mutex);
  for (auto p = plans.begin(); p != plans.end(); ++p)
    if (p->first == key) {
      plans.splice(plans.begin(), plans, p);
      return p->second;
    }
  // Answers stay what they were: a step is prepared as it was planned.
  if (refused.contains(key)) return nullptr;
  try {
    plans.emplace_front(key, std::make_shared<const FftPlan>(lines, device));
  } catch (const ExecutionError&) {
    refused.insert(key);
    return nullptr;
  }
  opened(lines, Use::plan);
  if (plans.size() > kMost) {
    forgotten = std::move(plans.back().second);
    plans.pop_back();
  }
  return plans.front().second;
}

}  // namespace mlx::core::cuda
