// Runs user-defined primitives on arrays over the kernel's memory.
#include "mlx/ops/custom.h"

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/core/error.h"

namespace mlx::core::cpu {

namespace {

/// An array over memory of the running kernel; valid until the kernel returns.
array borrow(const View& v) {
  size_t bytes = v.size() * v.dtype().size();
  auto storage = make_ref<Storage>(v.data, bytes, [] {});
  return array(std::move(storage), v.shape(), v.strides(), 0, v.dtype());
}

/// Copies the elements that a primitive gave an output, unless it wrote them in place.
void collect(const array& output, const View& to) {
  const char* from = output.data<char>();
  if (from == to.data || output.size() == 0) return;
  if (output.flags().row_contiguous) {
    std::memcpy(to.data, from, output.nbytes());
    return;
  }
  const auto itemsize = static_cast<int64_t>(output.itemsize());
  Odometer<1> at(output.shape(), {output.strides()});
  char* next = static_cast<char*>(to.data);
  for (size_t n = output.size(); n-- > 0; next += itemsize, at.next())
    std::memcpy(next, from + at[0] * itemsize, itemsize);
}

void run_primitive(const KernelArgs& args) {
  Arrays inputs, outputs;
  for (const View& v : args.in) inputs.push_back(borrow(v));
  for (const View& v : args.out) outputs.push_back(borrow(v));
  PrimitiveScope here;
  Primitive& p = *static_cast<const PrimitiveAttrs*>(args.attrs)->primitive;
  p.eval_cpu(inputs, outputs);
  std::vector<std::pair<Shape, Dtype>> declared;
  for (const View& v : args.out) declared.emplace_back(v.shape(), v.dtype());
  check_outputs(p, outputs, declared);
  for (size_t k = 0; k < args.out.size(); ++k) collect(outputs[k], args.out[k]);
}

constexpr uint32_t kAll = ~0u;
const KernelEntry kCustomKernels[] = {
    {.op = &op_primitive, .run = run_primitive, .contiguous = kAll},
    {.op = &op_primitive_bundle, .run = run_primitive, .contiguous = kAll}};

}  // namespace

const std::span<const KernelEntry> custom_kernels = kCustomKernels;

}  // namespace mlx::core::cpu
