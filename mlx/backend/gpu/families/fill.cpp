// A value for each element of a step's output: a printed kernel.
#include "mlx/backend/gpu/families/fill.h"

#include <bit>

#include "mlx/backend/gpu/families/family.h"

namespace mlx::core::gpu {

Fill::Fill(const Layout& out, int operand, double value, DeviceState& device)
    : operand_(operand), offset_(out.offset * out.dtype.size()), count_(num_elements(out.shape)) {
  arguments_.p = {0, count_, std::bit_cast<int64_t>(value)};
  const KernelTarget& target = *device.hardware->target();
  const char* const type = element_type(out.dtype);
  const std::string index = cat("(static_cast<int64_t>(", target.first, ") * kThreads + ",
                                target.thread, ")"),
                    step = cat("static_cast<int64_t>(", target.step, ") * kThreads");
  kernel_.function = device.kernel(
      "program",
      cat(target.declaration, "(fill, Words<3>, p) {\n  auto* const out = memory<", type,
          ">(p.w[0]);\n  const auto value = cast<", type, ">(as_double(p.w[2]));\n",
          "  for (int64_t i = ", index, "; i < p.w[1]; i += ", step, ")\n    out[i] = value;\n}\n"),
      "fill");
}

void Fill::launch(const Enqueue& to, std::span<const uint64_t> operands) const {
  if (count_ == 0) return;
  ArgumentBlock<Arguments> block = arguments_;
  block.p.out = static_cast<int64_t>(operands[operand_]) + offset_;
  kernel_.launch(to, blocks_for(count_), block.all());
}

}  // namespace mlx::core::gpu
