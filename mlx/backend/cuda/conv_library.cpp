// The functions of cuDNN, their handles, and plans of convolutions.
#include "mlx/backend/cuda/conv_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>

#include "mlx/backend/cuda/hardware.h"
#include "mlx/backend/cuda/libraries.h"
#include "mlx/backend/gpu/threads.h"
#include "mlx/core/error.h"

namespace mlx::core::cuda {

using gpu::Convolution;
using gpu::ConvolutionPlan;
using Result = Convolution::Result;

namespace {

// cuDNN's functions, its structure of answers and values of its enumerations. Declared here, so
// that no header of its package is needed.
struct Answer {
  int algorithm, status;
  float time;
  size_t memory;
  int deterministic, math;
  int reserved[3];
};
using Descriptor = struct OpaqueDescriptor*;  ///< of a tensor, a filter or a convolution
using Handle = CudaConvolutions::Handle;

/// The functions of one kind of result: their three descriptors of tensors come in an order of each
/// kind's own.
struct Functions {
  int (*answers)(Handle, Descriptor, Descriptor, Descriptor, Descriptor, int, int*,
                 Answer*) = nullptr;
  int (*work_bytes)(Handle, Descriptor, Descriptor, Descriptor, Descriptor, int, size_t*) = nullptr;
  int (*run)(Handle, const void*, Descriptor, const void*, Descriptor, const void*, Descriptor, int,
             void*, size_t, const void*, Descriptor, void*) = nullptr;
};
struct Cudnn {
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, StreamHandle) = nullptr;
  int (*create_tensor)(Descriptor*) = nullptr;
  int (*destroy_tensor)(Descriptor) = nullptr;
  int (*set_tensor)(Descriptor, int, int, const int*, const int*) = nullptr;
  int (*create_filter)(Descriptor*) = nullptr;
  int (*destroy_filter)(Descriptor) = nullptr;
  int (*set_filter)(Descriptor, int, int, int, const int*) = nullptr;
  int (*create_conv)(Descriptor*) = nullptr;
  int (*destroy_conv)(Descriptor) = nullptr;
  int (*set_conv)(Descriptor, int, const int*, const int*, const int*, int, int) = nullptr;
  int (*set_groups)(Descriptor, int) = nullptr;
  int (*set_math)(Descriptor, int) = nullptr;
  Functions forward, backward_data, backward_filter;
  bool found = false;

  const Functions& of(Result result) const {
    return result == Result::y ? forward : result == Result::x ? backward_data : backward_filter;
  }
};
constexpr int kFloat = 0, kHalf = 2, kBfloat16 = 9;
constexpr int kChannelsLast = 1, kCrossCorrelation = 1;
constexpr int kDefaultMath = 0, kTensorMath = 1, kFmaMath = 3;

/// The algorithms that compute sums of products. Others go through transforms, whose results are
/// less accurate.
bool sums_products(Result result, int algorithm) {
  return result == Result::y ? algorithm >= 0 && algorithm <= 3 : algorithm == 0 || algorithm == 1;
}

/// Statuses by their thousands: the library cannot be used, parameters and what it does not
/// support, and failures.
bool is_unusable(int status) { return status / 1000 == 1; }
bool refuses(int status) { return status / 1000 == 2 || status / 1000 == 3; }
bool lacks_memory(int status) { return status == 4003 || status == 4004; }
void check_cudnn(int status, const char* what) {
  if (lacks_memory(status)) fail<MemoryError>("conv", "cuDNN has no memory for ", what);
  if (status)
    fail<ExecutionError>("cuda", what, " gives status ", status,
                         "; with MLX_CUDA_CUDNN= convolutions do without cuDNN");
}

Cudnn open_cudnn() {
  Cudnn c;
  void* library = open_library_of_device("MLX_CUDA_CUDNN", {"libcudnn.so.9"});
  if (!library) return c;
  c.found = true;
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    c.found = c.found && function;
  };
  find(c.create, "cudnnCreate");
  find(c.destroy, "cudnnDestroy");
  find(c.set_stream, "cudnnSetStream");
  find(c.create_tensor, "cudnnCreateTensorDescriptor");
  find(c.destroy_tensor, "cudnnDestroyTensorDescriptor");
  find(c.set_tensor, "cudnnSetTensorNdDescriptor");
  find(c.create_filter, "cudnnCreateFilterDescriptor");
  find(c.destroy_filter, "cudnnDestroyFilterDescriptor");
  find(c.set_filter, "cudnnSetFilterNdDescriptor");
  find(c.create_conv, "cudnnCreateConvolutionDescriptor");
  find(c.destroy_conv, "cudnnDestroyConvolutionDescriptor");
  find(c.set_conv, "cudnnSetConvolutionNdDescriptor");
  find(c.set_groups, "cudnnSetConvolutionGroupCount");
  find(c.set_math, "cudnnSetConvolutionMathType");
  find(c.forward.answers, "cudnnGetConvolutionForwardAlgorithm_v7");
  find(c.forward.work_bytes, "cudnnGetConvolutionForwardWorkspaceSize");
  find(c.forward.run, "cudnnConvolutionForward");
  find(c.backward_data.answers, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
  find(c.backward_data.work_bytes, "cudnnGetConvolutionBackwardDataWorkspaceSize");
  find(c.backward_data.run, "cudnnConvolutionBackwardData");
  find(c.backward_filter.answers, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
  find(c.backward_filter.work_bytes, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  find(c.backward_filter.run, "cudnnConvolutionBackwardFilter");
  return c;
}
const Cudnn& cudnn() {
  static const Cudnn c = [] {
    Cudnn opened;
    gpu::on_own_stack([&] { opened = open_cudnn(); });
    gpu::drain_at_exit();
    return opened;
  }();
  return c;
}

/// The library's number for a dtype.
std::optional<int> cudnn_type(Dtype::Val type) {
  switch (type) {
    case Dtype::Val::float32:
      return kFloat;
    case Dtype::Val::float16:
      return kHalf;
    case Dtype::Val::bfloat16:
      return kBfloat16;
    default:
      return std::nullopt;
  }
}
bool is_exact(const Convolution& c) {
  return c.type == Dtype::Val::float32 && c.precision == Precision::highest;
}

class CudnnPlan final : public ConvolutionPlan {
 public:
  /// `status` becomes the library's where that refuses the convolution.
  CudnnPlan(const Convolution& c, CudaConvolutions& library, CudaHardware& hardware, Handle asked,
            int& status)
      : library_(library), hardware_(hardware), convolution_(c) {
    status = describe();
    if (status == 0) status = choose(asked);
  }
  ~CudnnPlan() override;
  CudnnPlan(const CudnnPlan&) = delete;
  size_t work_bytes() const override { return work_bytes_; }
  void run(gpu::Queue& queue, uint64_t x, uint64_t w, uint64_t y, uint64_t work) const override;

 private:
  int describe();
  int set_tensor(Descriptor d, int64_t channels, const std::array<int64_t, 3>& lengths) const;
  /// The first of the library's answers that can be used.
  int choose(Handle asked);
  /// f(descriptors..) in the order of the kind: two inputs, the convolution, the result.
  template <class F>
  int in_order(F f) const {
    switch (convolution_.result) {
      case Result::y:
        return f(x_, w_, y_);
      case Result::x:
        return f(w_, y_, x_);
      case Result::w:
        return f(x_, y_, w_);
    }
    __builtin_unreachable();
  }

  CudaConvolutions& library_;
  CudaHardware& hardware_;
  const Convolution convolution_;
  Descriptor x_ = nullptr, y_ = nullptr, w_ = nullptr, conv_ = nullptr;
  int algorithm_ = 0;
  size_t work_bytes_ = 0;
};

/// Channels come second in a list of lengths, wherever they lie.
int CudnnPlan::set_tensor(Descriptor d, int64_t channels,
                          const std::array<int64_t, 3>& lengths) const {
  const int axes = convolution_.axes;
  std::array<int, 5> sizes{static_cast<int>(convolution_.batch), static_cast<int>(channels)},
      strides{};
  int64_t stride = channels;
  for (int d3 = axes - 1; d3 >= 0; --d3) {
    sizes[2 + d3] = static_cast<int>(lengths[3 - axes + d3]);
    strides[2 + d3] = static_cast<int>(stride);
    stride *= sizes[2 + d3];
  }
  strides[0] = static_cast<int>(stride);
  strides[1] = 1;
  return cudnn().set_tensor(d, *cudnn_type(convolution_.type), axes + 2, sizes.data(),
                            strides.data());
}

int CudnnPlan::describe() {
  const Cudnn& c = cudnn();
  const Convolution& v = convolution_;
  const int axes = v.axes, type = *cudnn_type(v.type);
  auto last = [&](const std::array<int64_t, 3>& list) {
    std::array<int, 3> narrow{};
    for (int d = 0; d < axes; ++d) narrow[d] = static_cast<int>(list[3 - axes + d]);
    return narrow;
  };
  std::array<int, 5> filter{static_cast<int>(v.features), static_cast<int>(v.channels / v.groups)};
  std::ranges::copy_n(last(v.kernel).begin(), axes, filter.begin() + 2);
  int status = 0;
  auto then = [&](int next) { status = status ? status : next; };
  then(c.create_tensor(&x_));
  if (!status) then(c.create_tensor(&y_));
  if (!status) then(c.create_filter(&w_));
  if (!status) then(c.create_conv(&conv_));
  if (!status) then(set_tensor(x_, v.channels, v.in));
  if (!status) then(set_tensor(y_, v.features, v.out));
  if (!status) then(c.set_filter(w_, type, kChannelsLast, axes + 2, filter.data()));
  if (!status)
    then(c.set_conv(conv_, axes, last(v.padding).data(), last(v.stride).data(),
                    last(v.dilation).data(), kCrossCorrelation, kFloat));
  if (!status) then(c.set_groups(conv_, static_cast<int>(v.groups)));
  // The default rounds float32 to TF32.
  if (!status)
    then(c.set_math(conv_, is_exact(v)                     ? kFmaMath
                           : v.type == Dtype::Val::float32 ? kDefaultMath
                                                           : kTensorMath));
  return status;
}

int CudnnPlan::choose(Handle asked) {
  constexpr int kMost = 8;
  constexpr size_t kMostBytes = size_t{1} << 30;
  constexpr int kNotSupported = 3000;
  const Functions& f = cudnn().of(convolution_.result);
  std::array<Answer, kMost> answers = {};
  int count = 0;
  const int status = in_order([&](Descriptor a, Descriptor b, Descriptor out) {
    return f.answers(asked, a, b, conv_, out, kMost, &count, answers.data());
  });
  if (status) return status;
  for (const Answer& answer : std::span(answers).first(std::clamp(count, 0, kMost))) {
    if (answer.status || !answer.deterministic || answer.memory > kMostBytes ||
        !sums_products(convolution_.result, answer.algorithm))
      continue;
    if (!is_exact(convolution_) && cudnn().set_math(conv_, answer.math)) continue;
    const int refused = in_order([&](Descriptor a, Descriptor b, Descriptor out) {
      return f.work_bytes(asked, a, b, conv_, out, answer.algorithm, &work_bytes_);
    });
    if (refused || work_bytes_ > kMostBytes) continue;
    algorithm_ = answer.algorithm;
    return 0;
  }
  return kNotSupported;
}

CudnnPlan::~CudnnPlan() {
  if (!x_) return;
  gpu::on_own_stack([&] {
    const Cudnn& c = cudnn();
    hardware_.begin(nullptr);
    if (conv_) c.destroy_conv(conv_);
    if (w_) c.destroy_filter(w_);
    if (y_) c.destroy_tensor(y_);
    c.destroy_tensor(x_);
  });
}

void CudnnPlan::run(gpu::Queue& queue, uint64_t x, uint64_t w, uint64_t y, uint64_t work) const {
  const float one = 1, zero = 0;
  const Functions& f = cudnn().of(convolution_.result);
  const Handle handle = library_.handle_of(queue.stream());
  auto address = [&](Descriptor d) {
    return reinterpret_cast<void*>(d == x_ ? x : d == w_ ? w : y);
  };
  void* const workspace = work_bytes_ ? reinterpret_cast<void*>(work) : nullptr;
  check_cudnn(in_order([&](Descriptor a, Descriptor b, Descriptor out) {
                return f.run(handle, &one, a, address(a), b, address(b), conv_, algorithm_,
                             workspace, work_bytes_, &zero, out, address(out));
              }),
              "cudnnConvolution");
  // The first convolution of a kind and a type opens more of the library.
  static std::atomic<uint64_t> known = 0;
  const uint64_t bit = uint64_t{1} << (16 * static_cast<int>(convolution_.result) +
                                       static_cast<int>(convolution_.type));
  if (!(known.fetch_or(bit) & bit)) gpu::drain_at_exit();
}

}  // namespace

CudaConvolutions::Handle CudaConvolutions::handle_of(StreamHandle stream) {
  return handles_.of(stream, [&](Handle& handle) {
    hardware_.enter();
    check_cudnn(cudnn().create(&handle), "cudnnCreate");
    check_cudnn(cudnn().set_stream(handle, stream), "cudnnSetStream");
  });
}

void CudaConvolutions::forget(StreamHandle stream) noexcept {
  handles_.forget(stream, [&](Handle handle) {
    hardware_.begin(stream);
    cudnn().destroy(handle);
  });
}

bool CudaConvolutions::serves() {
  if (state_ != State::unknown) return state_ == State::serves;
  if (!cudnn().found) {
    state_ = State::refuses;
    return false;
  }
  int status = 0;
  gpu::on_own_stack([&] {
    hardware_.enter();
    status = cudnn().create(&asked_);
  });
  gpu::drain_at_exit();
  // Parts of the library may be missing, or not fit the driver.
  if (is_unusable(status) || refuses(status)) {
    state_ = State::refuses;
    return false;
  }
  check_cudnn(status, "cudnnCreate");
  state_ = State::serves;
  return true;
}

std::shared_ptr<const ConvolutionPlan> CudaConvolutions::plan(const Convolution& c) {
  constexpr size_t kMost = 256, kMostRefused = 4096;
  std::shared_ptr<const ConvolutionPlan> forgotten;  // destroyed without the lock
  if (!cudnn_type(c.type)) return nullptr;
  std::lock_guard lock(planning_);
  for (auto p = plans_.begin(); p != plans_.end(); ++p)
    if (p->first == c) {
      plans_.splice(plans_.begin(), plans_, p);
      return p->second;
    }
  if (refused_.contains(c) || !serves()) return nullptr;
  int status = 0;
  std::shared_ptr<const ConvolutionPlan> made;
  gpu::on_own_stack([&] {
    hardware_.enter();
    made = std::make_shared<const CudnnPlan>(c, *this, hardware_, asked_, status);
  });
  gpu::drain_at_exit();
  if (refuses(status)) {
    if (refused_.size() >= kMostRefused) refused_.clear();
    refused_.insert(c);
    return nullptr;
  }
  check_cudnn(status, "a plan of a convolution");
  plans_.emplace_front(c, std::move(made));
  if (plans_.size() > kMost) {
    forgotten = std::move(plans_.back().second);
    plans_.pop_back();
  }
  return plans_.front().second;
}

}  // namespace mlx::core::cuda
