// Kernels that programs bring, as source or as machine code.
#include <cstring>

#include "mlx/backend/cuda/faults.h"
#include "mlx/backend/cuda/hardware.h"
#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fill.h"
#include "mlx/backend/gpu/families/index.h"
#include "mlx/core/error.h"
#include "mlx/ops/custom_kernel.h"

namespace mlx::core::cuda {

namespace {

using gpu::Enqueue, gpu::Fill, gpu::OpKernel;

constexpr size_t kMostArguments = 4096;  // bytes that every driver takes
constexpr int kSharedWithoutAsking = 48 << 10;
constexpr int64_t kMostBlocks = INT64_C(0x7fffffff), kMostBlocksAside = 65535;

/// Arguments one behind the other, aligned as in a struct.
class ArgumentBytes {
 public:
  template <class T>
  size_t add(const T& value) {
    bytes_.resize((bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(&bytes_[at], &value, sizeof(T));
    return at;
  }
  size_t add_address() { return add(uint64_t{0}); }
  const std::vector<char>& bytes() const { return bytes_; }

 private:
  std::vector<char> bytes_;
};

class CustomKernel final : public OpKernel {
 public:
  CustomKernel(const Step& step, DeviceState& device) {
    const auto& a = attrs_as<KernelAttrs>(step.attrs.get());
    name_ = a.name;
    set_launch(a, device);
    ArgumentBytes arguments;
    for (int k = 0; k < step.outputs_end(); ++k) {
      const Layout& l = step.operands[k];
      operands_.push_back({arguments.add_address(), l.offset * l.dtype.size()});
      if (k < step.n_inputs)
        add_layout(arguments, l, a.follows[k]);
      else if (!a.fill.empty())
        fills_.emplace_back(l, k, a.fill[0], device);
    }
    for (size_t k = 0; k < a.scalars.size(); ++k) {
      if (a.kinds[k] == KernelAttrs::boolean)
        arguments.add(a.scalars[k] != 0);
      else if (a.kinds[k] == KernelAttrs::integer)
        arguments.add(static_cast<int>(a.scalars[k]));
      else
        arguments.add(static_cast<float>(a.scalars[k]));
    }
    arguments_ = arguments.bytes();
    if (arguments_.size() > kMostArguments)
      fail<ValueError>("cuda_kernel", "the kernel '", a.name, "' has ", arguments_.size(),
                       " bytes of arguments; at most ", kMostArguments, " are accepted");
    function_ = a.compiled ? device.kernels->load(a.code, a.entry.c_str())
                           : device.kernels->find(a.code, a.entry.c_str());
    if (shared_ > kSharedWithoutAsking)
      check(driver().set_function(function_.handle, kFunctionSharedBytes, shared_),
            "cuFuncSetAttribute");
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    for (const Fill& f : fills_) f.launch(to, operands);
    std::vector<char> bytes = arguments_;
    for (size_t k = 0; k < operands_.size(); ++k) {
      const uint64_t address = operands[k] + static_cast<uint64_t>(operands_[k].offset);
      std::memcpy(&bytes[operands_[k].at], &address, sizeof(address));
    }
    size_t size = bytes.size();
    // Marks and what follows each: the arguments, their size, the end.
    void* buffer[] = {reinterpret_cast<void*>(1), bytes.data(), reinterpret_cast<void*>(2), &size,
                      nullptr};
    check(driver().launch(function_.handle, blocks_[0], blocks_[1], blocks_[2], threads_[0],
                          threads_[1], threads_[2], static_cast<unsigned>(shared_), to.stream(),
                          nullptr, buffer),
          "cuLaunchKernel of a custom kernel");
    note_kernel(to.stream(), name_);
  }

 private:
  struct Operand {
    size_t at;  // of its address among the arguments
    int64_t offset;
  };

  /// Blocks and threads. Throws where the device has not so many.
  void set_launch(const KernelAttrs& a, const DeviceState& device) {
    int most_threads_of = 0, most_shared_of = 0;
    check(driver().device_attribute(&most_threads_of, most_threads, hardware_of(device).ordinal),
          "cuDeviceGetAttribute");
    check(driver().device_attribute(&most_shared_of, most_shared, hardware_of(device).ordinal),
          "cuDeviceGetAttribute");
    const int64_t threads = a.group[0] * a.group[1] * a.group[2];
    if (threads > most_threads_of || a.group[2] > 64)
      fail<ValueError>("cuda_kernel", "the kernel '", a.name, "' with a threadgroup ",
                       to_string(a.group), "; at most ", most_threads_of,
                       " threads, and 64 along the last axis, are accepted");
    if (a.shared > most_shared_of)
      fail<ValueError>("cuda_kernel", "the kernel '", a.name, "' with ", a.shared,
                       " bytes of shared memory; at most ", most_shared_of, " are accepted");
    for (size_t d = 0; d < 3; ++d) {
      const int64_t blocks = (a.grid[d] + a.group[d] - 1) / a.group[d];
      const int64_t most = d == 0 ? kMostBlocks : kMostBlocksAside;
      if (blocks > most)
        fail<ValueError>("cuda_kernel", "the kernel '", a.name, "' with ", blocks,
                         " blocks along axis ", d, " of its grid; at most ", most, " are accepted");
      blocks_[d] = static_cast<unsigned>(blocks);
      threads_[d] = static_cast<unsigned>(a.group[d]);
    }
    shared_ = static_cast<int>(a.shared);
  }
  static void add_layout(ArgumentBytes& arguments, const Layout& l, int64_t follows) {
    const size_t rank = l.shape.size(), length = std::max<size_t>(rank, 1);
    if (follows & 1) {
      // As the source declares it: an even number of elements.
      for (size_t d = 0; d < (length + 1) / 2 * 2; ++d)
        arguments.add(static_cast<int>(d < rank ? l.shape[d] : 1));
    }
    if (follows & 2)
      for (size_t d = 0; d < length; ++d) arguments.add(d < rank ? l.strides[d] : int64_t{0});
  }

  std::string name_;
  gpu::Function function_;
  std::vector<Operand> operands_;
  std::vector<char> arguments_;
  std::vector<Fill> fills_;
  unsigned blocks_[3] = {}, threads_[3] = {};
  int shared_ = 0;
};

bool find_custom(const Attrs* attrs, std::span<const Layout>, int n_inputs, const DeviceState&,
                 Requirements& needs) {
  if (attrs_as<KernelAttrs>(attrs).rows)
    for (int k = 0; k < n_inputs; ++k) needs.inputs.push_back(Accepts::rows);
  return true;
}
std::unique_ptr<const OpKernel> prepare_custom(const Step& step, DeviceState& device) {
  return std::make_unique<const CustomKernel>(step, device);
}

constexpr gpu::KernelEntry kEntries[] = {{"cuda_kernel", find_custom, prepare_custom}};

}  // namespace

extern const std::span<const gpu::KernelEntry> custom_kernels;
const std::span<const gpu::KernelEntry> custom_kernels = kEntries;

}  // namespace mlx::core::cuda
