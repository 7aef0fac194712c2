// Runs another op's kernel at each position along the first axis.
#include "mlx/ops/map.h"

#include "mlx/backend/cpu/kernels.h"
#include "mlx/core/error.h"

namespace mlx::core::cpu {

namespace {

const MapAttrs& map_of(const Attrs* attrs) { return static_cast<const MapAttrs&>(*attrs); }

const KernelEntry& slice_kernel(const MapAttrs& m) {
  const KernelEntry* k = find_kernel(*m.node().op);
  if (!k)
    fail<ValueError>(m.node().op->name, "no kernel on the CPU; register one with register_kernel");
  return *k;
}

Layout without_first_axis(const Layout& l) {
  return {Shape(l.shape.begin() + 1, l.shape.end()),
          Strides(l.strides.begin() + 1, l.strides.end()), 0, l.dtype};
}

/// Operands at one position: inputs, then outputs, which all have the axis.
std::vector<Layout> slice_operands(std::span<const Layout> operands, int n_inputs,
                                   const MapAttrs& m) {
  std::vector<Layout> out;
  for (size_t k = 0; k < operands.size(); ++k) {
    bool mapped = k >= static_cast<size_t>(n_inputs) || m.mapped[k];
    out.push_back(mapped ? without_first_axis(operands[k]) : operands[k]);
  }
  return out;
}

uint32_t map_contiguous(const Attrs* attrs) {
  const MapAttrs& m = map_of(attrs);
  return slice_kernel(m).contiguous_inputs(m.node().attrs.get());
}

size_t map_workspace(std::span<const Layout> operands, int n_inputs, const Attrs* attrs) {
  const MapAttrs& m = map_of(attrs);
  const KernelEntry& kernel = slice_kernel(m);
  if (!kernel.workspace) return 0;
  auto at_one = slice_operands(operands, n_inputs, m);
  return kernel.workspace(at_one, n_inputs, m.node().attrs.get());
}

void run_map(const KernelArgs& args) {
  const MapAttrs& m = map_of(args.attrs);
  const KernelEntry kernel = slice_kernel(m);
  std::vector<Layout> operands;
  for (const View& v : args.in) operands.push_back(*v.layout);
  for (const View& v : args.out) operands.push_back(*v.layout);
  int n_inputs = static_cast<int>(args.in.size());
  auto layouts = slice_operands(operands, n_inputs, m);
  std::vector<View> views;
  std::vector<int64_t> steps;  // bytes from one position to the next
  for (size_t k = 0; k < layouts.size(); ++k) {
    bool input = k < args.in.size(), mapped = !input || m.mapped[k];
    views.push_back({(input ? args.in[k] : args.out[k - args.in.size()]).data, &layouts[k]});
    steps.push_back(mapped ? operands[k].strides[0] * operands[k].dtype.size() : 0);
  }
  std::span<const View> all(views);
  for (int64_t i = 0, n = args.out[0].shape()[0]; i < n; ++i) {
    kernel.run({.in = all.first(args.in.size()),
                .out = all.subspan(args.in.size()),
                .attrs = m.node().attrs.get(),
                .workspace = args.workspace});
    for (size_t k = 0; k < views.size(); ++k)
      views[k].data = static_cast<char*>(views[k].data) + steps[k];
  }
}

const KernelEntry rows[] = {
    {.op = &op_map, .run = run_map, .workspace = map_workspace, .contiguous_for = map_contiguous}};

}  // namespace

const std::span<const KernelEntry> map_kernels = rows;

}  // namespace mlx::core::cpu
