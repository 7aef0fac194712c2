// Sorts along an axis, and searches. Short lines, and keys that are no integers, are merged, which
// serves partitions too.
#include "mlx/ops/sort.h"

#include <algorithm>
#include <bit>

#include "mlx/backend/gpu/families/radix.h"
#include "mlx/backend/gpu/families/step_kernel.h"

namespace mlx::core::gpu {

namespace {

using device::SearchArguments;
using device::SortArguments;

constexpr int64_t kSortSlots = 1024, kShortSort = 512;

RadixProblem problem_of(const SortArguments& p, Dtype t, bool positions, int64_t kth,
                        const DeviceState& device) {
  return {t, positions, p.lines, p.n, p.stride, t.size(), device.hardware.get(), kth};
}
bool by_radix(const RadixProblem& p) { return p.n > kShortSort && p.fits(); }

SortArguments plan_sort(const Attrs* attrs, const Layout& in) {
  auto p = arguments_of<SortArguments>(lines_along(in.shape, attrs_as<SortAttrs>(attrs).axis));
  p.tile = std::min<int64_t>(kSortSlots,
                             std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(p.n, 1))));
  p.tiles = (p.n + p.tile - 1) / p.tile;
  return p;
}
/// The type of sorted elements in the source of a kernel, and its bytes.
struct SortForm {
  std::string name;
  int64_t bytes;
};
template <bool positions>
SortForm sort_form(Dtype t) {
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

/// Gives the operands to a radix sort, which launches its own kernels.
class RadixKernel final : public StepKernel<RadixSort::Operands> {
 public:
  RadixKernel(const Step& step, const RadixProblem& problem, DeviceState& device)
      : StepKernel(step), sort_(problem, device) {
    bind(p.in, 0);
    bind(p.out, 1);
    bind(p.workspace, step.workspace);
  }

 private:
  void run(const Enqueue& to, RadixSort::Operands& bound,
           std::span<const uint64_t>) const override {
    sort_.launch(to, bound);
  }
  RadixSort sort_;
};

class SortKernel final : public StepKernel<SortArguments> {
 public:
  SortKernel(const Step& step, const SortForm& form, DeviceState& device) : StepKernel(step) {
    p = plan_sort(step.attrs.get(), step.operands[0]);
    bind(p.in, 0);
    bind(p.out, 1);
    half_ = p.lines * p.n * form.bytes;
    kernel = kernels::sort_tiles(device, form.name);
    blocks = blocks_of(p.lines * p.tiles, kSortSlots / p.tile);
    if (p.tiles == 1) return;
    bind(p.to, step.workspace);
    merge_ = kernels::merge_runs(device, form.name);
  }

 private:
  void run(const Enqueue& to, SortArguments& bound, std::span<const uint64_t>) const override {
    bound.from = bound.to + half_;
    kernel.launch(to, blocks, bound);
    for (bound.width = p.tile; bound.width < p.n; bound.width *= 2) {
      std::swap(bound.from, bound.to);
      bound.last = 2 * bound.width >= p.n;
      merge_.launch(to, blocks_for(p.lines * ((p.n + 7) / 8)), bound);
    }
  }
  KernelOn<SortArguments> merge_;
  int64_t half_;
};

template <bool positions>
bool find_sort(const Attrs* attrs, std::span<const Layout> operands, int n_inputs,
               const DeviceState& device, Requirements& needs) {
  const SortArguments p = plan_sort(attrs, operands[0]);
  const RadixProblem radix =
      problem_of(p, operands[0].dtype, positions, attrs_as<SortAttrs>(attrs).kth, device);
  if (by_radix(radix))
    needs.workspace = radix.workspace();
  else if (p.tiles > 1)
    needs.workspace =
        static_cast<size_t>(2 * p.lines * p.n * sort_form<positions>(operands[0].dtype).bytes);
  return all_in_rows(operands, n_inputs, needs);
}
template <bool positions>
std::unique_ptr<const OpKernel> prepare_sort(const Step& step, DeviceState& device) {
  const Dtype t = step.operands[0].dtype;
  const SortArguments p = plan_sort(step.attrs.get(), step.operands[0]);
  const RadixProblem radix =
      problem_of(p, t, positions, attrs_as<SortAttrs>(step.attrs.get()).kth, device);
  if (by_radix(radix)) return std::make_unique<const RadixKernel>(step, radix, device);
  return std::make_unique<const SortKernel>(step, sort_form<positions>(t), device);
}

bool find_search(const Attrs*, std::span<const Layout> operands, int n_inputs, const DeviceState&,
                 Requirements& needs) {
  return all_in_rows(operands, n_inputs, needs) && operands[0].dtype == operands[1].dtype;
}
std::unique_ptr<const OpKernel> prepare_search(const Step& step, DeviceState& device) {
  const Layout& sorted = step.operands[0];
  auto search = std::make_unique<StepKernel<SearchArguments>>(step);
  SearchArguments& p = search->p;
  p.n = sorted.shape.back();
  p.count = num_elements(step.operands[2].shape);
  const int64_t rows = num_elements(Shape(sorted.shape.begin(), sorted.shape.end() - 1));
  p.each = rows ? p.count / rows : 0;
  p.right = attrs_as<SearchSortedAttrs>(step.attrs.get()).right;
  search->bind(p.sorted, 0);
  search->bind(p.values, 1);
  search->bind(p.out, 2);
  search->kernel = kernels::search_sorted(device, sorted.dtype);
  search->blocks = blocks_for(p.count);
  return search;
}

constexpr KernelEntry kSortKernels[] = {{"sort", find_sort<false>, prepare_sort<false>},
                                        {"argsort", find_sort<true>, prepare_sort<true>},
                                        {"searchsorted", find_search, prepare_search}};

}  // namespace

const std::span<const KernelEntry> sort_kernels = kSortKernels;

}  // namespace mlx::core::gpu
