// The functions of cuFFT, and plans of transforms.
#include "mlx/backend/cuda/fft_library.h"

#include <atomic>

#include "mlx/backend/cuda/hardware.h"
#include "mlx/backend/cuda/libraries.h"
#include "mlx/backend/gpu/threads.h"
#include "mlx/core/error.h"

namespace mlx::core::cuda {

using gpu::FftLines;
using gpu::FftPlan;

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
constexpr int kForwardFft = -1, kInverse = 1;

Cufft open_cufft() {
  Cufft c;
  void* library = open_library_of_device("MLX_CUDA_FFT", {"libcufft.so.12", "libcufft.so.11"});
  FunctionFinder find(library);
  find(c.create, "cufftCreate");
  find(c.destroy, "cufftDestroy");
  find(c.set_stream, "cufftSetStream");
  find(c.set_own_memory, "cufftSetAutoAllocation");
  find(c.set_memory, "cufftSetWorkArea");
  find(c.plan, "cufftXtMakePlanMany");
  find(c.run, "cufftXtExec");
  c.found = find.found_all();
  return c;
}
const Cufft& cufft() {
  static const Cufft c = open_functions(open_cufft);
  return c;
}

void check_fft(int status, const char* what) {
  if (status) fail<ExecutionError>("cuda", what, " gives status ", status);
}

/// The library's number for an element type.
int fft_type(bool complex, bool wide) { return (complex ? 4 : 0) + (wide ? 1 : 0); }

/// The first plan of a kind opens more of the library, and so does the first transform.
enum class FftUse { plan, transform };
void note_fft_use(const FftLines& lines, FftUse use) {
  static std::atomic<uint32_t> known = 0;
  const int kind = 2 * static_cast<int>(lines.kind) + (lines.wide ? 1 : 0);
  const uint32_t bit = 1u << (2 * kind + static_cast<int>(use));
  if (!(known.fetch_or(bit) & bit)) gpu::drain_at_exit();
}

/// Statuses that say what the library does not do: invalid type, value or size, not supported.
bool refuses_fft(int status) { return status == 3 || status == 4 || status == 8 || status == 16; }
constexpr int kNoMemory = 2;

class CufftPlan final : public FftPlan, public std::enable_shared_from_this<CufftPlan> {
 public:
  /// `status` becomes the library's where that refuses such lines.
  CufftPlan(const FftLines& lines, CudaHardware& hardware, int& status);
  ~CufftPlan() override;
  CufftPlan(const CufftPlan&) = delete;
  size_t work_bytes() const override { return work_bytes_; }
  void run(gpu::Queue& queue, uint64_t in, uint64_t out, uint64_t work) const override {
    queue.call(gpu::words_of(this, in, out, work),
               [=, self = shared_from_this()](StreamHandle stream) {
                 self->transform(stream, in, out, work);
               });
  }

 private:
  void transform(StreamHandle stream, uint64_t in, uint64_t out, uint64_t work) const;

  CudaHardware& hardware_;
  const FftLines lines_;
  mutable std::mutex mutex_;  // the stream and the memory belong to the plan
  int handle_ = 0;
  bool made_ = false;
  size_t work_bytes_ = 0;
};

CufftPlan::CufftPlan(const FftLines& lines, CudaHardware& hardware, int& status)
    : hardware_(hardware), lines_(lines) {
  const Cufft& c = cufft();
  auto make = [&] {
    hardware_.enter();
    status = c.create(&handle_);
    if (status) return;
    made_ = true;
    // The plan owns no memory: launches on several streams may use it at once.
    status = c.set_own_memory(handle_, 0);
    if (status == 0) {
      const long long half = lines.n / 2 + 1;
      const bool real_in = lines.kind == FftKind::real, real_out = lines.kind == FftKind::hermitian;
      const int computed = fft_type(true, lines.wide), rank = lines.rows ? 2 : 1;
      long long n[] = {lines.rows, lines.n};
      long long in[] = {lines.rows, real_out ? half : lines.n};
      long long out[] = {lines.rows, real_in ? half : lines.n};
      auto last = [&](long long* lengths) { return lengths + 2 - rank; };
      status = c.plan(handle_, rank, last(n), last(in), lines.in.stride, lines.in.step,
                      fft_type(!real_in, lines.wide), last(out), lines.out.stride, lines.out.step,
                      fft_type(!real_out, lines.wide), lines.count, &work_bytes_, computed);
    }
  };
  gpu::on_own_stack(make);
}

CufftPlan::~CufftPlan() {
  if (!made_) return;
  gpu::on_own_stack([&] {
    hardware_.begin(nullptr);
    cufft().destroy(handle_);
  });
}

void CufftPlan::transform(StreamHandle stream, uint64_t in, uint64_t out, uint64_t work) const {
  const Cufft& c = cufft();
  {
    std::lock_guard lock(mutex_);
    check_fft(c.set_stream(handle_, stream), "cufftSetStream");
    // The library refuses a work area that begins where its input or output does, even if it needs
    // none; the end of a workspace can be the beginning of either.
    if (work_bytes_ == 0) work = 0;
    check_fft(c.set_memory(handle_, reinterpret_cast<void*>(work)), "cufftSetWorkArea");
    check_fft(
        c.run(handle_, reinterpret_cast<void*>(in), reinterpret_cast<void*>(out),
              lines_.kind == FftKind::inverse || lines_.kind == FftKind::hermitian ? kInverse
                                                                                   : kForwardFft),
        "cufftXtExec");
  }
  note_fft_use(lines_, FftUse::transform);
}

}  // namespace

std::shared_ptr<const FftPlan> CudaFourier::plan(const FftLines& lines) {
  constexpr size_t kMost = 64;
  if (!cufft().found) return nullptr;
  std::shared_ptr<const FftPlan> forgotten;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  for (auto p = plans_.begin(); p != plans_.end(); ++p)
    if (p->first == lines) {
      plans_.splice(plans_.begin(), plans_, p);
      return p->second;
    }
  if (refused_.contains(lines)) return nullptr;
  int status = 0;
  auto made = std::make_shared<const CufftPlan>(lines, hardware_, status);
  if (refuses_fft(status)) {
    refused_.insert(lines);
    return nullptr;
  }
  if (status == kNoMemory) fail<MemoryError>("fft", "cuFFT has no memory for a plan");
  check_fft(status, "cufftXtMakePlanMany");
  plans_.emplace_front(lines, std::move(made));
  note_fft_use(lines, FftUse::plan);
  if (plans_.size() > kMost) {
    forgotten = std::move(plans_.back().second);
    plans_.pop_back();
  }
  return plans_.front().second;
}

}  // namespace mlx::core::cuda
