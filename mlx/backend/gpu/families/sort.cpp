// Sorts along an axis, and searches. Short lines, and keys that are no integers, are merged; a
// partition of a short line is a sort.
#include "mlx/ops/sort.h"

#include <algorithm>
#include <bit>

#include "mlx/backend/gpu/families/family.h"
#include "mlx/backend/gpu/families/fused.h"
#include "mlx/backend/gpu/families/index.h"
#include "mlx/backend/gpu/families/radix.h"

namespace mlx::core::gpu {

namespace {

using device::SearchArguments;
using device::SortArguments;

constexpr int64_t kSlots = 1024, kShort = 512;

RadixProblem problem_of(const SortArguments& p, Dtype t, bool positions, int64_t kth) {
  return {t, positions, p.lines, p.n, p.stride, t.size(), kth};
}
bool by_radix(const RadixProblem& p) { return p.n > kShort && p.fits(); }

SortArguments plan(const Attrs* attrs, const Layout& in) {
  const int axis = attrs_as<SortAttrs>(attrs).axis;
  SortArguments p = {};
  p.n = in.shape[axis];
  p.stride = num_elements(Shape(in.shape.begin() + axis + 1, in.shape.end()));
  p.lines = p.n ? num_elements(in.shape) / p.n : 0;
  p.tile =
      std::min<int64_t>(kSlots, std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(p.n, 1))));
  p.tiles = (p.n + p.tile - 1) / p.tile;
  return p;
}
/// The type of sorted elements in the source of a kernel, and its bytes.
struct Form {
  std::string name;
  int64_t bytes;
};
template <bool positions>
Form form_of(Dtype t) {
  const int64_t size = t.size();
  const char* form = is_complex(t) ? (positions ? "LongPositions" : "ValuesAt")
                     : !positions  ? "Values"
                     : size == 8   ? "LongPositions"
                                   : "ShortPositions";
  const int64_t bytes = t == complex64    ? 24
                        : t == complex128 ? 32
                        : !positions      ? size
                        : size == 8       ? 16
                                          : 8;
  return {cat(form, "<", element_type(t), ">"), bytes};
}

FunctionHandle kernel(const std::string& call, DeviceState& device) {
  return device.kernel("sort", call, "sort_kernel");
}

class RadixKernel final : public OpKernel {
 public:
  RadixKernel(const Step& step, const RadixProblem& problem, DeviceState& device)
      : sort_(problem, device), workspace_(step.workspace) {
    const Layout &in = step.operands[0], &out = step.operands[1];
    in_ = in.offset * in.dtype.size();
    out_ = out.offset * out.dtype.size();
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    sort_.launch(to,
                 {.in = static_cast<int64_t>(operands[0]) + in_,
                  .out = static_cast<int64_t>(operands[1]) + out_,
                  .keys = 0,
                  .places = 0,
                  .workspace = workspace_ < 0 ? 0 : static_cast<int64_t>(operands[workspace_])});
  }

 private:
  RadixSort sort_;
  int workspace_;
  int64_t in_, out_;
};

class SortKernel final : public OpKernel {
 public:
  SortKernel(const Step& step, const Form& form, DeviceState& device)
      : arguments_(plan(step.attrs.get(), step.operands[0])), workspace_(step.workspace) {
    const Layout &in = step.operands[0], &out = step.operands[1];
    in_ = in.offset * in.dtype.size();
    out_ = out.offset * out.dtype.size();
    half_ = arguments_.lines * arguments_.n * form.bytes;
    tiles_.function = kernel(cat("MLX_IN_STEP_KERNEL(sort_kernel, SortArguments, p) { sort_tiles<",
                                 form.name, ">(p); }\n"),
                             device);
    if (arguments_.tiles > 1)
      merge_.function = kernel(
          cat("MLX_KERNEL(sort_kernel, SortArguments, p) { merge_runs<", form.name, ">(p); }\n"),
          device);
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (arguments_.lines == 0) return;
    ArgumentBlock<SortArguments> block{.p = arguments_};
    SortArguments& p = block.p;
    p.in = static_cast<int64_t>(operands[0]) + in_;
    p.out = static_cast<int64_t>(operands[1]) + out_;
    if (p.tiles > 1) {
      p.to = static_cast<int64_t>(operands[workspace_]);
      p.from = p.to + half_;
    }
    const int64_t units = kSlots / p.tile;
    tiles_.launch(to, std::min<int64_t>((p.lines * p.tiles + units - 1) / units, 1 << 20),
                  block.all());
    for (p.width = p.tile; p.width < p.n; p.width *= 2) {
      std::swap(p.from, p.to);
      p.last = 2 * p.width >= p.n;
      merge_.launch(to, blocks_for(p.lines * ((p.n + 7) / 8)), block.all());
    }
  }

 private:
  SortArguments arguments_;
  Kernel tiles_, merge_;
  int workspace_;
  int64_t in_, out_, half_;
};

template <bool positions>
bool find_sort(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
               const DeviceState&, Requirements& needs) {
  const Layout& out = operands[n_inputs];
  needs.inputs = {Accepts::rows};
  const SortArguments p = plan(attrs, operands[0]);
  const RadixProblem radix =
      problem_of(p, operands[0].dtype, positions, attrs_as<SortAttrs>(attrs).kth);
  if (by_radix(radix))
    needs.workspace = radix.workspace();
  else if (p.tiles > 1)
    needs.workspace =
        static_cast<size_t>(2 * p.lines * p.n * form_of<positions>(operands[0].dtype).bytes);
  return is_row_contiguous(out.shape, out.strides);
}
template <bool positions>
std::unique_ptr<const OpKernel> prepare_sort(const Step& step, DeviceState& device) {
  const Dtype t = step.operands[0].dtype;
  const SortArguments p = plan(step.attrs.get(), step.operands[0]);
  const RadixProblem radix = problem_of(p, t, positions, attrs_as<SortAttrs>(step.attrs.get()).kth);
  if (by_radix(radix)) return std::make_unique<const RadixKernel>(step, radix, device);
  return std::make_unique<const SortKernel>(step, form_of<positions>(t), device);
}

class SearchKernel final : public OpKernel {
 public:
  SearchKernel(const Step& step, DeviceState& device) {
    const Layout &sorted = step.operands[0], &out = step.operands[2];
    arguments_.n = sorted.shape.back();
    arguments_.count = num_elements(out.shape);
    const int64_t rows = num_elements(Shape(sorted.shape.begin(), sorted.shape.end() - 1));
    arguments_.each = rows ? arguments_.count / rows : 0;
    arguments_.right = attrs_as<SearchSortedAttrs>(step.attrs.get()).right;
    for (int k = 0; k < 3; ++k)
      offsets_[k] = step.operands[k].offset * step.operands[k].dtype.size();
    kernel_.function = kernel(cat("MLX_KERNEL(sort_kernel, SearchArguments, p) { search_sorted<",
                                  element_type(sorted.dtype), ">(p); }\n"),
                              device);
  }
  void launch(const Enqueue& to, std::span<const uint64_t> operands) const override {
    if (arguments_.count == 0) return;
    auto address = [&](int k) { return static_cast<int64_t>(operands[k]) + offsets_[k]; };
    ArgumentBlock<SearchArguments> block{.p = arguments_};
    block.p.sorted = address(0);
    block.p.values = address(1);
    block.p.out = address(2);
    kernel_.launch(to, blocks_for(arguments_.count), block.all());
  }

 private:
  SearchArguments arguments_ = {};
  Kernel kernel_;
  int64_t offsets_[3];
};

bool find_search(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
                 Requirements& needs) {
  const Layout& out = operands[n_inputs];
  needs.inputs = {Accepts::rows, Accepts::rows};
  return operands[0].dtype == operands[1].dtype && is_row_contiguous(out.shape, out.strides);
}
std::unique_ptr<const OpKernel> prepare_search(const Step& step, DeviceState& device) {
  return std::make_unique<const SearchKernel>(step, device);
}

constexpr KernelEntry kEntries[] = {{"sort", find_sort<false>, prepare_sort<false>},
                                    {"argsort", find_sort<true>, prepare_sort<true>},
                                    {"searchsorted", find_search, prepare_search}};

}  // namespace

const std::span<const KernelEntry> sort_kernels = kEntries;

}  // namespace mlx::core::gpu
