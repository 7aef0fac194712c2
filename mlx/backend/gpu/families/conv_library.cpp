// Convolutions by a library that knows them, and their cotangents.
#include <optional>

#include "mlx/backend/gpu/families/conv.h"
#include "mlx/backend/gpu/families/copies.h"
#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

namespace {

using device::ConvArguments;
using Result = Convolution::Result;

constexpr int64_t kLibraryAlign = 16;  // of addresses, for the library
constexpr int64_t kChannels = 8;       // 16-bit channels of a pixel that are read at once
constexpr int64_t kPart = 256;         // of parts of the workspace

bool all_ones(const int64_t (&list)[3]) { return list[0] == 1 && list[1] == 1 && list[2] == 1; }

/// Whether each tensor of the convolution has so few elements that the library counts them.
bool counts(const Convolution& c) {
  auto fits = [](std::initializer_list<int64_t> lengths) {
    int64_t n = 1;
    for (int64_t length : lengths) {
      if (length < 1 || length > INT32_MAX / n) return false;
      n *= length;
    }
    return true;
  };
  return fits({c.batch, c.in[0], c.in[1], c.in[2], c.channels}) &&
         fits({c.batch, c.out[0], c.out[1], c.out[2], c.features}) &&
         fits({c.features, c.kernel[0], c.kernel[1], c.kernel[2], c.channels / c.groups});
}

/// Whether a step is the transpose of a convolution: the kernel is flipped, or zeros are inserted
/// into the input.
bool is_transposed(const ConvArguments& p) {
  return (p.flip && !all_ones(p.kernel)) || !all_ones(p.input_spread);
}

/// The convolution that the library computes for a step. Nothing where one side is padded more than
/// the other, where the input is cropped, and where the transpose has a stride or no flipped
/// kernel.
std::optional<Convolution> library_form(const ConvArguments& p, Dtype type, int axes,
                                        Precision precision, bool weight) {
  const bool transposed = is_transposed(p);
  if (transposed && !(all_ones(p.stride) && (p.flip || all_ones(p.kernel)))) return std::nullopt;
  Convolution c = {};
  c.result = weight ? Result::w : transposed ? Result::x : Result::y;
  c.type = type.val();
  c.precision = precision;
  c.axes = std::max(axes, 2);
  c.batch = p.batch;
  c.channels = transposed ? p.features : p.channels;
  c.features = transposed ? p.channels : p.features;
  c.groups = p.groups;
  for (int d = 0; d < 3; ++d) {
    const int64_t window = (p.kernel[d] - 1) * p.spread[d];
    c.in[d] = transposed ? p.length[d] : p.in[d];
    c.out[d] = transposed ? p.in[d] : p.length[d];
    c.kernel[d] = p.kernel[d];
    c.stride[d] = transposed ? p.input_spread[d] : p.stride[d];
    c.dilation[d] = p.spread[d];
    c.padding[d] = transposed ? window - p.low[d] : p.low[d];
    const int64_t room = c.in[d] + 2 * c.padding[d] - window - 1;
    if (c.padding[d] < 0 || room < 0 || room / c.stride[d] + 1 != c.out[d] ||
        std::max({c.padding[d], c.stride[d], c.dilation[d], window}) > INT32_MAX / 4)
      return std::nullopt;
  }
  return counts(c) ? std::optional(c) : std::nullopt;
}

/// Whether a weight with its first and last axes exchanged is in rows.
bool lies_exchanged(const Layout& w) {
  Shape shape = w.shape;
  Strides strides = w.strides;
  std::swap(shape.front(), shape.back());
  std::swap(strides.front(), strides.back());
  return is_row_contiguous(shape, strides);
}

/// Memory of the pool, until the device is past the step.
uint64_t temporary(const Enqueue& to, size_t bytes) {
  struct Held {
    Pool& pool;
    Block block;
    ~Held() { pool.give(std::move(block)); }
  };
  Pool& pool = *to.device().pool;
  std::shared_ptr<const Held> held(new Held{pool, pool.take(bytes)});
  const uint64_t address = held->block.address;
  to.kept->push_back(std::move(held));
  return address;
}

/// Pixels of so few channels that matrix units are read past them get zeros as further channels.
bool wants_channels(const ConvArguments& p, Dtype type) {
  return type.size() == 2 && p.groups == 1 && !is_transposed(p) && p.channels < kChannels &&
         p.features % kChannels == 0;
}
int64_t pixels(const ConvArguments& p) { return p.batch * p.in[0] * p.in[1] * p.in[2]; }
int64_t taps(const ConvArguments& p) {
  return p.features * p.kernel[0] * p.kernel[1] * p.kernel[2];
}

class LibraryConvolution final : public StepKernel<ConvArguments> {
 public:
  LibraryConvolution(const Step& step, const ConvArguments& geometry, const LibraryPlan& plan,
                     bool weight, DeviceState& device)
      : StepKernel(step), plan_(plan), weight_(weight) {
    p = geometry;
    bind(p.x, 0);
    bind(weight ? p.y : p.w, 1);
    bind(p.out, 2);
    bind(p.parts, plan.bytes ? step.workspace : -1);
    for (int k = 0; k < 3; ++k)
      bytes_[k] =
          static_cast<size_t>(num_elements(step.operands[k].shape)) * step.operands[k].dtype.size();
    const Dtype type = bits_of(step.operands[2].dtype);
    if (plan.exchanges)
      exchange_ = kernels::exchange_channels(device, type, index_for(elements_of_weight()));
    if (!plan.pads) return;
    pad_ = kernels::pad_channels(device, type, index_for(kChannels * std::max(pixels(p), taps(p))),
                                 kChannels);
    if (weight) crop(step, device);
  }

 private:
  int64_t elements_of_weight() const { return p.features * patch(p); }
  /// Lets the channels that the weight has be copied from the workspace.
  void crop(const Step& step, DeviceState& device) {
    const Layout& out = step.operands[2];
    Layout padded{out.shape, out.strides, 0, out.dtype};
    int64_t stride = kChannels;
    for (size_t d = out.shape.size() - 1; d-- > 0;) {
      padded.strides[d] = stride;
      stride *= out.shape[d];
    }
    padded.strides.back() = 1;
    cropped_.add(step.workspace, padded, 2, out, device);
  }

  void run(const Enqueue& to, ConvArguments& q, std::span<const uint64_t> operands) const override {
    const auto workspace = static_cast<uint64_t>(q.parts);
    const uint64_t padded = workspace + plan_.weight_bytes, work = padded + plan_.input_bytes;
    const bool crops = plan_.pads && weight_;
    const uint64_t first =
        plan_.pads ? pad(to, q, q.x, pixels(q), padded) : readable(to, q.x, bytes_[0]);
    const uint64_t second = plan_.pads && !weight_ ? pad(to, q, q.w, taps(q), workspace)
                                                   : readable(to, weight_ ? q.y : q.w, bytes_[1]);
    const uint64_t out = crops               ? workspace
                         : is_aligned(q.out) ? static_cast<uint64_t>(q.out)
                                             : temporary(to, bytes_[2]);
    const uint64_t x = plan_.transposed ? (weight_ ? second : out) : first;
    const uint64_t y = plan_.transposed ? first : (weight_ ? second : out);
    const uint64_t w = plan_.exchanges ? workspace : weight_ ? out : second;
    if (plan_.exchanges && !weight_) exchange(to, q, second, w);
    plan_.plan->run(to.queue, x, w, y, work);
    if (crops) return cropped_.launch(to, operands);
    if (plan_.exchanges && weight_) exchange(to, q, w, out);
    if (out != static_cast<uint64_t>(q.out))
      to.device().hardware->copy(Hardware::Way::within, static_cast<uint64_t>(q.out), out,
                                 bytes_[2], to.stream());
  }
  static bool is_aligned(int64_t address) { return address % kLibraryAlign == 0; }
  /// An operand, or a copy of one whose address the library does not read: memory of others may
  /// begin anywhere.
  static uint64_t readable(const Enqueue& to, int64_t address, size_t bytes) {
    if (is_aligned(address)) return static_cast<uint64_t>(address);
    const uint64_t copy = temporary(to, bytes);
    to.device().hardware->copy(Hardware::Way::within, copy, static_cast<uint64_t>(address), bytes,
                               to.stream());
    return copy;
  }
  /// Writes rows of channels with zeros behind them.
  uint64_t pad(const Enqueue& to, const ConvArguments& q, int64_t from, int64_t rows,
               uint64_t into) const {
    ConvArguments e = q;
    e.x = from;
    e.out = static_cast<int64_t>(into);
    e.count = rows;
    pad_.launch(to, blocks_for(rows), e);
    return into;
  }
  /// Writes the step's weight as the library's, or the other way round.
  void exchange(const Enqueue& to, const ConvArguments& q, uint64_t from, uint64_t into) const {
    ConvArguments e = q;
    e.x = static_cast<int64_t>(from);
    e.out = static_cast<int64_t>(into);
    if (weight_) std::swap(e.features, e.channels);
    exchange_.launch(to, blocks_for(elements_of_weight()), e);
  }

  const LibraryPlan plan_;
  const bool weight_;
  KernelOn<ConvArguments> exchange_, pad_;
  Copies cropped_;
  size_t bytes_[3];
};

}  // namespace

LibraryPlan plan_library(const ConvArguments& p, std::span<const Layout> operands,
                         Precision precision, bool weight, const DeviceState& device) {
  ConvolutionLibrary* const library = device.hardware->convolutions();
  const Dtype type = operands[2].dtype;
  if (!library || p.groups < 1) return {};
  auto form = library_form(p, type, static_cast<int>(operands[0].shape.size()) - 2,
                           type == float32 ? precision : Precision::highest, weight);
  if (!form) return {};
  auto aligned = [&](int64_t elements) {
    return static_cast<size_t>((elements * type.size() + kPart - 1) / kPart * kPart);
  };
  LibraryPlan to;
  if (wants_channels(p, type)) {
    Convolution padded = *form;
    padded.channels = kChannels;
    if (counts(padded)) to.plan = library->plan(padded);
    to.pads = to.plan != nullptr;
  }
  if (!to.pads) to.plan = library->plan(*form);
  if (!to.plan) return {};
  to.transposed = is_transposed(p);
  to.exchanges = to.transposed && (weight || p.groups > 1 || !lies_exchanged(operands[1]));
  if (to.pads) {
    to.weight_bytes = aligned(kChannels * taps(p));
    to.input_bytes = aligned(kChannels * pixels(p));
  } else if (to.transposed) {
    to.weight_bytes = aligned(p.features * patch(p));
  }
  to.bytes = to.weight_bytes + to.input_bytes + to.plan->work_bytes();
  return to;
}

std::unique_ptr<const OpKernel> library_convolution(const Step& step, const ConvArguments& p,
                                                    const LibraryPlan& plan, bool weight,
                                                    DeviceState& device) {
  return std::make_unique<const LibraryConvolution>(step, p, plan, weight, device);
}

}  // namespace mlx::core::gpu
