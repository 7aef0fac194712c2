// The parts of which families build their steps: kernels that the table kernels.def names, on
// arguments of one type, and a step whose arguments get the addresses of its operands.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/kernels/group_arguments.h"

namespace mlx::core::gpu {

/// A kernel on arguments of type T, or none.
template <class T>
class KernelOn {
 public:
  KernelOn() = default;
  explicit KernelOn(Function function) : kernel_{std::move(function)} {}
  explicit operator bool() const { return static_cast<bool>(kernel_.function); }
  const Function& function() const { return kernel_.function; }
  /// Enqueues blocks of 256 threads, if there are any.
  void launch(const Enqueue& to, int64_t blocks, const T& arguments) const {
    if (blocks <= 0) return;
    kernel_.launch(to, blocks, ArgumentBlock<T>{.p = arguments}.all());
  }

 private:
  Kernel kernel_;
};

/// A template argument in the source of a kernel.
inline std::string written(Dtype t) { return element_type(t); }
inline std::string written(Accumulator a) { return a.type; }
inline std::string written(bool x) { return x ? "true" : "false"; }
inline std::string written(const char* text) { return text; }
inline const std::string& written(const std::string& text) { return text; }
template <class T>
  requires std::is_integral_v<T>
std::string written(T x) {
  return std::to_string(x);
}

/// A row of the table, with the type of its arguments: makes kernels.
template <class T>
struct KernelMaker {
  KernelRow row;
  /// The kernel with these arguments of its template.
  template <class... A>
  KernelOn<T> operator()(DeviceState& device, const A&... arguments) const {
    std::string list;
    ((list += (list.empty() ? "" : ", ") + written(arguments)), ...);
    return KernelOn<T>(device.kernel(row.file, row.text(list), row.name().c_str()));
  }
};

/// The rows of the table by the names of their functions.
namespace kernels {
#define K(file, Arguments, function, threads, instances)       \
  inline constexpr KernelMaker<device::Arguments> function = { \
      {#file, #Arguments, #function, KernelRow::threads, instances}};
#include "mlx/backend/gpu/families/kernels.def"
#undef K
}  // namespace kernels

/// A step whose kernels share arguments of type T. Its maker sets `p`, without addresses, and binds
/// these.
template <class T>
class StepKernel : public OpKernel {
 public:
  explicit StepKernel(const Step& step) {
    for (const Layout& l : step.operands) offsets_.push_back(l.offset * l.dtype.size());
  }
  /// Lets a field of `p` be the address of the first element of an operand; -1: leaves it.
  void bind(int64_t& field, int operand) {
    if (operand >= 0) bound_.push_back({&field - words(p), operand});
  }
  /// Lets a field of `p` be the address of the error record.
  void bind_record(int64_t& field) { record_ = &field - words(p); }
  bool checks() const override { return record_ >= 0; }

  void launch(const Enqueue& to, std::span<const uint64_t> operands) const final {
    T bound = p;
    for (const Bound& b : bound_) words(bound)[b.word] = address(operands, b.operand);
    if (record_ >= 0) words(bound)[record_] = static_cast<int64_t>(to.record());
    run(to, bound, operands);
  }

  T p = {};
  KernelOn<T> kernel = {};
  int64_t blocks = 0;

 protected:
  /// Enqueues the step's kernels; without another one, `kernel`.
  virtual void run(const Enqueue& to, T& bound, std::span<const uint64_t>) const {
    kernel.launch(to, blocks, bound);
  }
  int64_t address(std::span<const uint64_t> operands, int k) const {
    return static_cast<int64_t>(operands[k]) + offsets_[k];
  }

 private:
  struct Bound {
    std::ptrdiff_t word;
    int operand;
  };
  static int64_t* words(T& arguments) { return reinterpret_cast<int64_t*>(&arguments); }

  SmallVector<int64_t, 8> offsets_;  // bytes
  SmallVector<Bound, 8> bound_;
  std::ptrdiff_t record_ = -1;
};

/// `prepare` of a family whose class K is made from the step.
template <class K>
std::unique_ptr<const OpKernel> prepare_as(const Step& step, DeviceState& device) {
  return std::make_unique<const K>(step, device);
}

inline bool is_rows(const Layout& l) { return is_row_contiguous(l.shape, l.strides); }
/// Asks for inputs in rows. True where the outputs are.
inline bool all_in_rows(std::span<const Layout> operands, int n_inputs, Requirements& needs) {
  for (int k = 0; k < n_inputs; ++k) needs.inputs.push_back(Accepts::rows);
  return std::ranges::all_of(operands.subspan(n_inputs), is_rows);
}
/// The operands of a step without its workspace, as they were found.
inline std::span<const Layout> found_operands(const Step& step) {
  return {step.operands.data(), static_cast<size_t>(step.outputs_end())};
}

/// Lines along an axis: `n` elements, `stride` apart in rows.
struct Lines {
  int64_t lines, n, stride;
};
Lines lines_along(const Shape& shape, int axis);
/// Arguments of kernels on these lines.
template <class T>
T arguments_of(const Lines& l) {
  T p = {};
  p.lines = l.lines;
  p.n = l.n;
  p.stride = l.stride;
  return p;
}

/// Blocks for `count` parts of work, `each` of them in a block.
inline int64_t blocks_of(int64_t count, int64_t each = 1) {
  return std::min<int64_t>((count + each - 1) / each, 1 << 20);
}
/// The type with which a kernel counts so many elements.
inline const char* index_for(int64_t count) {
  return count > INT32_MAX / 2 ? "uint64_t" : "uint32_t";
}

}  // namespace mlx::core::gpu
