// Plans of convolutions by cuDNN's graph interface.
#include "mlx/backend/cuda/conv_library.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "mlx/backend/cuda/cudnn.h"
#include "mlx/backend/cuda/hardware.h"
#include "mlx/backend/gpu/threads.h"
#include "mlx/core/error.h"

namespace mlx::core::cuda {

using gpu::Convolution;
using gpu::ConvolutionPlan;
using Result = Convolution::Result;

namespace {

// Numbers of the library for dtypes and modes.
constexpr int kFloat = 0, kHalf = 2, kBfloat16 = 9, kCrossCorrelation = 1;
constexpr int kByRules = 3, kFallback = 2;  // heuristics

/// Attributes of descriptors.
namespace attribute {
constexpr int compute_type = 100, mode = 101, dilations = 102, strides = 103, after = 104,
              before = 105, axes = 106;
constexpr int heuristics_mode = 200, heuristics_graph = 201, results = 202;
constexpr int engine = 300;
constexpr int plan_handle = 400, plan_configuration = 401, work_bytes = 402;
constexpr int graph_handle = 800, operations = 801;
constexpr int alignment = 900, type = 901, lengths = 902, steps = 903, identity = 906;
constexpr int identities = 1000, addresses = 1001, workspace = 1003;
constexpr int numerical_notes = 1303;
}  // namespace attribute

/// The kind of operation for a result, and its attributes.
struct Operation {
  CudnnPart part;
  int alpha, beta, convolution, x, w, y;
};
constexpr Operation kForwardConv = {CudnnPart::forward, 700, 701, 702, 704, 703, 705};
constexpr Operation kBackwardData = {CudnnPart::backward_data, 706, 707, 708, 710, 709, 711};
constexpr Operation kBackwardFilter = {CudnnPart::backward_filter, 712, 713, 714, 716, 715, 717};
const Operation& operation_of(Result result) {
  return result == Result::y ? kForwardConv : result == Result::x ? kBackwardData : kBackwardFilter;
}

/// Numbers of the library for properties of an engine.
enum Note : int {
  matrix_units = 0,
  rounds_inputs = 1,
  rounds_sums = 2,
  fourier = 3,
  not_deterministic = 4,
  winograd = 5,
  winograd_4 = 6,
  winograd_6 = 7,
  winograd_13 = 8
};

/// Statuses by their thousands: the library cannot be used, parameters and what it does not
/// support, and failures.
bool is_unusable(int status) { return status / 1000 == 1; }
bool refuses_conv(int status) { return status / 1000 == 2 || status / 1000 == 3; }
bool lacks_memory(int status) { return status == 4003 || status == 4004; }
void check_cudnn(int status, const char* what) {
  if (lacks_memory(status)) fail<MemoryError>("conv", "cuDNN has no memory for ", what);
  if (status)
    fail<ExecutionError>("cuda", what, " gives status ", status,
                         "; with MLX_CUDA_CUDNN= convolutions do without cuDNN");
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

/// Whether an engine computes sums of products, in float32, the same from run to run. Engines that
/// go through transforms are less accurate.
bool is_wanted(const CudnnDescriptor& configuration, bool exact) {
  constexpr int kMostNotes = 32;
  CudnnDescriptor engine(CudnnPart::engine);
  void* descriptor = engine.descriptor();
  if (engine.status() || !configuration.get(attribute::engine, CudnnType::part, 1, &descriptor))
    return false;
  std::array<int, kMostNotes> notes = {};
  const int64_t count =
      engine.get(attribute::numerical_notes, CudnnType::numerical_note, kMostNotes, notes.data());
  return std::ranges::none_of(std::span(notes).first(count), [&](int note) {
    const bool rounds = note == matrix_units || note == rounds_inputs;
    return (note >= rounds_sums && note <= winograd_13) || (exact && rounds);
  });
}

class CudnnPlan final : public ConvolutionPlan, public std::enable_shared_from_this<CudnnPlan> {
 public:
  /// `status` becomes the library's where that refuses the convolution.
  CudnnPlan(const Convolution& c, CudaConvolutions& library, CudaHardware& hardware,
            CudnnHandle asked, int& status)
      : library_(library), hardware_(hardware), convolution_(c) {
    const CudnnDescriptor graph = describe(asked);
    status = graph.status();
    if (status == 0) status = choose(graph, asked, kByRules);
    if (refuses_conv(status) && !graph.status()) status = choose(graph, asked, kFallback);
  }
  ~CudnnPlan() override {
    gpu::on_own_stack([&] {
      hardware_.begin(nullptr);
      plan_.reset();
    });
  }
  CudnnPlan(const CudnnPlan&) = delete;
  size_t work_bytes() const override { return work_bytes_; }
  void run(gpu::Queue& queue, uint64_t x, uint64_t w, uint64_t y, uint64_t work) const override;

 private:
  void convolve(StreamHandle stream, uint64_t x, uint64_t w, uint64_t y, uint64_t work) const;
  static constexpr int kNotSupported = 3000;
  enum Identity : int64_t { of_x = 1, of_w, of_y };

  CudnnDescriptor describe(CudnnHandle asked) const;
  CudnnDescriptor describe_convolution() const;
  /// A tensor of channels behind the lengths; `first`: its batch, or features of a weight.
  CudnnDescriptor tensor(Identity identity, int64_t first, int64_t channels,
                         const std::array<int64_t, 3>& lengths) const;
  /// The numbers of the convolution's axes.
  std::span<const int64_t> last(const std::array<int64_t, 3>& list) const {
    return std::span(list).last(convolution_.axes);
  }
  /// Takes the first of the library's answers that can be used; 0, or the status.
  int choose(const CudnnDescriptor& graph, CudnnHandle asked, int mode);

  CudaConvolutions& library_;
  CudaHardware& hardware_;
  const Convolution convolution_;
  std::optional<CudnnDescriptor> plan_;
  size_t work_bytes_ = 0;
  mutable std::mutex running_;  // one launch at a time: the library promises no more of a plan
};

CudnnDescriptor CudnnPlan::tensor(Identity identity, int64_t first, int64_t channels,
                                  const std::array<int64_t, 3>& lengths) const {
  constexpr int64_t kAlignment = 16;
  const int axes = convolution_.axes, type = *cudnn_type(convolution_.type);
  // Channels come second in the list of lengths, wherever they lie.
  std::array<int64_t, 5> sizes{first, channels}, steps{0, 1};
  std::ranges::copy(last(lengths), sizes.begin() + 2);
  int64_t step = channels;
  for (int axis = axes + 1; axis >= 2; step *= sizes[axis--]) steps[axis] = step;
  steps[0] = step;
  const auto id = static_cast<int64_t>(identity);
  CudnnDescriptor t(CudnnPart::tensor);
  t.set(attribute::type, CudnnType::data_type, &type)
      .set(attribute::lengths, std::span(sizes).first(axes + 2))
      .set(attribute::steps, std::span(steps).first(axes + 2))
      .set(attribute::identity, CudnnType::number, &id)
      .set(attribute::alignment, CudnnType::number, &kAlignment)
      .finish();
  return t;
}

CudnnDescriptor CudnnPlan::describe_convolution() const {
  const Convolution& v = convolution_;
  const int64_t axes = v.axes;
  CudnnDescriptor c(CudnnPart::convolution);
  c.set(attribute::axes, CudnnType::number, &axes)
      .set(attribute::compute_type, CudnnType::data_type, &kFloat)
      .set(attribute::mode, CudnnType::convolution_mode, &kCrossCorrelation)
      .set(attribute::before, last(v.padding))
      .set(attribute::after, last(v.padding))
      .set(attribute::strides, last(v.stride))
      .set(attribute::dilations, last(v.dilation))
      .finish();
  return c;
}

/// The operation as a graph.
CudnnDescriptor CudnnPlan::describe(CudnnHandle asked) const {
  constexpr float kOne = 1, kZero = 0;
  const Convolution& v = convolution_;
  const Operation& names = operation_of(v.result);
  CudnnDescriptor operation(names.part);
  operation.set(names.convolution, describe_convolution())
      .set(names.x, tensor(of_x, v.batch, v.channels, v.in))
      .set(names.w, tensor(of_w, v.features, v.channels / v.groups, v.kernel))
      .set(names.y, tensor(of_y, v.batch, v.features, v.out))
      .set(names.alpha, CudnnType::single, &kOne)
      .set(names.beta, CudnnType::single, &kZero)
      .finish();
  CudnnDescriptor graph(CudnnPart::graph);
  graph.set(attribute::graph_handle, CudnnType::handle, &asked)
      .set(attribute::operations, operation)
      .finish();
  return graph;
}

int CudnnPlan::choose(const CudnnDescriptor& graph, CudnnHandle asked, int mode) {
  constexpr int64_t kMost = 16, kMostBytes = int64_t{1} << 30;
  CudnnDescriptor heuristics(CudnnPart::heuristics);
  heuristics.set(attribute::heuristics_graph, graph)
      .set(attribute::heuristics_mode, CudnnType::heuristics_mode, &mode)
      .finish();
  if (heuristics.status()) return heuristics.status();
  std::vector<CudnnDescriptor> answers;
  std::array<void*, kMost> descriptors = {};
  for (void*& descriptor : descriptors)
    descriptor = answers.emplace_back(CudnnPart::configuration).descriptor();
  const int64_t count =
      heuristics.get(attribute::results, CudnnType::part, kMost, descriptors.data());
  for (const CudnnDescriptor& answer : std::span(answers).first(std::min(count, kMost))) {
    if (!is_wanted(answer, is_exact(convolution_))) continue;
    CudnnDescriptor plan(CudnnPart::plan);
    plan.set(attribute::plan_handle, CudnnType::handle, &asked)
        .set(attribute::plan_configuration, answer)
        .finish();
    int64_t bytes = 0;
    if (!plan.get(attribute::work_bytes, CudnnType::number, 1, &bytes) || bytes > kMostBytes)
      continue;
    work_bytes_ = static_cast<size_t>(bytes);
    plan_ = std::move(plan);
    return 0;
  }
  return kNotSupported;
}

void CudnnPlan::run(gpu::Queue& queue, uint64_t x, uint64_t w, uint64_t y, uint64_t work) const {
  queue.call(gpu::words_of(this, x, w, y, work),
             [=, self = shared_from_this()](StreamHandle stream) {
               self->convolve(stream, x, w, y, work);
             });
}

void CudnnPlan::convolve(StreamHandle stream, uint64_t x, uint64_t w, uint64_t y,
                         uint64_t work) const {
  constexpr std::array<int64_t, 3> kIdentities = {of_x, of_w, of_y};
  const std::array<uint64_t, 3> addresses = {x, w, y};
  const uint64_t workspace = work_bytes_ ? work : 0;
  const CudnnHandle handle = library_.handle_of(stream);
  CudnnDescriptor operands(CudnnPart::operands);
  operands.set(attribute::identities, kIdentities)
      .set(attribute::addresses, CudnnType::pointer, addresses.data(), 3)
      .set(attribute::workspace, CudnnType::pointer, &workspace)
      .finish();
  check_cudnn(operands.status(), "cudnnBackendFinalize");
  {
    std::lock_guard lock(running_);
    check_cudnn(cudnn().execute(handle, plan_->descriptor(), operands.descriptor()),
                "cudnnBackendExecute");
  }
  // The first convolution of a kind and a type opens more of the library.
  static std::atomic<uint64_t> known = 0;
  const uint64_t bit = uint64_t{1} << (16 * static_cast<int>(convolution_.result) +
                                       static_cast<int>(convolution_.type));
  if (!(known.fetch_or(bit) & bit)) gpu::drain_at_exit();
}

}  // namespace

CudnnHandle CudaConvolutions::handle_of(StreamHandle stream) {
  return handles_.of(stream, [&](CudnnHandle& handle) {
    hardware_.enter();
    check_cudnn(cudnn().create(&handle), "cudnnCreate");
    check_cudnn(cudnn().set_stream(handle, stream), "cudnnSetStream");
  });
}

void CudaConvolutions::forget(StreamHandle stream) noexcept {
  handles_.forget(stream, [&](CudnnHandle handle) {
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
  if (is_unusable(status) || refuses_conv(status)) {
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
  if (refuses_conv(status)) {
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
